"""Base class of mappings with constant weights."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.behavior.mapping import Mapping, Weights
from sofa_softctl.runtime.kernels.mapping import jacobian as kernel


class LinearMapping(Mapping):
    """x_child = w x_parent for points, with constant weights w from init."""

    drives: ClassVar[tuple[tuple[str, str], ...]] = (("Vec3", "Vec3"),)

    starts: np.ndarray
    nodes: np.ndarray
    factors: np.ndarray

    def init(self) -> None:
        """Find the weights and place the follower, unless it is visual only."""
        if self.mechanical:
            self.check_templates()
            self.find_weights()
            self.place()

    def find_weights(self) -> None:
        """Find the driving nodes of each node, and call `set_weights`."""
        raise NotImplementedError

    def set_weights(self, nodes: np.ndarray, factors: np.ndarray) -> None:
        """Set the driving nodes and their weights, shapes (n_child, width)."""
        width = nodes.shape[1]
        self.starts = np.arange(len(nodes) + 1, dtype=np.int64) * width
        self.nodes = np.ascontiguousarray(nodes.ravel(), dtype=np.int64)
        self.factors = np.ascontiguousarray(factors.ravel(), dtype=float)
        self._point_weights = [(self.starts, self.nodes, self.factors)]

    @override
    def point_weights(self) -> list[Weights] | None:
        return self._point_weights

    @override
    def apply(self, x: np.ndarray, out: np.ndarray) -> None:
        kernel.weighted_sum(self.starts, self.nodes, self.factors, x, out)

    @override
    def apply_j(self, v: np.ndarray, out: np.ndarray) -> None:
        kernel.weighted_sum(self.starts, self.nodes, self.factors, v, out)

    @override
    def add_jt(self, force: np.ndarray, out: np.ndarray) -> None:
        kernel.add_transposed(self.starts, self.nodes, self.factors, force, out)

    @override
    def weights(self, driver: int = 0) -> Weights:
        return self.starts, self.nodes, self.factors
