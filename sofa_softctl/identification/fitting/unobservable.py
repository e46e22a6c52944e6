"""Which parameters no datum sees."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sofa_softctl.errors import SimulationError
from sofa_softctl.identification.fitting.residual import Fit, StackedResidual
from sofa_softctl.identification.parameter import bounds

VISIBLE = 1e-4
"""Deviations by which all data together change, at least, when a seen parameter doubles."""
ASIDE = 0.1
"""Share of their sizes by which parameters are moved for a second look."""


def visibility(misfit: StackedResidual, fits: Sequence[Fit]) -> np.ndarray:
    """Deviations by which data change when a parameter changes by its own size, shape (n_rho,)."""
    size = np.array([one.scale for one in misfit.parameters])
    jacobian = np.concatenate([fit.rows[1] for fit in fits])
    found: np.ndarray = size * np.linalg.norm(jacobian, axis=0)
    return found


def unobservable_parameters(
    misfit: StackedResidual, start: np.ndarray, fits: Sequence[Fit]
) -> tuple[str, ...]:
    """Names of parameters that data depend on neither at the start nor beside it.

    The second look is for a start where a derivative happens to vanish, as at a symmetry.
    """
    hidden = visibility(misfit, fits) < VISIBLE
    if hidden.any():
        lower, upper = bounds(misfit.parameters)
        moved = start + ASIDE * np.array([one.scale for one in misfit.parameters])
        beside = np.where(moved <= upper, moved, np.maximum(2.0 * start - moved, lower))
        try:
            hidden &= visibility(misfit, misfit.fits(beside)) < VISIBLE
        except SimulationError:
            pass  # then the first look counts
    return tuple(np.array(misfit.names)[hidden].tolist())
