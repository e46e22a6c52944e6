"""What plugins bring, by kind: checked when it is registered, and whose it is.

A further kind of thing is one line of `KINDS`; a further hook, one of `HOOKS` and a method.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from sofa_softctl.bridge import registry as bridge_registry
from sofa_softctl.bridge.device import Device
from sofa_softctl.errors import PluginError, SceneError
from sofa_softctl.qp import solvers
from sofa_softctl.runtime.core import factory

BUILT_IN = "built-in"
"""Name of the plugin that is this package itself."""


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
            PluginError: it is no controller.
        """
        found = self.controller
        if not isinstance(found, type):
            found = found()
        if not _is_controller(found):
            raise PluginError(
                f"Plugin '{self.plugin}': controller '{self.name}' must be a subclass of "
                f"Sofa.Core.Controller, or of sofa_softctl.SceneController; got {_shown(found)}."
            )
        return found


class Catalogue:
    """What plugins brought."""

    def __init__(self) -> None:
        self.controllers: dict[str, Registered] = {}
        self.owners: dict[tuple[str, str], str] = {}
        """Plugin that brought each thing, by its kind and name."""

    def brought(self, plugin: str) -> dict[str, list[str]]:
        """Names of what a plugin brought, by kind; kinds of which it brought nothing are left out.

        What no plugin brought is built in.
        """
        found = {}
        for kind, known in KINDS.items():
            names = [n for n in known(self) if self.owners.get((kind, n), BUILT_IN) == plugin]
            if names:
                found[kind] = sorted(names)
        return found

    def owners_of(self, name: str) -> list[tuple[str, str]]:
        """Kind and plugin of everything of that name."""
        return [
            (kind, self.owners.get((kind, name), BUILT_IN))
            for kind, known in KINDS.items()
            if name in known(self)
        ]


KINDS: dict[str, Callable[[Catalogue], Iterable[str]]] = {
    "controller": lambda catalogue: catalogue.controllers,
    "QP solver": lambda catalogue: solvers.qp_solvers,
    "sparse QP solver": lambda catalogue: solvers.sparse_qp_solvers,
    "component": lambda catalogue: factory.components(),
    "device": lambda catalogue: bridge_registry.devices,
}
"""What plugins bring: kind, and the names of all that there are, built-in ones too."""


class Offers:
    """Registrations of one plugin: checked at the call, added when all are valid."""

    def __init__(self, catalogue: Catalogue, plugin: str) -> None:
        self.catalogue = catalogue
        self.plugin = plugin
        self.names: set[tuple[str, str]] = set()
        self.taken: list[Callable[[], None]] = []

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
        """Take everything in."""
        for take in self.taken:
            take()
        self.catalogue.owners.update(dict.fromkeys(self.names, self.plugin))

    def _claim(self, kind: str, name: str, *, reserved: bool = False) -> None:
        if not isinstance(name, str) or not name:
            raise PluginError(
                f"Plugin '{self.plugin}': the name of a {kind} must be a text, got {name!r}."
            )
        if (kind, name) in self.names:
            raise PluginError(f"Plugin '{self.plugin}' registers a {kind} '{name}' twice.")
        owner = self.catalogue.owners.get((kind, name))
        if owner is None and (reserved or name in KINDS[kind](self.catalogue)):
            owner = BUILT_IN
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
        entry = Registered(name, controller, self.plugin)
        if isinstance(controller, type):
            entry.load()
        self._claim("controller", name)
        self.taken.append(lambda: self.catalogue.controllers.update({name: entry}))

    def qp_solver(self, name: str, solve: Callable[..., Any], *, sparse: bool = False) -> None:
        """See `hooks.softctl_register_qp_solvers`."""
        kind = "sparse QP solver" if sparse else "QP solver"
        if not callable(solve):
            raise PluginError(
                f"Plugin '{self.plugin}': {kind} '{name}' must be a function "
                f"(qp, warm) -> QPResult, got {solve!r}."
            )
        self._claim(kind, name, reserved=str(name).startswith(solvers.ADAPTED))
        self.taken.append(lambda: solvers.register(name, solve, sparse=sparse, plugin=self.plugin))

    def component(self, component: type[Any]) -> None:
        """See `hooks.softctl_register_components`."""
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
            self._claim("component", name)
        self.taken.append(lambda: factory.register(component, plugin=self.plugin))

    def device(self, name: str, device: type[Any]) -> None:
        """See `hooks.softctl_register_devices`."""
        if not (isinstance(device, type) and issubclass(device, Device)):
            raise PluginError(
                f"Plugin '{self.plugin}': device '{name}' must be a subclass of "
                f"sofa_softctl.bridge.Device, got {device!r}."
            )
        if missing := sorted(device.__abstractmethods__):
            raise PluginError(
                f"Plugin '{self.plugin}': device '{name}' lacks the methods {', '.join(missing)}."
            )
        self._claim("device", name)
        self.taken.append(lambda: bridge_registry.devices.update({name: device}))


HOOKS: dict[str, Callable[..., None]] = {
    "softctl_register_controllers": Offers.controller,
    "softctl_register_qp_solvers": Offers.qp_solver,
    "softctl_register_components": Offers.component,
    "softctl_register_devices": Offers.device,
}
"""Hooks, and what their `register` does."""


def _is_controller(found: Any) -> bool:
    """Whether it is a class of controllers; without Sofa there can be none."""
    core: Any = sys.modules.get("Sofa.Core")
    return isinstance(found, type) and core is not None and issubclass(found, core.Controller)


def _shown(found: Any) -> str:
    if not isinstance(found, type):
        return repr(found)
    return f"the class {found.__name__}, which is none"


def _usage(signature: inspect.Signature) -> list[str]:
    """Arguments as a call writes them."""
    return [
        name if entry.default is entry.empty else f"{name}={entry.default}"
        for name, entry in signature.parameters.items()
    ]
