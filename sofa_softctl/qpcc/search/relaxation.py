"""Convex relaxations of a problem with some contacts undecided."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from sofa_softctl.qp.active_set import SOLVED
from sofa_softctl.qpcc.pieces.kernels import Statement
from sofa_softctl.qpcc.problem.modes import OPEN, Modes
from sofa_softctl.qpcc.search.relaxation_kernels import (
    PLANES_MAX,
    SECTOR_ROWS,
    Convex,
    Relaxations,
    RelaxationSolution,
    create_relaxations,
    relaxed_objective,
    solve_relaxation,
)

_NO_SECTORS = np.empty(0, dtype=np.int64)


class Relaxation:
    """Relaxations of one statement. They share their matrices, and their planes around the cones.

    Args:
        statement: The problem.
        before: Efforts about which free ones are regularised, shape (n,).
    """

    def __init__(self, statement: Statement, before: np.ndarray) -> None:
        room = PLANES_MAX * len(statement.starts)
        self.shared: Relaxations = create_relaxations(statement, before, room)
        self._objectives: dict[bytes, Convex | None] = {}

    @property
    def count(self) -> int:
        """Number of solved relaxations."""
        return int(self.shared.counts[2])

    def reserve(self, sectors: int) -> None:
        """Make room for all planes and for further sectors."""
        shared = self.shared
        rows, planes, _ = shared.counts
        room = PLANES_MAX * len(shared.statement.starts) - planes + SECTOR_ROWS * sectors
        room += rows - len(shared.G)
        if room <= 0:
            return
        self.shared = shared._replace(
            G=np.concatenate((shared.G, np.zeros((room, len(shared.scale))))),
            low=np.concatenate((shared.low, np.full(room, -np.inf))),
            high=np.concatenate((shared.high, np.full(room, np.inf))),
            sector_low=np.concatenate((shared.sector_low, np.zeros(room))),
        )

    @cached_property
    def lower_bound(self) -> float:
        """Lower bound of all solutions, or inf if it is not known or there is none."""
        relaxed = self.solve(Modes.of(np.full(len(self.shared.statement.starts), OPEN)))
        return math.inf if relaxed is None else relaxed.bound

    def solve(self, modes: Modes) -> RelaxationSolution | None:
        """Return the solution of the relaxation with these decisions, or None.

        Args:
            modes: The decisions; none of the contacts slides.
        """
        convex = self.objective(modes)
        if convex is None:
            return None
        relaxed = solve_relaxation(self.shared, convex, modes.kind, _NO_SECTORS, convex.optimum)
        return relaxed if relaxed.outcome == SOLVED else None

    def objective(self, modes: Modes) -> Convex | None:
        """The objective of these decisions; None if it is not convex."""
        is_open = modes.kind <= OPEN  # inactive and sticking contacts do no work either
        key = is_open.tobytes()
        if key not in self._objectives:
            is_convex, convex = relaxed_objective(self.shared, is_open)
            self._objectives[key] = convex if is_convex else None
        return self._objectives[key]
