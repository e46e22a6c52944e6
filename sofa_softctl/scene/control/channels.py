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
from sofa_softctl.units import QUANTITIES

CONTACTS_KEPT = 64
"""Contacts of a step that a channel holds; zeros where there are fewer."""
_UNIT_IN_HELP = re.compile(rf"\[({'|'.join(QUANTITIES)})\]\.?$")


@dataclass(frozen=True)
class DataChannel:
    """One Data that is read after every step."""

    name: str
    """Path of the Data, such as 'trunk/tip/dofs.position'."""
    data: Any
    """The Data; None once its component was removed."""
    unit: str
    """Unit in words, such as 'length'."""
    shape: tuple[int, ...] | None
    """Shape of its value; None: a text."""
    help: str
    """What it means."""
    kept: bool = False
    """Whether the number of its entries may change: as many are kept as `shape` says."""
    _warned: list[bool] = field(default_factory=list, compare=False, repr=False)

    def read(self) -> np.ndarray | str:
        """The present value.

        Where the number of entries may change, cut or filled with zeros. NaN, with one warning,
        where its shape has changed although it must not; without one where it was removed.
        """
        if self.data is None:
            return "" if self.shape is None else np.full(self.shape, np.nan)
        if self.shape is None:
            return str(self.data.value)
        found: np.ndarray = np.asarray(self.data.value, dtype=float)
        if found.shape == self.shape:
            return found
        if not self.kept:
            return self._changed(found.shape)
        filled = np.zeros(self.shape)
        kept = min(len(found), len(filled))
        filled[:kept] = found[:kept].reshape(kept, *self.shape[1:])
        return filled

    def _changed(self, shape: tuple[int, ...]) -> np.ndarray:
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
    """Channels of a scene: positions, cables, von Mises stresses that it computes, controllers.

    A controller lists its own in the dict `recorded`, name of a Data -> (unit in words, meaning),
    of its class or of itself, and in `recorded_contacts` those for scenes that find contacts. Where
    the number of a Data's entries changes from step to step, a third value says how many are kept.
    Texts among its Data are recorded besides. Of a controller without `recorded`, all numbers and
    texts are that its class, or the scene, added as Data.
    """
    found: list[DataChannel] = []
    contacts = any(e.getClassName() == "CollisionPipeline" for e in root.objects)
    kind_of_controllers: Any = find_backend().Sofa.Core.Controller
    plain = {data.getName() for data in kind_of_controllers(name="plain").getDataFields()}
    for node in nodes_of(root):
        for entry in node.objects:
            kind = entry.getClassName()
            if kind == "MechanicalObject":
                found.append(_channel(entry, "position", "length", "Position of each node"))
            elif isinstance(entry, kind_of_controllers):
                found += _of_controller(entry, contacts, plain)
            elif kind.startswith("Cable") and all(map(entry.findData, ("force", "displacement"))):
                found.append(_channel(entry, "force", "lambda", "Multiplier, as SOFA has it"))
                found.append(_channel(entry, "displacement", "length", "Length pulled in"))
            elif kind.startswith("SurfacePressure") and entry.findData("volumeGrowth"):
                found.append(_channel(entry, "pressure", "lambda", "Multiplier, as SOFA has it"))
                growth = "Growth of the volume"
                found.append(_channel(entry, "volumeGrowth", "volume", growth))
            elif kind == "TetrahedronFEMForceField" and int(entry.computeVonMisesStress.value):
                for name, what in (("vonMisesPerElement", "element"), ("vonMisesPerNode", "node")):
                    help = f"Von Mises stress of each {what}"
                    found.append(_channel(entry, name, "pressure", help))
    return found


def _of_controller(controller: Any, contacts: bool, plain: set[str]) -> Iterator[DataChannel]:
    """Channels of a Python controller; `plain`: names of Data that every controller has."""
    own, touching = (
        named if isinstance(named := _attribute(controller, name), dict) else None
        for name in ("recorded", "recorded_contacts")
    )
    listed = (own or {}) | (touching or {} if contacts else {})
    for name, (unit, help, *most) in listed.items():
        channel = _channel(controller, name, unit, help)
        if most:
            shape = (*most, *(channel.shape or ())[1:])
            channel = replace(channel, shape=shape, kept=True)
        yield channel
    for data in controller.getDataFields():
        name = data.getName()
        value = np.asarray(data.value)
        text = value.dtype.kind == "U" and not value.ndim
        if name in plain or name in listed or not (text or value.dtype.kind in "biuf"):
            continue
        if text or own is None:
            unit = _UNIT_IN_HELP.search(data.getHelp())
            yield _channel(controller, name, unit[1] if unit else "", data.getHelp())


def _attribute(controller: Any, name: str) -> Any:
    """Its own, or that of its class; SOFA would look for a Data first, and warn of none."""
    return vars(controller).get(name, getattr(type(controller), name, None))


def _channel(component: Any, name: str, unit: str, help: str) -> DataChannel:
    data = component.findData(name)
    if data is None:
        known = [data.getName() for data in component.getDataFields()]
        raise SceneError(
            f"{component.getClassName()} '{component.getPathName()}' has '{name}' in its "
            f"`recorded`, and no Data of that name.{did_you_mean(name, known)}"
        )
    path = f"{path_of(component)}.{name}"
    shape = None if isinstance(data.value, str) else np.shape(data.value)
    return DataChannel(path, data, unit, shape, help)
