"""The plugin manager: built-ins first, then entry points, then files given by `--plugin`."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pluggy

from sofa_softctl import hooks
from sofa_softctl.errors import PluginError


@dataclass(frozen=True)
class Registered:
    """A controller and the plugin that brought it."""

    controller: Callable[..., Any]
    """The class, or a function that returns it."""
    plugin: str
    """Name of the plugin."""

    def load(self) -> type[Any]:
        """The class."""
        if isinstance(self.controller, type):
            return self.controller
        found: type[Any] = self.controller()
        return found


class Plugins:
    """Plugins and what they registered."""

    def __init__(self) -> None:
        self.manager = pluggy.PluginManager(hooks.PROJECT)
        self.manager.add_hookspecs(hooks)
        self.controllers: dict[str, Registered] = {}

    def add(self, plugin: Any, name: str) -> None:
        """Take a plugin in.

        Raises:
            PluginError: it is there already, a hook has another name or other arguments, or
                something that it registers is there already.
        """
        try:
            self.manager.register(plugin, name)
            self.manager.check_pending()
            self._take_over(plugin)
        except (ValueError, pluggy.PluginValidationError) as error:
            self._drop(plugin)
            raise PluginError(f"Plugin '{name}' cannot be used: {error}") from error
        except PluginError:
            self._drop(plugin)
            raise

    def add_file(self, path: str | Path) -> None:
        """Take in a plugin that is a Python file."""
        path = Path(path)
        if not path.is_file():
            raise PluginError(f"There is no plugin file '{path}'.")
        spec = importlib.util.spec_from_file_location(f"softctl_plugin_{path.stem}", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        self.add(module, str(path))

    def load_entry_points(self) -> None:
        """Take in the plugins of installed packages, unless SOFTCTL_PLUGINS=0."""
        if os.environ.get("SOFTCTL_PLUGINS", "1") == "0":
            return
        before = set(self.manager.get_plugins())
        self.manager.load_setuptools_entrypoints(hooks.PROJECT)
        for plugin in self.manager.get_plugins() - before:
            self._take_over(plugin)

    @property
    def names(self) -> list[str]:
        """Names of the plugins, in order of registration."""
        return [name for name, _ in self.manager.list_name_plugin()]

    def _drop(self, plugin: Any) -> None:
        if self.manager.is_registered(plugin):
            self.manager.unregister(plugin)

    def _take_over(self, plugin: Any) -> None:
        """Call the plugin's hooks."""
        for hook, register in (
            (self.manager.hook.softctl_register_controllers, self._register_controller(plugin)),
            (self.manager.hook.softctl_register_qp_solvers, _register_qp_solver),
            (self.manager.hook.softctl_register_components, _register_component),
        ):
            for implementation in hook.get_hookimpls():
                if implementation.plugin is plugin:
                    implementation.function(register)

    def _register_controller(self, plugin: Any) -> Callable[[str, Callable[..., Any]], None]:
        owner = self.manager.get_name(plugin) or str(plugin)

        def register(name: str, controller: Callable[..., Any]) -> None:
            other = self.controllers.get(name)
            if other is not None:
                raise PluginError(
                    f"Plugins '{other.plugin}' and '{owner}' both register a controller '{name}'. "
                    "Rename one of them."
                )
            self.controllers[name] = Registered(controller, owner)

        return register


def _register_qp_solver(name: str, solve: Callable[..., Any]) -> None:
    from sofa_softctl.inverse import qp_solvers

    qp_solvers.register(name, solve)


def _register_component(component: type[Any]) -> None:
    from sofa_softctl.runtime import factory

    factory.register(component)


@cache
def plugins() -> Plugins:
    """The plugins of this process."""
    found = Plugins()
    found.add(_BuiltIn(), "built-in")
    found.load_entry_points()
    return found


def controller(name: str) -> type[Any]:
    """The controller class of that name, such as 'inverse'.

    Raises:
        PluginError: no plugin registered that name; the known ones are listed.
    """
    known = plugins().controllers
    if name not in known:
        raise PluginError(f"There is no controller '{name}'. Known: {', '.join(sorted(known))}.")
    return known[name].load()


class _BuiltIn:
    """The controllers of this package, which come through the same door as everybody's."""

    @hooks.hookimpl
    def softctl_register_controllers(
        self, register: Callable[[str, Callable[..., Any]], None]
    ) -> None:
        def inverse() -> type[Any]:
            from sofa_softctl.inverse.controller import InverseController

            return InverseController

        register("inverse", inverse)
