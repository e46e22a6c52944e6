"""A swimmer prepared for planning: its flow and the map of its mass matrix."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from sofa_softctl.surrogate import Store, TensorSpline
from softctl_swimmer.bodies import BODIES
from softctl_swimmer.bodies import body as body_of
from softctl_swimmer.flow.potential import Flow
from softctl_swimmer.motion.inertia import FlowInertia
from softctl_swimmer.planning.entries import MassEntries
from softctl_swimmer.planning.motion_map import MotionMap
from softctl_swimmer.planning.swimming import SwimmingDynamics

SPACING, REACH = 0.3, 1.2
"""Spacing of the map's grid points, and half the width of its box [rad]."""
ANGLE_LIMIT = 1.15
"""Default largest joint angle of a plan [rad]."""
DT, INSTANTS = 0.05, 81
"""Default time step [s] and number of instants of a plan, which takes 4 s."""


@dataclass(frozen=True)
class Study:
    """A body with its flow and its map."""

    body: str
    """Key of `bodies.BODIES`."""
    flow: Flow
    """Flow around the body."""
    exact: MassEntries
    """Exact mass matrix of body and fluid."""
    dynamics: SwimmingDynamics
    """Dynamics of the swimmer on the map of the mass matrix."""
    corners: int
    """Solutions of the flow for the map."""
    instants: int = INSTANTS
    """Number K of instants of a plan."""
    limit: float = ANGLE_LIMIT
    """Largest joint angle of a plan [rad]."""

    def with_plan(self, duration: float, torque: float | None = None) -> Study:
        """Return the study with another duration of plans [s], and other torques [N m] if given."""
        instants = round(duration / self.dynamics.dt) + 1
        torque_max = self.dynamics.torque if torque is None else torque
        return replace(self, instants=instants, dynamics=replace(self.dynamics, torque=torque_max))


def prepare(
    body: str,
    vertices: int,
    *,
    store: Path | None = None,
    progress: Callable[[str], None] | None = None,
) -> Study:
    """Build the map of a body's mass matrix.

    Args:
        body: Key of `bodies.BODIES`.
        vertices: Number of vertices of each link's skin.
        store: File with solutions, of any bodies and skins.
        progress: Called with a line of text from time to time.

    Raises:
        SceneError: Skins of so few vertices touch.
        StoreError: The store cannot be used.
    """
    swimmer = body_of(body)
    inertia = FlowInertia(Flow.from_swimmer(swimmer, vertices))
    exact = MassEntries(inertia)
    box = REACH * np.ones(swimmer.hinge_count)

    def report(solved: int, total: int) -> None:
        if progress is not None:
            progress(f"{body}: {solved} of {total} solutions of the flow")

    with nullcontext() if store is None else Store(store, inertia.digest) as open_store:
        values = replace(exact, slopes=False)
        masses = TensorSpline(values, SPACING, lower=-box, upper=box, store=open_store)
        masses.cover(report)
    dynamics = SwimmingDynamics(MotionMap(masses, swimmer), DT, BODIES[body].torque)
    corners = (round(2.0 * REACH / SPACING) + 1) ** swimmer.hinge_count
    return Study(body, inertia.flow, exact, dynamics, corners)
