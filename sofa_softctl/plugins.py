"""The plugin manager: built-ins first, then entry points, then files given by `--plugin`.

The backend is chosen before a plugin is imported: one that imports Sofa does not decide it.
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
from sofa_softctl.base.processes import Terminated, call_first_in_workers
from sofa_softctl.base.suggestions import did_you_mean
from sofa_softctl.base.user_module import import_file
from sofa_softctl.errors import PluginError
from sofa_softctl.offers import BUILT_IN, CONTROLLERS, HOOKS, Offers
from sofa_softctl.scene.backend.backend import find_backend


class Plugins:
    """Plugins of this process; what they bring is in the registries, see `offers`."""

    def __init__(self) -> None:
        self.manager = pluggy.PluginManager(hooks.PROJECT)
        self.manager.add_hookspecs(hooks)

    def add(self, plugin: Any, name: str) -> None:
        """Take a plugin in, with all that it brings or not at all.

        Raises:
            PluginError: it is there already, has no hook, a hook has another name or other
                arguments, or something that it registers is wrong or there already.
            Exception: whatever the plugin itself raises.
        """
        if name in self.names or self.manager.is_registered(plugin):
            known = name if name in self.names else self.manager.get_name(plugin)
            raise PluginError(f"Plugin '{known}' is there already.")
        try:
            self._register(plugin, name)
            offers = Offers(name)
            for hook in HOOKS:
                for implementation in getattr(self.manager.hook, hook).get_hookimpls():
                    if implementation.plugin is plugin:
                        if not implementation.argnames:
                            raise PluginError(
                                f"Plugin '{name}': {hook}() takes no argument; expected "
                                f"{hook}(register)."
                            )
                        with _exit_is_an_error(name):
                            implementation.function(offers.register(hook))
        except BaseException:
            if self.manager.is_registered(plugin):
                self.manager.unregister(plugin)
            raise
        offers.take()

    def _register(self, plugin: Any, name: str) -> None:
        known = f"Hooks: {', '.join(f'{hook}(register)' for hook in sorted(HOOKS))}."
        if inspect.isclass(plugin):
            raise PluginError(
                f"Plugin '{name}' is the class {plugin.__name__}; expected an object of it, or a "
                "module."
            )
        decorated, bare = self._functions(plugin)
        for hook in decorated:
            if hook not in HOOKS:
                hint = did_you_mean(hook, HOOKS)
                raise PluginError(f"Plugin '{name}': there is no hook '{hook}'.{hint} {known}")
        if bare:
            raise PluginError(
                f"Plugin '{name}': {', '.join(bare)} would never be called, without the decorator "
                f"@hookimpl above it (from sofa_softctl import hookimpl). {known}"
            )
        if not decorated:
            raise PluginError(
                f"Plugin '{name}' has no hook, so that it brings nothing. Write a function with "
                f"the decorator @hookimpl (from sofa_softctl import hookimpl). {known}"
            )
        try:
            self.manager.register(plugin, name)
        except (ValueError, pluggy.PluginValidationError) as error:
            text = " ".join(str(error).split())
            raise PluginError(f"Plugin '{name}' cannot be used: {text}. {known}") from error

    def _functions(self, plugin: Any) -> tuple[list[str], list[str]]:
        """Functions of a plugin with the decorator, and those named like hooks without it."""
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
        """Take in a plugin that is a Python file; of a package, which scenes can import then, too.

        Raises:
            PluginError: there is no such file, or it is no Python; and as for `add`.
            BackendError: as for `find_backend`, where no backend was chosen before.
        """
        path = Path(path)
        if not path.is_file():
            raise PluginError(f"There is no plugin file '{path}'.")
        if path.suffix != ".py":
            raise PluginError(f"The plugin '{path}' is no Python file (.py).")
        find_backend()
        _make_importable(path.resolve())
        with _exit_is_an_error(str(path)):
            module = import_file(path, "softctl_plugin", folder_too=False)
        self.add(module, str(path))

    def load_entry_points(self) -> None:
        """Take in the plugins of installed packages, unless SOFTCTL_PLUGINS=0.

        Raises:
            PluginError: one of them cannot be loaded or used; the message says how to go on.
            BackendError: as for `find_backend`, where no backend was chosen before.
        """
        if os.environ.get("SOFTCTL_PLUGINS", "1") == "0":
            return
        for entry in entry_points(group=hooks.PROJECT):
            find_backend()
            package = entry.name if entry.dist is None else entry.dist.name
            _places.update(_files_of(entry))
            try:
                with _exit_is_an_error(entry.name):
                    plugin = entry.load()
                self.add(plugin, entry.name)
            except Exception as error:
                what = str(error)
                if not isinstance(error, PluginError):
                    what = f"{type(error).__name__}: {error}".removesuffix(".") + "."
                raise PluginError(
                    f"The plugin '{entry.name}' that is installed cannot be used: {what} "
                    f"Uninstall '{package}', or set SOFTCTL_PLUGINS=0."
                ) from error

    @property
    def names(self) -> list[str]:
        """This package, then the plugins in order of registration."""
        return [BUILT_IN, *(name for name, _ in self.manager.list_name_plugin())]


def _make_importable(path: Path) -> None:
    """Let the package of a file be imported by its name; nothing where it is in none."""
    folder = path.parent
    while (folder / "__init__.py").is_file():
        folder = folder.parent
    if folder != path.parent and str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


@contextmanager
def _exit_is_an_error(name: str) -> Iterator[None]:
    """A plugin that calls exit() does not end the command."""
    try:
        yield
    except Terminated:
        raise
    except SystemExit as ended:
        raise PluginError(
            f"Plugin '{name}' called exit({ended.code!r}). Raise an exception instead."
        ) from ended


_places: set[str] = set()


def installed_places() -> tuple[str, ...]:
    """Files and folders of installed plugins: their lines are shown in tracebacks."""
    return tuple(_places)


def user_frames(error: BaseException) -> list[traceback.FrameSummary]:
    """The lines of files that belong neither to this package nor to Python, innermost last.

    Those of installed plugins are among them.
    """
    own = str(Path(__file__).parent)
    plugins = installed_places()
    return [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename.startswith(plugins)
        or not frame.filename.startswith((own, sys.prefix, sys.base_prefix, "<"))
    ]


def _files_of(entry: EntryPoint) -> list[str]:
    """File, or folder, of the package that holds an entry point; none if there is no such one."""
    spec = importlib.util.find_spec(entry.module.partition(".")[0])
    if spec is None:
        return []
    folders = spec.submodule_search_locations
    if folders is None:
        return [spec.origin] if spec.origin else []
    return [os.path.join(folder, "") for folder in folders]


_plugins: list[Plugins] = []


def plugins() -> Plugins:
    """The plugins of this process.

    Raises:
        PluginError: one that is installed cannot be loaded or used.
    """
    if not _plugins:
        found = Plugins()
        _plugins.append(found)  # before it is filled: plugins look names up while they register
        try:
            found.load_entry_points()
        except BaseException:
            _plugins.clear()
            raise
    return _plugins[0]


def load_files(files: Iterable[str | Path]) -> None:
    """Load plugin files into this process, and into the worker processes that it starts.

    Raises:
        PluginError: as for `Plugins.add_file`; installed plugins are loaded first.
    """
    known = plugins()
    for file in files:
        known.add_file(file)
        _files.append(str(Path(file).resolve()))
    if _files:
        loaded = tuple(_files)
        call_first_in_workers("plugins", partial(load_files, loaded), loaded)


_files: list[str] = []
"""Files that workers load too."""


def controller(name: str) -> type[Any]:
    """The controller class of that name, such as 'inverse'.

    A controller belongs to a backend: where none was chosen before, this does, as `find_backend`.

    Raises:
        PluginError: no plugin registered that name; the known ones are listed.
    """
    find_backend()
    plugins()
    return CONTROLLERS.find(name)
