"""Random tasks that a library is verified with."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sofa_softctl.library.ocp.problem import OptimalControlProblem
from sofa_softctl.library.task_chain import TaskChain


@dataclass
class FreshTasks:
    """A chain of tasks of a seed that no building has."""

    problem: OptimalControlProblem
    """Problem of the tasks."""
    seed: int
    """Seed of the random numbers, never those of building."""
    without_motion: int = 0
    """Tasks without a motion."""
    _chain: TaskChain = field(init=False)

    def __post_init__(self) -> None:
        self._chain = TaskChain(np.random.default_rng([7, self.seed]))

    def draw(self) -> np.ndarray:
        """Parameters of a next task, shape (n_p,)."""
        return self._chain.draw(self.problem)

    def finish(self, end: np.ndarray) -> None:
        """Mark the last task as done, with its final state."""
        self._chain.finish(end)

    def skip(self) -> None:
        """Mark the last task as one without a motion."""
        self.without_motion += 1
        self._chain.skip()

    @property
    def restarts(self) -> int:
        """How often the chain began anew."""
        return self._chain.restarts
