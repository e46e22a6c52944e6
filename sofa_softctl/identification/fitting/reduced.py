"""Orthogonal reduction of all residuals and their Jacobian to a few rows.

A least-squares problem stays the same when residuals and Jacobian are multiplied by an orthogonal
matrix: costs, gradients, singular values and steps are unchanged. The triangular factor of [J, r]
has n_rho + 1 rows, however many samples there are. It is found block by block, in time linear in
the samples, and has the condition of J, not its square as J'J has.

Source: Golub, Van Loan, "Matrix Computations", section 5.3; by blocks: Bjorck, "Numerical Methods
for Least Squares Problems", section 6.3 (sequential QR).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from sofa_softctl.identification.fitting.residual import Fit

BLOCK = 1 << 17
"""Numbers in a block of the Jacobian: 1 MB, which stays in the cache."""

Rows = tuple[np.ndarray, np.ndarray]
"""Residuals and their Jacobian, shapes (m,), (m, n_rho)."""


def reduced(fits: Sequence[Fit], *others: Rows) -> Rows:
    """Q'r and Q'J for the residuals r of all measured samples and their Jacobian J.

    Args:
        fits: Of all experiments.
        others: More rows, as those of priors.

    Returns:
        Shapes (k,), (k, n_rho), k = min(rows, n_rho + 1).
    """
    R: np.ndarray | None = None
    for r, J in chain(others, *map(blocks, fits)):
        block = np.column_stack([J, r])
        R = np.asarray(np.linalg.qr(block if R is None else np.concatenate([R, block]), mode="r"))
    assert R is not None  # an estimate has data
    return R[:, -1], R[:, :-1]


def blocks(fit: Fit) -> Iterator[Rows]:
    """Residuals and Jacobian of the measured samples, in the order of time."""
    length = max(1, BLOCK // max(1, fit.sensitivities[0].size))
    for begin in range(0, len(fit.time), length):
        part = slice(begin, begin + length)
        yield replace(
            fit,
            time=fit.time[part],
            measured=fit.measured[part],
            outputs=fit.outputs[part],
            sensitivities=fit.sensitivities[part],
        ).rows
