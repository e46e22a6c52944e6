"""Fits with one more parameter, from where the estimate without it ended."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sofa_softctl.errors import SimulationError
from sofa_softctl.identification.causes.extended import Extended
from sofa_softctl.identification.causes.score import Score
from sofa_softctl.identification.fitting.gauss_newton import SearchResult, search
from sofa_softctl.identification.fitting.joint_search import Lifted, approach
from sofa_softctl.identification.fitting.residual import StackedResidual
from sofa_softctl.identification.parameter import bounds

MOST = 15
"""Limit of evaluations of a search: ranks need no last digits."""


@dataclass(frozen=True, eq=False)
class Refit:
    """A fit with one more parameter."""

    found: SearchResult
    """End of its search."""
    place: int
    """Index of the parameter."""
    change: float
    """Its value less that of the model [its unit]."""
    deviation: float
    """Standard deviation of that, from noise of outputs [its unit]."""


def refit(extended: Extended, score: Score) -> Refit:
    """Fit the parameter with the others.

    The search begins where the linearised model predicts its end; where the model cannot be
    simulated there, at the estimate.

    Raises:
        SimulationError: The model cannot be simulated at either.
    """
    free = extended.free.copy()
    free[extended.place] = True
    ahead = extended.rho.copy()
    ahead[extended.place] += score.change
    slopes = score.slopes if not extended.added else np.append(score.slopes, 0.0)
    ahead -= slopes * score.change
    ahead = np.where(free, np.clip(ahead, *bounds(extended.misfit.parameters)), extended.rho)
    try:
        found = fitted(extended.misfit, ahead, free)
    except SimulationError:
        found = fitted(extended.misfit, extended.rho, free)
    change = float(found.rho[extended.place] - extended.rho[extended.place])
    return Refit(found, extended.place, change, _deviation(found, free, extended))


def fitted(misfit: StackedResidual, start: np.ndarray, free: np.ndarray) -> SearchResult:
    """A search, of unknown inputs too where there are any."""
    if any(isinstance(one, Lifted) for one in misfit.experiments):
        start, *_ = approach(misfit, start, free)
    return search(misfit, start, free, most=MOST)


def _deviation(found: SearchResult, free: np.ndarray, extended: Extended) -> float:
    assert found.information is not None
    scale = np.array([one.scale for one in extended.misfit.parameters])[free]
    F = found.information[np.ix_(free, free)] * np.outer(scale, scale)
    C = np.linalg.pinv(F, rcond=1e-14)
    at = int(np.flatnonzero(np.flatnonzero(free) == extended.place)[0])
    return float(scale[at] * np.sqrt(max(C[at, at], 0.0)))
