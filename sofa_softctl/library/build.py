"""Building a library: random tasks until a thousand in a row need no new motion."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor
from dataclasses import asdict, dataclass, field
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from sofa_softctl.errors import WorkerError
from sofa_softctl.library.entry import Entry, entry_of
from sofa_softctl.library.library import CANDIDATES, Correction, TrajectoryLibrary
from sofa_softctl.library.ocp.problem import OptimalControlProblem
from sofa_softctl.library.ocp.shooting import Program
from sofa_softctl.library.storage import LibraryFile
from sofa_softctl.status import Status

CHAINS = 8
"""Chains of tasks that go on side by side; the library does not depend on the number of workers."""
KEEP_EVERY = 2.0
"""Time after which counts are written even if there is no new motion [s]."""


@dataclass
class BuildCounts:
    """What building did so far, over all its runs."""

    plannings: int = 0
    """Random problems."""
    solved: int = 0
    """Nonlinear programs that were solved."""
    infeasible: int = 0
    """Of these, those without a solution: skipped."""
    degenerate: int = 0
    """Of these, those whose optimum has no sensitivity: not kept."""
    by_sensitivity: int = 0
    """Problems that the linear correction answered well enough."""
    by_qp: int = 0
    """Problems that the tangent QP answered well enough."""
    run: int = 0
    """Problems in a row, until now, that needed no new motion."""
    longest: int = 0
    """The longest such run."""
    seconds: float = 0.0
    """Time that it took [s]."""


@dataclass
class TaskChain:
    """Tasks in a row, each from where the last one ended."""

    rng: np.random.Generator
    """What they are drawn with."""
    state: Any = None
    """What the problem's `draw` keeps between them."""
    end: np.ndarray | None = None
    """State at the end of the last motion, shape (n_x,); None: none yet."""
    drawn: Any = None
    """The state if the task that was drawn last is done."""

    def draw(self, problem: OptimalControlProblem) -> np.ndarray:
        """Parameters of a next task, shape (n_p,)."""
        if problem.draw is None:
            return self.rng.uniform(problem.lower, problem.upper)
        p, self.drawn = problem.draw(self.rng, self.state, self.end)
        return np.asarray(p, float)

    def finish(self, end: np.ndarray) -> None:
        """The task that was drawn last is done, and ended there."""
        self.state, self.end = self.drawn, end

    def to_json(self) -> dict[str, Any]:
        """For a file."""
        end = None if self.end is None else self.end.tolist()
        return {"rng": self.rng.bit_generator.state, "state": self.state, "end": end}

    @staticmethod
    def from_json(told: dict[str, Any]) -> TaskChain:
        """What `to_json` told."""
        rng = np.random.default_rng()
        rng.bit_generator.state = told["rng"]
        end = None if told["end"] is None else np.array(told["end"])
        return TaskChain(rng, told["state"], end)


class Solved(NamedTuple):
    """What solving one problem came to."""

    status: Status
    """Of the nonlinear program."""
    entry: Entry | None
    """The motion; None where there is none, or a degenerate one."""
    why: str
    """Why there is none."""
    end: np.ndarray | None
    """Where the optimum ends, shape (n_x,)."""


@dataclass
class BuildProgress:
    """Where building is, for people."""

    motions: int
    """In the library."""
    counts: BuildCounts
    """What was done."""
    wanted: int
    """Successes in a row at which it ends."""


@dataclass
class Builder:
    """Algorithm 1 for a problem and a file.

    Tasks are drawn in several chains, one of each a round. Those that the library as it is at the
    beginning of the round does not answer well enough are solved, by the workers at the same time,
    and added in the order of the chains.

    Source: Marcucci et al., Algorithm 1. Departure: several entries are tried before a task is
        solved, as an answer is simulated here anyway; the library is smaller for that.
    """

    program: Program
    """Of the problem."""
    file: LibraryFile
    """Where motions are kept."""
    successes: int = 1000
    """n_succ at which it ends."""
    seed: int = 0
    """Of all random numbers."""
    most: int = 5000
    """Motions at which it ends even if tasks still need new ones."""
    candidates: int = CANDIDATES
    """Entries that are tried for a task; 1 in the paper."""
    accuracy: float = 1.0
    """Share of the problem's tolerance that answers may miss by."""
    executor: Executor | None = None
    """Solves several at a time; `make` gives its processes the problem."""
    make: Callable[[], OptimalControlProblem] | None = None
    """Makes the problem anew in a worker; it must be picklable."""
    library: TrajectoryLibrary = field(init=False)
    counts: BuildCounts = field(init=False)
    chains: list[TaskChain] = field(init=False)
    recent: deque[bool] = field(init=False)
    """Whether each of the last thousand tasks needed no new motion."""
    skipped: list[list[float]] = field(init=False)
    """Parameters at which there is no solution or a degenerate one."""

    def __post_init__(self) -> None:
        self.file.check(self.program.digest)
        self.library = self.file.library()
        self.recent = deque(maxlen=1000)
        told = self.file.about("state")
        if told is None:
            seeds = np.random.SeedSequence(self.seed).spawn(CHAINS)
            self.chains = [TaskChain(np.random.default_rng(seed)) for seed in seeds]
            self.counts, self.skipped = BuildCounts(), []
        else:
            self.chains = [TaskChain.from_json(each) for each in told["chains"]]
            self.counts, self.skipped = BuildCounts(**told["counts"]), told["skipped"]

    @property
    def done(self) -> bool:
        """Whether enough tasks in a row needed no new motion, or there are motions enough."""
        return self.counts.run >= self.successes or self.full

    @property
    def full(self) -> bool:
        """Whether there are as many motions as there may be."""
        return len(self.library) >= self.most

    def remaining(self) -> float:
        """Expected tasks until enough in a row need no new motion, if no more were learnt.

        (q^-n - q^-r) / (1 - q), with q the share of recent tasks that were known, n in a row wanted
        and r had. More are learnt, so that it falls faster than tasks are done.
        """
        unknown = (len(self.recent) - sum(self.recent) + 1.0) / (len(self.recent) + 2.0)
        wanted, had = -np.log1p(-unknown) * np.array([self.successes, self.counts.run])
        with np.errstate(over="ignore", invalid="ignore"):
            expected = (np.exp(wanted) - np.exp(had)) / unknown
        return float(expected) if np.isfinite(expected) else float("inf")

    def build(self, progress: Callable[[BuildProgress], None] | None = None) -> TrajectoryLibrary:
        """Go on until it is done.

        Raises:
            WorkerError: A worker process was killed; what was found until then is kept.
            LibraryError: The file could not be written; it is as it was.
        """
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
        }
        self.file.append(new, self.library.errors, state)

    def round(self) -> list[Entry]:
        """One task of each chain; the motions that are new."""
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
                self.counts.by_sensitivity += answered is Correction.LINEAR
                self.counts.by_qp += answered is Correction.TANGENT_QP
                self.counts.run += 1
                self.counts.longest = max(self.counts.longest, self.counts.run)
                continue
            entry = self._take(chain, p, next(solved))
            if entry is not None:
                new.append(entry)
        return new

    def _answered(self, chain: TaskChain, p: np.ndarray) -> Correction | None:
        """How the library answers, if well enough; the chain then goes on from there."""
        if not len(self.library):
            return None
        good = self.accuracy * self.program.problem.tolerance
        answer = self.library.query(
            p, check=self.program, tolerance=good, candidates=self.candidates
        )
        error = answer.simulated_error
        if np.isfinite(error):
            self.library.learn(answer.nearest, answer.distance, error)
        if not (answer.status.ok and error <= good):
            return None
        chain.finish(self.program.simulate(answer.v, p)[-1])
        return answer.correction

    def _take(self, chain: TaskChain, p: np.ndarray, solved: Solved) -> Entry | None:
        """Count what was solved; the new motion, if there is one."""
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
        try:
            return list(self.executor.map(_solve_anew, [self.make] * len(asked), asked))
        except BrokenExecutor as error:
            raise WorkerError(
                "A worker process ended while a motion was planned. It may have been killed for "
                "want of memory. The library has all motions until then: start again, perhaps with "
                "fewer workers, and it goes on."
            ) from error


def solve(program: Program, p: np.ndarray) -> Solved:
    """The optimum at parameters p as an entry of a library."""
    optimum = program.solve(p)
    if not optimum.status.ok:
        return Solved(optimum.status, None, optimum.message, None)
    entry, regular = entry_of(program, optimum)
    return Solved(optimum.status, entry, str(regular), optimum.v[program.x_at[-1]])


_PROGRAMS: dict[Any, Program] = {}
"""Programs of this process, so that each is made once."""


def _solve_anew(make: Callable[[], OptimalControlProblem], p: np.ndarray) -> Solved:
    key = repr(make)
    if key not in _PROGRAMS:
        _PROGRAMS[key] = Program(make())
    return solve(_PROGRAMS[key], p)
