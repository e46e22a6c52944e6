"""Building of libraries from random tasks, until few of them fail."""

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

from sofa_softctl.base.executors.retry import in_order, raise_worker_error
from sofa_softctl.errors import LibraryError
from sofa_softctl.library.building.solving import SolvedTask, TaskChain, solve, solve_in_worker
from sofa_softctl.library.building.stopping import PredictedInfeasible, Window, failure_bound
from sofa_softctl.library.motions.answer import Answer, Correction
from sofa_softctl.library.motions.entry import Entry
from sofa_softctl.library.motions.library import CANDIDATES, TrajectoryLibrary, check_query_options
from sofa_softctl.library.motions.storage import LibraryFile, check_for_library
from sofa_softctl.library.motions.trials import FEASIBILITY, Feasibility, Trial, Trials
from sofa_softctl.library.ocp.problem import OptimalControlProblem
from sofa_softctl.library.ocp.shooting import Program
from sofa_softctl.status import Status

NO_MOTION = "no motion"
"""Reason for skipping a task that is infeasible."""


@dataclass(frozen=True)
class BuilderSettings:
    """Numbers of the building of libraries."""

    chain_count: int = 8
    """Number of parallel chains of tasks; results do not depend on the number of workers."""
    hopeless_tasks_min: int = 100
    """Number of tasks since the last new entry before building may end as hopeless."""
    save_interval: float = 2.0
    """Time between writes of the counts if there is no new entry [s]."""


SETTINGS = BuilderSettings()


@dataclass
class BuildCounts:
    """Counts of building, over all its runs."""

    plannings: int = 0
    """Number of random tasks."""
    solved: int = 0
    """Solved nonlinear programs."""
    infeasible: int = 0
    """Infeasible nonlinear programs, skipped."""
    not_converged: int = 0
    """Nonlinear programs that the solver gave up, skipped."""
    spared: int = 0
    """Solved programs whose task another entry of the same round answers."""
    degenerate: int = 0
    """Solved programs whose optimum has no sensitivity, skipped."""
    unfit: int = 0
    """Solved programs whose optimum fails its own acceptance test even after corrections,
    skipped."""
    by_sensitivity: int = 0
    """Tasks answered by the linear correction."""
    by_qp: int = 0
    """Tasks answered by the tangent QP."""
    by_shifts: int = 0
    """Tasks answered after second-order corrections."""
    by_steps: int = 0
    """Tasks answered after SQP steps."""
    seconds: float = 0.0
    """Time of building [s]."""


@dataclass
class BuildProgress:
    """Progress of building, for display."""

    motions: int
    """Number of entries in the library."""
    counts: BuildCounts
    """Counts so far."""
    bound: float
    """Upper bound of the fraction of tasks that the library fails [-]."""


@dataclass
class Builder:
    """Algorithm 1 for a problem and a file.

    A round draws one task per chain. Tasks that the library fails at the start of the round are
    solved in parallel. Their optima become entries in the order of the chains, unless the library
    answers the task by then. Building ends when the tasks since the last new entry bound the
    fraction of tasks that the library fails.

    Source: Marcucci et al., Algorithm 1. Departures: before a task is solved, answers from several
    entries are tested and corrected; building ends by a confidence bound.
    """

    program: Program
    """Nonlinear program of the problem."""
    file: LibraryFile
    """File of the library."""
    failure_rate: float = 0.01
    """Fraction of tasks that the finished library may fail, see `stopping.Window` [-]."""
    seed: int = 0
    """Seed of all random numbers."""
    most: int = 5000
    """Maximum number of entries."""
    candidates: int = CANDIDATES
    """Number of entries adapted to a task; 1 in the paper."""
    steps: int = 1
    """SQP steps within which an answer still counts: 0 gives more entries and faster answers, 2
    gives fewer entries."""
    accuracy: float = 1.0
    """Allowed error of answers over the problem's tolerance [-]."""
    executor: Executor | None = None
    """Executor of parallel solves; `make` creates the problem in its processes."""
    make: Callable[[], OptimalControlProblem] | None = None
    """Picklable function that creates the problem in a worker."""
    key: str = field(init=False, default_factory=lambda: uuid4().hex)
    """Key of the program that workers keep for this builder."""
    library: TrajectoryLibrary = field(init=False)
    counts: BuildCounts = field(init=False)
    chains: list[TaskChain] = field(init=False)
    window: Window = field(init=False)
    """Tasks since the last new entry."""
    presumed: PredictedInfeasible = field(init=False)
    """Tasks predicted infeasible."""
    grown: list[int] = field(init=False)
    """Number of tasks queried while the library had 0, 1, 2, ... entries."""
    begun_with: int = field(init=False)
    """Seed of the first run of building."""
    skipped: list[list[Any]] = field(init=False)
    """Parameters of skipped tasks, each list ending with the reason."""
    changed: list[str] = field(init=False, default_factory=list)
    """Query options that were changed since the last run of building."""
    trials: Trials = field(init=False)
    """Trials that are in the file."""
    _trials: list[Trial] = field(init=False, default_factory=list)
    """Trials that are not in the file yet."""
    _file_changes: int = field(init=False)
    """`LibraryFile.changes` at the last read."""

    def __post_init__(self) -> None:
        check_query_options(self.accuracy, self.candidates, self.steps)
        if not 0.0 < self.failure_rate < 1.0:
            raise LibraryError(
                "failure_rate is the fraction of tasks that may fail, between 0 and 1. Got: "
                f"{self.failure_rate}"
            )
        check_for_library(self.program.model)
        self.file.check(self.program.model)
        self._read()

    def _read(self) -> None:
        """Read entries and state of building from the file."""
        self._file_changes = self.file.changes
        self.library = self.file.library()
        self.trials = self.library.trials
        saved = self.file.about("state")
        if saved is None:
            self.begun_with = self.seed
            seeds = np.random.SeedSequence(self.seed).spawn(SETTINGS.chain_count)
            self.chains = [TaskChain(np.random.default_rng(seed)) for seed in seeds]
            self.counts, self.window, self.presumed = BuildCounts(), Window(), PredictedInfeasible()
            self.grown, self.skipped = [0], []
            return
        self.begun_with = saved["seed"]
        self.chains = [TaskChain.from_json(chain) for chain in saved["chains"]]
        self.counts, self.window = BuildCounts(**saved["counts"]), Window(**saved["window"])
        self.presumed = PredictedInfeasible(**saved["presumed"])
        self.grown, self.skipped = saved["grown"], saved["skipped"]
        if saved["asked"] != self._query_options:
            self.changed = [
                f"{name} {value:g} (was {saved['asked'][name]:g})"
                for name, value in self._query_options.items()
                if value != saved["asked"][name]
            ]
            self.window = Window()  # the tasks until now were answered in another way

    @property
    def _query_options(self) -> dict[str, float]:
        """Options of queries."""
        return {"accuracy": self.accuracy, "candidates": self.candidates, "steps": self.steps}

    @property
    def bound(self) -> float:
        """Upper bound of the fraction of feasible tasks that the library fails [-]."""
        tasks, motions = self.counts.plannings, len(self.library)
        return failure_bound(self.window, self.presumed, tasks=tasks, motions=motions)

    @property
    def done(self) -> bool:
        """True if the bound is low enough, or never will be: building is `full` or `hopeless`."""
        return self.full or self.hopeless or self.bound <= self.failure_rate

    @property
    def full(self) -> bool:
        """True if the maximum number of entries is reached."""
        return len(self.library) >= self.most

    @property
    def hopeless(self) -> bool:
        """True if more tasks than `failure_rate` fail and get no entry.

        Their optima are degenerate or unfit, or the solver gives up, so the bound will never be low
        enough.
        """
        return (
            self.window.tasks >= SETTINGS.hopeless_tasks_min
            and self.window.least > self.failure_rate
        )

    @property
    def reasons(self) -> str:
        """Reasons for skipped tasks, the most frequent first."""
        frequent_reasons = Counter(row[-1] for row in self.skipped).most_common(3)
        return "; ".join(f"{count} tasks: {reason}" for reason, count in frequent_reasons)

    def build(self, progress: Callable[[BuildProgress], None] | None = None) -> TrajectoryLibrary:
        """Build the library until `done`.

        Raises:
            WorkerError: A worker process was killed; entries until then are in the file.
            LibraryError: The file could not be written and is unchanged; another process builds; no
                task is feasible.
        """
        with self.file.lock_for_writing():
            if self.file.changes != self._file_changes:  # another process has built meanwhile
                self._read()
            return self._build(progress)

    def _build(self, progress: Callable[[BuildProgress], None] | None) -> TrajectoryLibrary:
        begin, before = perf_counter(), self.counts.seconds
        last_save = begin
        while not self.done:
            new = self.round()
            now = perf_counter()
            self.counts.seconds = before + now - begin
            if new or self.done or now - last_save > SETTINGS.save_interval:
                self.keep(new)
                last_save = now
            if progress is not None:
                progress(BuildProgress(len(self.library), self.counts, self.bound))
        self.check_any()
        self.library.learn(self.trials)
        return self.library

    def check_any(self) -> None:
        """Raise LibraryError if the library has no entry."""
        if not len(self.library):
            raise LibraryError(
                f"None of {self.counts.plannings} tasks of '{self.program.problem.name}' has a "
                f"motion that a library can keep ({self.reasons}). Check limits, horizon, formulas "
                "and the ranges of the parameters."
            )

    def keep(self, new: list[Entry]) -> None:
        """Write new entries, trials and the state of building to the file."""
        state = {
            "counts": asdict(self.counts),
            "chains": [chain.to_json() for chain in self.chains],
            "window": asdict(self.window),
            "presumed": asdict(self.presumed),
            "grown": self.grown,
            "skipped": self.skipped,
            "failure_rate": self.failure_rate,
            "seed": self.begun_with,
            "asked": self._query_options,
        }
        self.file.append(
            new, state, Trials.from_rows(self._trials, len(self.program.problem.parameters))
        )
        self.trials = self._all_trials()
        self._trials.clear()

    def _all_trials(self) -> Trials:
        """Return the trials in the file and the new ones."""
        n_p = len(self.program.problem.parameters)
        return Trials.concatenate([self.trials, Trials.from_rows(self._trials, n_p)], n_p)

    def round(self) -> list[Entry]:
        """Process one task of each chain; return the new entries."""
        tasks = [(chain, chain.draw(self.program.problem)) for chain in self.chains]
        answers = [self._query(p) for _, p in tasks]
        unanswered = [pair for pair, answer in zip(tasks, answers, strict=True) if answer is None]
        is_infeasible = self._predict_infeasible([p for _, p in unanswered])
        should_solve = [
            not infeasible or chain.rng.random() < FEASIBILITY.solved_fraction
            for (chain, _), infeasible in zip(unanswered, is_infeasible, strict=True)
        ]
        solutions = iter(
            self._solve(
                [p for (_, p), needed in zip(unanswered, should_solve, strict=True) if needed]
            )
        )
        results = iter([next(solutions) if needed else None for needed in should_solve])
        new = list[Entry]()
        for (chain, p), answer in zip(tasks, answers, strict=True):
            self.counts.plannings += 1
            self.window.tasks += 1
            self.grown[-1] += 1
            if answer is not None:
                self._count(answer)
                chain.finish(answer.motion.x[-1])
                continue
            solved, infeasible = next(results), is_infeasible.pop(0)
            if solved is None:
                self.presumed.unsolved += 1
                self.window.infeasible += 1
                chain.skip()
                continue
            if infeasible:
                self.presumed.solved += 1
                self.presumed.wrong += solved.status.ok
            new += self._count_and_add(chain, p, solved, is_first=not new)
        if new:
            self.window = Window()
        return new

    def _predict_infeasible(self, tasks: list[np.ndarray]) -> list[bool]:
        """Return for each task whether it is predicted infeasible."""
        if not tasks or self.counts.infeasible < FEASIBILITY.tasks_min:
            return [False] * len(tasks)
        signs, problem = self.program.model.signs, self.program.problem
        # also those that are not in the file: it is written at any time
        trials = self._all_trials()
        feasibility = Feasibility(
            problem.lower,
            problem.upper,
            trials.p[trials.passed],
            np.array([row[:-1] for row in self.skipped if row[-1] == NO_MOTION], float),
            None if signs is None else signs.p,
        )
        return [feasibility.predicts_infeasible(p) for p in tasks]

    def _query(self, p: np.ndarray) -> Answer | None:
        """Return the library's answer, or None if it is not accepted or costs too much.

        Its cost is compared with what its entry lets expect. That extrapolation may be wrong: then
        the library gets one motion more than it needs.
        """
        if not len(self.library):
            return None
        answer = self.library.query(
            p, accuracy=self.accuracy, candidates=self.candidates, steps=self.steps
        )
        if answer.trial is not None:
            self._trials.append(answer.trial)
        return answer if answer.status.ok and answer.is_cheap else None

    def _count(self, answer: Answer) -> None:
        """Count an accepted answer by the corrections that it needed."""
        if answer.steps:
            self.counts.by_steps += 1
        elif answer.shifts:
            self.counts.by_shifts += 1
        else:
            self.counts.by_sensitivity += answer.correction is Correction.LINEAR
            self.counts.by_qp += answer.correction is not Correction.LINEAR

    def _count_and_add(
        self, chain: TaskChain, p: np.ndarray, solved: SolvedTask, *, is_first: bool
    ) -> list[Entry]:
        """Count a solved task; return its new entry, if there is one.

        `is_first`: no entry was added in this round before.
        """
        self.counts.solved += 1
        if solved.end is None:
            chain.skip()
        else:
            chain.finish(solved.end)
        fault = "" if solved.entry is None else self.library.fault(solved.entry)
        if solved.entry is not None and not fault:
            if not is_first and self._query(p) is not None:
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
        reason = NO_MOTION if solved.status is Status.INFEASIBLE else fault or solved.reason
        self.skipped.append([*p.tolist(), reason])
        return []

    def _solve(self, tasks: list[np.ndarray]) -> list[SolvedTask]:
        if self.executor is None:
            return [solve(self.program, p) for p in tasks]
        assert self.make is not None
        arguments = (
            repeat(value, len(tasks)) for value in (self.key, self.make, self.program.digest)
        )
        with raise_worker_error(
            "It may have run out of memory. The library has all motions until then: start again, "
            "perhaps with fewer workers, and it goes on."
        ):
            return list(in_order(self.executor, solve_in_worker, *arguments, tasks))
