"""Look-ahead of a controller in its scene: rollouts, the followed candidate, and messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import Sofa

from sofa_softctl.errors import DivergedError, SceneError
from sofa_softctl.inverse.look_ahead import (
    Candidate,
    GoalProgress,
    LookAhead,
    LookAheadChoice,
    Rollout,
    choose,
    turned,
    weighted_error,
)

if TYPE_CHECKING:
    from sofa_softctl.scene.rollout.rollout import CopiedScene, Copy

GO_ON = Candidate("go on")
_CARRIED = ("candidate", "active_for", "committed_for", "spent", "tip")


class LookAheadRunner:
    """Applies the look-ahead of a controller.

    Args:
        controller: The InverseController.
        options: The look-ahead; None: never.
    """

    def __init__(self, controller: Any, options: LookAhead | None) -> None:
        self.controller, self.options = controller, options
        self.copy: Copy | None = None
        self.forget()

    def forget(self) -> None:
        """Reset."""
        self.candidate, self.active_for, self.committed_for, self.spent = GO_ON, 0, 0, 0
        self.choices: list[tuple[float, LookAheadChoice]] = []
        """Time and outcome of each look-ahead so far."""
        self.tip: np.ndarray | None = None
        """Position of the effectors a step before the last one [length], shape (n, 3)."""
        limits = self.options if self.options is not None else LookAhead()
        self.progress = GoalProgress(limits.patience, limits.progress)

    def before_step(self) -> None:
        """Look ahead if it is due; called at the beginning of the step."""
        self.active_for, self.committed_for = self.active_for - 1, self.committed_for - 1
        gained = self._gained()
        if self.controller.solution is not None:
            self.tip = self.controller.outputs["tip"].value.copy()
        if self.options is None or self.committed_for > 0 or not self._stopped(gained):
            return
        from sofa_softctl.scene.rollout.rollout import copy_of

        left = self.options.budget - self.spent
        try:
            self.copy = self.copy or copy_of(self.controller.root)
            choice = choose(self.options, self.rollouts(self.copy), left)
        except SceneError as error:
            self.options = None
            Sofa.msg_warning(self.controller, f"No look-ahead: {error}.")
            self.controller.outputs["look_ahead"].value = f"No look-ahead: {error}."
            return
        self.progress.forget()
        if choice is None:
            self.say("The look-ahead has spent its budget; the goal is not reached.")
            self.options = None
            return
        self.spent += choice.rolled
        self.choices.append((self.controller.time.value, choice))
        self.follow(choice.candidate, choice.steps)
        self.say(self._sentence(choice))

    def say(self, text: str) -> None:
        """Write a message to the controller's Data, and warn if there is no progress."""
        if text.endswith("not reached.") and text != self.controller.outputs["look_ahead"].value:
            Sofa.msg_warning(self.controller, text)
        self.controller.outputs["look_ahead"].value = text

    def _sentence(self, choice: LookAheadChoice) -> str:
        assert self.options is not None
        now = self.controller.time.value
        if choice.candidate == self.options.candidates[0]:
            return (
                f"No progress at t = {now:.4g}, error {self._error(self.controller):.3g}: none of "
                f"{len(self.options.candidates) - 1} candidates ends better than going on; the "
                "goal is not reached."
            )
        return (
            f"From t = {now:.4g} for {choice.steps} steps: {choice.candidate.name}, error "
            f"{choice.error:.3g} in place of {choice.without:.3g}."
        )

    def snapshot(self) -> dict[str, Any]:
        """State that persists over steps."""
        known = {name: getattr(self, name) for name in _CARRIED}
        known["choices"] = list(self.choices)
        known["progress"] = (self.progress.gained, self.progress.since)
        return known

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Restore a `snapshot`."""
        for name in _CARRIED:
            setattr(self, name, snapshot[name])
        self.choices = list(snapshot["choices"])
        self.progress.gained, self.progress.since = snapshot["progress"]

    def follow(self, candidate: Candidate, steps: int) -> None:
        """Follow a candidate for some steps, this one included, and look ahead after them."""
        horizon = self.options.horizon if self.options is not None else steps
        self.candidate, self.committed_for = candidate, steps
        self.active_for = min(steps, max(1, round(candidate.steps * horizon)))

    @property
    def following(self) -> Candidate:
        """Candidate of this step."""
        return self.candidate if self.active_for > 0 else GO_ON

    def _gained(self) -> float:
        """Decrease of the error in the last step [length]."""
        own = self.controller
        if self.tip is None:
            return 0.0
        stood = np.linalg.norm(self.tip - own.outputs["goal"].value, axis=1)
        return weighted_error(stood, self._weight) - self._error(own)

    def _stopped(self, gained: float) -> bool:
        """Whether the last steps made no progress."""
        own = self.controller
        if own.solution is None or self.options is None:
            return False
        error = own.outputs["error"].value
        if not (np.asarray(error) > own.goal_distance).any() and own.goal_distance < np.inf:
            self.progress.forget()
            if own.outputs["look_ahead"].value and self.committed_for <= 0:
                self.say("")
            return False
        return self.progress.stopped(self._error(own), gained)

    def _error(self, controller: Any) -> float:
        return weighted_error(controller.outputs["error"].value, self._weight)

    @property
    def _weight(self) -> np.ndarray:
        """Weight of each effector [-], shape (n,)."""
        weight: np.ndarray = np.linalg.norm(self.controller.weight.reshape(-1, 3), axis=1)
        return weight

    def rollouts(self, copy: Copy) -> Rollout:
        """Function that rolls candidates out from the present state, on a copy of the scene."""
        state, path = copy.state(), self.controller.getPathName()

        def rollout(candidate: Candidate, steps: int) -> np.ndarray:
            errors: np.ndarray = copy.run(roll_out, state, path, candidate, steps)
            return errors

        return rollout

    def errors_of(self, candidate: Candidate, step: Callable[[], None], steps: int) -> np.ndarray:
        """Errors while following a candidate in a copy of the scene.

        Args:
            candidate: The candidate.
            step: Does a step of the scene.
            steps: Number of steps.

        Returns:
            The error after each step [length], shape (steps,); shorter where the scene diverged.
        """
        self.options = None
        self.follow(candidate, steps)
        self.active_for = 1 + max(1, round(candidate.steps * steps))
        errors: list[float] = []
        for _ in range(steps):
            try:
                step()
            except DivergedError:
                break
            errors.append(self._error(self.controller))
        return np.array(errors)

    @property
    def energy(self) -> float:
        """Weight of the actuators' energy in this step [-]."""
        return float(self.controller.energy * self.following.energy)

    @property
    def goal_distance(self) -> float:
        """Largest distance of goals in this step [length]."""
        return float(self.controller.goal_distance * self.following.lead)

    def way(self, way: np.ndarray) -> np.ndarray:
        """From each effector to its goal in this step [length], shape (n, 3)."""
        if self.following.turn == (0.0, 0.0):
            return way
        gravity = np.asarray(self.controller.root.gravity.value, dtype=float)
        size = float(np.linalg.norm(gravity))
        return turned(way, -gravity / size, self.following.turn) if size > 0.0 else way


def roll_out(
    copied: CopiedScene, state: Any, path: str, candidate: Candidate, steps: int
) -> np.ndarray:
    """Errors of the controller at a path while it follows a candidate from a state, (steps,)."""
    copied.put(state)
    errors: np.ndarray = copied.twin(path).look_ahead_runner.errors_of(
        candidate, copied.step, steps
    )
    return errors
