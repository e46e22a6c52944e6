"""Spread of an estimate over branches of the motion.

With unknown inputs, the likelihood may have several minima near each other, each for inputs that
lead the motion to another branch. Each has the share of the probability that its own normal
distribution has (Laplace): exp(-cost / 2) / sqrt(det information).
"""

from __future__ import annotations

import numpy as np

from sofa_softctl.identification.fitting.estimate import Estimate
from sofa_softctl.identification.fitting.gauss_newton import SearchResult
from sofa_softctl.identification.fitting.minima import distinct_minima

SMALL = 0.01
"""Branches with a smaller share of the probability are left out [-]."""


def branches(estimate: Estimate) -> list[tuple[SearchResult, float]]:
    """Distinct ends of the searches and their shares of the probability, the estimate first."""
    minima = distinct_minima(estimate.branches)
    ends = [estimate.branches[one.searches[0]] for one in minima]
    if len(ends) < 2:
        return []
    scale = np.array([one.scale for one in estimate.parameters])
    noise = estimate.cost / ends[0].cost if ends[0].cost > 0.0 else 1.0  # declared over estimated
    weight, free = [], np.ix_(estimate.free, estimate.free)
    for end in ends:
        assert end.information is not None  # of a search that converged
        F = end.information * np.outer(scale, scale)
        excess = noise * (end.cost - ends[0].cost)
        weight.append(-0.5 * excess - 0.5 * np.linalg.slogdet(F[free])[1])
    share = np.exp(np.array(weight) - max(weight))
    share /= share.sum()
    return [(end, float(s)) for end, s in zip(ends, share, strict=True) if s > SMALL]


def spread(estimate: Estimate) -> np.ndarray:
    """Covariance about the estimate of its branches [units], shape (n_rho, n_rho)."""
    found = np.zeros((len(estimate.rho), len(estimate.rho)))
    for end, share in branches(estimate):
        away = end.rho - estimate.rho
        found += share * np.outer(away, away)
    return found
