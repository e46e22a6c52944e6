"""Checks of the options of inverse control."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sofa_softctl.errors import SceneError
from sofa_softctl.inverse.actuators import Actuators
from sofa_softctl.scene.constraint_system import row_count

CONTACTS = ("coulomb", "sticking", "forward")
"""Models of contacts."""


def check_components(driven: Actuators, effectors: Sequence[Sequence[Any]]) -> None:
    """Raise SceneError without actuators or effectors, or for an invalid effector."""
    if not driven.count or not effectors:
        raise SceneError("InverseController needs at least one actuator and one effector.")
    for rows in effectors:
        if len(rows) != 3 or any(row_count(row) != 1 for row in rows):
            raise SceneError(
                "Each effector of InverseController must be the three PositionConstraints that "
                "add_effector(node) returns."
            )


def checked_contacts(contacts: str) -> str:
    """Check for one of `CONTACTS`; SceneError otherwise."""
    if contacts not in CONTACTS:
        raise SceneError(f"contacts must be one of {', '.join(CONTACTS)}; got '{contacts}'.")
    return contacts


def checked_tolerance(tolerance: Any, effectors: int) -> np.ndarray | None:
    """Tolerance of each effector, shape (n_e,), or None for the default; SceneError otherwise."""
    if tolerance is None:
        return None
    try:
        found = np.array(np.broadcast_to(np.asarray(tolerance, dtype=float), effectors))
    except (TypeError, ValueError):
        found = np.array([math.nan])
    if not (found > 0.0).all():
        raise SceneError(
            "goal_tolerance must be a length > 0 for all effectors or one for each (math.inf: not "
            f"judged), or None for 1 % of the robot's size; got {tolerance!r}."
        )
    return found


def row_weights(weight: float | np.ndarray, effectors: int) -> np.ndarray:
    """Weight of each effector row [-], shape (3 n_e,), from one number, (n_e,) or (n_e, 3)."""
    given = np.asarray(weight, dtype=float)
    given = given[:, None] if given.ndim == 1 else given
    return np.array(np.broadcast_to(given, (effectors, 3))).ravel()
