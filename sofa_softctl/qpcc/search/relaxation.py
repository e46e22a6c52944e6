"""Convex relaxations of a problem with some contacts undecided."""

from __future__ import annotations

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sofa_softctl.qp.active_set import FAILED, INFEASIBLE, ActiveSet
from sofa_softctl.qpcc.pieces.kernels import Statement
from sofa_softctl.qpcc.problem.modes import OPEN, SECTOR, Modes
from sofa_softctl.qpcc.search import relaxation_kernels as kernels
from sofa_softctl.qpcc.search.relaxation_kernels import Convex

PLANES_MAX = 24
"""Maximum number of cone planes a contact. Fewer make bounds lower, not wrong."""
PLANE_ROUNDS_MAX = 8
"""Maximum rounds of cone planes in a relaxation. Fewer make its bound lower, not wrong."""
ANCHOR = 1e-6
"""Regularisation of variables that the objective leaves free, relative to the scaled diagonal."""


class RelaxationSolution(NamedTuple):
    """Answer of a relaxation, in units of energy."""

    bound: float
    """Objective of the relaxation: no solution with these decisions has a lower one."""
    effort: np.ndarray
    """Shape (n,)."""
    force: np.ndarray
    """Contact forces, shape (n_r,). Undecided contacts may push across a gap."""
    open: bytes
    """Key of the open contacts: relaxations with the same ones start from each other."""
    state: ActiveSet
    """Final state of the QP solver."""
    sectors: tuple[int, ...]
    """Rows of the sectors that contacts slide in."""


class Relaxation:
    """Relaxations of one statement. They share their matrices, and their planes around the cones.

    All contacts have lam_n >= 0, delta_n >= 0 and, by Coulomb's law, a force in the friction cone;
    decisions add rows. Tangent planes of a cone are added where an answer leaves it.

    Args:
        statement: The problem.
        before: Efforts about which free ones are regularised, shape (n,).
    """

    def __init__(self, statement: Statement, before: np.ndarray) -> None:
        s = self.statement = statement._replace(anchor=ANCHOR)
        n, n_r = s.C.shape
        n_z = n + n_r
        curvature = (np.concatenate((s.F_u, s.F_c), axis=1) ** 2).sum(axis=0)
        strongest = curvature.max(initial=0.0) or 1.0
        self.scale = 1.0 / np.sqrt(np.maximum(curvature, 1e-6 * strongest))
        self.size = max(math.sqrt((s.f @ s.f) / strongest), s.size) * math.sqrt(strongest)
        rows = np.concatenate(
            (np.concatenate((s.C.T, s.W), axis=1), np.concatenate((s.A_u, s.A_c), axis=1))
        )
        rows = rows * self.scale
        norm = np.sqrt((rows * rows).sum(axis=1))
        norm[norm <= 1e-12 * norm.max(initial=0.0)] = norm.max(initial=0.0) or 1.0
        self.norm = norm
        self.rows = len(rows)
        self.most = self.rows + PLANES_MAX * len(s.starts)
        self.G = np.zeros((self.most, n_z))
        self.G[: self.rows] = rows / norm[:, None]
        self.low = np.full(n_z + len(self.G), -np.inf)
        self.high = np.full(n_z + len(self.G), np.inf)
        self.center = np.concatenate((before, np.zeros(n_r))) / (self.scale * self.size)
        self.solved = 0
        """Number of solved relaxations."""
        self._objectives: dict[bytes, Convex] = {}
        self._sectors: dict[tuple[int, float, float], tuple[int, ...]] = {}
        self._lows: dict[int, float] = {}

    @cached_property
    def lower_bound(self) -> float:
        """Lower bound of all solutions, or inf if it is not known or there is none."""
        try:
            relaxed = self.solve(Modes.of(np.full(len(self.statement.starts), OPEN)))
        except ArithmeticError:
            return math.inf
        return math.inf if relaxed is None else relaxed.bound

    def solve(
        self, modes: Modes, parent: RelaxationSolution | None = None
    ) -> RelaxationSolution | None:
        """Return the solution of the relaxation with these decisions, or None.

        Args:
            modes: The decisions; sliding contacts have a sector.
            parent: The answer of a relaxation with fewer decisions.

        Raises:
            ArithmeticError: the QP could not be solved.
        """
        self.solved += 1
        s = self.statement
        n, n_z = s.C.shape[0], len(self.scale)
        key, convex = self._objective(modes)
        sectors = () if parent is None else parent.sectors
        sectors += self._sector_rows(modes, sectors)
        kernels.relaxation_limits(
            s, modes.kind, self.scale, self.norm, self.size, self.low, self.high
        )
        ends = n_z + np.array(sectors, dtype=np.int64)
        self.low[ends] = [self._lows[row] for row in sectors]
        start = parent.state if parent is not None and parent.open == key else convex.optimum
        state = ActiveSet(*(array.copy() for array in start))
        outcome, v, bound, self.rows = kernels.solve_relaxation(
            s,
            modes.kind,
            convex,
            state,
            self.scale,
            self.size,
            self.center,
            self.G,
            self.low,
            self.high,
            self.rows,
            min(len(self.G), self.most),
            PLANE_ROUNDS_MAX,
        )
        self.low[ends] = -np.inf
        if outcome == FAILED:
            raise ArithmeticError("The QP of a relaxation could not be solved.")
        if outcome == INFEASIBLE:
            return None
        return RelaxationSolution(bound, v[:n], v[n:], key, state, sectors)

    def _objective(self, modes: Modes) -> tuple[bytes, Convex]:
        """The objective of these decisions, and its key."""
        open_ = modes.kind <= OPEN  # inactive and sticking contacts do no work either
        key = open_.tobytes()
        if key not in self._objectives:
            convex, self._objectives[key] = kernels.relaxed_objective(
                self.statement, open_, self.scale, self.size, self.center
            )
            if not convex:
                raise ArithmeticError("The objective of a relaxation is not convex.")
        return key, self._objectives[key]

    def _sector_rows(self, modes: Modes, known_rows: tuple[int, ...]) -> tuple[int, ...]:
        """Rows of the contacts that slide in a sector; new ones are added."""
        new_rows: list[int] = []
        for i in np.flatnonzero(modes.kind == SECTOR).tolist():
            key = (i, float(modes.sector[i, 0]), float(modes.sector[i, 1]))
            if key not in self._sectors:
                self._sectors[key] = self._add_sector(*key)
            new_rows += [row for row in self._sectors[key] if row not in known_rows]
        return tuple(new_rows)

    def _add_sector(self, i: int, first: float, last: float) -> tuple[int, ...]:
        """Rows of a contact that slides between two angles.

        Its motion is in that sector, and its force opposite, between the arc of the friction disc
        and its chord.
        """
        s = self.statement
        n, r = s.C.shape[0], s.starts[i]
        t = slice(r + 1, r + 3)
        motion = np.concatenate((s.C.T[t], s.W[t]), axis=1)  # (2, n_z), and s.d beside it
        middle, half_angle = 0.5 * (first + last), 0.5 * (last - first)
        rows = []
        for angle, sign in ((first, 1.0), (last, -1.0)):
            across = sign * np.array([-math.sin(angle), math.cos(angle)])
            rows.append((across @ motion, -float(across @ s.d[t])))
            rows.append((self._plane(n + r, s.mu[i], angle), 0.0))
        chord = -self._plane(n + r, s.mu[i] * math.cos(half_angle), middle)
        rows.append((chord, 0.0))
        return tuple(self._add(row, low) for row, low in rows)

    def _plane(self, variable: int, mu: float, angle: float) -> np.ndarray:
        """mu lam_n - direction . lam_t, the direction opposite to sliding at an angle."""
        row = np.zeros(len(self.scale))
        row[variable : variable + 3] = mu, math.cos(angle), math.sin(angle)
        return row

    def _add(self, row: np.ndarray, low: float) -> int:
        """Add a row that only relaxations with its sector obey; returns its number."""
        if self.rows == len(self.G):
            n_z, room = len(self.scale), len(self.G)
            self.G = np.concatenate((self.G, np.zeros((room, n_z))))
            self.low = np.concatenate((self.low, np.full(room, -np.inf)))
            self.high = np.concatenate((self.high, np.full(room, np.inf)))
        scaled = row * self.scale
        norm = math.sqrt(scaled @ scaled) or 1.0
        self.G[self.rows] = scaled / norm
        self._lows[self.rows] = low / (norm * self.size)
        self.rows += 1
        self.most += 1
        return self.rows - 1
