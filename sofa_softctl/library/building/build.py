"""Build a library from random tasks, until it fails few of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, field
from itertools import repeat
from time import perf_counter
from typing import Any
from uuid import uuid4

import numpy as np

from sofa_softctl.base.executors.retry import in_order, lost_workers
from sofa_softctl.errors import LibraryError
from sofa_softctl.library.building.solving import Solved, TaskChain, solve, solve_anew
from sofa_softctl.library.building.stopping import Presumed, Window, failure_bound
from sofa_softctl.library.motions.answer import Answer, Correction
from sofa_softctl.library.motions.entry import Entry
from sofa_softctl.library.motions.library import CANDIDATES, TrajectoryLibrary, check_asked
from sofa_softctl.library.motions.storage import LibraryFile, check_for_library
from sofa_softctl.library.motions.trials import LEAST, SOLVED, Feasibility, Trial, Trials
from sofa_softctl.library.ocp.problem import OptimalControlProblem
from sofa_softctl.library.ocp.shooting import Program
from sofa_softctl.status import Status

CHAINS = 8
"""Number of parallel chains of tasks; the library does not depend on the number of workers."""
NO_MOTION = "no motion"
"""Why a task that has none was skipped."""
HOPELESS_FROM = 100
"""Number of tasks without a new motion from which building may end as hopeless."""
KEEP_EVERY = 2.0
"""Interval at which counts are written without a new motion [s]."""


@dataclass
class BuildCounts:
    """Counts of building, over all its runs."""

    plannings: int = 0
    """Random problems."""
    solved: int = 0
    """Solved nonlinear programs."""
    infeasible: int = 0
    """Of these, those without a solution: skipped."""
    not_converged: int = 0
    """Of these, those that the solver gave up: skipped."""
    spared: int = 0
    """Of these, those whose task another motion of the same round answers."""
    degenerate: int = 0
    """Of these, those whose optimum has no sensitivity: skipped."""
    unfit: int = 0
    """Of these, those whose optimum does not pass its own test, not even corrected: skipped."""
    by_sensitivity: int = 0
    """Problems answered by the linear correction."""
    by_qp: int = 0
    """Problems answered by the tangent QP."""
    by_shifts: int = 0
    """Problems answered after second-order corrections."""
    by_steps: int = 0
    """Problems answered after further steps of sequential quadratic programming."""
    seconds: float = 0.0
    """Time [s]."""


@dataclass
class BuildProgress:
    """Progress of building, for display."""

    motions: int
    """Motions in the library."""
    counts: BuildCounts
    """Counts so far."""
    bound: float
    """Upper bound of the share of tasks that the library fails [-]."""


@dataclass
class Builder:
    """Algorithm 1 for a problem and a file.

    Tasks are drawn in several chains, one of each a round. Those that the library at the beginning
    of the round does not answer well enough are solved in parallel. Their optima join in the order
    of the chains, but for those whose tasks are known by then. Building ends when the tasks since
    the last new motion bound the share that the library fails.

    Source: Marcucci et al., Algorithm 1. Departures: answers are tested and corrected before a task
        is solved, of several entries; it ends by a confidence bound.
    """

    program: Program
    """Nonlinear program of the problem."""
    file: LibraryFile
    """File of the library."""
    failure_rate: float = 0.01
    """Share of tasks that the library may fail when it ends, see `stopping.Window` [-]."""
    seed: int = 0
    """Seed of all random numbers."""
    most: int = 5000
    """Maximum number of motions."""
    candidates: int = CANDIDATES
    """Number of entries tried for a task; 1 in the paper."""
    steps: int = 1
    """Steps of sequential quadratic programming after which a task still counts as known: 0 makes
    more motions and faster answers, 2 fewer motions."""
    accuracy: float = 1.0
    """Allowed error of answers, relative to the problem's tolerance."""
    executor: Executor | None = None
    """Executor of parallel solves; `make` creates the problem in its processes."""
    make: Callable[[], OptimalControlProblem] | None = None
    """Creates the problem in a worker; picklable."""
    key: str = field(init=False, default_factory=lambda: uuid4().hex)
    """Of what workers keep for this builder."""
    library: TrajectoryLibrary = field(init=False)
    counts: BuildCounts = field(init=False)
    chains: list[TaskChain] = field(init=False)
    window: Window = field(init=False)
    """Tasks since the last new motion."""
    presumed: Presumed = field(init=False)
    """Tasks that presumably have no motion."""
    grown: list[int] = field(init=False)
    """Number of tasks that were asked with 0, 1, 2, ... motions."""
    begun_with: int = field(init=False)
    """Seed that the library was begun with."""
    skipped: list[list[Any]] = field(init=False)
    """Parameters at which no motion was made, and why."""
    changed: list[str] = field(init=False, default_factory=list)
    """How tasks are answered otherwise than when the library was built until now."""
    trials: Trials = field(init=False)
    """Tests of motions that are in the file."""
    _trials: list[Trial] = field(init=False, default_factory=list)
    """Those that are not yet."""
    _seen: int = field(init=False)
    """`changes` of the file when it was read."""

    def __post_init__(self) -> None:
        check_asked(self.accuracy, self.candidates, self.steps)
        if not 0.0 < self.failure_rate < 1.0:
            raise LibraryError(
                "failure_rate is the share of tasks that may fail, between 0 and 1. Got: "
                f"{self.failure_rate}"
            )
        check_for_library(self.program.model)
        self.file.check(self.program.model)
        self._read()

    def _read(self) -> None:
        """Read motions and state of building from the file."""
        self._seen = self.file.changes
        self.library = self.file.library()
        self.trials = self.library.trials
        saved = self.file.about("state")
        if saved is None:
            self.begun_with = self.seed
            seeds = np.random.SeedSequence(self.seed).spawn(CHAINS)
            self.chains = [TaskChain(np.random.default_rng(seed)) for seed in seeds]
            self.counts, self.window, self.presumed = BuildCounts(), Window(), Presumed()
            self.grown, self.skipped = [0], []
            return
        self.begun_with = saved["seed"]
        self.chains = [TaskChain.from_json(each) for each in saved["chains"]]
        self.counts, self.window = BuildCounts(**saved["counts"]), Window(**saved["window"])
        self.presumed = Presumed(**saved["presumed"])
        self.grown, self.skipped = saved["grown"], saved["skipped"]
        if saved["asked"] != self._asked:
            self.changed = [
                f"{name} {value:g} (was {saved['asked'][name]:g})"
                for name, value in self._asked.items()
                if value != saved["asked"][name]
            ]
            self.window = Window()  # the tasks until now were answered in another way

    @property
    def _asked(self) -> dict[str, float]:
        """How tasks are answered."""
        return {"accuracy": self.accuracy, "candidates": self.candidates, "steps": self.steps}

    @property
    def bound(self) -> float:
        """Upper bound of the share of tasks with a motion that the library fails [-]."""
        tasks, motions = self.counts.plannings, len(self.library)
        return failure_bound(self.window, self.presumed, tasks=tasks, motions=motions)

    @property
    def done(self) -> bool:
        """Whether the bound is low enough, or will never be: it is `full`, or `hopeless`."""
        return self.full or self.hopeless or self.bound <= self.failure_rate

    @property
    def full(self) -> bool:
        """Whether the maximum number of motions is reached."""
        return len(self.library) >= self.most

    @property
    def hopeless(self) -> bool:
        """Whether more tasks fail than `failure_rate` and no motion can be made for them.

        Their optima are degenerate or unfit, or the solver gives up: the bound will never be low
        enough.
        """
        return self.window.tasks >= HOPELESS_FROM and self.window.least > self.failure_rate

    @property
    def reasons(self) -> str:
        """Why tasks have no motion in the library, the most frequent reason first."""
        found = Counter(row[-1] for row in self.skipped).most_common(3)
        return "; ".join(f"{count} tasks: {why}" for why, count in found)

    def build(self, progress: Callable[[BuildProgress], None] | None = None) -> TrajectoryLibrary:
        """Build until it is done.

        Raises:
            WorkerError: A worker process was killed; motions until then are kept.
            LibraryError: The file could not be written, it is as it was; another process builds; no
                task has a motion.
        """
        with self.file.writing():
            if self.file.changes != self._seen:  # another process has built meanwhile
                self._read()
            return self._build(progress)

    def _build(self, progress: Callable[[BuildProgress], None] | None) -> TrajectoryLibrary:
        begin, before = perf_counter(), self.counts.seconds
        kept = begin
        while not self.done:
            new = self.round()
            now = perf_counter()
            self.counts.seconds = before + now - begin
            if new or self.done or now - kept > KEEP_EVERY:
                self.keep(new)
                kept = now
            if progress is not None:
                progress(BuildProgress(len(self.library), self.counts, self.bound))
        self.check_any()
        self.library.learn(self.trials)
        return self.library

    def check_any(self) -> None:
        """Raise LibraryError unless some task had a motion."""
        if not len(self.library):
            raise LibraryError(
                f"None of {self.counts.plannings} tasks of '{self.program.problem.name}' has a "
                f"motion that a library can keep ({self.reasons}). Check limits, horizon, formulas "
                "and the ranges of the parameters."
            )

    def keep(self, new: list[Entry]) -> None:
        """Write new motions, trials and the state to the file."""
        state = {
            "counts": asdict(self.counts),
            "chains": [each.to_json() for each in self.chains],
            "window": asdict(self.window),
            "presumed": asdict(self.presumed),
            "grown": self.grown,
            "skipped": self.skipped,
            "failure_rate": self.failure_rate,
            "seed": self.begun_with,
            "asked": self._asked,
        }
        self.file.append(new, state, Trials.of(self._trials, len(self.program.problem.parameters)))
        self.trials = self._joined()
        self._trials.clear()

    def _joined(self) -> Trials:
        """All trials."""
        n_p = len(self.program.problem.parameters)
        return Trials.joined([self.trials, Trials.of(self._trials, n_p)], n_p)

    def round(self) -> list[Entry]:
        """Do one task of each chain; returns the new motions."""
        asked = [(chain, chain.draw(self.program.problem)) for chain in self.chains]
        answers = [self._query(p) for _, p in asked]
        unknown = [pair for pair, answer in zip(asked, answers, strict=True) if answer is None]
        presumed = self._presumed([p for _, p in unknown])
        tried = [
            not none or chain.rng.random() < SOLVED
            for (chain, _), none in zip(unknown, presumed, strict=True)
        ]
        found = iter(self._solve([p for (_, p), yes in zip(unknown, tried, strict=True) if yes]))
        results = iter([next(found) if yes else None for yes in tried])
        new = list[Entry]()
        for (chain, p), answer in zip(asked, answers, strict=True):
            self.counts.plannings += 1
            self.window.tasks += 1
            self.grown[-1] += 1
            if answer is not None:
                self._count(answer)
                chain.finish(answer.motion.x[-1])
                continue
            solved, none = next(results), presumed.pop(0)
            if solved is None:
                self.presumed.unsolved += 1
                self.window.infeasible += 1
                chain.skip()
                continue
            if none:
                self.presumed.solved += 1
                self.presumed.wrong += solved.status.ok
            new += self._take(chain, p, solved, fresh=not new)
        if new:
            self.window = Window()
        return new

    def _presumed(self, unknown: list[np.ndarray]) -> list[bool]:
        """Whether these tasks presumably have no motion."""
        if not unknown or self.counts.infeasible < LEAST:
            return [False] * len(unknown)
        signs, problem = self.program.model.signs, self.program.problem
        known = self._joined()  # also those that are not in the file: it is written at any time
        learnt = Feasibility(
            problem.lower,
            problem.upper,
            known.p[known.passed],
            np.array([row[:-1] for row in self.skipped if row[-1] == NO_MOTION], float),
            None if signs is None else signs.p,
        )
        return [learnt.presumes_none(p) for p in unknown]

    def _query(self, p: np.ndarray) -> Answer | None:
        """The library's answer, if it is good enough."""
        if not len(self.library):
            return None
        answer = self.library.query(
            p, accuracy=self.accuracy, candidates=self.candidates, steps=self.steps
        )
        if answer.trial is not None:
            self._trials.append(answer.trial)
        return answer if answer.status.ok else None

    def _count(self, answer: Answer) -> None:
        """Count a good answer by what it took."""
        if answer.steps:
            self.counts.by_steps += 1
        elif answer.shifts:
            self.counts.by_shifts += 1
        else:
            self.counts.by_sensitivity += answer.correction is Correction.LINEAR
            self.counts.by_qp += answer.correction is not Correction.LINEAR

    def _take(self, chain: TaskChain, p: np.ndarray, solved: Solved, *, fresh: bool) -> list[Entry]:
        """Count the solve; returns the new motion, if there is one.

        fresh: no motion joined in this round before.
        """
        self.counts.solved += 1
        if solved.end is None:
            chain.skip()
        else:
            chain.finish(solved.end)
        fault = "" if solved.entry is None else self.library.fault(solved.entry)
        if solved.entry is not None and not fault:
            if not fresh and self._query(p) is not None:
                self.counts.spared += 1
                return []
            self.library.add(solved.entry)
            self.grown.append(0)
            return [solved.entry]
        if solved.status is Status.INFEASIBLE:
            self.counts.infeasible += 1
            self.window.infeasible += 1
        else:
            self.counts.not_converged += not solved.status.ok
            self.counts.degenerate += solved.status.ok and not fault
            self.counts.unfit += bool(fault)
            self.window.failures += 1
        why = NO_MOTION if solved.status is Status.INFEASIBLE else fault or solved.why
        self.skipped.append([*p.tolist(), why])
        return []

    def _solve(self, asked: list[np.ndarray]) -> list[Solved]:
        if self.executor is None:
            return [solve(self.program, p) for p in asked]
        assert self.make is not None
        given = (repeat(each, len(asked)) for each in (self.key, self.make, self.program.digest))
        with lost_workers(
            "It may have run out of memory. The library has all motions until then: start again, "
            "perhaps with fewer workers, and it goes on."
        ):
            return list(in_order(self.executor, solve_anew, *given, asked))
