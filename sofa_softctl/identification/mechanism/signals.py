"""What drives a mechanism, what of it is measured, and where a recorded run begins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from sofa_softctl.identification.experiment import Channel
from sofa_softctl.identification.mechanism.parts import Distance, Number, Point


@dataclass(frozen=True)
class Angle:
    """A coordinate: one reading."""

    joint: str
    """Which, turning or sliding."""


@dataclass(frozen=True)
class Output:
    """Something that is measured."""

    reading: Point | Distance | Angle
    """What."""
    channels: tuple[Channel, ...]
    """Where it is recorded: three for a point, one for the others."""


@dataclass(frozen=True)
class Force:
    """A recorded force or torque along a coordinate."""

    joint: str
    """Which."""
    channel: Channel
    """Where it is recorded."""


@dataclass(frozen=True, eq=False)
class Feedback:
    """Forces -gain (q - measured q): they keep a simulation near what was measured."""

    joints: tuple[str, ...]
    """Which, m of them."""
    channels: tuple[Channel, ...]
    """Where their measured coordinates are recorded."""
    gain: np.ndarray
    """[N m / rad], shape (1, m, m), or (K, m, m) for one that changes from step to step."""


@dataclass(frozen=True)
class Given:
    """The start is given, also as parameters; what is not named is zero."""

    q: Mapping[str, Number] = field(default_factory=dict)
    """Coordinates [rad] or [m]."""
    v: Mapping[str, Number] = field(default_factory=dict)
    """Velocities."""


@dataclass(frozen=True)
class Settled:
    """At the start all rests in equilibrium, with the joints of the feedback as first measured."""

    q: Mapping[str, float] = field(default_factory=dict)
    """Where to look for the equilibrium; what is not named starts at zero."""
