"""Sets of terms for sparse polynomials: downward closed, fewer degrees along narrow axes."""

from __future__ import annotations

import heapq

import numpy as np

RADIUS = 10.0
"""Radius r of `axis_weights` over half the largest width [-]: a tenth of it doubles the weight."""


def axis_weights(half: np.ndarray, r: float) -> np.ndarray:
    """log(r / half): what a degree weighs along axes of these half widths, shape (d,).

    Of a map that is analytic within r, the part of degree n falls as (half / r)^n.
    """
    weights: np.ndarray = np.log(r / half)
    return weights


def ordered_terms(half: np.ndarray, count: int) -> np.ndarray:
    """The `count` terms of least weight, in that order, shape (count, d).

    A term alpha weighs sum_j w_j alpha_j with `axis_weights`. Each beginning of the list is
    downward closed: with a term it has all its divisors.

    Args:
        half: Half the width of the region along each axis, shape (d,).
        count: Number of terms.
    """
    d = len(half)
    w = axis_weights(half, RADIUS * half.max())
    order = np.argsort(w, kind="stable")
    w = w[order]
    found = np.zeros((count, d), np.int64)
    waiting: list[tuple[float, tuple[int, ...], int]] = [(0.0, (0,) * d, 0)]
    for k in range(count):
        weight, term, first = heapq.heappop(waiting)
        found[k, order] = term
        for j in range(first, d):  # every term is reached once, coordinate after coordinate
            longer = (*term[:j], term[j] + 1, *term[j + 1 :])
            heapq.heappush(waiting, (weight + w[j], longer, j))
    return found
