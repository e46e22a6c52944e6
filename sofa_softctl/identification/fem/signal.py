"""What is recorded of a FEM robot: what drove its cables, markers on it, lengths of cables."""

from __future__ import annotations

from dataclasses import dataclass

from sofa_softctl.identification.experiment import Channel


@dataclass(frozen=True)
class Drive:
    """A cable whose tension or displacement was recorded."""

    name: str
    """Of the column."""
    cable: str
    """Path of the cable in the scene."""
    by_length: bool = False
    """Whether the length pulled in was recorded, counted from the cable at rest; else tension."""
    deviation: float = 0.0
    """Standard deviation of its noise [force or length]; 0: exact."""


@dataclass(frozen=True)
class Marker:
    """A point of the robot whose position was measured: columns name.x, name.y, name.z.

    It is the point of a state (`state`), or one that the mesh carries from rest on (`at`); a point
    outside the mesh moves with the tetrahedron whose centre is nearest.
    """

    name: str
    """Of the marker."""
    at: tuple[float, float, float] | None = None
    """Where it sits on the mesh at rest [length]."""
    state: str | None = None
    """Path of a node whose state is measured instead, such as "/finger/tip"."""
    index: int = 0
    """Point of that state."""
    deviation: float = 1.0
    """Standard deviation of its noise along each axis [length]."""

    def channels(self, unit: str) -> tuple[Channel, ...]:
        """Its three columns."""
        return tuple(Channel(f"{self.name}.{axis}", unit, self.deviation) for axis in "xyz")


@dataclass(frozen=True)
class CableLength:
    """A cable whose length was measured."""

    name: str
    """Of the column."""
    cable: str
    """Path of the cable in the scene."""
    deviation: float = 1.0
    """Standard deviation of its noise [length]."""

    def channels(self, unit: str) -> tuple[Channel, ...]:
        """Its column."""
        return (Channel(self.name, unit, self.deviation),)
