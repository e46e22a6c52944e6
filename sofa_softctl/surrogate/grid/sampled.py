"""Base class of maps that are interpolated from samples of a costly map."""

from __future__ import annotations

from abc import ABC, abstractmethod
from concurrent.futures import Executor
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sofa_softctl.surrogate.grid.corners import Corners, GridCounts
from sofa_softctl.surrogate.grid.embedding import Jet
from sofa_softctl.surrogate.grid.evaluation import CostlyMap
from sofa_softctl.surrogate.grid.store import Store


class SampledMap(ABC):
    """Samples of a costly map, and an interpolant that is linear in their data.

    Args:
        exact: Costly map.
        spacing: Spacing of level 0 of the lattice of samples [input], shape (d,).
        origin: Point of the lattice [input], shape (d,).
        store: Samples of earlier runs, and for later ones.
        executor: Evaluates samples in parallel.
    """

    level = 0
    """Level of the finest samples in use."""

    def __init__(
        self,
        exact: CostlyMap,
        spacing: np.ndarray,
        origin: np.ndarray,
        *,
        store: Store | None = None,
        executor: Executor | None = None,
    ) -> None:
        self.corners = Corners(exact, spacing, origin, store=store, executor=executor)

    @property
    def counts(self) -> GridCounts:
        """Counts so far."""
        return self.corners.counts

    @property
    def spacing(self) -> np.ndarray:
        """Spacing of level 0 [input], shape (d,)."""
        return self.corners.spacing

    @property
    def dimension(self) -> int:
        """Number of inputs d."""
        return len(self.spacing)

    @property
    def size(self) -> int:
        """Number of outputs n, or 0 without samples."""
        return self.corners.outputs

    @property
    def failures(self) -> list[tuple[np.ndarray, str]]:
        """Points without a solution of the exact map, with reasons."""
        return [(self.corners.place(k), reason) for k, reason in self.corners.failures.items()]

    @abstractmethod
    def at(self, points: ArrayLike, *, rows: Any = None, gradient: bool = True) -> Jet:
        """Evaluate all outputs, or the outputs `rows`, with gradients at points (m, d)."""

    @abstractmethod
    def places(self, points: ArrayLike) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
        """Return a mask of usable points (m, d), and the places of these for `interpolate`."""

    @abstractmethod
    def interpolate(
        self, places: tuple[np.ndarray, ...], data: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Interpolate values (m, n) and gradients (m, n, d) of other data of the same samples.

        Args:
            places: Places of m points from `places`.
            data: Value (0) and gradient (1 + i) of any outputs at each sample, in the order of
                `corners.data`, shape (c, 1 + d, n).
        """

    @abstractmethod
    def second_derivative_product(
        self, places: tuple[np.ndarray, ...], data: np.ndarray, w: np.ndarray
    ) -> np.ndarray:
        """Return second derivatives (m, d, d) of outputs times w (m, n), as in `interpolate`."""

    @abstractmethod
    def error_estimate(self, points: ArrayLike) -> np.ndarray:
        """Estimate the largest error of the value at each point, shape (m,); NaN if unknown."""

    def _points(self, points: ArrayLike) -> np.ndarray:
        array = np.asarray(points, float)
        if array.ndim != 2 or array.shape[1] != len(self.spacing):
            raise ValueError(f"points must have shape (m, {len(self.spacing)}). Got: {array.shape}")
        if not np.isfinite(array).all():
            raise ValueError("points must be finite. Got NaN or infinity")
        return array
