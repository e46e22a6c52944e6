"""What an exact map answers, and what is asked of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


@dataclass(frozen=True)
class Sample:
    """Value and gradient of the exact map at one point."""

    value: np.ndarray
    """Outputs, shape (n,)."""
    gradient: np.ndarray
    """Their derivatives by the inputs [output / input], shape (n, d)."""


class Neighbour(NamedTuple):
    """A point whose sample is known, to go on from."""

    u: np.ndarray
    """The point [input], shape (d,)."""
    sample: Sample
    """Its sample."""


CostlyMap = Callable[[np.ndarray, Neighbour | None], Sample]
"""u (d,) and the nearest known point, or None -> sample; raises `MapError` where there is none."""
