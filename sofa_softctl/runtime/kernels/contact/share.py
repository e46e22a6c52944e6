"""Share of a step in which contacts slide, as SOFA has it."""

from __future__ import annotations

import numpy as np


def share_in_contact(gap: np.ndarray, free: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Share of the step during which a contact is closed in the free motion, shape (p,).

    Args:
        gap: Gap at the start of the step [length], shape (p,).
        free: Gap after the free motion [length], shape (p,).
        size: How far both points move [length], shape (p,).
    """
    resting = (np.abs(gap) < 1e-5 * size) & (np.abs(free) < 1e-5 * size)
    changes = np.abs(gap - free) > 0.001 * gap
    with np.errstate(divide="ignore", invalid="ignore"):
        closes_at = gap / (gap - free)
    crosses = (closes_at > 0.0) & (closes_at < 1.0)
    moving = np.where(crosses, 1.0 - closes_at, (free < 0.0).astype(float))
    return np.where(~resting & changes, moving, 1.0)
