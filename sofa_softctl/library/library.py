"""Library of optimal motions: the nearest one, adapted to given parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sofa_softctl._internal.blas_threads import one_blas_thread
from sofa_softctl.acceptance import AcceptanceReport
from sofa_softctl.errors import LibraryError
from sofa_softctl.library.correction import STEPS, corrected
from sofa_softctl.library.entry import Entry
from sofa_softctl.library.model import Model, Signs, Simulation
from sofa_softctl.library.ocp.problem import Motion
from sofa_softctl.library.trials import Coverage, Trial, Trials
from sofa_softctl.status import Status

FEASIBLE = 1e-7
"""Tolerance of linearised limits, in their units."""
CANDIDATES = 4
"""Number of entries tried for an answer."""
SHIFTS = 2
"""Number of second-order corrections before steps of sequential quadratic programming."""
CLOSER = 0.5
"""What such a correction must leave of the worst criterion for another one [-]."""


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
        elif self.outside and not self.status.ok:
            reasons.append("No motion of the library has passed a test at such parameters before.")
        return " ".join((*reasons, *self.notes))


class NearestEntry(NamedTuple):
    """A near entry."""

    number: int
    """Number of the entry."""
    mirrored: bool
    """Whether it is mirrored."""
    distance: float
    """Distance in the library's metric."""


class _Asked(NamedTuple):
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


class _Candidate(NamedTuple):
    """An entry adapted to parameters, and its acceptance test."""

    near: NearestEntry
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


class TrajectoryLibrary:
    """Optimal motions of a problem, by their parameters.

    Args:
        model: Model of the problem.
        entries: The motions.

    Source: Marcucci et al., section 5: Algorithm 1's steps that approximate.
    """

    def __init__(self, model: Model, entries: Sequence[Entry] = ()) -> None:
        self.model = model
        self.entries: list[Entry] = []
        self._p = np.empty((0, len(model.parameters)))
        self._slopes = np.zeros(len(model.parameters))
        self._qp_seconds = 0.0
        self._scaled: np.ndarray | None = None
        for entry in entries:
            self.add(entry)
        self.learn(Trials.of([], len(model.parameters)))

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def scale(self) -> np.ndarray:
        """Length of each axis of parameters in the metric, shape (n_p,).

        The mean over all motions of the change of inputs with it: near motions have similar
        inputs.
        """
        return self._slopes / max(len(self.entries), 1)

    def add(self, entry: Entry) -> None:
        """Add a motion."""
        if len(self.entries) == len(self._p):
            grown = np.empty((max(64, 2 * len(self._p)), self._p.shape[1]))
            grown[: len(self._p)] = self._p
            self._p = grown
        self._p[len(self.entries)] = entry.p
        self.entries.append(entry)
        slopes = entry.v_p[self.model.u_at.ravel(), : len(entry.p)]
        self._slopes += np.linalg.norm(slopes, axis=0)
        self._scaled = None

    def learn(self, trials: Trials) -> None:
        """Take over trials of its motions: they say where these are good."""
        self.trials = trials
        places, signs = self._p[: len(self.entries)], self.model.signs
        turned = None if signs is None else signs.p
        self.coverage = Coverage.of(trials, places, self.scale, turned)

    def prepare(self) -> None:
        """Set up the QPs of all entries, which the first answers would otherwise do."""
        for entry in self.entries:
            entry.qp.prepare()

    def nearest(self, p: np.ndarray, count: int = 1) -> list[NearestEntry]:
        """The entries nearest to parameters p, each as it is or mirrored, nearest first.

        Raises:
            LibraryError: The library is empty.
        """
        return self._ranked(*self._distances(p), count)

    @staticmethod
    def _ranked(least: np.ndarray, turned: np.ndarray, count: int) -> list[NearestEntry]:
        """The entries of least distances."""
        count = min(count, len(least))
        best = np.argpartition(least, count - 1)[:count]
        best = best[np.argsort(least[best], kind="stable")]
        return [NearestEntry(int(k), bool(turned[k]), float(least[k])) for k in best]

    def _distances(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Distance of p to each entry, and whether it is to the mirrored one.

        Raises:
            LibraryError: The library is empty.
        """
        if not self.entries:
            raise LibraryError("The library is empty: build it first, softctl library build.")
        if self._scaled is None:
            self._scaled = self._p[: len(self.entries)] * self.scale
        signs = self.model.signs
        asked = [p] if signs is None else [p, signs.p * p]
        apart = self._scaled - (np.array(asked) * self.scale)[:, None]
        far = np.sqrt(np.einsum("ijk,ijk->ij", apart, apart))
        return far.min(axis=0), far.argmin(axis=0).astype(bool)

    def query(
        self,
        p: ArrayLike,
        *,
        check: bool = True,
        accuracy: float = 1.0,
        candidates: int = CANDIDATES,
        steps: int = STEPS,
        budget: float = np.inf,
        refine: bool = True,
    ) -> Answer:
        """The motion for parameters p, which is SOLVED when it passed its acceptance test.

        The nearest entry is adapted, and the motion simulated; where it fails the test, it is
        corrected to second order, then the next entry is tried. Where all fail, steps of
        sequential quadratic programming correct the best one, then the next. The best is returned.

        Args:
            p: Parameters, shape (n_p,).
            check: Whether to simulate; without, no answer is SOLVED.
            accuracy: Allowed share of the tolerances of error and final conditions [-].
            candidates: Maximum number of tried entries; 1 without `check` is the paper's method.
            steps: Maximum number of corrections of each.
            budget: Time after which nothing more is tried [s]. Where a QP would take longer, by
                its time so far, the linear correction is cut off at the limits.
            refine: Whether to adapt the nearest motion.

        Raises:
            LibraryError: The library is empty, or p is not finite or of a wrong shape.
        """
        start = perf_counter()
        p = self._checked(p)
        asked = _Asked(check, accuracy, steps if refine else 0, refine, start + budget)
        least, turned = self._distances(p)
        near = self._ranked(least, turned, candidates if check and refine else 1)
        with one_blas_thread():
            tried = self._tried(near, p, asked)
        best = min(tried, key=lambda each: each.rank)
        radii = self.coverage.radii
        simulated = best.simulated
        return Answer(
            p=p,
            v=self.model.unknowns(best.motion),
            motion=best.motion,
            status=Status.SOLVED if best.passed else Status.REJECTED,
            correction=best.correction,
            shifts=best.shifts,
            steps=best.steps,
            nearest=best.near.number,
            mirrored=best.near.mirrored,
            distance=best.near.distance,
            report=best.report,
            error=np.nan if simulated is None else simulated.error,
            cost=np.nan if simulated is None else simulated.cost,
            expected_error=self.coverage.expected_error(best.near.distance),
            outside=not bool((least[: len(radii)] <= radii).any()),
            trial=_trial(p, tried[0], best),
            beyond=tuple(
                f"{each.name} = {value:.4g} not in [{each.lower:.4g}, {each.upper:.4g}]"
                for each, value in zip(self.model.parameters, p, strict=True)
                if not each.lower - 1e-12 <= value <= each.upper + 1e-12
            ),
            seconds=perf_counter() - start,
            notes=best.notes,
        )

    def _tried(
        self, near: Sequence[NearestEntry], p: np.ndarray, asked: _Asked
    ) -> list[_Candidate]:
        """Motions of near entries: adapted one after the other until one passes its test.

        Where none does, steps of sequential quadratic programming correct the best one, then the
        next.
        """
        tried: list[_Candidate] = []
        for each in near:
            if tried and asked.late:
                break
            tried.append(self._adapted_and_tested(each, p, asked))
            if tried[-1].passed:
                return tried
        for k in sorted(range(len(tried)), key=lambda k: tried[k].rank):
            if not asked.steps:
                break
            tried[k] = self._stepped(tried[k], p, asked)
            if tried[k].passed or asked.late:
                break
        return tried

    def _adapted_and_tested(self, near: NearestEntry, p: np.ndarray, asked: _Asked) -> _Candidate:
        """An entry's motion for p, with second-order corrections where it fails its test."""
        entry, signs = self.entries[near.number], self.model.signs if near.mirrored else None
        own = p if signs is None else signs.p * p
        residual = np.zeros(len(self.model.terminal_tolerances))
        best: _Candidate | None = None
        for shifts in range(1 + (SHIFTS if asked.refine else 0)):
            change = np.concatenate((own - entry.p, residual))
            found = self._adapted(entry, change, asked)
            motion = self.model.motion(found.v if signs is None else signs.v * found.v)
            now = _Candidate(near, motion, found.correction, found.notes, found.cost, shifts)
            if not asked.check:
                return now
            if best is not None:
                now = now._replace(expected_cost=best.expected_cost)
            now = self._tested(now, p, asked)
            if best is not None:
                now = now._replace(first_error=best.first_error)
            closer = best is None or now.worst < CLOSER * best.worst
            best = now if best is None or now.rank < best.rank else best
            if best.passed or not closer or asked.late:
                break
            residual = residual - self._missed(now, own, signs)
        assert best is not None
        return best

    def _stepped(self, best: _Candidate, p: np.ndarray, asked: _Asked) -> _Candidate:
        """It after steps of sequential quadratic programming."""
        now = best
        for steps in range(1, asked.steps + 1):
            if best.passed or asked.late or now.simulated is None or now.simulated.failure:
                break
            motion = corrected(self.model, now.simulated, p, self._hessian(now.near))
            if motion is None:
                break
            now = self._tested(now._replace(motion=motion, steps=steps), p, asked)
            best = now if now.rank < best.rank else best
        return best

    def _tested(self, now: _Candidate, p: np.ndarray, asked: _Asked) -> _Candidate:
        """It with its acceptance test."""
        moved = self.model.simulate(now.motion, p)
        report = self.model.report(moved, asked.accuracy, now.expected_cost)
        first = moved.error if now.simulated is None else now.first_error
        return now._replace(motion=moved.motion, simulated=moved, report=report, first_error=first)

    def _missed(self, now: _Candidate, own: np.ndarray, signs: Signs | None) -> np.ndarray:
        """Residual of the final conditions, of the entry as it is where it was mirrored."""
        motion = now.motion
        end = motion.x[-1] if signs is None else signs.v[self.model.x_at[-1]] * motion.x[-1]
        return self.model.tapes["terminal"](end, motion.z, own)

    def _hessian(self, near: NearestEntry) -> np.ndarray:
        """Hessian of an entry, as it is or mirrored."""
        found, signs = self.entries[near.number].hessian, self.model.signs
        if not near.mirrored or signs is None:
            return found
        turned = np.concatenate((signs.v[self.model.u_at].ravel(), signs.v[self.model.z_at]))
        return found * turned * turned[:, None]

    def _adapted(self, entry: Entry, dp: np.ndarray, asked: _Asked) -> _Adapted:
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

    def _checked(self, p: Any) -> np.ndarray:
        given = np.asarray(p, float)
        names = [each.name for each in self.model.parameters]
        if given.shape != (len(names),) or not np.isfinite(given).all():
            raise LibraryError(
                f"Parameters must be {len(names)} finite numbers: {', '.join(names)}. Got: {p}"
            )
        return given


def _trial(p: np.ndarray, nearest: _Candidate, best: _Candidate) -> Trial | None:
    """An answer as a trial."""
    if nearest.simulated is None:
        return None
    error = nearest.first_error if np.isfinite(nearest.first_error) else np.inf
    return Trial(p, nearest.near.number, error, best.near.number, best.passed)
