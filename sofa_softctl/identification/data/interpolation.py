"""Interpolation of samples, linear, cubic or held, as sparse matrices."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sparse


def linear(known: np.ndarray, wanted: np.ndarray) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Piecewise linear interpolation, constant outside the samples.

    Args:
        known: Times of the samples, increasing [s], shape (n,).
        wanted: Times to interpolate at [s], shape (m,).

    Returns:
        Matrices from samples to values and to time derivatives, both of shape (m, n).
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


def held(known: np.ndarray, wanted: np.ndarray) -> sparse.csr_array:
    """The last sample before each time, or the first: a zero-order hold, shape (m, n).

    Args:
        known: Times of the samples, increasing [s], shape (n,).
        wanted: Times [s], shape (m,).
    """
    at = np.clip(np.searchsorted(known, wanted, side="right") - 1, 0, len(known) - 1)
    return _matrix(at[:, None], np.ones((len(wanted), 1)), len(known))


def cubic(
    dt: float, count: int, wanted: np.ndarray, *, hold: bool = False
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Cubic interpolation of evenly spaced samples by four neighbours, C1 in time.

    Args:
        dt: Time between samples, the first at 0 [s].
        count: Number of samples, three or more.
        wanted: Times to interpolate at [s], shape (m,).
        hold: Constant outside the samples. Otherwise of third order up to the ends, and `wanted`
            must lie within them.

    Returns:
        Matrices from samples to values and to time derivatives, both of shape (m, count).

    Source: Keys 1981, cubic convolution with a = -1/2, also known as Catmull-Rom splines.
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
    """One more sample at each end, extrapolated by a parabola through the last three."""
    first, last = np.zeros((1, count)), np.zeros((1, count))
    first[0, :3], last[0, -3:] = [3.0, -3.0, 1.0], [1.0, -3.0, 3.0]
    parts = (sparse.csr_array(first), sparse.eye_array(count, format="csr"), sparse.csr_array(last))
    return sparse.csr_array(sparse.vstack(parts))


def _matrix(columns: np.ndarray, values: np.ndarray, width: int) -> sparse.csr_array:
    rows = np.repeat(np.arange(len(columns)), columns.shape[1])
    data = (values.ravel(), (rows, columns.ravel()))
    return sparse.csr_array(data, shape=(len(columns), width))
