"""Signals between their samples, as sparse matrices: what is linear in the samples stays so."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sparse


def linear(known: np.ndarray, wanted: np.ndarray) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Piecewise linear interpolation, constant beyond the ends.

    Args:
        known: Times of the samples, increasing [s], shape (n,).
        wanted: Times between them [s], shape (m,).

    Returns:
        Matrices that give values and time derivatives there, both of shape (m, n).
    """
    m, n = len(wanted), len(known)
    if n == 1:
        return sparse.csr_array(np.ones((m, 1))), sparse.csr_array((m, 1))
    at = np.clip(wanted, known[0], known[-1])
    left = np.clip(np.searchsorted(known, at, side="right") - 1, 0, n - 2)
    length = known[left + 1] - known[left]
    share = (at - known[left]) / length
    slope = np.where(at == wanted, 1.0 / length, 0.0)
    columns = np.stack([left, left + 1], axis=1)
    return (
        _matrix(columns, np.stack([1.0 - share, share], axis=1), n),
        _matrix(columns, np.stack([-slope, slope], axis=1), n),
    )


def cubic(
    dt: float, count: int, wanted: np.ndarray, *, hold: bool = False
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Cubic interpolation of even samples by four neighbours, once differentiable in time.

    Args:
        dt: Time between samples, of which the first is at 0 [s].
        count: Of samples, three or more.
        wanted: Times [s], shape (m,).
        hold: Go over to the first and last sample beyond the ends, and stay there; otherwise all
            is of third order up to the ends, and nothing is wanted beyond them.

    Returns:
        Matrices that give values and time derivatives there, both of shape (m, count).

    Source: Keys 1981, cubic convolution with a = -1/2, also known as Catmull-Rom's splines.
    """
    left = np.floor(wanted / dt).astype(int)
    if not hold:
        left = np.clip(left, 0, count - 2)
    t = wanted / dt - left
    powers = np.stack([np.ones_like(t), t, t**2, t**3], axis=1)
    slopes = np.stack([np.zeros_like(t), np.ones_like(t), 2.0 * t, 3.0 * t**2], axis=1) / dt
    weights = (powers @ _CATMULL_ROM, slopes @ _CATMULL_ROM)
    columns = left[:, None] + np.arange(-1, 3)
    if hold:
        columns = np.clip(columns, 0, count - 1)
        return _matrix(columns, weights[0], count), _matrix(columns, weights[1], count)
    ends = _extended(count)  # one more sample before the first and after the last
    return (
        _matrix(columns + 1, weights[0], count + 2) @ ends,
        _matrix(columns + 1, weights[1], count + 2) @ ends,
    )


_CATMULL_ROM = 0.5 * np.array(
    [[0.0, 2.0, 0.0, 0.0], [-1.0, 0.0, 1.0, 0.0], [2.0, -5.0, 4.0, -1.0], [-1.0, 3.0, -3.0, 1.0]]
)


def _extended(count: int) -> sparse.csr_array:
    """One more sample at each end, on the parabola through the last three."""
    first, last = np.zeros((1, count)), np.zeros((1, count))
    first[0, :3], last[0, -3:] = [3.0, -3.0, 1.0], [1.0, -3.0, 3.0]
    parts = (sparse.csr_array(first), sparse.eye_array(count, format="csr"), sparse.csr_array(last))
    return sparse.csr_array(sparse.vstack(parts))


def _matrix(columns: np.ndarray, values: np.ndarray, width: int) -> sparse.csr_array:
    rows = np.repeat(np.arange(len(columns)), columns.shape[1])
    data = (values.ravel(), (rows, columns.ravel()))
    return sparse.csr_array(data, shape=(len(columns), width))
