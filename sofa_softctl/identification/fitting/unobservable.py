"""Unobservable parameters: no datum depends on them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sofa_softctl.errors import SimulationError
from sofa_softctl.identification.fitting.reduced import reduced
from sofa_softctl.identification.fitting.residual import Fit, StackedResidual
from sofa_softctl.identification.parameter import bounds

VISIBLE = 1e-4
"""Least change of all data, in deviations, when an observable parameter doubles."""
ASIDE = 0.1
"""Shift of the parameters for the second test, as share of their scales."""


def visibility(misfit: StackedResidual, fits: Sequence[Fit]) -> np.ndarray:
    """Change of all data, in deviations, by a change of each parameter by its scale, (n_rho,)."""
    size = np.array([one.scale for one in misfit.parameters])
    found: np.ndarray = size * np.linalg.norm(reduced(fits)[1], axis=0)
    return found


def unobservable_parameters(
    misfit: StackedResidual, start: np.ndarray, fits: Sequence[Fit]
) -> tuple[str, ...]:
    """Names of parameters that data depend on neither at the start nor near it.

    The second test is for starts where a derivative vanishes, as at a symmetry.
    """
    hidden = visibility(misfit, fits) < VISIBLE
    if hidden.any():
        lower, upper = bounds(misfit.parameters)
        moved = start + ASIDE * np.array([one.scale for one in misfit.parameters])
        beside = np.where(moved <= upper, moved, np.maximum(2.0 * start - moved, lower))
        try:
            hidden &= visibility(misfit, misfit.fits(beside)) < VISIBLE
        except SimulationError:
            pass  # the first test decides
    return tuple(np.array(misfit.names)[hidden].tolist())
