"""Registrations of plugins by kind, checked immediately and added if all of a plugin are valid.

A new kind needs a line of `REGISTRIES`; a new hook needs a line of `HOOKS` and a method.
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
"""Name of this package among plugins."""


def _checked_controller(name: str, controller: Any) -> type[Any]:
    """Return the class of a controller, given directly or by a function that returns it."""
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
"""Classes of controllers, or functions that return one; loaded at their first use."""

REGISTRIES = {
    "controller": "offers:CONTROLLERS",
    "QP solver": "qp.solvers:DENSE",
    "sparse QP solver": "qp.solvers:SPARSE",
    "component": "runtime.core:COMPONENTS",
    "device": "bridge.registry:DEVICES",
}
"""Registry of each kind that plugins can extend."""


def registry_of(kind: str) -> Registry[Any]:
    """Return the registry of a kind."""
    registry: Registry[Any] = resolve_name(f"sofa_softctl.{REGISTRIES[kind]}")
    return registry


def brought_by(plugin: str) -> dict[str, list[str]]:
    """Return the names that a plugin registered, by kind; kinds without names are left out.

    Names without plugin are built in.
    """
    names_by_kind = {}
    for kind in REGISTRIES:
        registry = registry_of(kind)
        names = [n for n in registry.names() if (registry.plugin_of(n) or BUILT_IN) == plugin]
        if names:
            names_by_kind[kind] = sorted(names)
    return names_by_kind


def owners_of(name: str) -> list[tuple[str, str]]:
    """Return kind and plugin of all entries of that name."""
    registries = {kind: registry_of(kind) for kind in REGISTRIES}
    return [
        (kind, registry.plugin_of(name) or BUILT_IN)
        for kind, registry in registries.items()
        if registry.has(name)
    ]


class PluginRegistrations:
    """Registrations of one plugin."""

    def __init__(self, plugin: str) -> None:
        self.plugin = plugin
        self.things: dict[tuple[str, str], Any] = {}
        """Registered entries by kind and name."""

    def register(self, hook: str) -> Callable[..., None]:
        """Return the function `register` that a hook of the plugin receives."""
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

    def commit(self) -> None:
        """Add all entries to their registries."""
        for (kind, name), entry in self.things.items():
            registry_of(kind).add(name, entry, self.plugin)

    def _claim(self, kind: str, name: str, entry: Any) -> None:
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
        self.things[kind, name] = entry

    def controller(self, name: str, controller: Callable[..., Any]) -> None:
        """Register a controller class, or a function that returns one."""
        if not callable(controller):
            raise PluginError(
                f"Plugin '{self.plugin}': controller '{name}' must be a class or a function that "
                f"returns one, got {controller!r}."
            )
        if isinstance(controller, type):
            _as_controller(name, controller, self.plugin)
        self._claim("controller", name, controller)

    def qp_solver(self, name: str, solve: Callable[..., Any], *, sparse: bool = False) -> None:
        """Register a QP solver."""
        kind = "sparse QP solver" if sparse else "QP solver"
        if not callable(solve):
            raise PluginError(
                f"Plugin '{self.plugin}': {kind} '{name}' must be a function "
                f"(qp, warm) -> QPResult, got {solve!r}."
            )
        self._claim(kind, name, solve)

    def component(self, component: type[Any]) -> None:
        """Register a component under its class name and aliases."""
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
        """Register a device class."""
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
    "softctl_register_controllers": PluginRegistrations.controller,
    "softctl_register_qp_solvers": PluginRegistrations.qp_solver,
    "softctl_register_components": PluginRegistrations.component,
    "softctl_register_devices": PluginRegistrations.device,
}
"""Method that each hook's `register` calls."""


def _as_controller(name: str, controller: Any, plugin: str) -> type[Any]:
    """Return the class of a controller; Sofa must be imported.

    Raises:
        PluginError: It is not a controller.
    """
    controller_class = controller if isinstance(controller, type) else controller()
    core: Any = sys.modules.get("Sofa.Core")
    if (
        isinstance(controller_class, type)
        and core is not None
        and issubclass(controller_class, core.Controller)
    ):
        return controller_class
    description = (
        f"the class {controller_class.__name__}, which is not"
        if isinstance(controller_class, type)
        else repr(controller_class)
    )
    raise PluginError(
        f"Plugin '{plugin or BUILT_IN}': controller '{name}' must be a subclass of "
        f"Sofa.Core.Controller, or of sofa_softctl.SceneController; got {description}."
    )


def _usage(signature: inspect.Signature) -> list[str]:
    """Return the arguments in the notation of a call."""
    return [
        name if parameter.default is parameter.empty else f"{name}={parameter.default}"
        for name, parameter in signature.parameters.items()
    ]
