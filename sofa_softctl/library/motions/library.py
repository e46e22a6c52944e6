"""Library of optimal motions: the nearest one, adapted to given parameters."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sofa_softctl.base.versions import one_blas_thread
from sofa_softctl.errors import LibraryError
from sofa_softctl.library.motions.answer import Adapter, Answer, Asked, NearestEntry, trial_of
from sofa_softctl.library.motions.correction import STEPS
from sofa_softctl.library.motions.entry import Entry
from sofa_softctl.library.motions.trials import Coverage, Trials
from sofa_softctl.library.ocp.model import Model
from sofa_softctl.status import Status

CANDIDATES = 4
"""Number of entries tried for an answer."""


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
        self._adapter = Adapter(model)
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

    def fault(self, entry: Entry) -> str:
        """What a motion breaks at its own parameters, corrected as far as it goes; empty: nothing.

        An optimum sees limits at instants alone, and moves by the plan's own steps.
        """
        asked = Asked(check=True, accuracy=1.0, steps=STEPS, refine=True, end=np.inf)
        near = NearestEntry(len(self.entries), False, 0.0)
        with one_blas_thread():
            (own,) = self._adapter.tried([(near, entry)], entry.p, asked)
        assert own.report is not None
        if own.passed:
            return ""
        broken = [each.name for each in own.report.criteria if not each.passed]
        return (
            f"the optimum breaks in simulation: {', '.join(broken) or own.report.failure} (more "
            "intervals or steps, or a larger margin, may help)"
        )

    def learn(self, trials: Trials) -> None:
        """Take over trials of its motions: they say where these are good."""
        self.trials = trials
        places, signs = self._p[: len(self.entries)], self.model.signs
        turned = None if signs is None else signs.p
        self.coverage = Coverage.of(trials, places, self.scale, turned)

    def prepare(self) -> None:
        """Compile the formulas and set up the QPs, which the first answers would otherwise do."""
        for name in ("dynamics", "path", "cost"):
            self.model.fast(name)
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
            raise LibraryError("The library holds no motion yet: go on with softctl library build.")
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

        The nearest entry is adapted, and the motion simulated. Where it fails the test, it is
        corrected to second order, then by a step of sequential quadratic programming, then the next
        entry is tried. The best is returned.

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
            LibraryError: The library is empty; p is not finite or of a wrong shape; another
                argument is out of its range.
        """
        start = perf_counter()
        p = self._checked(p)
        check_asked(accuracy, candidates, steps)
        if not budget >= 0.0:
            raise LibraryError(f"budget is a time from 0 s. Got: {budget}")
        asked = Asked(check, accuracy, steps if refine else 0, refine, start + budget)
        with np.errstate(over="ignore"):
            least, turned = self._distances(p)
        near = self._ranked(least, turned, candidates if check and refine else 1)
        with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):  # p may be 1e300
            tried = self._adapter.tried(
                [(each, self.entries[each.number]) for each in near], p, asked
            )
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
            trial=trial_of(p, tried[0], best),
            beyond=tuple(
                f"{each.name} = {value:.10g} not in [{each.lower:.10g}, {each.upper:.10g}]"
                for each, value in zip(self.model.parameters, p, strict=True)
                if not each.lower - 1e-12 <= value <= each.upper + 1e-12
            ),
            seconds=perf_counter() - start,
            notes=best.notes,
        )

    def _checked(self, p: Any) -> np.ndarray:
        names = [each.name for each in self.model.parameters]
        try:
            given = np.asarray(p, float)
        except (TypeError, ValueError):
            given = np.empty(0)
        if given.shape != (len(names),) or not np.isfinite(given).all():
            raise LibraryError(
                f"Parameters must be {len(names)} finite numbers: {', '.join(names)}. Got: {p}"
            )
        return given


def check_asked(accuracy: float, candidates: int, steps: int) -> None:
    """Raise LibraryError unless queries can be asked in this way."""
    if not 0.0 < accuracy <= 1.0:
        raise LibraryError(
            f"accuracy is a share of the tolerances, above 0 and at most 1. Got: {accuracy}"
        )
    for name, value, least in (("candidates", candidates, 1), ("steps", steps, 0)):
        if not (isinstance(value, int | np.integer) and value >= least):
            raise LibraryError(f"{name} must be a whole number from {least}. Got: {value}")
