"""The best efforts on one piece, by the exact contact law."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from sofa_softctl.inverse.checked import Checked
from sofa_softctl.inverse.closest import SLACK
from sofa_softctl.inverse.contact_law import law_error
from sofa_softctl.inverse.curvature import law_curvature
from sofa_softctl.inverse.mechanics import Mechanics
from sofa_softctl.inverse.modes import SLIDING, STICKING, Modes
from sofa_softctl.inverse.neighbours import Pivot, beyond, heading, pressing
from sofa_softctl.inverse.piece import Cut, Piece, Row, build_piece
from sofa_softctl.inverse.piece_qp import (
    Bend,
    Bounds,
    PieceQP,
    restoration_qp,
    tracking_qp,
    violation_qp,
)
from sofa_softctl.inverse.qp import QPResult

ROUNDS = 15
"""Most QPs on one piece: each has more planes around the friction cones, and the directions of
sliding of the one before. Three times as many where limits have to be exceeded."""

LAW = 1e-8
"""Distance from the contact law at which a piece is left [-]."""

LAW_ACCEPTED = 1e-6
"""Largest distance from the contact law of an answer that is taken [-]."""


@dataclass(frozen=True, eq=False)
class Answer:
    """The best efforts on a piece, in units of energy."""

    modes: Modes
    """Modes of the contacts, sliding ones with the direction in which they slide."""
    effort: np.ndarray
    """Efforts, shape (n_a,)."""
    force: np.ndarray
    """Contact forces, shape (n_r,)."""
    violation: float
    """Excess of the soft limits, sum of squares [energy]. 0 if they hold."""
    objective: float
    """Tracking and energy term [displacement^2]."""
    law: float
    """Distance from the contact law [-]."""
    pivots: list[Pivot]
    """Contacts at the border, the most promising one first."""
    piece_qp: PieceQP
    """The last QP."""
    checked: Checked
    """Its answer."""

    def settled(self, before: Answer) -> bool:
        """Whether it is as good as the one before, to 1e-8."""
        ours, theirs = (self.violation, self.objective), (before.violation, before.objective)
        return all(abs(a - b) <= 1e-8 * max(a, b) for a, b in zip(ours, theirs, strict=True))

    def better_than(self, other: Answer | None) -> bool:
        """Whether it exceeds the limits less, or tracks better with as much excess."""
        if other is None:
            return True
        close = 1e-9 * max(self.violation, other.violation)
        if abs(self.violation - other.violation) > close:
            return self.violation < other.violation
        return self.objective < other.objective - 1e-9 * abs(other.objective)


@dataclass(eq=False)
class PieceSolver:
    """Solves pieces of one problem, and remembers what that took."""

    mechanics: Mechanics
    """The mechanics."""
    bounds: Bounds
    """The limits."""
    ask: Callable[..., Checked]
    """Asks the QP solvers, see `solve_checked`."""
    asked: list[Checked] = field(default_factory=list)
    """All answers of the QP solvers."""
    indefinite: float = 0.0
    """Largest lift of a Hessian's least eigenvalue [-]."""

    def solve(
        self,
        modes: Modes,
        *,
        relax: bool = True,
        worth: float = np.inf,
        warm: QPResult | None = None,
    ) -> Answer | None:
        """The best efforts on the piece of these modes.

        Args:
            modes: The modes. The direction of sliding contacts is where the search starts.
            relax: Whether to exceed the soft limits, by as little as can be, if they leave nothing.
            worth: Objective from which on an answer is of no use [displacement^2].
            warm: Earlier result of a similar QP.

        Returns:
            The answer, or None if the modes are not possible, or not within the limits, or their
            answer is of no use.
        """
        answer = self._rounds(modes, self.bounds, warm, worth=worth)
        if answer is not None or not relax:
            return answer
        least = self._rounds(modes, self.bounds, None, violation=True)
        if least is None:
            return None
        widened = self._widen(least)
        answer = self._rounds(least.modes, widened, None) or least
        return Answer(**{**vars(answer), "violation": least.violation, "pivots": least.pivots})

    def restored(self, modes: Modes) -> Modes | None:
        """Modes nearer to possible ones: those contacts are switched that break what they ask for.

        Args:
            modes: Modes that no efforts within their bounds can bring about.

        Returns:
            The modes, or None if the break cannot be told or is none.
        """
        m = self.mechanics
        piece = build_piece(m, modes)
        if piece is None:
            return None
        problem = restoration_qp(m, piece)
        checked = self.ask(problem.qp, feasible=True)
        self.asked.append(checked)
        if checked.result is None:
            return None
        v, excess = np.split(problem.scale * checked.result.x, [piece.X.shape[1]])
        effort, force = v[: len(m.a_unit)], piece.X @ v + piece.x
        delta = m.delta_c(effort, force)
        soft = np.flatnonzero(problem.rows.kind != Row.TIED)
        broken = soft[np.abs(excess) > 1e-6 * max(m.size, float(np.abs(excess).max(initial=0.0)))]
        for row in broken:
            i = int(problem.rows.of[row])
            modes = beyond(m, modes, Row(problem.rows.kind[row]), i, delta, force)
        return modes if len(broken) else None

    def _rounds(
        self,
        modes: Modes,
        bounds: Bounds,
        warm: QPResult | None,
        *,
        violation: bool = False,
        worth: float = np.inf,
    ) -> Answer | None:
        """Sequential quadratic programming: linearise, solve, until the contact law is obeyed."""
        m = self.mechanics
        cuts: list[Cut] = []
        answer: Answer | None = None
        obeying: Answer | None = None
        acceptable: Answer | None = None
        bend, damping = None, 0.0
        for _ in range(3 * ROUNDS if violation else ROUNDS):
            piece = build_piece(m, modes, cuts)
            if piece is None:
                return None
            if violation:
                problem = violation_qp(m, piece, bounds, bend)
            else:
                problem = tracking_qp(m, piece, bounds, bend)
            if problem is None:
                return None
            checked = self.ask(problem.qp, warm=warm)
            self.asked.append(checked)
            self.indefinite = max(self.indefinite, problem.indefinite)
            warm = checked.result
            if warm is None:
                return None
            before = answer
            answer = self._answer(modes, piece, problem, checked, warm)
            if answer.law <= LAW_ACCEPTED and answer.better_than(acceptable):
                acceptable = answer
            if answer.law <= LAW:
                obeying = answer
                if not damping or before is None or answer.settled(before):
                    return answer
                damping *= 0.1  # it obeys the law since it hardly moved: let it move
            elif before is not None:
                grows = answer.law > before.law
                damping = max(1.0, 3.0 * damping) if grows else 0.1 * damping
            if damping < 0.01:
                damping = 0.0
            # Without planes around a cone the objective is a bound; with what is linearised or bent
            # it is an estimate.
            exact = bend is None and not (modes.kind == SLIDING).any()
            if answer.objective > worth * (1.0 if exact else 1.2):
                return None
            bend = self._bend(piece, problem, answer, warm, damping, not violation)
            modes, new = self._turned(modes, answer.effort, answer.force)
            cuts += new
        if violation:
            return obeying or acceptable
        if obeying is None and answer is not None and answer.law <= LAW_ACCEPTED:
            return answer
        return obeying

    def _bend(
        self,
        piece: Piece,
        problem: PieceQP,
        answer: Answer,
        result: QPResult,
        damping: float,
        tracking: bool,
    ) -> Bend:
        """Curvature of the contact law, and damping about this answer."""
        y, v = result.y[len(result.x) :], problem.scale * result.x
        at = answer.effort, answer.force
        K = law_curvature(self.mechanics, piece, problem, y, *at, tracking=tracking)
        return Bend(K, damping, v[: piece.X.shape[1]])

    def _answer(
        self, modes: Modes, piece: Piece, problem: PieceQP, checked: Checked, result: QPResult
    ) -> Answer:
        m = self.mechanics
        x = problem.scale * result.x
        v, excess = np.split(x, [piece.X.shape[1]])
        effort, force = v[: len(m.a_unit)], piece.X @ v + piece.x
        residual = piece.B @ v + piece.e
        return Answer(
            modes=modes,
            effort=effort,
            force=force,
            violation=float(excess @ excess),
            objective=0.5 * float(residual @ residual) + self.energy(effort, force),
            law=float(law_error(m, effort, force).max()),
            pivots=pressing(m, modes, problem, result, effort, force),
            piece_qp=problem,
            checked=checked,
        )

    def energy(self, effort: np.ndarray, force: np.ndarray) -> float:
        """The energy term of the objective [displacement^2]."""
        E = self.mechanics.energy
        if E is None:
            return 0.0
        z = effort if len(E) == len(effort) else np.concatenate((effort, force))
        return 0.5 * float(z @ E @ z)

    def _turned(
        self, modes: Modes, effort: np.ndarray, force: np.ndarray
    ) -> tuple[Modes, list[Cut]]:
        """The modes linearised at this answer, and planes that cut it off where it left a cone."""
        m = self.mechanics
        cuts = []
        if not m.sticking:
            for i in np.flatnonzero((modes.kind == STICKING) & m.rough).tolist():
                n = m.contacts.starts[i]
                size = np.hypot(force[n + 1], force[n + 2])
                if size > m.mu[i] * force[n] + 0.1 * LAW * m.size:
                    cuts.append(Cut(i, force[n + 1 : n + 3] / size))
        delta = m.delta_c(effort, force)
        modes = Modes(*(field.copy() for field in modes))
        for i in np.flatnonzero(modes.kind == SLIDING).tolist():
            modes.direction[i], modes.balance[i] = heading(m, i, delta, force, modes.direction[i])
        return modes, cuts

    def _widen(self, least: Answer) -> Bounds:
        """The limits, widened just enough for this answer to satisfy them."""
        m = self.mechanics
        p, effort, force = m.problem, least.effort, least.force
        displacement = (m.W_aa @ effort + m.W_ac @ force) / m.a_unit + p.delta_a_free
        slack = 10.0 * SLACK * float(np.abs(least.piece_qp.scale).max())
        values = {"effort": effort * m.a_unit, "displacement": displacement}
        slacks = {"effort": slack * m.a_unit, "displacement": slack / m.a_unit}
        limits = []
        for limit in self.bounds.limits:
            if not limit.hard:
                value, margin = values[limit.quantity], slacks[limit.quantity]
                limit = limit._replace(
                    lower=np.minimum(limit.lower, value - margin),  # NaN stays NaN: no limit
                    upper=np.maximum(limit.upper, value + margin),
                )
            limits.append(limit)
        total, least_unit = normal_sums(m, force), slack * float(m.c_unit.max())
        return Bounds(
            limits,
            np.minimum(self.bounds.sum_minimum, total - least_unit),
            np.maximum(self.bounds.sum_maximum, total + least_unit),
        )


def normal_sums(mechanics: Mechanics, force: np.ndarray) -> np.ndarray:
    """The sums of normal forces that are bounded [effort], one for each of `Contacts.sums`."""
    normal = (force * mechanics.c_unit)[mechanics.contacts.starts]
    return np.array([normal[entry.contacts].sum() for entry in mechanics.contacts.sums])
