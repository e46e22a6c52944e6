"""Values that are given at some times, and where a time lies between them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sofa_softctl.runtime.mesh.rotation import quaternion_zyx


class Span(NamedTuple):
    """Two times that follow each other, and the values there."""

    start: float
    end: float
    first: np.ndarray
    last: np.ndarray


def span_at(time: float, times: np.ndarray, values: np.ndarray) -> Span | None:
    """Where a time lies; None before the first and from the last on."""
    if not len(times) or not times[0] <= time < times[-1]:
        return None
    k = int(np.searchsorted(times, time, side="right")) - 1
    return Span(float(times[k]), float(times[k + 1]), values[k], values[k + 1])


def between(first: np.ndarray, last: np.ndarray, t: float) -> np.ndarray:
    """The rotation between two others, angles [rad] about x, y, z as Rz Ry Rx; a quaternion (4,).

    As in SOFA the middle is taken, whatever t is, where they are closer than 0.002 rad.
    """
    a, b = quaternion_zyx(np.degrees(first)), quaternion_zyx(np.degrees(last))
    cosine = float(a @ b)
    if abs(cosine) >= 1.0:
        return a
    half = np.arccos(cosine)
    sine = np.sqrt(1.0 - cosine * cosine)
    if abs(sine) < 0.001:
        middle: np.ndarray = 0.5 * a + 0.5 * b
        return middle
    found: np.ndarray = a * (np.sin((1.0 - t) * half) / sine) + b * (np.sin(t * half) / sine)
    return found
