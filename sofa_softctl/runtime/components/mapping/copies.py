"""Base class of mappings that copy nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import scipy.sparse as sparse

from sofa_softctl.runtime.behavior.mapping import Mapping, Weights


class CopyMapping(Mapping):
    """Each node is a node of one of the drivers; a point that copies a body is its centre."""

    drives: ClassVar[tuple[tuple[str, str], ...]] = (
        ("Vec3", "Vec3"),
        ("Vec1", "Vec1"),
        ("Rigid3", "Rigid3"),
        ("Rigid3", "Vec3"),
    )

    sources: list[tuple[np.ndarray, np.ndarray]]
    """For each driver: nodes of the follower, and the driver's node that each copies."""

    def init(self) -> None:
        """Find the driving nodes and place the follower, unless what follows is only drawn."""
        if self.mechanical:
            self.check_templates()
            self.sources = self.find_sources()
            self._jacobians = [self._build(number) for number in range(len(self.drivers))]
            by_nodes = [jacobian[::3, ::3] for jacobian in self._jacobians]
            self._weights = [(found.indptr, found.indices, found.data) for found in by_nodes]
            self.place()

    def find_sources(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Find `sources`, and give the follower its size."""
        raise NotImplementedError

    def apply(self, x: np.ndarray, out: np.ndarray) -> None:
        """See Mapping."""
        self.apply_from([x], out)

    def apply_j(self, v: np.ndarray, out: np.ndarray) -> None:
        """See Mapping."""
        self.apply_from([v], out)

    def add_jt(self, force: np.ndarray, out: np.ndarray) -> None:
        """See Mapping."""
        self.add_jt_to(force, [out])

    def apply_from(self, xs: Sequence[np.ndarray], out: np.ndarray) -> None:
        """See Mapping."""
        for x, (nodes, copied) in zip(xs, self.sources, strict=True):
            out[nodes] = x[copied, : out.shape[1]]

    def apply_j_from(self, vs: Sequence[np.ndarray], out: np.ndarray) -> None:
        """See Mapping."""
        self.apply_from(vs, out)

    def add_jt_to(self, force: np.ndarray, outs: Sequence[np.ndarray]) -> None:
        """See Mapping."""
        for out, (nodes, copied) in zip(outs, self.sources, strict=True):
            np.add.at(out[:, : force.shape[1]], copied, force[nodes])

    @property
    def weighted(self) -> bool:
        """See Mapping: three joints share a row, so copies of joints are no weights of rows."""
        return self.child.kind.name != "Vec1"

    def weights(self, driver: int = 0) -> Weights:
        """See Mapping."""
        return self._weights[driver]

    def jacobian(self, driver: int = 0) -> sparse.csr_array:
        """See Mapping."""
        return self._jacobians[driver]

    def _build(self, driver: int) -> sparse.csr_array:
        nodes, copied = self.sources[driver]
        width, source = self.child.deriv_size, self.drivers[driver]
        axes = np.arange(width)
        rows = (width * nodes[:, None] + axes).ravel()
        cols = (source.deriv_size * copied[:, None] + axes).ravel()
        shape = (3 * self.child.block_count, 3 * source.block_count)
        return sparse.coo_array((np.ones(len(rows)), (rows, cols)), shape=shape).tocsr()
