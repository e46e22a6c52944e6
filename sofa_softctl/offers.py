"""What plugins bring, by kind: checked when it is registered, added when all of it is valid.

A further kind of thing is one line of `REGISTRIES`; a further hook, one of `HOOKS` and a method.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from pkgutil import resolve_name
from typing import Any

from sofa_softctl.base.registry import Registry
from sofa_softctl.errors import PluginError, SceneError

BUILT_IN = "built-in"
"""Name that stands for this package among plugins."""


def _checked_controller(name: str, controller: Any) -> type[Any]:
    """The class of a controller, which a function may return."""
    return _as_controller(name, controller, CONTROLLERS.plugin_of(name))


CONTROLLERS: Registry[type[Any]] = Registry(
    "controller",
    {
        "bridge": "bridge.controller:HardwareBridge",
        "identification": "identification.online.controller:IdentificationController",
        "inverse": "inverse.controller:InverseController",
        "library": "library.playing.controller:LibraryController",
        "policy": "learning.policy.controller:PolicyController",
        "surrogate": "surrogate.scene.controller:SurrogateController",
    },
    check=_checked_controller,
)
"""Classes of controllers, or functions that return one; loaded when they are asked for."""

REGISTRIES = {
    "controller": "offers:CONTROLLERS",
    "QP solver": "qp.solvers:DENSE",
    "sparse QP solver": "qp.solvers:SPARSE",
    "component": "runtime.core:COMPONENTS",
    "device": "bridge.registry:DEVICES",
}
"""What plugins bring: kind, and the registry of it."""


def registry_of(kind: str) -> Registry[Any]:
    """Return the registry of a kind of thing."""
    registry: Registry[Any] = resolve_name(f"sofa_softctl.{REGISTRIES[kind]}")
    return registry


def brought_by(plugin: str) -> dict[str, list[str]]:
    """Return the names of what a plugin brought, by kind; kinds without any are left out.

    What no plugin brought is built in.
    """
    found = {}
    for kind in REGISTRIES:
        registry = registry_of(kind)
        names = [n for n in registry.names() if (registry.plugin_of(n) or BUILT_IN) == plugin]
        if names:
            found[kind] = sorted(names)
    return found


def owners_of(name: str) -> list[tuple[str, str]]:
    """Return kind and plugin of everything of that name."""
    registries = {kind: registry_of(kind) for kind in REGISTRIES}
    return [
        (kind, registry.plugin_of(name) or BUILT_IN)
        for kind, registry in registries.items()
        if registry.has(name)
    ]


class Offers:
    """Registrations of one plugin."""

    def __init__(self, plugin: str) -> None:
        self.plugin = plugin
        self.things: dict[tuple[str, str], Any] = {}
        """By kind and name."""

    def register(self, hook: str) -> Callable[..., None]:
        """The function that a plugin is given for a hook."""
        method = HOOKS[hook].__get__(self)
        signature = inspect.signature(method)

        def register(*args: Any, **options: Any) -> None:
            try:
                signature.bind(*args, **options)
            except TypeError as error:
                raise PluginError(
                    f"Plugin '{self.plugin}': {hook} calls register with wrong arguments: "
                    f"{error}. Expected: register({', '.join(_usage(signature))})."
                ) from error
            method(*args, **options)

        return register

    def take(self) -> None:
        """Add everything."""
        for (kind, name), thing in self.things.items():
            registry_of(kind).add(name, thing, self.plugin)

    def _claim(self, kind: str, name: str, thing: Any) -> None:
        if not isinstance(name, str) or not name:
            raise PluginError(
                f"Plugin '{self.plugin}': the name of a {kind} must be a text, got {name!r}."
            )
        if (kind, name) in self.things:
            raise PluginError(f"Plugin '{self.plugin}' registers a {kind} '{name}' twice.")
        registry = registry_of(kind)
        if registry.has(name) or name.startswith(registry.reserved):
            raise PluginError(
                f"Plugins '{registry.plugin_of(name) or BUILT_IN}' and '{self.plugin}' both "
                f"register a {kind} '{name}'. Rename one of them."
            )
        self.things[kind, name] = thing

    def controller(self, name: str, controller: Callable[..., Any]) -> None:
        """See `hooks.softctl_register_controllers`."""
        if not callable(controller):
            raise PluginError(
                f"Plugin '{self.plugin}': controller '{name}' must be a class or a function that "
                f"returns one, got {controller!r}."
            )
        if isinstance(controller, type):
            _as_controller(name, controller, self.plugin)
        self._claim("controller", name, controller)

    def qp_solver(self, name: str, solve: Callable[..., Any], *, sparse: bool = False) -> None:
        """See `hooks.softctl_register_qp_solvers`."""
        kind = "sparse QP solver" if sparse else "QP solver"
        if not callable(solve):
            raise PluginError(
                f"Plugin '{self.plugin}': {kind} '{name}' must be a function "
                f"(qp, warm) -> QPResult, got {solve!r}."
            )
        self._claim(kind, name, solve)

    def component(self, component: type[Any]) -> None:
        """See `hooks.softctl_register_components`."""
        from sofa_softctl.runtime.core import factory

        try:
            names = factory.names_of(component)
        except SceneError as error:
            raise PluginError(f"Plugin '{self.plugin}': {error}") from error
        missing = sorted(getattr(component, "__abstractmethods__", ()))
        if missing:
            raise PluginError(
                f"Plugin '{self.plugin}': no scene can make a {component.__name__}, which lacks "
                f"the methods {', '.join(missing)}."
            )
        for name in names:
            self._claim("component", name, component)

    def device(self, name: str, device: type[Any]) -> None:
        """See `hooks.softctl_register_devices`."""
        from sofa_softctl.bridge.device import Device

        if not (isinstance(device, type) and issubclass(device, Device)):
            raise PluginError(
                f"Plugin '{self.plugin}': device '{name}' must be a subclass of "
                f"sofa_softctl.bridge.Device, got {device!r}."
            )
        if missing := sorted(device.__abstractmethods__):
            raise PluginError(
                f"Plugin '{self.plugin}': device '{name}' lacks the methods {', '.join(missing)}."
            )
        self._claim("device", name, device)


HOOKS: dict[str, Callable[..., None]] = {
    "softctl_register_controllers": Offers.controller,
    "softctl_register_qp_solvers": Offers.qp_solver,
    "softctl_register_components": Offers.component,
    "softctl_register_devices": Offers.device,
}
"""Hooks, and what their `register` does."""


def _as_controller(name: str, controller: Any, plugin: str) -> type[Any]:
    """Return the class of a controller; without Sofa there can be none.

    Raises:
        PluginError: it is none.
    """
    found = controller if isinstance(controller, type) else controller()
    core: Any = sys.modules.get("Sofa.Core")
    if isinstance(found, type) and core is not None and issubclass(found, core.Controller):
        return found
    shown = f"the class {found.__name__}, which is none" if isinstance(found, type) else repr(found)
    raise PluginError(
        f"Plugin '{plugin or BUILT_IN}': controller '{name}' must be a subclass of "
        f"Sofa.Core.Controller, or of sofa_softctl.SceneController; got {shown}."
    )


def _usage(signature: inspect.Signature) -> list[str]:
    """Arguments as a call writes them."""
    return [
        name if entry.default is entry.empty else f"{name}={entry.default}"
        for name, entry in signature.parameters.items()
    ]
