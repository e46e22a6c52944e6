"""Chains of random tasks, each from the end of the last motion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sofa_softctl.library.ocp.problem import OptimalControlProblem

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
