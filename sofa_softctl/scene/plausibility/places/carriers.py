"""Volume meshes that carry the points of mappings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from sofa_softctl.runtime.mesh.faces import HEXAHEDRON_QUADS
from sofa_softctl.runtime.mesh.mesh import Mesh
from sofa_softctl.runtime.mesh.skin import Skin, rows_as_keys, skin_of
from sofa_softctl.scene.graph.nodes import elements_of, own_state
from sofa_softctl.scene.plausibility.bodies import point

BLOCK = 256
"""Number of points that are compared with all others simultaneously, to bound the memory."""


@dataclass(frozen=True)
class CarrierMesh:
    """A volume mesh that carries points."""

    path: str
    """Path of its node."""
    x: np.ndarray
    """Positions of its nodes [length], shape (n, 3)."""
    elements: np.ndarray
    """Vertex numbers, shape (m, 4) or (m, 8)."""

    @cached_property
    def _find_nearest(self) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
        return nearest_among(self.x)

    @cached_property
    def edges(self) -> np.ndarray:
        """Longest edge of the elements at each node [length], shape (n,)."""
        corners = self.x.T[:, self.elements.T]  # axis, corner, element
        longest = np.zeros(len(self.elements))
        for i, j in combinations(range(corners.shape[1]), 2):
            longest = np.maximum(longest, ((corners[:, i] - corners[:, j]) ** 2).sum(axis=0))
        order = np.argsort(longest)  # of several elements at a node the longest comes last
        edges = np.zeros(len(self.x))
        edges[self.elements[order]] = np.sqrt(longest[order])[:, None]
        return edges

    @cached_property
    def skin(self) -> Skin:
        """Boundary of the mesh."""
        if self.elements.shape[1] == 4:
            return skin_of(Mesh(self.x, tetrahedra=self.elements))
        quads = self.elements[:, np.array(HEXAHEDRON_QUADS)].reshape(-1, 4)
        _, first, count = np.unique(rows_as_keys(quads), return_index=True, return_counts=True)
        return skin_of(Mesh(self.x, quads=quads[first[count == 1]]))

    def distances(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the distance of points to the nearest node, and the edge there, shapes (p,)."""
        distance, nearest = self._find_nearest(x)
        return distance, self.edges[nearest]

    def is_outside(self, x: np.ndarray) -> np.ndarray:
        """Return which points are farther than an element from the mesh, bool (p,)."""
        distance, edge = self.distances(x)
        return np.asarray((distance > edge) & (edge > 0.0))

    def extents(self) -> str:
        """Return the corners of the box around the mesh, for messages."""
        return f"from {point(self.x.min(axis=0))} to {point(self.x.max(axis=0))}"


def nearest_among(points: np.ndarray) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Return a function that finds the nearest points to x (p, 3): distances and indices, (p,).

    It uses matrix products, a block at a time: loading SciPy's trees takes longer.
    """
    centre = points.mean(axis=0)  # which keeps cancellation small
    points = points - centre
    # Single precision finds one of the nearest, and takes half the time.
    squares = (points**2).sum(axis=1).astype(np.float32)
    columns = np.ascontiguousarray(-2.0 * points.T, dtype=np.float32)

    def nearest_points(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x = x - centre
        nearest = np.empty(len(x), dtype=int)
        for start in range(0, len(x), BLOCK):
            block = x[start : start + BLOCK].astype(np.float32)
            nearest[start : start + BLOCK] = (squares + block @ columns).argmin(axis=1)
        return np.asarray(np.linalg.norm(x - points[nearest], axis=1)), nearest

    return nearest_points


def carrier_of(mapping: Any, carriers: dict[str, CarrierMesh]) -> CarrierMesh | None:
    """Return the volume mesh that carries a mapping, or None."""
    link = mapping.findLink("input_topology")
    linked = link.getLinkedBase() if link is not None else None
    parents = list(mapping.getContext().parents)
    if linked is None and not parents:
        return None
    for component in [linked] if linked is not None else list(parents[0].objects):
        for kind in ("tetrahedra", "hexahedra"):
            elements = elements_of(component, kind)
            if not len(elements):
                continue
            node = component.getContext()
            path = node.getPathName()
            if path not in carriers:
                holder = own_state(node) or component
                x = np.asarray(holder.position.value, dtype=float)[:, :3]
                if not len(x) or elements.max() >= len(x):
                    continue
                carriers[path] = CarrierMesh(path, x, elements)
            return carriers[path]
    return None
