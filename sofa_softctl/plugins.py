"""The plugin manager: built-ins first, then entry points, then files given by `--plugin`."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pluggy

from sofa_softctl import hooks
from sofa_softctl._internal.suggestions import did_you_mean
from sofa_softctl._internal.user_module import import_file
from sofa_softctl.errors import PluginError, SceneError

CONTROLLERS = {
    "identification": "identification.controller:IdentificationController",
    "inverse": "inverse.controller:InverseController",
    "library": "library.controller:LibraryController",
    "surrogate": "surrogate.controller:SurrogateController",
}
"""The built-in controllers: name, and module:class within this package, loaded when asked for."""


@dataclass(frozen=True)
class Registered:
    """A controller and the plugin that brought it."""

    name: str
    """Name of the controller."""
    controller: Callable[..., Any]
    """The class, or a function that returns it."""
    plugin: str
    """Name of the plugin."""

    def load(self) -> type[Any]:
        """The class.

        Raises:
            PluginError: the plugin's function gave something else.
        """
        found = self.controller
        if not isinstance(found, type):
            found = found()
        if not isinstance(found, type):
            raise PluginError(
                f"Plugin '{self.plugin}': controller '{self.name}' must be a class, got {found!r}."
            )
        return found


class Plugins:
    """Plugins and what they registered."""

    def __init__(self) -> None:
        self.manager = pluggy.PluginManager(hooks.PROJECT)
        self.manager.add_hookspecs(hooks)
        self.controllers: dict[str, Registered] = {}
        self.owners: dict[tuple[str, str], str] = {}
        """Plugin that brought each thing, by its kind and name."""

    def add(self, plugin: Any, name: str) -> None:
        """Take a plugin in, with all that it brings or not at all.

        Raises:
            PluginError: it is there already, a hook has another name or other arguments, or
                something that it registers is there already.
            Exception: whatever the plugin itself raises.
        """
        if self.manager.has_plugin(name) or self.manager.is_registered(plugin):
            known = name if self.manager.has_plugin(name) else self.manager.get_name(plugin)
            raise PluginError(f"Plugin '{known}' is there already.")
        try:
            self._register(plugin, name)
            offers = Offers(self, name)
            for hook, register in offers.hooks():
                for implementation in hook.get_hookimpls():
                    if implementation.plugin is plugin:
                        implementation.function(*(register,)[: len(implementation.argnames)])
        except BaseException:
            if self.manager.is_registered(plugin):
                self.manager.unregister(plugin)
            raise
        offers.take()

    def _register(self, plugin: Any, name: str) -> None:
        try:
            self.manager.register(plugin, name)
            self.manager.check_pending()
        except (ValueError, pluggy.PluginValidationError) as error:
            names = ", ".join(
                sorted(entry for entry in vars(hooks) if entry.startswith("softctl_"))
            )
            raise PluginError(
                f"Plugin '{name}' cannot be used: {error}. Hooks: {names}."
            ) from error

    def add_file(self, path: str | Path) -> None:
        """Take in a plugin that is a Python file.

        Raises:
            PluginError: there is no such file, or it is no Python; and as for `add`.
        """
        path = Path(path)
        if not path.is_file():
            raise PluginError(f"There is no plugin file '{path}'.")
        if path.suffix != ".py":
            raise PluginError(f"The plugin '{path}' is no Python file (.py).")
        self.add(import_file(path, "softctl_plugin", folder_too=False), str(path))

    def load_entry_points(self) -> None:
        """Take in the plugins of installed packages, unless SOFTCTL_PLUGINS=0.

        Raises:
            PluginError: one of them cannot be loaded or used; the message says how to go on.
        """
        if os.environ.get("SOFTCTL_PLUGINS", "1") == "0":
            return
        for entry in entry_points(group=hooks.PROJECT):
            package = entry.name if entry.dist is None else entry.dist.name
            try:
                self.add(entry.load(), entry.name)
            except Exception as error:
                raise PluginError(
                    f"The plugin '{entry.name}' that is installed cannot be used: {error} "
                    f"Uninstall '{package}', or set SOFTCTL_PLUGINS=0."
                ) from error

    @property
    def names(self) -> list[str]:
        """Names of the plugins, in order of registration."""
        return [name for name, _ in self.manager.list_name_plugin()]


class Offers:
    """Registrations of one plugin: checked at the call, added when all are valid."""

    def __init__(self, plugins: Plugins, plugin: str) -> None:
        self.plugins = plugins
        self.plugin = plugin
        self.names: set[tuple[str, str]] = set()
        self.taken: list[Callable[[], None]] = []

    def hooks(self) -> list[tuple[Any, Callable[..., None]]]:
        """Each hook and the function that a plugin is given for it."""
        hook = self.plugins.manager.hook
        return [
            (hook.softctl_register_controllers, self.controller),
            (hook.softctl_register_qp_solvers, self.qp_solver),
            (hook.softctl_register_components, self.component),
        ]

    def take(self) -> None:
        """Take everything in."""
        for take in self.taken:
            take()
        self.plugins.owners.update(dict.fromkeys(self.names, self.plugin))

    def _claim(self, kind: str, name: str, there: bool) -> None:
        owner = self.plugins.owners.get((kind, name), "built-in" if there else None)
        if (kind, name) in self.names:
            owner = self.plugin
        if owner is not None:
            raise PluginError(
                f"Plugins '{owner}' and '{self.plugin}' both register a {kind} '{name}'. "
                "Rename one of them."
            )
        self.names.add((kind, name))

    def controller(self, name: str, controller: Callable[..., Any]) -> None:
        """See `hooks.softctl_register_controllers`."""
        if not callable(controller):
            raise PluginError(
                f"Plugin '{self.plugin}': controller '{name}' must be a class or a function that "
                f"returns one, got {controller!r}."
            )
        self._claim("controller", name, name in self.plugins.controllers)
        entry = Registered(name, controller, self.plugin)
        self.taken.append(lambda: self.plugins.controllers.update({name: entry}))

    def qp_solver(self, name: str, solve: Callable[..., Any], *, sparse: bool = False) -> None:
        """See `hooks.softctl_register_qp_solvers`."""
        from sofa_softctl.qp import solvers

        known = solvers.sparse_qp_solvers if sparse else solvers.qp_solvers
        self._claim("sparse QP solver" if sparse else "QP solver", name, name in known)
        self.taken.append(lambda: solvers.register(name, solve, sparse=sparse))

    def component(self, component: type[Any]) -> None:
        """See `hooks.softctl_register_components`."""
        from sofa_softctl.runtime.core import factory

        try:
            names = factory.names_of(component)
        except SceneError as error:
            raise PluginError(f"Plugin '{self.plugin}': {error}") from error
        for name in names:
            self._claim("component", name, factory.find(name) is not None)
        self.taken.append(lambda: factory.register(component))


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
            found.add(_BuiltIn(), "built-in")
            found.load_entry_points()
        except BaseException:
            _plugins.clear()
            raise
    return _plugins[0]


def controller(name: str) -> type[Any]:
    """The controller class of that name, such as 'inverse'.

    Raises:
        PluginError: no plugin registered that name; the known ones are listed.
    """
    known = plugins().controllers
    if name not in known:
        hint = did_you_mean(name, known)
        raise PluginError(
            f"There is no controller '{name}'.{hint} Known: {', '.join(sorted(known))}."
        )
    return known[name].load()


class _BuiltIn:
    """The controllers of this package, which come through the same door as everybody's."""

    @hooks.hookimpl
    def softctl_register_controllers(
        self, register: Callable[[str, Callable[..., Any]], None]
    ) -> None:
        for name, home in CONTROLLERS.items():
            register(name, partial(resolve_name, f"sofa_softctl.{home}"))
