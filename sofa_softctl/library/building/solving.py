"""Solving of tasks in this process or in workers, and chains of random tasks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sofa_softctl.errors import LibraryError
from sofa_softctl.library.motions.entry import Entry, entry_from_optimum
from sofa_softctl.library.ocp.problem import OptimalControlProblem
from sofa_softctl.library.ocp.shooting import Program
from sofa_softctl.status import Status


class SolvedTask(NamedTuple):
    """Result of solving one task."""

    status: Status
    """Status of the nonlinear program."""
    entry: Entry | None
    """Entry, or None if the task is infeasible or its optimum degenerate."""
    reason: str
    """Reason for a missing entry."""
    end: np.ndarray | None
    """Final state of the optimum, shape (n_x,)."""


def solve(program: Program, p: np.ndarray) -> SolvedTask:
    """Solve for the optimum at parameters p, and make it an entry."""
    optimum = program.solve(p)
    v = optimum.v if optimum.status.ok else program.guess(p)
    undefined = program.model.undefined_formulas(v, p)
    if undefined and optimum.status is not Status.INFEASIBLE:
        point = "optimum" if optimum.status.ok else "initial guess"
        reason = f"{' and '.join(undefined)} not finite at the {point}"
        return SolvedTask(Status.NOT_CONVERGED, None, reason, None)
    if not optimum.status.ok:
        return SolvedTask(optimum.status, None, optimum.message, None)
    entry, regular = entry_from_optimum(program, optimum)
    return SolvedTask(optimum.status, entry, str(regular), optimum.v[program.x_at[-1]])


_PROGRAM_BY_KEY: dict[str, Program] = {}
"""Program of the last builder that this worker solved for, by the builder's key."""


def solve_in_worker(
    key: str, make: Callable[[], OptimalControlProblem], digest: str, p: np.ndarray
) -> SolvedTask:
    """Solve in a worker, which creates the problem once for each builder.

    Raises:
        LibraryError: The created problem differs from the builder's.
    """
    if key not in _PROGRAM_BY_KEY:
        program = Program(make())
        if program.digest != digest:
            raise LibraryError(
                f"A worker made another problem '{program.problem.name}' than the one that is "
                "built: its file was changed since, or a file that it imports. Start again."
            )
        _PROGRAM_BY_KEY.clear()
        _PROGRAM_BY_KEY[key] = program
    return solve(_PROGRAM_BY_KEY[key], p)


INFEASIBLE_IN_A_ROW_MAX = 5
"""Number of infeasible tasks in a row from one state after which a chain restarts."""


@dataclass
class TaskChain:
    """Sequence of random tasks, each starting at the end of the last trajectory.

    After `INFEASIBLE_IN_A_ROW_MAX` infeasible tasks in a row it restarts, since no task may be
    feasible from that state.
    """

    rng: np.random.Generator
    """Random generator."""
    state: Any = None
    """State of the problem's `draw`."""
    end: np.ndarray | None = None
    """Final state of the last trajectory, shape (n_x,), or None at the start."""
    drawn: Any = None
    """State of `draw` to adopt when the last task is finished."""
    caught: int = 0
    """Number of infeasible tasks in a row."""
    restarts: int = 0
    """Number of restarts."""

    def draw(self, problem: OptimalControlProblem) -> np.ndarray:
        """Draw the parameters of the next task, shape (n_p,)."""
        if problem.draw is None:
            return self.rng.uniform(problem.lower, problem.upper)
        p, self.drawn = problem.draw(self.rng, self.state, self.end)
        return np.asarray(p, float)

    def finish(self, end: np.ndarray) -> None:
        """Finish the last task with its final state."""
        self.state, self.end, self.caught = self.drawn, end, 0

    def skip(self) -> None:
        """Skip the last task as infeasible; restart after too many in a row."""
        self.caught += 1
        if self.caught >= INFEASIBLE_IN_A_ROW_MAX:
            self.state = self.end = None
            self.caught, self.restarts = 0, self.restarts + 1

    def to_json(self) -> dict[str, Any]:
        """Return the chain, JSON-serialisable."""
        return {
            "rng": self.rng.bit_generator.state,
            "state": self.state,
            "end": None if self.end is None else self.end.tolist(),
            "caught": self.caught,
            "restarts": self.restarts,
        }

    @staticmethod
    def from_json(saved: dict[str, Any]) -> TaskChain:
        """Read a chain from `to_json`."""
        rng = np.random.default_rng()
        rng.bit_generator.state = saved["rng"]
        end = None if saved["end"] is None else np.array(saved["end"])
        return TaskChain(
            rng, saved["state"], end, caught=saved["caught"], restarts=saved["restarts"]
        )
