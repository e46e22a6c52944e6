"""Optima as entries of a library, here or in worker processes.

Chains of random tasks, each from the end of the last motion.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sofa_softctl.errors import LibraryError
from sofa_softctl.library.motions.entry import Entry, entry_of
from sofa_softctl.library.ocp.problem import OptimalControlProblem
from sofa_softctl.library.ocp.shooting import Program
from sofa_softctl.status import Status


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


def solve(program: Program, p: np.ndarray) -> Solved:
    """The optimum at parameters p as an entry of a library."""
    optimum = program.solve(p)
    where = optimum.v if optimum.status.ok else program.guess(p)
    undefined = program.model.undefined(where, p)
    if undefined and optimum.status is not Status.INFEASIBLE:
        at = "optimum" if optimum.status.ok else "initial guess"
        why = f"{' and '.join(undefined)} not finite at the {at}"
        return Solved(Status.NOT_CONVERGED, None, why, None)
    if not optimum.status.ok:
        return Solved(optimum.status, None, optimum.message, None)
    entry, regular = entry_of(program, optimum)
    return Solved(optimum.status, entry, str(regular), optimum.v[program.x_at[-1]])


_PROGRAMS: dict[str, Program] = {}
"""Program of the last builder that this worker solved for, by its key."""


def solve_anew(
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


CAUGHT = 5
"""Tasks in a row without a motion from one state, after which a chain begins anew."""


@dataclass
class TaskChain:
    """A sequence of tasks, each from the end of the last one.

    After `CAUGHT` tasks in a row without a motion it begins anew: from that state none may have
    one.
    """

    rng: np.random.Generator
    """Random generator."""
    state: Any = None
    """State of the problem's `draw`."""
    end: np.ndarray | None = None
    """State at the end of the last motion, shape (n_x,); None: there is none."""
    drawn: Any = None
    """State of `draw` if the last task is done."""
    caught: int = 0
    """Tasks in a row without a motion."""
    restarts: int = 0
    """How often it began anew."""

    def draw(self, problem: OptimalControlProblem) -> np.ndarray:
        """Draw the parameters of a next task, shape (n_p,)."""
        if problem.draw is None:
            return self.rng.uniform(problem.lower, problem.upper)
        p, self.drawn = problem.draw(self.rng, self.state, self.end)
        return np.asarray(p, float)

    def finish(self, end: np.ndarray) -> None:
        """Mark the last task as done, with its final state."""
        self.state, self.end, self.caught = self.drawn, end, 0

    def skip(self) -> None:
        """Mark the last task as one without a motion."""
        self.caught += 1
        if self.caught >= CAUGHT:
            self.state = self.end = None
            self.caught, self.restarts = 0, self.restarts + 1

    def to_json(self) -> dict[str, Any]:
        """The chain as JSON."""
        return {
            "rng": self.rng.bit_generator.state,
            "state": self.state,
            "end": None if self.end is None else self.end.tolist(),
            "caught": self.caught,
            "restarts": self.restarts,
        }

    @staticmethod
    def from_json(saved: dict[str, Any]) -> TaskChain:
        """The chain from `to_json`."""
        rng = np.random.default_rng()
        rng.bit_generator.state = saved["rng"]
        end = None if saved["end"] is None else np.array(saved["end"])
        return TaskChain(
            rng, saved["state"], end, caught=saved["caught"], restarts=saved["restarts"]
        )
