"""The hand at the arm's tip: timing of closing and opening, and grasp errors."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .problem import CLOSING


def is_time_to_act(distance: float, rate: float, closing: float) -> bool:
    """Return True if the hand starts to close or open: t_g / 2 |d/dt |xi - xi_f|| > |xi - xi_f|.

    At constant speed it is half closed at the goal. A plan that ends at rest approaches its goal as
    (T - t)^n, and the hand starts n t_g / 2 before the end: with n = 2, where the acceleration
    does not end at 0, it has closed at the end.

    Args:
        distance: |xi - xi_f| between tip and goal [m].
        rate: Derivative of the distance [m/s].
        closing: t_g, the time that closing takes [s].

    Source: section 6, where the norm's derivative is d_r ||xi(q) - xi_f||_t_g; by units the
        closing time is a factor.
    """
    return 0.5 * abs(rate) * closing > distance


@dataclass(frozen=True)
class Action:
    """One closing or opening of the hand."""

    time: float
    """Time of its end [s]."""
    closed: bool
    """Whether it closed."""
    distance: float
    """Distance of tip and goal then [m]."""
    largest: float
    """Largest of these distances since the hand began [m]."""
    held: int
    """The caught or released object; -1: none."""


@dataclass
class Hand:
    """A hand that closes or opens at a goal."""

    closing: float = CLOSING
    """t_g, time of closing and of opening [s]."""
    share: float = 0.0
    """Closing, 0 to 1 [-]."""
    goal: np.ndarray | None = None
    """Goal at which to close or open, shape (2,) [m], or None."""
    close: bool = False
    """Whether to close there."""
    moving: bool = False
    """Whether it has begun."""
    largest: float = 0.0
    """Largest distance to the goal since it began [m]."""
    actions: list[Action] = field(default_factory=list)
    """Completed actions."""

    @property
    def is_done(self) -> bool:
        """True if the hand has no goal."""
        return self.goal is None

    def set_goal(self, goal: np.ndarray, *, close: bool) -> None:
        """Set a goal (x, y) for closing or opening [m]."""
        self.goal, self.close = np.asarray(goal, float), close
        self.moving, self.largest = False, 0.0

    @property
    def remaining_time(self) -> float:
        """Remaining time of the present action, or of one that begins now [s]."""
        return self.closing * (1.0 - self.share if self.close else self.share)

    def cancel(self) -> None:
        """Clear the goal: the hand is again as it was before it began."""
        self.goal, self.moving, self.share = None, False, 0.0 if self.close else 1.0

    def advance(self, at: np.ndarray, velocity: np.ndarray, h: float) -> bool:
        """Advance by a time h, with the tip at its end; True when it has just closed or opened."""
        if self.goal is None:
            return False
        offset = at - self.goal
        distance = float(np.linalg.norm(offset))
        if self.moving:
            self.share += h / self.closing if self.close else -h / self.closing
        else:
            rate = float(offset @ velocity) / distance if distance > 0.0 else 0.0
            self.moving = is_time_to_act(distance, rate, self.closing)
        if self.moving:
            self.largest = max(self.largest, distance)
        tolerance = 1e-9  # for sums of h
        if self.share < 1.0 - tolerance if self.close else self.share > tolerance:
            return False
        self.share = float(self.close)
        return True

    def finish(self, time: float, at: np.ndarray, held: int) -> None:
        """Record the action and clear the goal."""
        assert self.goal is not None
        distance = float(np.linalg.norm(at - self.goal))
        self.actions.append(Action(time, self.close, distance, self.largest, held))
        self.goal, self.moving = None, False
