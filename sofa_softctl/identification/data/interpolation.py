"""Interpolation of samples, linear, cubic or held, as sparse matrices."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sparse


def linear(
    sample_times: np.ndarray, times: np.ndarray
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Return matrices for piecewise linear interpolation, constant outside the samples.

    Args:
        sample_times: Times of the samples, increasing [s], shape (n,).
        times: Times to interpolate at [s], shape (m,).

    Returns:
        Matrices from samples to values and to time derivatives, both of shape (m, n).
    """
    m, n = len(times), len(sample_times)
    if n == 1:
        return sparse.csr_array(np.ones((m, 1))), sparse.csr_array((m, 1))
    clipped = np.clip(times, sample_times[0], sample_times[-1])
    left = np.clip(np.searchsorted(sample_times, clipped, side="right") - 1, 0, n - 2)
    length = sample_times[left + 1] - sample_times[left]
    fraction = (clipped - sample_times[left]) / length
    slope = np.where(clipped == times, 1.0 / length, 0.0)
    columns = np.stack([left, left + 1], axis=1)
    return (
        _matrix(columns, np.stack([1.0 - fraction, fraction], axis=1), n),
        _matrix(columns, np.stack([-slope, slope], axis=1), n),
    )


def zero_order_hold(sample_times: np.ndarray, times: np.ndarray) -> sparse.csr_array:
    """Return the matrix of a zero-order hold, the last sample before each time, shape (m, n).

    Before the first sample it takes the first.

    Args:
        sample_times: Times of the samples, increasing [s], shape (n,).
        times: Times [s], shape (m,).
    """
    index = np.clip(
        np.searchsorted(sample_times, times, side="right") - 1, 0, len(sample_times) - 1
    )
    return _matrix(index[:, None], np.ones((len(times), 1)), len(sample_times))


def cubic(
    dt: float, count: int, times: np.ndarray, *, is_constant_outside: bool = False
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Return matrices for cubic interpolation of evenly spaced samples by four neighbours, C1.

    Args:
        dt: Time between samples, the first at 0 [s].
        count: Number of samples, three or more.
        times: Times to interpolate at [s], shape (m,).
        is_constant_outside: Repeat the first and last samples outside. Otherwise the interpolation
            has third order up to the ends, and `times` must lie between them.

    Returns:
        Matrices from samples to values and to time derivatives, both of shape (m, count).

    Source: Keys 1981, cubic convolution with a = -1/2, also known as Catmull-Rom splines.
    """
    left = np.floor(times / dt).astype(int)
    if not is_constant_outside:
        left = np.clip(left, 0, count - 2)
    t = times / dt - left
    powers = np.stack([np.ones_like(t), t, t**2, t**3], axis=1)
    slopes = np.stack([np.zeros_like(t), np.ones_like(t), 2.0 * t, 3.0 * t**2], axis=1) / dt
    weights = (powers @ _CATMULL_ROM, slopes @ _CATMULL_ROM)
    columns = left[:, None] + np.arange(-1, 3)
    if is_constant_outside:
        columns = np.clip(columns, 0, count - 1)
        return _matrix(columns, weights[0], count), _matrix(columns, weights[1], count)
    ends = _extrapolation(count)  # one more sample before the first and after the last
    return (
        _matrix(columns + 1, weights[0], count + 2) @ ends,
        _matrix(columns + 1, weights[1], count + 2) @ ends,
    )


_CATMULL_ROM = 0.5 * np.array(
    [[0.0, 2.0, 0.0, 0.0], [-1.0, 0.0, 1.0, 0.0], [2.0, -5.0, 4.0, -1.0], [-1.0, 3.0, -3.0, 1.0]]
)


def _extrapolation(count: int) -> sparse.csr_array:
    """Append a sample at each end, extrapolated by a parabola through the last three."""
    first, last = np.zeros((1, count)), np.zeros((1, count))
    first[0, :3], last[0, -3:] = [3.0, -3.0, 1.0], [1.0, -3.0, 3.0]
    parts = (sparse.csr_array(first), sparse.eye_array(count, format="csr"), sparse.csr_array(last))
    return sparse.csr_array(sparse.vstack(parts))


def _matrix(columns: np.ndarray, values: np.ndarray, width: int) -> sparse.csr_array:
    rows = np.repeat(np.arange(len(columns)), columns.shape[1])
    data = (values.ravel(), (rows, columns.ravel()))
    return sparse.csr_array(data, shape=(len(columns), width))
