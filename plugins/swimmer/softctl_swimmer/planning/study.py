"""A swimmer ready to be planned for: its flow, and the map of its mass matrix."""

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
"""Of the map's corners, and half the width of its box [rad]."""
LIMIT = 1.15
"""Largest joint angle of a plan by default [rad]."""
DT, INSTANTS = 0.05, 81
"""Of a plan by default [s], [-]: 4 s."""


@dataclass(frozen=True)
class Study:
    """A body with its flow and its map."""

    body: str
    """Key of `bodies.BODIES`."""
    flow: Flow
    """Its flow."""
    exact: MassEntries
    """Its mass matrix."""
    dynamics: SwimmingDynamics
    """The swimmer on the map of it."""
    corners: int
    """Solutions of the flow for the map."""
    instants: int = INSTANTS
    """K of a plan."""
    limit: float = LIMIT
    """Largest joint angle of a plan [rad]."""

    def of(self, duration: float, torque: float | None = None) -> Study:
        """The same with plans of another duration [s] and other torques [N m]; None: its own."""
        instants = round(duration / self.dynamics.dt) + 1
        most = self.dynamics.torque if torque is None else torque
        return replace(self, instants=instants, dynamics=replace(self.dynamics, torque=most))


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
        vertices: Of each link's skin.
        store: File that keeps the solutions, of any bodies and skins.
        progress: Called with a line of text now and then.

    Raises:
        SceneError: Skins of so few vertices touch.
        StoreError: The store cannot be used.
    """
    swimmer = body_of(body)
    inertia = FlowInertia(Flow.of(swimmer, vertices))
    exact = MassEntries(inertia)
    box = REACH * np.ones(swimmer.hinge_count)

    def report(done: int, total: int) -> None:
        if progress is not None:
            progress(f"{body}: {done} of {total} solutions of the flow")

    with nullcontext() if store is None else Store(store, inertia.digest) as kept:
        values = replace(exact, slopes=False)
        masses = TensorSpline(values, SPACING, lower=-box, upper=box, store=kept)
        masses.cover(report)
    dynamics = SwimmingDynamics(MotionMap(masses, swimmer), DT, BODIES[body].torque)
    corners = (round(2.0 * REACH / SPACING) + 1) ** swimmer.hinge_count
    return Study(body, inertia.flow, exact, dynamics, corners)
