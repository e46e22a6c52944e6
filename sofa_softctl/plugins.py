"""Plugin manager: built-ins first, then entry points, then files given by `--plugin`.

The backend is chosen before a plugin is imported, so that plugins that import Sofa do not choose
it.
"""

from __future__ import annotations

import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import pluggy

from sofa_softctl import hooks
from sofa_softctl.base.processes import TerminationSignal, call_first_in_workers
from sofa_softctl.base.suggestions import did_you_mean
from sofa_softctl.base.user_module import import_file
from sofa_softctl.errors import PluginError
from sofa_softctl.offers import BUILT_IN, CONTROLLERS, HOOKS, PluginRegistrations
from sofa_softctl.scene.backend.backend import find_backend


class Plugins:
    """Plugins of this process; their entries are in the registries, see `offers`."""

    def __init__(self) -> None:
        self.manager = pluggy.PluginManager(hooks.PROJECT)
        self.manager.add_hookspecs(hooks)

    def add(self, plugin: Any, name: str) -> None:
        """Add a plugin with all of its entries, or with none.

        Raises:
            PluginError: The plugin is loaded already, has no hook, a hook has a wrong name or
                arguments, or one of its entries is invalid or a duplicate.
            Exception: Raised by the plugin itself.
        """
        if name in self.names or self.manager.is_registered(plugin):
            loaded_name = name if name in self.names else self.manager.get_name(plugin)
            raise PluginError(f"Plugin '{loaded_name}' is there already.")
        try:
            self._register(plugin, name)
            registrations = PluginRegistrations(name)
            for hook in HOOKS:
                for implementation in getattr(self.manager.hook, hook).get_hookimpls():
                    if implementation.plugin is plugin:
                        if not implementation.argnames:
                            raise PluginError(
                                f"Plugin '{name}': {hook}() takes no argument; expected "
                                f"{hook}(register)."
                            )
                        with _exit_is_an_error(name):
                            implementation.function(registrations.register(hook))
        except BaseException:
            if self.manager.is_registered(plugin):
                self.manager.unregister(plugin)
            raise
        registrations.commit()

    def _register(self, plugin: Any, name: str) -> None:
        hooks_hint = f"Hooks: {', '.join(f'{hook}(register)' for hook in sorted(HOOKS))}."
        if inspect.isclass(plugin):
            raise PluginError(
                f"Plugin '{name}' is the class {plugin.__name__}; expected an object of it, or a "
                "module."
            )
        decorated, bare = self._functions(plugin)
        for hook in decorated:
            if hook not in HOOKS:
                hint = did_you_mean(hook, HOOKS)
                raise PluginError(f"Plugin '{name}': there is no hook '{hook}'.{hint} {hooks_hint}")
        if bare:
            raise PluginError(
                f"Plugin '{name}': {', '.join(bare)} would never be called, without the decorator "
                f"@hookimpl above it (from sofa_softctl import hookimpl). {hooks_hint}"
            )
        if not decorated:
            raise PluginError(
                f"Plugin '{name}' has no hook, so that it brings nothing. Write a function with "
                f"the decorator @hookimpl (from sofa_softctl import hookimpl). {hooks_hint}"
            )
        try:
            self.manager.register(plugin, name)
        except (ValueError, pluggy.PluginValidationError) as error:
            text = " ".join(str(error).split())
            raise PluginError(f"Plugin '{name}' cannot be used: {text}. {hooks_hint}") from error

    def _functions(self, plugin: Any) -> tuple[list[str], list[str]]:
        """Return a plugin's decorated functions, and undecorated ones that are named like hooks."""
        decorated, bare = [], []
        for name in dir(plugin):
            if self.manager.parse_hookimpl_opts(plugin, name) is not None:
                decorated.append(name)
            elif name.startswith("softctl_") and inspect.isroutine(getattr(plugin, name)):
                bare.append(name)
        return decorated, [
            name for name in bare if getattr(plugin, name) is not vars(hooks).get(name)
        ]

    def add_file(self, path: str | Path) -> None:
        """Add a plugin file; scenes can then import its package, too.

        Raises:
            PluginError: The file is missing or not a Python file; or as for `add`.
            BackendError: As for `find_backend`, if no backend was chosen before.
        """
        path = Path(path)
        if not path.is_file():
            raise PluginError(f"There is no plugin file '{path}'.")
        if path.suffix != ".py":
            raise PluginError(f"The plugin '{path}' is not a Python file (.py).")
        find_backend()
        _make_importable(path.resolve())
        with _exit_is_an_error(str(path)):
            module = import_file(path, "softctl_plugin", folder_too=False)
        self.add(module, str(path))

    def load_entry_points(self) -> None:
        """Add the plugins of installed packages, unless SOFTCTL_PLUGINS=0.

        Raises:
            PluginError: A plugin cannot be loaded or used; the message says how to continue.
            BackendError: As for `find_backend`, if no backend was chosen before.
        """
        if os.environ.get("SOFTCTL_PLUGINS", "1") == "0":
            return
        for entry_point in entry_points(group=hooks.PROJECT):
            find_backend()
            package = entry_point.name if entry_point.dist is None else entry_point.dist.name
            _paths.update(_files_of(entry_point))
            try:
                with _exit_is_an_error(entry_point.name):
                    plugin = entry_point.load()
                self.add(plugin, entry_point.name)
            except Exception as error:
                reason = str(error)
                if not isinstance(error, PluginError):
                    reason = f"{type(error).__name__}: {error}".removesuffix(".") + "."
                raise PluginError(
                    f"The plugin '{entry_point.name}' that is installed cannot be used: {reason} "
                    f"Uninstall '{package}', or set SOFTCTL_PLUGINS=0."
                ) from error

    @property
    def names(self) -> list[str]:
        """Name of this package, then of the plugins in order of registration."""
        return [BUILT_IN, *(name for name, _ in self.manager.list_name_plugin())]


def _make_importable(path: Path) -> None:
    """Add the parent folder of a file's package to the path; do nothing without a package."""
    folder = path.parent
    while (folder / "__init__.py").is_file():
        folder = folder.parent
    if folder != path.parent and str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


@contextmanager
def _exit_is_an_error(name: str) -> Iterator[None]:
    """Raise PluginError if a plugin calls exit(), so that it does not end the command."""
    try:
        yield
    except TerminationSignal:
        raise
    except SystemExit as ended:
        raise PluginError(
            f"Plugin '{name}' called exit({ended.code!r}). Raise an exception instead."
        ) from ended


_paths: set[str] = set()


def installed_paths() -> tuple[str, ...]:
    """Return files and folders of installed plugins: their lines are shown in tracebacks."""
    return tuple(_paths)


def user_frames(error: BaseException) -> list[traceback.FrameSummary]:
    """Return the lines of files outside of this package and Python, innermost last.

    Lines of installed plugins are included.
    """
    package = str(Path(__file__).parent)
    plugins = installed_paths()
    return [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename.startswith(plugins)
        or not frame.filename.startswith((package, sys.prefix, sys.base_prefix, "<"))
    ]


def _files_of(entry_point: EntryPoint) -> list[str]:
    """Return the file or the folders of an entry point's package; empty if it is missing."""
    spec = importlib.util.find_spec(entry_point.module.partition(".")[0])
    if spec is None:
        return []
    folders = spec.submodule_search_locations
    if folders is None:
        return [spec.origin] if spec.origin else []
    return [os.path.join(folder, "") for folder in folders]


_plugins: list[Plugins] = []


def plugins() -> Plugins:
    """Return the plugins of this process.

    Raises:
        PluginError: An installed plugin cannot be loaded or used.
    """
    if not _plugins:
        loaded = Plugins()
        _plugins.append(loaded)  # before loading: plugins look names up while they register
        try:
            loaded.load_entry_points()
        except BaseException:
            _plugins.clear()
            raise
    return _plugins[0]


def load_files(files: Iterable[str | Path]) -> None:
    """Load plugin files into this process, and into the worker processes that it starts.

    Raises:
        PluginError: As for `Plugins.add_file`; installed plugins are loaded first.
    """
    manager = plugins()
    for file in files:
        manager.add_file(file)
        _files.append(str(Path(file).resolve()))
    if _files:
        paths = tuple(_files)
        call_first_in_workers("plugins", partial(load_files, paths), paths)


_files: list[str] = []
"""Plugin files that workers also load."""


def controller(name: str) -> type[Any]:
    """Return the controller class of that name, such as 'inverse'.

    If no backend was chosen before, this chooses one, as by `find_backend`.

    Raises:
        PluginError: No plugin registered that name; the message lists the known names.
    """
    find_backend()
    plugins()
    return CONTROLLERS.find(name)
