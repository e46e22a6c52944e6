"""The look-ahead of a controller in its scene: when it rolls out, what it follows, what it says."""

from __future__ import annotations

from typing import Any

import numpy as np
import Sofa

from sofa_softctl.errors import DivergedError, SceneError
from sofa_softctl.inverse.look_ahead import (
    Candidate,
    Choice,
    LookAhead,
    Progress,
    choose,
    turned,
    weighted_error,
)
from sofa_softctl.scene.rollout import SceneCopy

GO_ON = Candidate("go on")


class Foresight:
    """Follows, for a controller, what its look-ahead chose.

    Args:
        controller: The InverseController.
        options: The look-ahead; None: never.
    """

    def __init__(self, controller: Any, options: LookAhead | None) -> None:
        self.controller, self.options = controller, options
        self.copy: SceneCopy | None = None
        self.forget()

    def forget(self) -> None:
        """Begin anew."""
        self.candidate, self.active_for, self.committed_for, self.spent = GO_ON, 0, 0, 0
        self.choices: list[tuple[float, Choice]] = []
        """Time and outcome of each look-ahead so far."""
        if self.options is not None:
            self.progress = Progress(self.options.patience, self.options.progress)

    def before_step(self) -> None:
        """Look ahead if it is time to; called before anything of the step has happened."""
        self.active_for, self.committed_for = self.active_for - 1, self.committed_for - 1
        if self.options is None or self.committed_for > 0 or not self._stopped():
            return
        left = self.options.budget - self.spent
        try:
            self.copy = self.copy or SceneCopy(self.controller.root)
            choice = choose(self.options, self._rolled_out(self.copy), left)
        except SceneError as error:
            self.options = None
            Sofa.msg_warning(self.controller, f"No look-ahead: {error}.")
            return
        self.progress.forget()
        if choice is None:
            Sofa.msg_warning(self.controller, f"The look-ahead spent its {self.spent} steps.")
            self.options = None
            return
        self.spent += choice.rolled
        self.choices.append((self.controller.time.value, choice))
        self.follow(choice.candidate, choice.steps)

    def follow(self, candidate: Candidate, steps: int) -> None:
        """Follow a candidate for some steps, this one included, and look ahead after them."""
        horizon = self.options.horizon if self.options is not None else steps
        self.candidate, self.committed_for = candidate, steps
        self.active_for = min(steps, max(1, round(candidate.steps * horizon)))

    @property
    def following(self) -> Candidate:
        """What holds in this step."""
        return self.candidate if self.active_for > 0 else GO_ON

    def _stopped(self) -> bool:
        """Whether the last step's errors say that nothing is gained any more."""
        own = self.controller
        if own.solution is None or self.options is None:
            return False
        error = own.outputs["error"].value
        if not (np.asarray(error) > own.goal_distance).any() and own.goal_distance < np.inf:
            self.progress.forget()
            return False
        return self.progress.stopped(self._error(own))

    def _error(self, controller: Any) -> float:
        weight = np.linalg.norm(controller.weight.reshape(-1, 3), axis=1)
        return weighted_error(controller.outputs["error"].value, weight)

    def _rolled_out(self, copy: SceneCopy) -> Any:
        state = copy.state()
        twin = copy.twin(self.controller)

        def rollout(candidate: Candidate, steps: int) -> np.ndarray:
            copy.put(state)
            twin.foresight.options = None
            twin.foresight.follow(candidate, steps)
            twin.foresight.active_for = 1 + max(1, round(candidate.steps * steps))
            errors: list[float] = []
            for _ in range(steps):
                try:
                    copy.step()
                except DivergedError:
                    break
                errors.append(self._error(twin))
            return np.array(errors)

        return rollout

    @property
    def energy(self) -> float:
        """Weight of the actuators' energy in this step [-]."""
        return float(self.controller.energy * self.following.energy)

    @property
    def goal_distance(self) -> float:
        """How far ahead the goals are sought in this step [length]."""
        return float(self.controller.goal_distance * self.following.lead)

    def way(self, way: np.ndarray) -> np.ndarray:
        """Where the goals are sought from the effectors in this step [length], shape (n, 3)."""
        if self.following.turn == (0.0, 0.0):
            return way
        gravity = np.asarray(self.controller.root.gravity.value, dtype=float)
        size = float(np.linalg.norm(gravity))
        return turned(way, -gravity / size, self.following.turn) if size > 0.0 else way
