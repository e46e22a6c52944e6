"""Base class of models whose map is interpolated from samples of the exact one."""

from __future__ import annotations

from typing import Any

import numpy as np

from sofa_softctl.surrogate.exact_map import ExactMap
from sofa_softctl.surrogate.grid.affine_model import Affine, affine_near
from sofa_softctl.surrogate.grid.reduced_basis import ReducedBasisGrid
from sofa_softctl.surrogate.grid.sampled import SampledMap
from sofa_softctl.surrogate.models.base import RobotModel
from sofa_softctl.surrogate.planning.line_dynamics import LineDynamics
from sofa_softctl.surrogate.planning.program.transcription import Limits

ITERATIONS = 30
"""Gauss-Newton steps in `nearest` at most."""


class InterpolatedModel(RobotModel):
    """A map between samples, in a reduced basis of positions.

    Args:
        exact: The exact map.
        grid: Its samples.
        limits: Limits of coordinates.
        step: Time step, tension of a control of 1, and what damps: see `LineDynamics`.
        coordinates: Size of the reduced basis.
    """

    grid: SampledMap

    def __init__(
        self,
        exact: ExactMap,
        grid: SampledMap,
        limits: Limits,
        step: tuple[Any, ...],
        coordinates: int,
    ) -> None:
        self.grid, self.limits = grid, limits
        self.reduced = ReducedBasisGrid(grid, exact.layout, exact.masses(), coordinates=coordinates)
        reduced = self.reduced
        super().__init__(LineDynamics(reduced, reduced.layout, reduced.mass, *step))

    @property
    def evaluations(self) -> int:
        """See `RobotModel`."""
        return self.grid.counts.evaluations

    def affine(self, a: np.ndarray) -> Affine | None:
        """See `RobotModel`: that of the nearest corner of the coarsest level."""
        return affine_near(self.reduced, a)

    def positions(self, a: np.ndarray) -> np.ndarray:
        """See `RobotModel`."""
        return self.reduced.positions(a)

    def error(self, a: np.ndarray) -> float | None:
        """See `RobotModel`."""
        errors = self.grid.error_estimate(a)
        return float(errors.max()) if np.isfinite(errors).all() else None

    def nearest(self, x: np.ndarray, guess: np.ndarray) -> np.ndarray:
        """See `PlannedRobot.nearest`."""
        rows, a = self.dynamics.layout.position, np.array(guess, float)
        for _ in range(ITERATIONS):
            reach = self._reach(a)
            jet = self.dynamics.embedding.at(a[None])
            missing = self.reduced.coordinates_of(x) - jet.value[0, rows]
            step = np.linalg.lstsq(jet.gradient[0, rows], missing, rcond=None)[0]
            there = a + np.clip(step, -reach, reach)
            there = np.clip(there, self.limits.a_min, self.limits.a_max)
            moved, a = np.abs(there - a).max(), there
            if moved < 1e-10:
                break
        return a

    def _reach(self, a: np.ndarray) -> float:
        """How far from coordinates a (d,) the map may be asked for; it is known there then."""
        del a
        return np.inf

    def to_dict(self) -> dict[str, Any]:
        """See `RobotModel`."""
        counts, store = self.grid.counts, self.grid.corners.store
        return {
            "corners": {str(level): count for level, count in sorted(counts.exact.items())},
            "from_store": counts.from_store,
            "branching": counts.branching,
            "refused": counts.refused,
            "coordinates": self.reduced.used,
            "lost": self.reduced.lost,
            "damaged": None if store is None else store.damaged,
            "unsaved": None if store is None else store.unsaved,
        }
