"""Distinct minima at which searches from several starts ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sofa_softctl.identification.fitting.gauss_newton import SearchResult

SAME = 1.0
"""Ends within one standard deviation of each other are of one minimum: difference of the cost and
square of the distance in the metric of the information [-]..."""
SAME_SHARE = 1e-4
"""... and the same relative to the cost: residuals are larger where the model is wrong."""


@dataclass(frozen=True, eq=False)
class Minimum:
    """A minimum of the cost, and the searches that ended there."""

    rho: np.ndarray
    """Its parameters, shape (n_rho,)."""
    cost: float
    """Sum of squared residuals there [-]."""
    searches: tuple[int, ...]
    """Indices of the searches that ended there; the first is the best."""

    @property
    def count(self) -> int:
        """Number of these searches."""
        return len(self.searches)


def distinct_minima(searches: Sequence[SearchResult]) -> tuple[Minimum, ...]:
    """Minima at which searches converged, best first.

    Two ends are one minimum if their costs, and their parameters as far as the data determine them,
    agree within a standard deviation: (rho - rho')^T F (rho - rho') <= 1, F the information at the
    better end. Searches that did not converge ended at no minimum.

    Args:
        searches: Best first.
    """
    groups: list[list[int]] = []
    for i, one in enumerate(searches):
        if not one.termination.status.ok:
            continue
        home = next((group for group in groups if _same(searches[group[0]], one)), None)
        if home is None:
            groups.append([i])
        else:
            home.append(i)
    return tuple(
        Minimum(searches[group[0]].rho, searches[group[0]].cost, tuple(group)) for group in groups
    )


def _same(better: SearchResult, other: SearchResult) -> bool:
    allowed = SAME + SAME_SHARE * better.cost
    change = other.rho - better.rho
    distance = 0.0 if better.information is None else float(change @ better.information @ change)
    return other.cost - better.cost <= allowed and distance <= allowed
