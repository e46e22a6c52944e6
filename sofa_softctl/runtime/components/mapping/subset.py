"""SubsetMapping: copies of some nodes."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.components.mapping.copies import CopyMapping
from sofa_softctl.runtime.core.data.types import Bool, Int, Integers, Real
from sofa_softctl.runtime.core.link import LinkType


class SubsetMapping(CopyMapping):
    """The follower's nodes are the driver's `indices`, `first` to `last`, or the nearest."""

    drives = (("Vec3", "Vec3"), ("Vec1", "Vec1"), ("Rigid3", "Rigid3"))

    indices = Integers([], "Driving node of each node.")
    first = Int(-1, "First driving node, when there are no indices.")
    last = Int(-1, "Last driving node, when there are no indices.")
    radius = Real(1e-5, "Greatest distance at which a node is found.", unit="length")
    handleTopologyChange = Bool(False, "Unused: the mesh does not change.")
    ignoreNotFound = Bool(False, "Leave nodes alone for which no driving node is found.")
    resizeToModel = Bool(False, "Unused.")
    topology = LinkType("Unused: the mesh does not change.")

    def find_sources(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Find the driving node of each node.

        Raises:
            SceneError: a node does not exist, or none is near enough.
        """
        parent, child = self.parent, self.child
        numbers = self.indices.get()
        if not len(numbers) and self.first.get() >= 0:
            numbers = np.arange(self.first.get(), self.last.get() + 1)
        if not len(numbers):
            numbers = self._nearest(parent._data["position"].get(), child._data["position"].get())
        if numbers.min(initial=0) < 0 or numbers.max(initial=-1) >= parent.count:
            raise self.fault(f"names node {numbers.max()}, but the driver has {parent.count}.")
        self.child.resize(parent._data["position"].get()[numbers])
        return [(np.arange(len(numbers)), numbers)]

    def _nearest(self, points: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        squares = ((wanted[:, None, :] - points[None, :, :]) ** 2).sum(axis=2)
        nearest = squares.argmin(axis=1)
        far = np.sqrt(squares.min(axis=1)) > self.radius.get()
        if far.any():
            raise self.fault(
                f"finds no driving node within {self.radius.get():g} of {int(far.sum())} nodes, "
                f"first node {int(np.flatnonzero(far)[0])}. Give 'indices' or a larger 'radius'."
            )
        return nearest
