"""Parts of mechanisms: joints, masses, springs, dampers, friction, constraints, readings.

Units: m, kg, s, rad. Any number may be replaced by the name of a parameter, or `Scaled`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

WORLD = ""
"""Name of the fixed frame."""
EARTH = (0.0, 0.0, -9.81)
"""Gravity [m / s^2]."""


@dataclass(frozen=True)
class Scaled:
    """A multiple of a parameter: constant + factor * parameter."""

    parameter: str
    """Name of the parameter."""
    factor: float
    """Factor [-], or with a unit."""
    constant: float = 0.0
    """Constant term."""


Number = float | str | Scaled
"""A number, the name of a parameter, or a multiple of a parameter."""


@dataclass(frozen=True)
class Joint:
    """A joint with one degree of freedom, and the frame that it moves.

    At zero, its frame has rotation `turned` and origin `moved` in the frame of its parent.
    """

    name: str
    """Name of the joint, its coordinate and its frame."""
    parent: str = WORLD
    """Name of the parent joint."""
    axis: Sequence[float] = (0.0, 0.0, 1.0)
    """Axis of rotation or translation in its own frame; normalised."""
    sliding: bool = False
    """Whether it is prismatic."""
    moved: Sequence[float] = (0.0, 0.0, 0.0)
    """Origin in the parent's frame [m]."""
    turned: Any = None
    """Rotation matrix in the parent's frame, shape (3, 3), by default the identity."""
    rigid: Number | None = None
    """Fixed coordinate [rad] or [m] of a joint that does not move, such as an unknown length."""


@dataclass(frozen=True)
class Body:
    """A mass that a joint carries."""

    joint: str
    """Name of the joint."""
    mass: Number
    """Mass [kg]."""
    center: Sequence[float] = (0.0, 0.0, 0.0)
    """Centre of mass in the joint's axes [m]."""
    gyration: Any = 0.0
    """Inertia about that centre divided by the mass [m^2]: one number, three, or shape (3, 3)."""


@dataclass(frozen=True)
class Spring:
    """A spring along a coordinate: energy stiffness (q - rest)^2 / 2."""

    joint: str
    """Name of the joint."""
    stiffness: Number
    """Stiffness [N m / rad] or [N / m]."""
    rest: Number = 0.0
    """Rest position [rad] or [m]."""


@dataclass(frozen=True)
class Damper:
    """A damper along a coordinate: force -damping dq/dt."""

    joint: str
    """Name of the joint."""
    damping: Number
    """Damping coefficient [N m s / rad] or [N s / m]."""


@dataclass(frozen=True)
class Friction:
    """Coulomb friction along a coordinate: force -friction tanh(v / speed), v = dq/dt.

    It is the same at all speeds well above `speed`. Below it is viscous, so that a joint at rest
    under a load creeps: the friction of a joint that sticks is not held exactly.
    """

    joint: str
    """Name of the joint."""
    friction: Number
    """Friction [N m] or [N]."""
    speed: float = 0.01
    """Speed at which it reaches tanh(1) = 76 % [rad / s] or [m / s]."""


@dataclass(frozen=True)
class Armature:
    """Inertia along a coordinate, such as a motor's rotor times the gear ratio squared.

    Its energy is inertia (dq/dt)^2 / 2, whatever moves the joint.
    """

    joint: str
    """Name of the joint."""
    inertia: Number
    """Inertia [kg m^2] or [kg]."""


@dataclass(frozen=True)
class Pin:
    """Fixes a point of one frame to a point of another: three equations."""

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
    """Fixes one frame to another, origin and axes: six equations.

    The equations of the axes, x1.y2 = y1.z2 = z1.x2 = 0, also hold after half a turn; a motion that
    starts clamped stays clamped.
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
    """Rotation of `one` in the frame of `other`, shape (3, 3), by default the identity."""


@dataclass(frozen=True)
class Rod:
    """Fixes the distance of two points: one equation."""

    one: str
    """Joint of the first frame."""
    at_one: Sequence[float]
    """Point in its axes [m]."""
    length: Number
    """Distance [m], not zero; for zero use `Pin`."""
    other: str = WORLD
    """Joint of the second frame."""
    at_other: Sequence[float] = (0.0, 0.0, 0.0)
    """Point in its axes [m]."""


@dataclass(frozen=True)
class Point:
    """Position of a marker in the world: three readings."""

    joint: str
    """Joint of the frame that carries it."""
    at: Sequence[float] = (0.0, 0.0, 0.0)
    """Position in that frame [m]."""


@dataclass(frozen=True)
class Distance:
    """Distance of two points, such as the length of a string: one reading."""

    one: str
    """Joint of the first frame."""
    at_one: Sequence[float]
    """Point in its axes [m]."""
    other: str = WORLD
    """Joint of the second frame."""
    at_other: Sequence[float] = (0.0, 0.0, 0.0)
    """Point in its axes [m]."""
