"""Drives and sensors of a FEM problem, and the outputs of its sensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sparse

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.model.channel import Channel
from sofa_softctl.scene.copies.step_model import StepModel, StepOutputs
from sofa_softctl.units import Units, symbol


@dataclass(frozen=True)
class Drive:
    """A cable whose tension or displacement was recorded."""

    name: str
    """Name of the column."""
    cable: str
    """Path of the cable in the scene."""
    by_length: bool = False
    """Whether displacement from rest was recorded; otherwise tension."""
    deviation: float = 0.0
    """Standard deviation of its noise [force or length]; 0: exact."""

    @property
    def path(self) -> str:
        """Path of the driving component."""
        return self.cable

    @property
    def by_displacement(self) -> bool:
        """True if a length is imposed, not a force."""
        return self.by_length

    @property
    def quantity(self) -> str:
        """Recorded quantity, which defines the unit."""
        return "length" if self.by_length else "force"

    lam: ClassVar[str] = "force"
    """Data of the cable with its multiplier."""


@dataclass(frozen=True)
class PressureDrive:
    """A cavity whose pressure or growth of volume was recorded."""

    name: str
    """Name of the column."""
    cavity: str
    """Path of the SurfacePressureConstraint in the scene."""
    by_volume: bool = False
    """Whether the growth of the volume since rest was recorded; otherwise the pressure."""
    deviation: float = 0.0
    """Standard deviation of its noise [pressure or length^3]; 0: exact."""

    @property
    def path(self) -> str:
        """Path of the driving component."""
        return self.cavity

    @property
    def by_displacement(self) -> bool:
        """True if a volume is imposed, not a pressure."""
        return self.by_volume

    @property
    def quantity(self) -> str:
        """Recorded quantity, which defines the unit."""
        return "volume" if self.by_volume else "pressure"

    lam: ClassVar[str] = "pressure"
    """Data of the cavity with its multiplier."""


@dataclass(frozen=True)
class Marker:
    """A point of the robot whose position was measured: columns name.x, name.y, name.z.

    A point of a state (`state`), or a material point of the mesh (`at`); a point outside the mesh
    moves with the tetrahedron of nearest centre.
    """

    name: str
    """Name of the marker."""
    at: tuple[float, float, float] | None = None
    """Position on the mesh at rest [length]."""
    state: str | None = None
    """Path of a node whose state is measured, such as "/finger/tip"."""
    index: int = 0
    """Index of the point in that state."""
    deviation: float = 1.0
    """Standard deviation of its noise along each axis [length]."""

    def channels(self, units: Units | None) -> tuple[Channel, ...]:
        """Return the three columns of the marker, in the units of the scene."""
        unit = symbol(units, "length")
        return tuple(Channel(f"{self.name}.{axis}", unit, self.deviation) for axis in "xyz")


@dataclass(frozen=True)
class CableLength:
    """A cable whose length was measured."""

    name: str
    """Name of the column."""
    cable: str
    """Path of the cable in the scene."""
    deviation: float = 1.0
    """Standard deviation of its noise [length]."""

    @property
    def path(self) -> str:
        """Path of what is measured."""
        return self.cable

    def channels(self, units: Units | None) -> tuple[Channel, ...]:
        """Return the column of the sensor, in the units of the scene."""
        return (Channel(self.name, symbol(units, "length"), self.deviation),)


@dataclass(frozen=True)
class CavityVolume:
    """A cavity whose volume was measured."""

    name: str
    """Name of the column."""
    cavity: str
    """Path of the SurfacePressureConstraint in the scene."""
    deviation: float = 1.0
    """Standard deviation of its noise [length^3]."""

    @property
    def path(self) -> str:
        """Path of what is measured."""
        return self.cavity

    def channels(self, units: Units | None) -> tuple[Channel, ...]:
        """Return the column of the sensor, in the units of the scene."""
        return (Channel(self.name, symbol(units, "volume"), self.deviation),)


Sensor = Marker | CableLength | CavityVolume

ASIDE, FAR = 0.05, 0.5
"""Distances of a marker from the mesh, relative to its size, that are noted and refused [-]."""


@dataclass(frozen=True, eq=False)
class Sensing:
    """Outputs of steps, and their order in the channels of a problem."""

    outputs: StepOutputs
    """Outputs of a step: all markers, in the scene's frame, then lengths and volumes."""
    places: np.ndarray
    """Index of each channel in these, shape (n_y,)."""
    xyz: np.ndarray
    """Channels of each marker, shape (n_markers, 3)."""


def sensing_of(model: StepModel, sensors: Sequence[Sensor]) -> Sensing:
    """Return the outputs of the sensors of a scene.

    Raises:
        IdentificationError: A marker has neither `at` nor `state`, or both.
        SceneError: A node, cable or cavity is not in the scene.
    """
    markers = [sensor for sensor in sensors if isinstance(sensor, Marker)]
    points = [
        sparse.csr_array((0, model.step.size)),
        *(point(model, marker) for marker in markers),
    ]
    places: list[int] = []
    xyz: list[list[int]] = []
    measured: list[Any] = []
    for sensor in sensors:
        if isinstance(sensor, Marker):
            xyz.append([len(places) + axis for axis in range(3)])
            places += [3 * (len(xyz) - 1) + axis for axis in range(3)]
        else:
            places.append(3 * len(markers) + len(measured))
            measured.append(model.drive(sensor.path))
    stacked = sparse.csr_array(sparse.vstack(points, format="csr"))
    outputs = StepOutputs(model.step, stacked, measured)
    return Sensing(outputs, np.array(places), np.array(xyz, dtype=int).reshape(-1, 3))


def point(model: StepModel, marker: Marker) -> sparse.csr_array:
    """Return the weights of the robot's nodes in a marker, shape (1, n).

    Raises:
        IdentificationError: It has neither `at` nor `state`, or both.
        SceneError: The node is not in the scene.
    """
    if (marker.at is None) == (marker.state is None):
        raise IdentificationError(
            f"Marker '{marker.name}' needs either 'at', a place on the mesh, or 'state', a node."
        )
    if marker.state is not None:
        return model.point(marker.state, marker.index)
    return model.carrier_weights(np.array([marker.at]))


def check_markers(model: StepModel, sensors: Sequence[Sensor], units: Units | None) -> list[str]:
    """Return notes on markers off the mesh by more than a twentieth of its size.

    Raises:
        IdentificationError: A marker is off by more than half of it.
    """
    notes = []
    markers = [sensor for sensor in sensors if isinstance(sensor, Marker)]
    if not markers or not model.solids:
        return []
    weights = sparse.csr_array(sparse.vstack([point(model, marker) for marker in markers]))
    unit = symbol(units, "length")
    for marker, position, away in zip(
        markers, weights @ model.step.x0, model.mesh_distance(weights), strict=True
    ):
        place = ", ".join(f"{value:.4g}" for value in position)
        text = (
            f"marker '{marker.name}' at ({place}) is {away:.3g} {unit} outside the robot's mesh, "
            f"which is {model.extent:.3g} {unit} long"
        )
        if away > FAR * model.extent:
            low, high = (np.round(f(model.step.x0, axis=0), 3).tolist() for f in (np.min, np.max))
            raise IdentificationError(
                f"{text[0].upper()}{text[1:]}. Give its position on the robot in the scene's frame "
                f"and unit: the mesh lies between {low} and {high}."
            )
        if away > ASIDE * model.extent:
            notes.append(f"{text}: it is taken to move with the nearest tetrahedron")
    return notes
