"""Look-ahead: choose a way of control for some steps by rollouts.

The decisions, without a scene: whether progress has stopped, which candidates are rolled out, and
which one is followed. `scene.rollout` makes the rollouts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from sofa_softctl.errors import ProblemError


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
    """Angles by which the way from each effector to its goal is turned [degree]: about the
    direction of gravity, then towards it (positive: down)."""
    steps: float = 1.0
    """Share of the horizon for which it applies [-]."""


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

    All limits count steps, so that answers do not depend on the machine.
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
    """The same of a rollout that changes nothing [length]."""
    rolled: int
    """Steps of the rollouts, of all candidates."""


Rollout = Callable[[Candidate, int], np.ndarray]
"""Rolls a candidate out for some steps: error after each of them [length], shape (n,)."""


class GoalProgress:
    """Detects when effectors stop approaching their goals, which may move."""

    def __init__(self, patience: int, share: float) -> None:
        self.patience, self.share = patience, share
        self.forget()

    def forget(self) -> None:
        """Reset."""
        self.gained, self.since = 0.0, -1

    def stopped(self, error: float, gained: float) -> bool:
        """Whether `patience` steps made no progress.

        Args:
            error: Error after a step [length].
            gained: Its decrease in the step for the present goals [length]: motion of the goals is
                no progress of the robot.
        """
        self.gained += gained
        self.since += 1
        if self.gained > self.share * (error + self.gained):
            self.gained, self.since = 0.0, 0
        return self.since >= self.patience


def choose(options: LookAhead, rollout: Rollout, left: int) -> LookAheadChoice | None:
    """Roll candidates out and choose one.

    Candidates are compared by their mean error over the last quarter of the horizon: the least
    error means little where the goal moves, the last one where the robot swings. A later one must
    be better by `margin`, so that ties and rounding do not decide.

    Args:
        options: The look-ahead.
        rollout: Rolls one candidate out from the present state.
        left: Remaining steps of rollouts.

    Returns:
        The choice; None if the budget does not suffice for two candidates.
    """
    found: LookAheadChoice | None = None
    rolled, without = 0, math.inf
    for candidate in options.candidates:
        if rolled + options.horizon > left:
            break
        errors = np.asarray(rollout(candidate, options.horizon), dtype=float)
        rolled += options.horizon
        whole = len(errors) == options.horizon and bool(np.isfinite(errors).all())
        error = float(errors[(3 * options.horizon) // 4 :].mean()) if whole else math.inf
        if found is None:
            without = error
        if found is None or error < (1.0 - options.margin) * found.error:
            found = LookAheadChoice(candidate, options.horizon, error, without, rolled)
    if found is None or rolled <= options.horizon:
        return None
    return LookAheadChoice(found.candidate, found.steps, found.error, without, rolled)


def turned(way: np.ndarray, up: np.ndarray, turn: tuple[float, float]) -> np.ndarray:
    """Directions turned about the vertical, then downwards, shape (n, 3).

    Args:
        way: Directions [length], shape (n, 3).
        up: Unit vector against gravity, shape (3,).
        turn: Angles [degree], see `Candidate`.
    """
    about, down = np.radians(turn)
    height = (way @ up)[:, None]
    level = way - height * up
    level = np.cos(about) * level + np.sin(about) * np.cross(up, level)
    reach = np.linalg.norm(level, axis=1, keepdims=True)
    ahead = level / np.maximum(reach, 1e-300)
    return (np.cos(down) * reach + np.sin(down) * height) * ahead + (
        np.cos(down) * height - np.sin(down) * reach
    ) * up


def weighted_error(errors: Sequence[float] | np.ndarray, weight: np.ndarray) -> float:
    """Root mean square of the effectors' errors [length], by their weights.

    Args:
        errors: Distance of each effector to its goal [length], shape (n,).
        weight: Weight of each [-], shape (n,).
    """
    share = np.square(weight) / max(float(np.square(weight).sum()), 1e-300)
    return float(np.sqrt(share @ np.square(errors)))
