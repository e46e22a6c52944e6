"""Goals of effectors: points or functions of time, limited in distance."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sofa_softctl.errors import SceneError
from sofa_softctl.scene.options import as_floats, shown


def as_function(goal: Callable[[float], Any] | Sequence[float] | np.ndarray) -> Any:
    """The goal as a function of time; a given one as it is."""
    if callable(goal):
        return goal
    fixed = np.array(goal, dtype=float)
    return lambda time: fixed


def has_state(goal: Any) -> bool:
    """Whether a function of time has a state to save."""
    return hasattr(goal, "snapshot") and hasattr(goal, "restore")


def goals_at(goal: Callable[[float], Any], time: float, effectors: int, owner: str) -> np.ndarray:
    """Goal of each effector at a time [length], shape (n_e, 3).

    Args:
        goal: Function of time.
        time: The time.
        effectors: Number of effectors, n_e.
        owner: Path of the controller, for the message.

    Raises:
        SceneError: The goal is not finite, or of another shape.
    """
    given = goal(time)
    numbers = as_floats(given)
    if numbers is not None:
        found = np.atleast_2d(numbers)
        if found.shape == (effectors, 3) and np.isfinite(found).all():
            return found
    raise SceneError(
        f"The goal of {owner} at t = {time:.6g} must be finite, with shape {(effectors, 3)}; got "
        f"{shown(given)}."
    )


def within_reach(tip: np.ndarray, way: np.ndarray, reach: float) -> np.ndarray:
    """Goals at `way` from the effectors, moved nearer where they are further than `reach`.

    Args:
        tip: Position of each effector [length], shape (n_e, 3).
        way: From each effector to its goal [length], shape (n_e, 3).
        reach: Largest distance [length].
    """
    if reach == math.inf:
        return tip + way
    far = np.linalg.norm(way, axis=1, keepdims=True)
    return tip + way * np.minimum(1.0, reach / np.maximum(far, 1e-300))
