"""Random tasks that a library is verified with."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sofa_softctl.library.build import TaskChain
from sofa_softctl.library.ocp.problem import OptimalControlProblem

CAUGHT = 5
"""Tasks in a row without a motion from one state, after which a chain of tasks begins anew."""


@dataclass
class FreshTasks:
    """A chain of tasks that begins anew where it is caught: where `CAUGHT` in a row have no motion.

    Random numbers go on: the tasks after that are others.
    """

    problem: OptimalControlProblem
    """Problem of the tasks."""
    seed: int
    """Seed of the random numbers, never those of building."""
    without_motion: int = 0
    """Tasks without a motion."""
    restarts: int = 0
    """Times that the chain began anew."""
    _caught: int = field(init=False, default=0)
    _chain: TaskChain = field(init=False)

    def __post_init__(self) -> None:
        self._chain = TaskChain(np.random.default_rng([7, self.seed]))

    def draw(self) -> np.ndarray:
        """Parameters of a next task, shape (n_p,)."""
        return self._chain.draw(self.problem)

    def finish(self, end: np.ndarray) -> None:
        """Mark the last task as done, with its final state."""
        self._chain.finish(end)
        self._caught = 0

    def skip(self) -> None:
        """Mark the last task as one without a motion."""
        self.without_motion += 1
        self._caught += 1
        if self._caught == CAUGHT:
            self._chain.state = self._chain.end = None
            self._caught, self.restarts = 0, self.restarts + 1
