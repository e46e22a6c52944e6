"""Forces, outputs and initial states of recorded mechanisms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from sofa_softctl.identification.mechanism.parts import Distance, Number, Point
from sofa_softctl.identification.model.channel import Channel


@dataclass(frozen=True)
class Angle:
    """A coordinate: one reading."""

    joint: str
    """Name of the joint, turning or sliding."""


@dataclass(frozen=True)
class Output:
    """A measured quantity."""

    reading: Point | Distance | Angle
    """The quantity."""
    channels: tuple[Channel, ...]
    """Channels of the output: three for a point, one otherwise."""


@dataclass(frozen=True)
class Force:
    """A recorded force or torque along a coordinate."""

    joint: str
    """Name of the joint."""
    channel: Channel
    """Channel of the force."""


@dataclass(frozen=True, eq=False)
class Feedback:
    """Forces -gain (q - measured q), which keep a simulation near the measured motion."""

    joints: tuple[str, ...]
    """Names of m joints."""
    channels: tuple[Channel, ...]
    """Channels of their measured coordinates."""
    gain: np.ndarray
    """Gain [N m / rad], shape (1, m, m), or (K, m, m) if it varies by step."""


@dataclass(frozen=True)
class GivenStart:
    """Initial state, which may depend on parameters; other coordinates are zero."""

    q: Mapping[str, Number] = field(default_factory=dict)
    """Coordinates [rad] or [m]."""
    v: Mapping[str, Number] = field(default_factory=dict)
    """Velocities."""


@dataclass(frozen=True)
class EquilibriumStart:
    """Initial equilibrium, with the joints of the feedback as first measured."""

    q: Mapping[str, float] = field(default_factory=dict)
    """Initial guess of the equilibrium; other coordinates are zero."""
