"""What mechanisms are declared from: joints, masses, springs, dampers, constraints, readings.

Units: m, kg, s, rad. A number may be a parameter's name instead, or `Scaled`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

WORLD = ""
"""The name of what does not move."""
EARTH = (0.0, 0.0, -9.81)
"""Gravity [m / s^2]."""


@dataclass(frozen=True)
class Scaled:
    """A number that is proportional to a parameter: factor * parameter."""

    parameter: str
    """Its name."""
    factor: float
    """[-], or what makes the units right."""


Number = float | str | Scaled
"""A number, the name of a parameter, or a multiple of a parameter."""


@dataclass(frozen=True)
class Joint:
    """A joint of one degree of freedom, and the frame that it moves.

    Its axes lie in its parent's as `turned` says, at `moved`, when its coordinate is zero.
    """

    name: str
    """Also of its coordinate, and of the frame that it carries."""
    parent: str = WORLD
    """Joint that carries it."""
    axis: Sequence[float] = (0.0, 0.0, 1.0)
    """It turns about, or slides along, this direction of its own axes; made a unit vector."""
    sliding: bool = False
    """Whether it slides."""
    moved: Sequence[float] = (0.0, 0.0, 0.0)
    """Its origin in its parent's axes [m]."""
    turned: Any = None
    """Its axes in its parent's, a rotation matrix, shape (3, 3); None: the same."""
    rigid: Number | None = None
    """Where it stays [rad] or [m], if it does not move: a length that is a parameter."""


@dataclass(frozen=True)
class Body:
    """A mass that a joint carries."""

    joint: str
    """Which."""
    mass: Number
    """[kg]."""
    center: Sequence[float] = (0.0, 0.0, 0.0)
    """Centre of mass in the joint's axes [m]."""
    gyration: Any = 0.0
    """Inertia about that centre divided by the mass [m^2]: one number, three, or shape (3, 3)."""


@dataclass(frozen=True)
class Spring:
    """A spring along a coordinate: energy stiffness (q - rest)^2 / 2."""

    joint: str
    """Which."""
    stiffness: Number
    """[N m / rad] or [N / m]."""
    rest: Number = 0.0
    """[rad] or [m]."""


@dataclass(frozen=True)
class Damper:
    """A damper along a coordinate: force -damping dq/dt."""

    joint: str
    """Which."""
    damping: Number
    """[N m s / rad] or [N s / m]."""


@dataclass(frozen=True)
class Pin:
    """Holds a point of one frame on a point of another: three equations."""

    one: str
    """Joint of the first frame."""
    at_one: Sequence[float] = (0.0, 0.0, 0.0)
    """Point in its axes [m]."""
    other: str = WORLD
    """Joint of the second frame."""
    at_other: Sequence[float] = (0.0, 0.0, 0.0)
    """Point in its axes [m]."""


@dataclass(frozen=True)
class Clamp:
    """Holds one frame on another, place and axes: six equations.

    The axes are held by x1.y2 = y1.z2 = z1.x2 = 0, which a frame turned by half a turn fulfils as
    well; a motion that starts clamped stays so.
    """

    one: str
    """Joint of the first frame."""
    at_one: Sequence[float] = (0.0, 0.0, 0.0)
    """Point in its axes [m]."""
    other: str = WORLD
    """Joint of the second frame."""
    at_other: Sequence[float] = (0.0, 0.0, 0.0)
    """Point in its axes [m]."""
    turned: Any = None
    """Axes of `one` in those of `other`, shape (3, 3); None: the same."""


@dataclass(frozen=True)
class Rod:
    """Holds two points at a distance: one equation."""

    one: str
    """Joint of the first frame."""
    at_one: Sequence[float]
    """Point in its axes [m]."""
    length: Number
    """[m], not zero: for that there is `Pin`."""
    other: str = WORLD
    """Joint of the second frame."""
    at_other: Sequence[float] = (0.0, 0.0, 0.0)
    """Point in its axes [m]."""


@dataclass(frozen=True)
class Point:
    """Where a marker is, in the world: three readings."""

    joint: str
    """Of the frame that carries it."""
    at: Sequence[float] = (0.0, 0.0, 0.0)
    """Place in its axes [m]."""


@dataclass(frozen=True)
class Distance:
    """The distance of two points, as a string's length: one reading."""

    one: str
    """Joint of the first frame."""
    at_one: Sequence[float]
    """Point in its axes [m]."""
    other: str = WORLD
    """Joint of the second frame."""
    at_other: Sequence[float] = (0.0, 0.0, 0.0)
    """Point in its axes [m]."""
