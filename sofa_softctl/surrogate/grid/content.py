"""Content of a store: its points, and a summary of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sofa_softctl.surrogate.grid.evaluation import MapSample


class StoredPoint(NamedTuple):
    """Point of a store."""

    u: np.ndarray
    """The point [input], shape (d,)."""
    level: int
    """Level of the grid that first needed the point."""
    branch: int
    """Number of the solution at the point, 0 for the first."""
    answer: MapSample | str
    """Sample, or the reason of failure."""


@dataclass(frozen=True)
class StoreInfo:
    """Content of a store for its model."""

    path: Path
    """The file."""
    model: str
    """Content hash of the model."""
    samples: dict[int, int]
    """Number of samples by level."""
    failed: int
    """Number of points where the map has no solution."""
    branching: int
    """Number of points with several solutions."""
    damaged: int
    """Number of damaged samples, which are solved again when they are needed."""
    models: int
    """Number of models in the file."""
    size: int
    """Size of the file and its log on disk [bytes]."""
    created: datetime | None
    """Time of the model's first use with this file, or None if it is damaged."""
    version: str
    """Version of the package at that time."""
    format: int
    """Version of the file's tables."""
