"""Channels of a recording: positions, actuators, Data of controllers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sofa_softctl.base.suggestions import did_you_mean
from sofa_softctl.errors import SceneError
from sofa_softctl.scene.backend.backend import find_backend
from sofa_softctl.scene.graph.nodes import nodes_of, path_of

STRESSED = ("AssumedStrainFEMForceField", "TetrahedronFEMForceField")
"""Force fields whose stresses are recorded if they compute them."""
_UNIT_IN_HELP = re.compile(r"\[([A-Za-z%][^\[\],]*)\]\.?$")
"""Quantity or unit at the end of a help, such as [length] or [N m]."""


@dataclass(frozen=True)
class DataChannel:
    """A Data that is read after every step."""

    name: str
    """Path of the Data, such as 'trunk/tip/dofs.position'."""
    data: Any
    """The Data, or None after the removal of its component."""
    unit: str
    """Quantity, such as 'length'."""
    shape: tuple[int, ...] | None
    """Shape of the value, or None for a text."""
    help: str
    """Meaning of the values."""
    has_varying_length: bool = False
    """Whether the number of entries may change; `shape` says how many are recorded."""
    _warned: list[bool] = field(default_factory=list, compare=False, repr=False)

    def read(self) -> np.ndarray | str:
        """Return the present value.

        A varying number of entries is cut or filled with zeros. The value is NaN after removal
        and, with one warning, after another change of shape.
        """
        if self.data is None:
            return "" if self.shape is None else np.full(self.shape, np.nan)
        if self.shape is None:
            return str(self.data.value)
        value: np.ndarray = np.asarray(self.data.value, dtype=float)
        if value.shape == self.shape:
            return value
        if not self.has_varying_length:
            return self._warn_of_shape(value.shape)
        resized = np.zeros(self.shape)
        count = min(len(value), len(resized))
        resized[:count] = value[:count].reshape(count, *self.shape[1:])
        return resized

    def _warn_of_shape(self, shape: tuple[int, ...]) -> np.ndarray:
        assert self.shape is not None
        if not self._warned:
            self._warned.append(True)
            Sofa: Any = find_backend().Sofa
            Sofa.msg_warning(
                self.name,
                f"had shape {self.shape} when the recording began, and has {shape} now: it is "
                "recorded as NaN in such steps. Keep one shape, or list it in the controller's "
                "`recorded` with the number of entries to keep.",
            )
        return np.full(self.shape, np.nan)


def channels_of(root: Any) -> list[DataChannel]:
    """Return the channels of a scene: positions, cables, von Mises stresses, controllers.

    A controller, or its class, lists channels in the dict `recorded`, name of a Data -> (quantity,
    meaning), and in `recorded_contacts` those for scenes that detect contacts. For a varying
    number of entries, a third value says how many are recorded. Texts among its Data are recorded
    in addition; without `recorded`, all numbers and texts that its class or the scene added.
    """
    channels: list[DataChannel] = []
    contacts = any(e.getClassName() == "CollisionPipeline" for e in root.objects)
    kind_of_controllers: Any = find_backend().Sofa.Core.Controller
    plain = {data.getName() for data in kind_of_controllers(name="plain").getDataFields()}
    for node in nodes_of(root):
        for component in node.objects:
            kind = component.getClassName()
            if kind == "MechanicalObject":
                channels.append(_channel(component, "position", "length", "Position of each node"))
            elif isinstance(component, kind_of_controllers):
                channels += _controller_channels(component, contacts, plain)
            elif kind.startswith("Cable") and all(
                map(component.findData, ("force", "displacement"))
            ):
                channels.append(
                    _channel(component, "force", "lambda", "Multiplier, as SOFA has it")
                )
                channels.append(_channel(component, "displacement", "length", "Length pulled in"))
            elif kind.startswith("SurfacePressure") and component.findData("volumeGrowth"):
                channels.append(
                    _channel(component, "pressure", "lambda", "Multiplier, as SOFA has it")
                )
                growth = "Growth of the volume"
                channels.append(_channel(component, "volumeGrowth", "volume", growth))
            elif kind in STRESSED and int(component.computeVonMisesStress.value):
                for name, item in (("vonMisesPerElement", "element"), ("vonMisesPerNode", "node")):
                    help = f"Von Mises stress of each {item}"
                    channels.append(_channel(component, name, "pressure", help))
                if component.findData("strainEnergyPerElement"):
                    help = "Strain energy of each element"
                    channels.append(_channel(component, "strainEnergyPerElement", "energy", help))
    return channels


def _controller_channels(controller: Any, contacts: bool, plain: set[str]) -> Iterator[DataChannel]:
    """Return the channels of a controller; `plain`: names of Data that every controller has."""
    default_names, contact_names = (
        table if isinstance(table := _attribute(controller, name), dict) else None
        for name in ("recorded", "recorded_contacts")
    )
    listed = (default_names or {}) | (contact_names or {} if contacts else {})
    for name, (unit, help, *counts) in listed.items():
        channel = _channel(controller, name, unit, help)
        if counts:
            shape = (*counts, *(channel.shape or ())[1:])
            channel = replace(channel, shape=shape, has_varying_length=True)
        yield channel
    for data in controller.getDataFields():
        name = data.getName()
        value = np.asarray(data.value)
        is_text = value.dtype.kind == "U" and not value.ndim
        if name in plain or name in listed or not (is_text or value.dtype.kind in "biuf"):
            continue
        if is_text or default_names is None:
            unit = _UNIT_IN_HELP.search(data.getHelp())
            yield _channel(controller, name, unit[1] if unit else "", data.getHelp())


def _attribute(controller: Any, name: str) -> Any:
    """Return an attribute of a controller or its class, without SOFA's search for a Data."""
    return vars(controller).get(name, getattr(type(controller), name, None))


def _channel(component: Any, name: str, unit: str, help: str) -> DataChannel:
    data = component.findData(name)
    if data is None:
        names = [data.getName() for data in component.getDataFields()]
        raise SceneError(
            f"{component.getClassName()} '{component.getPathName()}' has '{name}' in its "
            f"`recorded`, and no Data of that name.{did_you_mean(name, names)}"
        )
    path = f"{path_of(component)}.{name}"
    shape = None if isinstance(data.value, str) else np.shape(data.value)
    return DataChannel(path, data, unit, shape, help)
