"""Build a library from random tasks, until a thousand in a row need no new motion."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, field
from itertools import repeat
from time import perf_counter
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np

from sofa_softctl._internal.executors.again import in_order, lost_workers
from sofa_softctl.errors import LibraryError
from sofa_softctl.library.correction import STEPS
from sofa_softctl.library.entry import Entry, entry_of
from sofa_softctl.library.library import CANDIDATES, Answer, Correction, TrajectoryLibrary
from sofa_softctl.library.ocp.problem import OptimalControlProblem
from sofa_softctl.library.ocp.shooting import Program
from sofa_softctl.library.storage import LibraryFile, check_for_library
from sofa_softctl.status import Status

CHAINS = 8
"""Number of parallel chains of tasks; the library does not depend on the number of workers."""
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
    degenerate: int = 0
    """Of these, those whose optimum has no sensitivity: skipped."""
    by_sensitivity: int = 0
    """Problems answered by the linear correction."""
    by_qp: int = 0
    """Problems answered by the tangent QP."""
    by_steps: int = 0
    """Problems answered after further steps of sequential quadratic programming."""
    run: int = 0
    """Current run of problems that needed no new motion."""
    longest: int = 0
    """The longest such run."""
    seconds: float = 0.0
    """Time [s]."""


@dataclass
class TaskChain:
    """A sequence of tasks, each from the end of the last one."""

    rng: np.random.Generator
    """Random generator."""
    state: Any = None
    """State of the problem's `draw`."""
    end: np.ndarray | None = None
    """State at the end of the last motion, shape (n_x,); None: there is none."""
    drawn: Any = None
    """State of `draw` if the last task is done."""

    def draw(self, problem: OptimalControlProblem) -> np.ndarray:
        """Draw the parameters of a next task, shape (n_p,)."""
        if problem.draw is None:
            return self.rng.uniform(problem.lower, problem.upper)
        p, self.drawn = problem.draw(self.rng, self.state, self.end)
        return np.asarray(p, float)

    def finish(self, end: np.ndarray) -> None:
        """Mark the last task as done, with its final state."""
        self.state, self.end = self.drawn, end

    def to_json(self) -> dict[str, Any]:
        """The chain as JSON."""
        end = None if self.end is None else self.end.tolist()
        return {"rng": self.rng.bit_generator.state, "state": self.state, "end": end}

    @staticmethod
    def from_json(saved: dict[str, Any]) -> TaskChain:
        """The chain from `to_json`."""
        rng = np.random.default_rng()
        rng.bit_generator.state = saved["rng"]
        end = None if saved["end"] is None else np.array(saved["end"])
        return TaskChain(rng, saved["state"], end)


class Solved(NamedTuple):
    """Result of solving one problem."""

    status: Status
    """Status of the nonlinear program."""
    entry: Entry | None
    """The motion; None where there is none, or a degenerate one."""
    why: str
    """Reason if there is none."""
    end: np.ndarray | None
    """Final state of the optimum, shape (n_x,)."""


@dataclass
class BuildProgress:
    """Progress of building, for display."""

    motions: int
    """Motions in the library."""
    counts: BuildCounts
    """Counts so far."""
    wanted: int
    """Successes in a row at which it ends."""


@dataclass
class Builder:
    """Algorithm 1 for a problem and a file.

    Tasks are drawn in several chains, one of each a round. Those that the library at the
    beginning of the round does not answer well enough are solved in parallel and added in the order
    of the chains.

    Source: Marcucci et al., Algorithm 1. Departure: several entries are tried before a task is
        solved, as answers are simulated here anyway; the library is then smaller.
    """

    program: Program
    """Nonlinear program of the problem."""
    file: LibraryFile
    """File of the library."""
    successes: int = 1000
    """n_succ at which it ends."""
    seed: int = 0
    """Seed of all random numbers."""
    most: int = 5000
    """Maximum number of motions."""
    candidates: int = CANDIDATES
    """Number of entries tried for a task; 1 in the paper."""
    steps: int = STEPS
    """Number of corrections after which a task counts as known."""
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
    recent: deque[bool] = field(init=False)
    """Whether each of the last thousand tasks needed no new motion."""
    begun_with: int | None = field(init=False)
    """Seed that the library was begun with; None: a file of an earlier version does not say."""
    skipped: list[list[float]] = field(init=False)
    """Parameters at which there is no solution or a degenerate one."""
    _seen: int = field(init=False)
    """`changes` of the file when it was read."""

    def __post_init__(self) -> None:
        check_for_library(self.program.model)
        self.file.check(self.program.model)
        self._read()

    def _read(self) -> None:
        """Read motions and state of building from the file."""
        self._seen = self.file.changes
        self.library = self.file.library()
        self.recent = deque(maxlen=1000)
        saved = self.file.about("state")
        self.begun_with = self.seed if saved is None else saved.get("seed")
        if saved is None:
            seeds = np.random.SeedSequence(self.seed).spawn(CHAINS)
            self.chains = [TaskChain(np.random.default_rng(seed)) for seed in seeds]
            self.counts, self.skipped = BuildCounts(), []
        else:
            self.chains = [TaskChain.from_json(each) for each in saved["chains"]]
            self.counts, self.skipped = BuildCounts(**saved["counts"]), saved["skipped"]
            if saved["asked"] != self._asked:  # the tasks until now were answered in another way
                self.counts.run = 0

    @property
    def _asked(self) -> list[float]:
        """How tasks are answered."""
        return [self.accuracy, self.candidates]

    @property
    def done(self) -> bool:
        """Whether enough tasks in a row needed no new motion, or the maximum is reached."""
        return self.counts.run >= self.successes or self.full

    @property
    def full(self) -> bool:
        """Whether the maximum number of motions is reached."""
        return len(self.library) >= self.most

    def remaining(self) -> float:
        """Expected number of tasks until enough in a row need no new motion.

        (q^-n - q^-r) / (1 - q), with q the share of recent tasks that needed none, n the wanted
        run and r the current one. As the library grows, it falls faster than that.
        """
        unknown = (len(self.recent) - sum(self.recent) + 1.0) / (len(self.recent) + 2.0)
        wanted, had = -np.log1p(-unknown) * np.array([self.successes, self.counts.run])
        with np.errstate(over="ignore", invalid="ignore"):
            expected = (np.exp(wanted) - np.exp(had)) / unknown
        return float(expected) if np.isfinite(expected) else float("inf")

    def build(self, progress: Callable[[BuildProgress], None] | None = None) -> TrajectoryLibrary:
        """Build until it is done.

        Raises:
            WorkerError: A worker process was killed; motions until then are kept.
            LibraryError: The file could not be written, it is as it was; or another process builds.
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
                progress(BuildProgress(len(self.library), self.counts, self.successes))
        return self.library

    def keep(self, new: list[Entry]) -> None:
        """Write new motions and the state to the file."""
        state = {
            "counts": asdict(self.counts),
            "chains": [each.to_json() for each in self.chains],
            "skipped": self.skipped,
            "successes": self.successes,
            "seed": self.begun_with,
            "asked": self._asked,
        }
        self.file.append(new, state)

    def round(self) -> list[Entry]:
        """Do one task of each chain; returns the new motions."""
        asked = [(chain, chain.draw(self.program.problem)) for chain in self.chains]
        good = [self._answered(chain, p) for chain, p in asked]
        poor = [pair for pair, answered in zip(asked, good, strict=True) if answered is None]
        solved = iter(self._solve([p for _, p in poor]))
        new = []
        for (chain, p), answered in zip(asked, good, strict=True):
            if self.done:
                break
            self.counts.plannings += 1
            self.recent.append(answered is not None)
            if answered is not None:
                self._count(answered)
                self.counts.run += 1
                self.counts.longest = max(self.counts.longest, self.counts.run)
                continue
            entry = self._take(chain, p, next(solved))
            if entry is not None:
                new.append(entry)
        return new

    def _count(self, answer: Answer) -> None:
        """Count a good answer by what it took."""
        if answer.steps:
            self.counts.by_steps += 1
        else:
            self.counts.by_sensitivity += answer.correction is Correction.LINEAR
            self.counts.by_qp += answer.correction is not Correction.LINEAR

    def _answered(self, chain: TaskChain, p: np.ndarray) -> Answer | None:
        """The library's answer, if it is good enough; the chain advances."""
        if not len(self.library):
            return None
        answer = self.library.query(
            p, accuracy=self.accuracy, candidates=self.candidates, steps=self.steps
        )
        if not answer.status.ok:
            return None
        chain.finish(answer.motion.x[-1])
        return answer

    def _take(self, chain: TaskChain, p: np.ndarray, solved: Solved) -> Entry | None:
        """Count the solve; returns the new motion, if there is one."""
        self.counts.solved += 1
        if solved.end is not None:
            chain.finish(solved.end)
        if solved.entry is not None:
            self.counts.run = 0
            self.library.add(solved.entry)
            return solved.entry
        self.counts.infeasible += not solved.status.ok
        self.counts.degenerate += solved.status.ok
        self.skipped.append([*p.tolist(), solved.why])  # type: ignore[list-item]
        return None

    def _solve(self, asked: list[np.ndarray]) -> list[Solved]:
        if self.executor is None:
            return [solve(self.program, p) for p in asked]
        assert self.make is not None
        given = (repeat(each, len(asked)) for each in (self.key, self.make, self.program.digest))
        with lost_workers(
            "It may have run out of memory. The library has all motions until then: start again, "
            "perhaps with fewer workers, and it goes on."
        ):
            return list(in_order(self.executor, _solve_anew, *given, asked))


def solve(program: Program, p: np.ndarray) -> Solved:
    """The optimum at parameters p as an entry of a library."""
    optimum = program.solve(p)
    if not optimum.status.ok:
        return Solved(optimum.status, None, optimum.message, None)
    entry, regular = entry_of(program, optimum)
    return Solved(optimum.status, entry, str(regular), optimum.v[program.x_at[-1]])


_PROGRAMS: dict[str, Program] = {}
"""Program of the last builder that this worker solved for, by its key."""


def _solve_anew(
    key: str, make: Callable[[], OptimalControlProblem], digest: str, p: np.ndarray
) -> Solved:
    """The optimum, in a worker, which makes the problem once for each builder.

    Raises:
        LibraryError: The problem that it makes is another one.
    """
    if key not in _PROGRAMS:
        program = Program(make())
        if program.digest != digest:
            raise LibraryError(
                f"A worker made another problem '{program.problem.name}' than the one that is "
                "built: its file was changed since, or a file that it imports. Start again."
            )
        _PROGRAMS.clear()
        _PROGRAMS[key] = program
    return solve(_PROGRAMS[key], p)
