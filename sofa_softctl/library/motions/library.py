"""Library of optimal trajectories: the nearest ones, adapted to the parameters of a query."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sofa_softctl.base.versions import one_blas_thread
from sofa_softctl.errors import LibraryError
from sofa_softctl.library.motions.answer import (
    Adapter,
    Answer,
    NearestEntry,
    QueryOptions,
    trial_from_candidates,
)
from sofa_softctl.library.motions.correction import SETTINGS
from sofa_softctl.library.motions.entry import Entry
from sofa_softctl.library.motions.trials import Coverage, Trials
from sofa_softctl.library.ocp.model import Model
from sofa_softctl.status import Status

CANDIDATES = 4
"""Default number of entries that a query adapts."""


class TrajectoryLibrary:
    """Optimal trajectories of a problem, by their parameters.

    Args:
        model: Model of the problem.
        entries: Entries to begin with.

    Source: Marcucci et al., section 5: the approximation steps of Algorithm 1.
    """

    def __init__(self, model: Model, entries: Sequence[Entry] = ()) -> None:
        self.model = model
        self.entries: list[Entry] = []
        self._p = np.empty((0, len(model.parameters)))
        self._slopes = np.zeros(len(model.parameters))
        self._adapter = Adapter(model)
        self._scaled_p: np.ndarray | None = None
        self._cost_floor: float | None = None
        for entry in entries:
            self.add(entry)
        self.learn(Trials.from_rows([], len(model.parameters)))

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def scale(self) -> np.ndarray:
        """Weight of each parameter in the metric, shape (n_p,).

        It is the mean norm of the derivative of the inputs over all entries: near entries have
        similar inputs.
        """
        return self._slopes / max(len(self.entries), 1)

    def add(self, entry: Entry) -> None:
        """Add an entry."""
        if len(self.entries) == len(self._p):
            larger = np.empty((max(64, 2 * len(self._p)), self._p.shape[1]))
            larger[: len(self._p)] = self._p
            self._p = larger
        self._p[len(self.entries)] = entry.p
        self.entries.append(entry)
        slopes = entry.v_p[self.model.u_at.ravel(), : len(entry.p)]
        self._slopes += np.linalg.norm(slopes, axis=0)
        self._scaled_p = self._cost_floor = None

    @property
    def cost_floor(self) -> float:
        """Cost below which differences are absolute: a hundredth of the median of all entries."""
        if self._cost_floor is None:
            costs = [abs(entry.cost) for entry in self.entries]
            self._cost_floor = 0.01 * float(np.median(costs)) if costs else 0.0
        return self._cost_floor

    def fault(self, entry: Entry) -> str:
        """Return why an entry fails the test at its own parameters, with the criteria, or "".

        An optimum may exceed limits between instants and is integrated with the coarse steps of the
        plan, so that it can fail the test.
        """
        options = QueryOptions(
            check=True, accuracy=1.0, steps=SETTINGS.step_count_max, refine=True, end=np.inf
        )
        neighbour = NearestEntry(len(self.entries), False, 0.0)
        with one_blas_thread():
            (candidate,) = self._adapter.adapt_neighbours([(neighbour, entry)], entry.p, options)
        assert candidate.report is not None
        if candidate.is_accepted:
            return ""
        report = candidate.report
        failures = ", ".join(
            criterion.name for criterion in report.criteria if not criterion.passed
        )
        return (
            f"the optimum breaks in simulation: {failures or report.failure} (more intervals or "
            "steps, or a larger margin, may help)"
        )

    def learn(self, trials: Trials) -> None:
        """Set the trials of the entries, from which the coverage follows."""
        self.trials = trials
        entry_p, signs = self._p[: len(self.entries)], self.model.signs
        p_signs = None if signs is None else signs.p
        self.coverage = Coverage.from_trials(trials, entry_p, self.scale, p_signs)

    def prepare(self) -> None:
        """Compile the formulas and set up the QPs, so that the first query is not slower."""
        for name in ("dynamics", "path", "cost"):
            self.model.fast_code(name)
        for entry in self.entries:
            entry.qp.prepare()

    def find_nearest(self, p: np.ndarray, count: int = 1) -> list[NearestEntry]:
        """Return the entries nearest to p, mirrored if that is nearer, in order of distance.

        Raises:
            LibraryError: The library is empty.
        """
        return self._rank_nearest(*self._distances(p), count)

    @staticmethod
    def _rank_nearest(
        distances: np.ndarray, is_mirrored: np.ndarray, count: int
    ) -> list[NearestEntry]:
        """Return the entries of least distance, in order of distance."""
        count = min(count, len(distances))
        nearest = np.argpartition(distances, count - 1)[:count]
        nearest = nearest[np.argsort(distances[nearest], kind="stable")]
        return [NearestEntry(int(k), bool(is_mirrored[k]), float(distances[k])) for k in nearest]

    def _distances(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the distance of p to each entry, and a mask of those that are nearer mirrored.

        Raises:
            LibraryError: The library is empty.
        """
        if not self.entries:
            raise LibraryError("The library holds no motion yet: go on with softctl library build.")
        if self._scaled_p is None:
            self._scaled_p = self._p[: len(self.entries)] * self.scale
        signs = self.model.signs
        queries = [p] if signs is None else [p, signs.p * p]
        differences = self._scaled_p - (np.array(queries) * self.scale)[:, None]
        distances = np.sqrt(np.einsum("ijk,ijk->ij", differences, differences))
        return distances.min(axis=0), distances.argmin(axis=0).astype(bool)

    def query(
        self,
        p: ArrayLike,
        *,
        check: bool = True,
        accuracy: float = 1.0,
        candidates: int = CANDIDATES,
        steps: int = SETTINGS.step_count_max,
        budget: float = np.inf,
        refine: bool = True,
    ) -> Answer:
        """Return the trajectory for parameters p, SOLVED if it passed its acceptance test.

        The nearest entry is adapted, and the result simulated. If that fails the test, it is
        corrected to second order, then by an SQP step, then the next entry is adapted. The best
        result is returned.

        Args:
            p: Parameters, shape (n_p,).
            check: Simulate and test; otherwise no answer is SOLVED.
            accuracy: Allowed fraction of the tolerances of error and final conditions [-].
            candidates: Maximum number of adapted entries; 1 without `check` is the paper's method.
            steps: Maximum number of SQP steps per entry.
            budget: Time after which no further attempt begins [s]. If a QP would exceed it, judged
                by earlier ones, the linear correction is clipped at the limits instead.
            refine: Adapt the nearest trajectory to p.

        Raises:
            LibraryError: The library is empty; p is not finite or of a wrong shape; another
                argument is out of its range.
        """
        start = perf_counter()
        p = self._check_parameters(p)
        check_query_options(accuracy, candidates, steps)
        if not budget >= 0.0:
            raise LibraryError(f"budget is a time from 0 s. Got: {budget}")
        options = QueryOptions(
            check, accuracy, steps if refine else 0, refine, start + budget, self.cost_floor
        )
        with np.errstate(over="ignore"):
            distances, is_mirrored = self._distances(p)
        neighbours = self._rank_nearest(
            distances, is_mirrored, candidates if check and refine else 1
        )
        with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):  # p may be 1e300
            candidates_tested = self._adapter.adapt_neighbours(
                [(neighbour, self.entries[neighbour.number]) for neighbour in neighbours],
                p,
                options,
            )
        best = min(candidates_tested, key=lambda candidate: candidate.rank)
        radii = self.coverage.radii
        simulated = best.simulated
        return Answer(
            p=p,
            v=self.model.unknowns(best.motion),
            motion=best.motion,
            status=Status.SOLVED if best.is_accepted else Status.REJECTED,
            correction=best.correction,
            shifts=best.shifts,
            steps=best.steps,
            nearest=best.neighbour.number,
            mirrored=best.neighbour.mirrored,
            distance=best.neighbour.distance,
            report=best.report,
            error=np.nan if simulated is None else simulated.error,
            cost=np.nan if simulated is None else simulated.cost,
            is_cheap=best.is_cheap,
            expected_error=self.coverage.expected_error(best.neighbour.distance),
            outside=not bool((distances[: len(radii)] <= radii).any()),
            trial=trial_from_candidates(p, candidates_tested[0], best),
            beyond=tuple(
                f"{limits.name} = {value:.10g} not in [{limits.lower:.10g}, {limits.upper:.10g}]"
                for limits, value in zip(self.model.parameters, p, strict=True)
                if not limits.lower - 1e-12 <= value <= limits.upper + 1e-12
            ),
            seconds=perf_counter() - start,
            model=self.model,
            notes=best.notes,
        )

    def _check_parameters(self, p: Any) -> np.ndarray:
        names = [parameter.name for parameter in self.model.parameters]
        try:
            values = np.asarray(p, float)
        except (TypeError, ValueError):
            values = np.empty(0)
        if values.shape != (len(names),) or not np.isfinite(values).all():
            raise LibraryError(
                f"Parameters must be {len(names)} finite numbers: {', '.join(names)}. Got: {p}"
            )
        return values


def check_query_options(accuracy: float, candidates: int, steps: int) -> None:
    """Raise LibraryError unless the options of a query are in their ranges."""
    if not 0.0 < accuracy <= 1.0:
        raise LibraryError(
            f"accuracy is a fraction of the tolerances, above 0 and at most 1. Got: {accuracy}"
        )
    for name, value, minimum in (("candidates", candidates, 1), ("steps", steps, 0)):
        if not (isinstance(value, int | np.integer) and value >= minimum):
            raise LibraryError(f"{name} must be a whole number from {minimum}. Got: {value}")
