"""Fraction of a step in which contacts slide, as in SOFA."""

from __future__ import annotations

import numpy as np


def share_in_contact(gap: np.ndarray, free: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Return the fraction of the step in which a contact is closed in the free motion, shape (p,).

    Args:
        gap: Gap at the start of the step [length], shape (p,).
        free: Gap after the free motion [length], shape (p,).
        size: Path length of both points [length], shape (p,).
    """
    is_resting = (np.abs(gap) < 1e-5 * size) & (np.abs(free) < 1e-5 * size)
    changes = np.abs(gap - free) > 0.001 * gap
    with np.errstate(divide="ignore", invalid="ignore"):
        closes_at = gap / (gap - free)
    is_crossing = (closes_at > 0.0) & (closes_at < 1.0)
    fraction = np.where(is_crossing, 1.0 - closes_at, (free < 0.0).astype(float))
    return np.where(~is_resting & changes, fraction, 1.0)
