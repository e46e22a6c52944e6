"""Answer of a library.

Adaptation of stored motions to parameters: corrections, each followed by an acceptance test.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from time import perf_counter
from typing import NamedTuple

import numpy as np

from sofa_softctl.acceptance import AcceptanceReport
from sofa_softctl.library.motions.correction import corrected
from sofa_softctl.library.motions.entry import Entry
from sofa_softctl.library.motions.trials import Trial
from sofa_softctl.library.ocp.model import Model, Signs, Simulation
from sofa_softctl.library.ocp.problem import Motion
from sofa_softctl.status import Status


class Correction(Enum):
    """How the nearest motion was adapted to the parameters. The value is a sentence."""

    NONE = "The nearest motion, as it is."
    LINEAR = "The nearest motion, corrected linearly: no limit is reached or left."
    TANGENT_QP = "The nearest motion, corrected by the tangent QP, as limits are reached or left."
    CLIPPED = "The nearest motion, corrected linearly and cut off at the limits."


UNCHECKED = "It was not simulated: no acceptance test was made."


@dataclass(frozen=True, eq=False)
class Answer:
    """A motion for given parameters, and its acceptance test."""

    p: np.ndarray
    """Parameters, shape (n_p,)."""
    v: np.ndarray
    """Unknowns, shape (n_v,)."""
    motion: Motion
    """Inputs, states and constants: the simulated states where it was simulated."""
    status: Status
    """SOLVED: it passed the acceptance test. REJECTED: it did not, do not execute it."""
    correction: Correction
    """How the nearest motion was adapted."""
    shifts: int
    """Second-order corrections after that: the same for final conditions that are shifted by what
    the simulation missed."""
    steps: int
    """Steps of sequential quadratic programming after these."""
    nearest: int
    """Number of its entry."""
    mirrored: bool
    """Whether the entry was mirrored."""
    distance: float
    """Distance to the entry, in the library's metric."""
    report: AcceptanceReport | None
    """The acceptance test; None: none was made."""
    error: float
    """Error of the motion in simulation; NaN if it was not simulated."""
    cost: float
    """Its cost in simulation; NaN if it was not simulated."""
    expected_error: float
    """Error that 95 % of motions at such a distance kept to when the library was built, adapted but
    not corrected; infinite: unknown."""
    outside: bool
    """Whether it is outside of the regions of all entries, in which answers passed before."""
    beyond: tuple[str, ...]
    """Parameters beyond the problem's range."""
    trial: Trial | None
    """It as a trial of the library; None: it was not simulated."""
    seconds: float
    """Computing time [s]."""
    notes: tuple[str, ...] = ()
    """Notes of the QP solvers."""

    @property
    def message(self) -> str:
        """Message; empty if all went well."""
        reasons = []
        if not self.status.ok:
            why = UNCHECKED if self.report is None else self.report.reason
            reasons.append(f"{why} Do not execute it.")
        if self.beyond:
            reasons.append(f"Beyond the problem's range: {', '.join(self.beyond)}.")
            if self.status.ok:
                reasons.append("It passed its test, but check what else that range stands for.")
        elif self.outside and not self.status.ok:
            reasons.append("No motion of the library has passed a test at such parameters before.")
        return " ".join((*reasons, *self.notes))


FEASIBLE = 1e-7
"""Tolerance of linearised limits, in their units."""
SHIFTS = 2
"""Number of second-order corrections before steps of sequential quadratic programming."""
CLOSER = 0.5
"""What such a correction must leave of the worst criterion for another one [-]."""


class NearestEntry(NamedTuple):
    """A near entry."""

    number: int
    """Number of the entry."""
    mirrored: bool
    """Whether it is mirrored."""
    distance: float
    """Distance in the library's metric."""


class Asked(NamedTuple):
    """What a query asks for."""

    check: bool
    accuracy: float
    steps: int
    refine: bool
    end: float
    """When nothing more is tried."""

    @property
    def late(self) -> bool:
        """Whether that is over."""
        return perf_counter() > self.end


class _Adapted(NamedTuple):
    """Unknowns of an entry, adapted to parameters."""

    v: np.ndarray
    correction: Correction
    cost: float
    """Expected cost of the optimum."""
    notes: tuple[str, ...] = ()


class Candidate(NamedTuple):
    """An entry adapted to parameters, and its acceptance test."""

    near: NearestEntry
    entry: Entry
    motion: Motion
    correction: Correction
    notes: tuple[str, ...]
    expected_cost: float
    shifts: int = 0
    steps: int = 0
    simulated: Simulation | None = None
    report: AcceptanceReport | None = None
    first_error: float = np.inf
    """Error before corrections."""

    @property
    def passed(self) -> bool:
        """Whether it may be executed."""
        return self.report is not None and self.report.passed

    @property
    def worst(self) -> float:
        """Largest share of a limit of the test [-]."""
        return np.inf if self.report is None else self.report.worst

    @property
    def rank(self) -> tuple[bool, float]:
        """Sort key: those that passed first, then by the worst criterion."""
        return not self.passed, self.worst


class Adapter:
    """Adapts entries of a library to parameters, tests and corrects the motions.

    Args:
        model: Model of the problem.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self._qp_seconds = 0.0

    def tried(
        self, near: Sequence[tuple[NearestEntry, Entry]], p: np.ndarray, asked: Asked
    ) -> list[Candidate]:
        """Motions of near entries, each adapted and corrected, until one passes its test.

        A step of sequential quadratic programming costs no more than the next entry, and passes
        twice as often; where all fail, further ones correct the best motion, then the next.
        """
        tried: list[Candidate] = []
        for each, entry in near:
            if tried and asked.late:
                break
            found = self._adapted_and_tested(each, entry, p, asked)
            tried.append(self._stepped(found, p, asked, min(asked.steps, 1)))
            if tried[-1].passed:
                return tried
        for k in sorted(range(len(tried)), key=lambda k: tried[k].rank):
            tried[k] = self._stepped(tried[k], p, asked, asked.steps - 1)
            if tried[k].passed or asked.late:
                break
        return tried

    def _adapted_and_tested(
        self, near: NearestEntry, entry: Entry, p: np.ndarray, asked: Asked
    ) -> Candidate:
        """An entry's motion for p, with second-order corrections where it fails its test."""
        signs = self.model.signs if near.mirrored else None
        own = p if signs is None else signs.p * p
        residual = np.zeros(len(self.model.terminal_tolerances))
        best: Candidate | None = None
        for shifts in range(1 + (SHIFTS if asked.refine else 0)):
            change = np.concatenate((own - entry.p, residual))
            found = self._adapted(entry, change, asked)
            motion = self.model.motion(found.v if signs is None else signs.v * found.v)
            cost = found.cost if best is None else best.expected_cost
            now = Candidate(near, entry, motion, found.correction, found.notes, cost, shifts)
            if not asked.check:
                return now
            now = self._tested(now, p, asked)
            if best is not None:
                now = now._replace(first_error=best.first_error)
            closer = best is None or now.worst < CLOSER * best.worst
            best = now if best is None or now.rank < best.rank else best
            hopeless = found.correction is Correction.CLIPPED or not closer
            if best.passed or hopeless or asked.late:
                break
            residual = residual - self._missed(now, own, signs)
        assert best is not None
        return best

    def _stepped(self, best: Candidate, p: np.ndarray, asked: Asked, most: int) -> Candidate:
        """It after further steps of sequential quadratic programming."""
        now = best
        for _ in range(most):
            if best.passed or asked.late or now.simulated is None or now.simulated.failure:
                break
            motion = corrected(self.model, now.simulated, p, self._hessian(now))
            if motion is None:
                break
            now = self._tested(now._replace(motion=motion, steps=now.steps + 1), p, asked)
            best = now if now.rank < best.rank else best
        return best

    def _tested(self, now: Candidate, p: np.ndarray, asked: Asked) -> Candidate:
        """It with its acceptance test."""
        moved = self.model.simulate(now.motion, p)
        report = self.model.report(moved, asked.accuracy, now.expected_cost)
        first = moved.error if now.simulated is None else now.first_error
        return now._replace(motion=moved.motion, simulated=moved, report=report, first_error=first)

    def _missed(self, now: Candidate, own: np.ndarray, signs: Signs | None) -> np.ndarray:
        """Residual of the final conditions, of the entry as it is where it was mirrored."""
        motion = now.motion
        end = motion.x[-1] if signs is None else signs.v[self.model.x_at[-1]] * motion.x[-1]
        return self.model.tapes["terminal"](end, motion.z, own)

    def _hessian(self, now: Candidate) -> np.ndarray:
        """Hessian of its entry, as it is or mirrored."""
        found, signs = now.entry.hessian, self.model.signs
        if not now.near.mirrored or signs is None:
            return found
        turned = np.concatenate((signs.v[self.model.u_at].ravel(), signs.v[self.model.z_at]))
        return found * turned * turned[:, None]

    def _adapted(self, entry: Entry, dp: np.ndarray, asked: Asked) -> _Adapted:
        """(5) where (6c) and (6d) hold, else the tangent QP; both within the limits of inputs."""
        cost = entry.expected_cost(dp[: len(entry.p)])
        if not asked.refine:
            return _Adapted(entry.v, Correction.NONE, cost)
        v = entry.v + entry.v_p @ dp
        lower, upper = self.model.lower, self.model.upper
        within = bool(((v >= lower - FEASIBLE) & (v <= upper + FEASIBLE)).all())
        within = within and bool((entry.path + entry.path_p @ dp >= -FEASIBLE).all())
        if within and bool((entry.mu + entry.mu_p @ dp >= 0.0).all()):
            return _Adapted(np.clip(v, lower, upper), Correction.LINEAR, cost)
        begin = perf_counter()
        clipped = np.clip(v, lower, upper)
        if begin + self._qp_seconds > asked.end:
            return _Adapted(clipped, Correction.CLIPPED, cost)
        found = entry.qp.solve(dp)
        self._qp_seconds = max(0.9 * self._qp_seconds, perf_counter() - begin)
        if found.result is None:
            return _Adapted(clipped, Correction.CLIPPED, cost, found.notes)
        v = entry.v + entry.qp.change(found.result.x, dp)
        cost = entry.cost + entry.qp.cost(found.result.x, dp)
        notes = found.notes if found.replaced else ()
        return _Adapted(np.clip(v, lower, upper), Correction.TANGENT_QP, cost, notes)


def trial_of(p: np.ndarray, nearest: Candidate, best: Candidate) -> Trial | None:
    """An answer as a trial."""
    if nearest.simulated is None:
        return None
    error = nearest.first_error if np.isfinite(nearest.first_error) else np.inf
    return Trial(p, nearest.near.number, error, best.near.number, best.passed)
