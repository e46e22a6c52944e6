"""Answers of a library: stored trajectories, adapted to parameters, corrected and tested."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from time import perf_counter
from typing import NamedTuple

import numpy as np

from sofa_softctl.acceptance import AcceptanceReport
from sofa_softctl.library.motions.correction import correct_trajectory
from sofa_softctl.library.motions.cost_bound import CostBound, bound_cost
from sofa_softctl.library.motions.entry import Entry
from sofa_softctl.library.motions.trials import Trial
from sofa_softctl.library.ocp.model import Model, Signs, Simulation
from sofa_softctl.library.ocp.problem import Motion
from sofa_softctl.status import Status


class Correction(Enum):
    """Adaptation of the nearest trajectory to the parameters; values are sentences."""

    NONE = "The nearest motion, as it is."
    LINEAR = "The nearest motion, corrected linearly: no limit is reached or left."
    TANGENT_QP = "The nearest motion, corrected by the tangent QP, as limits are reached or left."
    CLIPPED = "The nearest motion, corrected linearly and cut off at the limits."


DEAR = "It costs more than the nearest motion lets expect: more motions may help."
UNCHECKED = "It was not simulated: no acceptance test was made."


@dataclass(frozen=True, eq=False)
class Answer:
    """A trajectory for the parameters of a query, and its acceptance test."""

    p: np.ndarray
    """Parameters, shape (n_p,)."""
    v: np.ndarray
    """Unknowns, shape (n_v,)."""
    motion: Motion
    """Inputs, states and constants; the states are simulated ones if there was a simulation."""
    status: Status
    """SOLVED if the trajectory passed its acceptance test, REJECTED if it must not be executed."""
    correction: Correction
    """Adaptation of the nearest trajectory."""
    shifts: int
    """Number of second-order corrections: the adaptation repeated with final conditions shifted by
    the residual of the simulation."""
    steps: int
    """Number of steps of sequential quadratic programming after the second-order corrections."""
    nearest: int
    """Index of the entry in the library."""
    mirrored: bool
    """Whether the entry was mirrored."""
    distance: float
    """Distance to the entry in the library's metric."""
    report: AcceptanceReport | None
    """Acceptance test, or None without a simulation."""
    error: float
    """Simulated error, or NaN without a simulation."""
    cost: float
    """Simulated cost, or NaN without a simulation."""
    is_cheap: bool
    """True if the cost is at most the one extrapolated from the nearest trajectory, plus its
    tolerance. Otherwise queries try further trajectories, and building asks the solver."""
    expected_error: float
    """Error that 95 % of adapted, uncorrected trajectories at this distance kept to when the
    library was built; infinite if unknown."""
    outside: bool
    """Whether p lies outside the regions of all entries in which answers passed before."""
    beyond: tuple[str, ...]
    """Parameters outside the problem's range, with the range."""
    trial: Trial | None
    """Record for the library's coverage, or None without a simulation."""
    seconds: float
    """Computing time [s]."""
    model: Model = field(repr=False)
    """Model of the problem."""
    notes: tuple[str, ...] = ()
    """Notes of the QP solvers."""

    @cached_property
    def cost_bound(self) -> CostBound:
        """Lower bound of the optimal cost, or the reason why none is known.

        It is computed when it is first read, in some milliseconds. The optimum keeps the margins
        and meets final conditions exactly; an answer, within its tolerances, may cost less.
        """
        return bound_cost(self.model, self.motion, self.p)

    @property
    def message(self) -> str:
        """Reasons not to execute the trajectory, and notes; "" if all went well."""
        reasons = []
        if not self.status.ok:
            reason = UNCHECKED if self.report is None else self.report.reason
            reasons.append(f"{reason} Do not execute it.")
        elif not self.is_cheap:
            reasons.append(DEAR)
        if self.beyond:
            reasons.append(f"Beyond the problem's range: {', '.join(self.beyond)}.")
            if self.status.ok:
                reasons.append("It passed its test, but check what else that range stands for.")
        elif self.outside and not self.status.ok:
            reasons.append("No motion of the library has passed a test at such parameters before.")
        return " ".join((*reasons, *self.notes))


@dataclass(frozen=True)
class AdaptationSettings:
    """Numbers of the adaptation of entries to parameters."""

    limit_tolerance: float = 1e-7
    """Tolerance of linearised limits [their units]."""
    shift_count_max: int = 2
    """Maximum number of second-order corrections before SQP steps."""
    progress_ratio_max: float = 0.5
    """Worst criterion after a second-order correction, over that before, up to which another one
    follows [-]."""


SETTINGS = AdaptationSettings()


class NearestEntry(NamedTuple):
    """An entry near the parameters of a query."""

    number: int
    """Index of the entry."""
    mirrored: bool
    """Whether it is mirrored."""
    distance: float
    """Distance in the library's metric."""


class QueryOptions(NamedTuple):
    """Options of a query, as in `TrajectoryLibrary.query`."""

    check: bool
    accuracy: float
    steps: int
    refine: bool
    end: float
    """Time of `perf_counter` after which no further attempt begins [s]."""
    cost_floor: float = 0.0
    """Smallest cost to which the tolerance of costs is relative."""

    @property
    def is_out_of_time(self) -> bool:
        """True if no further attempt may begin."""
        return perf_counter() > self.end


class _AdaptedUnknowns(NamedTuple):
    """Unknowns of an entry after the adaptation, before any simulation."""

    v: np.ndarray
    correction: Correction
    cost: float
    """Expected cost of the optimum."""
    notes: tuple[str, ...] = ()


class Candidate(NamedTuple):
    """An entry adapted to parameters, and its acceptance test."""

    neighbour: NearestEntry
    entry: Entry
    motion: Motion
    correction: Correction
    notes: tuple[str, ...]
    cost_max: float
    """Cost above which a better trajectory is searched for: `Entry.expected_cost` plus the
    tolerance. It is extrapolated, and refuses nothing."""
    shifts: int = 0
    steps: int = 0
    simulated: Simulation | None = None
    report: AcceptanceReport | None = None
    first_error: float = np.inf
    """Error before corrections."""

    @property
    def is_accepted(self) -> bool:
        """True if the trajectory may be executed."""
        return self.report is not None and self.report.passed

    @property
    def is_cheap(self) -> bool:
        """True if the cost is as expected; a cost that could not be computed is not."""
        return self.simulated is not None and self.simulated.cost <= self.cost_max

    @property
    def is_final(self) -> bool:
        """True if no other candidate needs to be searched for."""
        return self.is_accepted and self.is_cheap

    @property
    def worst(self) -> float:
        """Worst criterion of the test over its limit [-]."""
        return np.inf if self.report is None else self.report.worst

    @property
    def rank(self) -> tuple[bool, float]:
        """Sort key: accepted candidates first, by their cost; others by the worst criterion."""
        if not self.is_accepted or self.simulated is None:
            return True, self.worst
        return False, self.simulated.cost


class Adapter:
    """Adaptation of entries to parameters, with tests and corrections of the trajectories.

    Args:
        model: Model of the problem.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self._qp_seconds = 0.0

    def adapt_neighbours(
        self, neighbours: Sequence[tuple[NearestEntry, Entry]], p: np.ndarray, options: QueryOptions
    ) -> list[Candidate]:
        """Adapt and correct the nearest entries until one passes its test at the expected cost.

        An SQP step costs no more than the next entry and passes twice as often, so each entry gets
        one. If all fail, further steps correct the best candidate, then the second best.
        """
        candidates: list[Candidate] = []
        for neighbour, entry in neighbours:
            if candidates and options.is_out_of_time:
                break
            candidate = self._adapt_and_correct(neighbour, entry, p, options)
            candidates.append(self._apply_sqp_steps(candidate, p, options, min(options.steps, 1)))
            if candidates[-1].is_final:
                return candidates
        for k in sorted(range(len(candidates)), key=lambda k: candidates[k].rank):
            candidates[k] = self._apply_sqp_steps(candidates[k], p, options, options.steps - 1)
            if candidates[k].is_accepted or options.is_out_of_time:
                break
        return candidates

    def _adapt_and_correct(
        self, neighbour: NearestEntry, entry: Entry, p: np.ndarray, options: QueryOptions
    ) -> Candidate:
        """Adapt an entry to p; correct it to second order while it fails its test."""
        signs = self.model.signs if neighbour.mirrored else None
        entry_p = p if signs is None else signs.p * p
        residual = np.zeros(len(self.model.terminal_tolerances))
        best: Candidate | None = None
        for shifts in range(1 + (SETTINGS.shift_count_max if options.refine else 0)):
            change = np.concatenate((entry_p - entry.p, residual))
            adapted = self._adapt(entry, change, options)
            motion = self.model.motion(adapted.v if signs is None else signs.v * adapted.v)
            cost_max = adapted.cost + self.model.cost_tolerance * max(
                abs(adapted.cost), options.cost_floor
            )
            if best is not None:
                cost_max = best.cost_max
            candidate = Candidate(
                neighbour, entry, motion, adapted.correction, adapted.notes, cost_max, shifts
            )
            if not options.check:
                return candidate
            candidate = self._with_acceptance_test(candidate, p, options)
            if best is not None:
                candidate = candidate._replace(first_error=best.first_error)
            has_progressed = (
                best is None or candidate.worst < SETTINGS.progress_ratio_max * best.worst
            )
            best = candidate if best is None or candidate.rank < best.rank else best
            cannot_improve = adapted.correction is Correction.CLIPPED or not has_progressed
            if best.is_accepted or cannot_improve or options.is_out_of_time:
                break
            residual = residual - self._terminal_residual(candidate, entry_p, signs)
        assert best is not None
        return best

    def _apply_sqp_steps(
        self, best: Candidate, p: np.ndarray, options: QueryOptions, step_count_max: int
    ) -> Candidate:
        """Correct a candidate by SQP steps; return the best iterate."""
        candidate = best
        for _ in range(step_count_max):
            if (
                best.is_final
                or options.is_out_of_time
                or candidate.simulated is None
                or candidate.simulated.failure
            ):
                break
            motion = correct_trajectory(
                self.model, candidate.simulated, p, self._hessian(candidate)
            )
            if motion is None:
                break
            candidate = self._with_acceptance_test(
                candidate._replace(motion=motion, steps=candidate.steps + 1), p, options
            )
            best = candidate if candidate.rank < best.rank else best
        return best

    def _with_acceptance_test(
        self, candidate: Candidate, p: np.ndarray, options: QueryOptions
    ) -> Candidate:
        """Simulate a candidate and return it with its acceptance test."""
        simulated = self.model.simulate(candidate.motion, p)
        report = self.model.report(simulated, options.accuracy)
        first = simulated.error if candidate.simulated is None else candidate.first_error
        return candidate._replace(
            motion=simulated.motion, simulated=simulated, report=report, first_error=first
        )

    def _terminal_residual(
        self, candidate: Candidate, p: np.ndarray, signs: Signs | None
    ) -> np.ndarray:
        """Return the residual of the final conditions in the entry's unmirrored coordinates."""
        motion = candidate.motion
        end = motion.x[-1] if signs is None else signs.v[self.model.x_at[-1]] * motion.x[-1]
        return self.model.tapes["terminal"](end, motion.z, p)

    def _hessian(self, candidate: Candidate) -> np.ndarray:
        """Return the Hessian of the candidate's entry, mirrored if the candidate is."""
        hessian, signs = candidate.entry.hessian, self.model.signs
        if not candidate.neighbour.mirrored or signs is None:
            return hessian
        input_signs = np.concatenate((signs.v[self.model.u_at].ravel(), signs.v[self.model.z_at]))
        return hessian * input_signs * input_signs[:, None]

    def _adapt(self, entry: Entry, dp: np.ndarray, options: QueryOptions) -> _AdaptedUnknowns:
        """Apply (5) if (6c) and (6d) hold, else the tangent QP; clip to the limits of inputs."""
        cost = entry.expected_cost(dp[: len(entry.p)])
        if not options.refine:
            return _AdaptedUnknowns(entry.v, Correction.NONE, cost)
        v = entry.v + entry.v_p @ dp
        lower, upper = self.model.lower, self.model.upper
        is_feasible = bool(
            (
                (v >= lower - SETTINGS.limit_tolerance) & (v <= upper + SETTINGS.limit_tolerance)
            ).all()
        )
        is_feasible = is_feasible and bool(
            (entry.path + entry.path_p @ dp >= -SETTINGS.limit_tolerance).all()
        )
        if is_feasible and bool((entry.mu + entry.mu_p @ dp >= 0.0).all()):
            return _AdaptedUnknowns(np.clip(v, lower, upper), Correction.LINEAR, cost)
        begin = perf_counter()
        clipped = np.clip(v, lower, upper)
        if begin + self._qp_seconds > options.end:
            return _AdaptedUnknowns(clipped, Correction.CLIPPED, cost)
        solution = entry.qp.solve(dp)
        self._qp_seconds = max(0.9 * self._qp_seconds, perf_counter() - begin)
        if solution.result is None:
            return _AdaptedUnknowns(clipped, Correction.CLIPPED, cost, solution.notes)
        v = entry.v + entry.qp.change(solution.result.x, dp)
        cost = entry.cost + entry.qp.cost(solution.result.x, dp)
        notes = solution.notes if solution.replaced else ()
        return _AdaptedUnknowns(np.clip(v, lower, upper), Correction.TANGENT_QP, cost, notes)


def trial_from_candidates(p: np.ndarray, nearest: Candidate, best: Candidate) -> Trial | None:
    """Return the trial that an answer adds to the library's statistics."""
    if nearest.simulated is None:
        return None
    error = nearest.first_error if np.isfinite(nearest.first_error) else np.inf
    return Trial(p, nearest.neighbour.number, error, best.neighbour.number, best.is_accepted)
