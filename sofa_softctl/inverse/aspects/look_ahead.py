"""Look-ahead: paths to the goals, simulated on a copy of the scene in another process."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import Sofa
from typing_extensions import override

from sofa_softctl.errors import DivergedError, ProblemError, SceneError
from sofa_softctl.inverse.aspects.aspect import StepAspect

if TYPE_CHECKING:
    from sofa_softctl.scene.copies.rollout import CopiedScene, Copy


@dataclass(frozen=True)
class Candidate:
    """A variant of control for some steps, relative to the controller's own settings."""

    name: str
    """Name in messages."""
    energy: float = 1.0
    """Factor on the weight of the actuators' energy [-]."""
    lead: float = 1.0
    """Factor on `goal_distance` [-]."""
    turn: tuple[float, float] = (0.0, 0.0)
    """Rotation of the direction from each effector to its goal [degree]: about the direction of
    gravity, then towards it (positive: down)."""
    steps: float = 1.0
    """Fraction of the horizon for which it applies [-]."""


CANDIDATES = (
    Candidate("go on"),
    Candidate("a hundredth of the energy weight", energy=0.01),
    Candidate("lower", turn=(0.0, 20.0)),
    Candidate("lower first", turn=(0.0, 45.0), lead=3.0, steps=0.5),
    Candidate("to one side first", turn=(60.0, 0.0), steps=0.5),
    Candidate("to the other side first", turn=(-60.0, 0.0), steps=0.5),
    Candidate("lower and to one side first", turn=(60.0, 45.0), steps=0.5),
    Candidate("lower and to the other side first", turn=(-60.0, 45.0), steps=0.5),
    Candidate("back first", turn=(180.0, 0.0), steps=0.2),
)
"""Default candidates; the first one changes nothing."""


@dataclass(frozen=True)
class LookAhead:
    """Options of the look-ahead.

    All limits count steps, so that results do not depend on the machine.
    """

    horizon: int = 60
    """Steps of a rollout."""
    patience: int = 20
    """Steps without progress after which candidates are rolled out."""
    progress: float = 0.02
    """Relative decrease of the error within `patience` that counts as progress [-]."""
    margin: float = 0.02
    """Relative decrease of the error that makes a candidate better than earlier ones [-]."""
    budget: int = 20_000
    """Maximum number of steps of all rollouts of a run."""
    candidates: tuple[Candidate, ...] = field(default=CANDIDATES)
    """Candidates in their order; the first one must change nothing."""

    def __post_init__(self) -> None:
        for name in ("horizon", "patience", "budget"):
            if getattr(self, name) < 1:
                raise ProblemError(f"{name} must be at least 1, got {getattr(self, name)}.")
        first = self.candidates[0] if self.candidates else None
        if first is None or first != Candidate(first.name):
            raise ProblemError("The first candidate must be one that changes nothing.")


@dataclass(frozen=True)
class LookAheadChoice:
    """Result of a look-ahead."""

    candidate: Candidate
    """Chosen candidate."""
    steps: int
    """Number of steps for which it is followed."""
    error: float
    """Mean error of its rollout over the last quarter of the horizon [length]."""
    without: float
    """The same error of a rollout that changes nothing [length]."""
    rolled: int
    """Number of steps of the rollouts of all candidates."""


Rollout = Callable[[Candidate, int], np.ndarray]
"""Simulates a candidate for some steps; returns the error after each [length], shape (n,)."""


class GoalProgress:
    """Detects when effectors stop approaching their goals, which may move."""

    def __init__(self, patience: int, progress_ratio_min: float) -> None:
        self.patience, self.progress_ratio_min = patience, progress_ratio_min
        self.forget()

    def forget(self) -> None:
        """Reset."""
        self.gained, self.since = 0.0, -1

    def has_stalled(self, error: float, gained: float) -> bool:
        """Return True if `patience` steps made no progress.

        Args:
            error: Error after a step [length].
            gained: Decrease of the error in the step, for the present goals [length]: motion of the
                goals is not progress of the robot.
        """
        self.gained += gained
        self.since += 1
        if self.gained > self.progress_ratio_min * (error + self.gained):
            self.gained, self.since = 0.0, 0
        return self.since >= self.patience


def choose(options: LookAhead, rollout: Rollout, steps_left: int) -> LookAheadChoice | None:
    """Roll candidates out and choose one.

    Candidates are compared by their mean error over the last quarter of the horizon: the smallest
    error means little if the goal moves, the last one if the robot swings. A later candidate must
    be better by `margin`, so that ties and rounding do not decide.

    Args:
        options: Options of the look-ahead.
        rollout: Simulates one candidate from the present state.
        steps_left: Remaining steps of rollouts.

    Returns:
        The choice, or None if the budget does not suffice for two candidates.
    """
    best: LookAheadChoice | None = None
    rolled, without = 0, math.inf
    for candidate in options.candidates:
        if rolled + options.horizon > steps_left:
            break
        errors = np.asarray(rollout(candidate, options.horizon), dtype=float)
        rolled += options.horizon
        is_complete = len(errors) == options.horizon and bool(np.isfinite(errors).all())
        error = float(errors[(3 * options.horizon) // 4 :].mean()) if is_complete else math.inf
        if best is None:
            without = error
        if best is None or error < (1.0 - options.margin) * best.error:
            best = LookAheadChoice(candidate, options.horizon, error, without, rolled)
    if best is None or rolled <= options.horizon:
        return None
    return LookAheadChoice(best.candidate, best.steps, best.error, without, rolled)


def rotate(directions: np.ndarray, up: np.ndarray, angles: tuple[float, float]) -> np.ndarray:
    """Return directions rotated about the vertical, then downwards, shape (n, 3).

    Args:
        directions: Directions [length], shape (n, 3).
        up: Unit vector against gravity, shape (3,).
        angles: Angles [degree], see `Candidate`.
    """
    yaw, pitch = np.radians(angles)
    height = (directions @ up)[:, None]
    horizontal = directions - height * up
    horizontal = np.cos(yaw) * horizontal + np.sin(yaw) * np.cross(up, horizontal)
    distance = np.linalg.norm(horizontal, axis=1, keepdims=True)
    forward = horizontal / np.maximum(distance, 1e-300)
    return (np.cos(pitch) * distance + np.sin(pitch) * height) * forward + (
        np.cos(pitch) * height - np.sin(pitch) * distance
    ) * up


def weighted_error(errors: Sequence[float] | np.ndarray, weight: np.ndarray) -> float:
    """Return the weighted root mean square of the effectors' errors [length].

    Args:
        errors: Distance of each effector to its goal [length], shape (n,).
        weight: Weight of each [-], shape (n,).
    """
    fraction = np.square(weight) / max(float(np.square(weight).sum()), 1e-300)
    return float(np.sqrt(fraction @ np.square(errors)))


UNCHANGED = Candidate("go on")
_SNAPSHOT_FIELDS = ("candidate", "active_for", "committed_for", "spent", "tip")


class LookAheadRunner(StepAspect):
    """Applies the look-ahead of a controller.

    Args:
        controller: The InverseController.
        options: Options of the look-ahead, or None to never look ahead.
    """

    def __init__(self, controller: Any, options: LookAhead | None) -> None:
        self.controller, self.options = controller, options
        self.copy: Copy | None = None
        self.forget()

    @override
    def forget(self) -> None:
        self.candidate, self.active_for, self.committed_for, self.spent = UNCHANGED, 0, 0, 0
        self.active_candidate = UNCHANGED
        """Candidate that this step follows."""
        self.choices: list[tuple[float, LookAheadChoice]] = []
        """Time and result of each look-ahead."""
        self.tip: np.ndarray | None = None
        """Position of the effectors a step before the last one [length], shape (n, 3)."""
        limits = self.options if self.options is not None else LookAhead()
        self.progress = GoalProgress(limits.patience, limits.progress)

    @override
    def begin(self) -> None:
        self.active_for, self.committed_for = self.active_for - 1, self.committed_for - 1
        if self.options is not None:
            self._choose_if_stalled(self.options)
        self.active_candidate = self.candidate if self.active_for > 0 else UNCHANGED

    def _choose_if_stalled(self, options: LookAhead) -> None:
        gained = self._error_decrease()
        if self.controller.solution is not None:
            self.tip = self.controller.outputs["tip"].value.copy()
        if self.committed_for > 0 or not self._has_stalled(gained):
            return
        from sofa_softctl.scene.copies.rollout import copy_of

        steps_left = options.budget - self.spent
        try:
            self.copy = self.copy or copy_of(self.controller.root)
            choice = choose(options, self.rollouts(self.copy), steps_left)
        except SceneError as error:
            self.options = None
            Sofa.msg_warning(self.controller, f"No look-ahead: {error}.")
            self.controller.outputs["look_ahead"].value = f"No look-ahead: {error}."
            return
        self.progress.forget()
        if choice is None:
            self.report("The look-ahead has spent its budget; the goal is not reached.")
            self.options = None
            return
        self.spent += choice.rolled
        self.choices.append((self.controller.time.value, choice))
        self.start_candidate(choice.candidate, choice.steps)
        self.report(self._sentence(choice))

    def report(self, text: str) -> None:
        """Write a message to the controller's Data, and warn if there is no progress."""
        if text.endswith("not reached.") and text != self.controller.outputs["look_ahead"].value:
            Sofa.msg_warning(self.controller, text)
        self.controller.outputs["look_ahead"].value = text

    def _sentence(self, choice: LookAheadChoice) -> str:
        assert self.options is not None
        time = self.controller.time.value
        if choice.candidate == self.options.candidates[0]:
            return (
                f"No progress at t = {time:.4g}, error {self._error(self.controller):.3g}: none of "
                f"{len(self.options.candidates) - 1} candidates ends better than going on; the "
                "goal is not reached."
            )
        return (
            f"From t = {time:.4g} for {choice.steps} steps: {choice.candidate.name}, error "
            f"{choice.error:.3g} in place of {choice.without:.3g}."
        )

    @override
    def snapshot(self) -> dict[str, Any]:
        state = {name: getattr(self, name) for name in _SNAPSHOT_FIELDS}
        state["choices"] = list(self.choices)
        state["progress"] = (self.progress.gained, self.progress.since)
        return state

    @override
    def restore(self, snapshot: dict[str, Any]) -> None:
        for name in _SNAPSHOT_FIELDS:
            setattr(self, name, snapshot[name])
        self.choices = list(snapshot["choices"])
        self.progress.gained, self.progress.since = snapshot["progress"]

    def start_candidate(self, candidate: Candidate, steps: int) -> None:
        """Follow a candidate for some steps, including this one, then look ahead again."""
        horizon = self.options.horizon if self.options is not None else steps
        self.candidate, self.committed_for = candidate, steps
        self.active_for = min(steps, max(1, round(candidate.steps * horizon)))

    def _error_decrease(self) -> float:
        """Return the decrease of the error in the last step [length]."""
        controller = self.controller
        if self.tip is None:
            return 0.0
        offset = (self.tip - controller.outputs["goal"].value) * controller.weighted_axes
        distance_before = np.linalg.norm(offset, axis=1)
        return weighted_error(distance_before, self._weight) - self._error(controller)

    def _has_stalled(self, gained: float) -> bool:
        """Return True if the last steps made no progress."""
        controller = self.controller
        if controller.solution is None or self.options is None:
            return False
        error = np.asarray(controller.outputs["error"].value)
        if controller.goal_distance < np.inf and not (error > controller.goal_distance).any():
            self.progress.forget()
            if controller.outputs["look_ahead"].value and self.committed_for <= 0:
                self.report("")
            return False
        return self.progress.has_stalled(self._error(controller), gained)

    def _error(self, controller: Any) -> float:
        return weighted_error(controller.outputs["error"].value, self._weight)

    @property
    def _weight(self) -> np.ndarray:
        """Weight of each effector [-], shape (n,)."""
        weight: np.ndarray = np.linalg.norm(self.controller.weight.reshape(-1, 3), axis=1)
        return weight

    def rollouts(self, copy: Copy) -> Rollout:
        """Return a function that simulates candidates from the present state on a scene copy."""
        state, path = copy.state(), self.controller.getPathName()

        def rollout(candidate: Candidate, steps: int) -> np.ndarray:
            errors: np.ndarray = copy.run(roll_out, state, path, candidate, steps)
            return errors

        return rollout

    def errors_of(self, candidate: Candidate, step: Callable[[], None], steps: int) -> np.ndarray:
        """Return the errors while following a candidate in a copy of the scene.

        Args:
            candidate: Candidate to follow.
            step: Function that simulates a step of the scene.
            steps: Number of steps.

        Returns:
            Error after each step [length], shape (steps,); shorter if the scene diverged.
        """
        self.options = None
        self.start_candidate(candidate, steps)
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
        return float(self.controller.energy * self.active_candidate.energy)

    @property
    def goal_distance(self) -> float:
        """Largest distance of goals in this step [length]."""
        return float(self.controller.goal_distance * self.active_candidate.lead)

    def offsets(self, way: np.ndarray) -> np.ndarray:
        """Return the vectors from effectors to goals in this step [length], shape (n, 3)."""
        if self.active_candidate.turn == (0.0, 0.0):
            return way
        gravity = np.asarray(self.controller.root.gravity.value, dtype=float)
        size = float(np.linalg.norm(gravity))
        return rotate(way, -gravity / size, self.active_candidate.turn) if size > 0.0 else way


def roll_out(
    copied: CopiedScene, state: Any, path: str, candidate: Candidate, steps: int
) -> np.ndarray:
    """Return the errors of a controller that follows a candidate from a state, shape (steps,)."""
    copied.set_state(state)
    errors: np.ndarray = copied.twin(path).look_ahead_runner.errors_of(
        candidate, copied.step, steps
    )
    return errors
