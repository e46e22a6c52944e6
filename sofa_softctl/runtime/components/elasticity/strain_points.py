"""Strain points of elements without locking: where strains are measured, and by which nodes.

Linear tetrahedra and trilinear hexahedra are too stiff in bending (shear locking), and if volume
can hardly change (volume locking). These points average strains so that both disappear:

- 4-node tetrahedra: the strain of shear around each edge, that of volume in disjoint patches of
  tetrahedra around edges. With as many volumes as elements, 1.5 for each degree of freedom, volume
  would lock; with one for each edge of a few, it does not. Source: Nguyen-Thoi, Liu, Vu-Do,
  Nguyen-Xuan, "An edge-based smoothed finite element method for visco-elastoplastic analyses of 2D
  solids", 2009, and its form in three dimensions, Cazes and Meschke 2013, for the shear; de Souza
  Neto, Pires, Owen, "F-bar-based linear triangles and tetrahedra for finite strain analysis of
  nearly incompressible solids", 2005, for disjoint patches.
- 10-node tetrahedra: shear at four Gauss points, the mean change of volume of the element. Source:
  Simo, Taylor, Pister, "Variational and projection methods for the volume constraint in finite
  deformation elasto-plasticity", 1985.
- 8-node hexahedra: the mean strain; `hourglass` adds what bends. Source: Flanagan and Belytschko,
  "A uniform strain hexahedron and quadrilateral with orthogonal hourglass control", 1981.

A strain of several elements belongs to a region: elements of one material.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sparse

from sofa_softctl.runtime.kernels.elasticity.corotational import shape_gradients

TETRAHEDRON_EDGES = np.array([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])
"""Edges of a tetrahedron."""


@dataclass(frozen=True, eq=False)
class StrainPoints:
    """Points with stencils of nodes; that of point p begins at first[p] in the list of nodes."""

    first: np.ndarray
    """Start of each point's stencil, shape (p + 1,)."""
    nodes: np.ndarray
    """Nodes of all stencils, ascending in each, shape (s,)."""
    gradients: np.ndarray
    """Gradients of the nodes' shape functions [1/length], shape (s, 3); zero sum in a stencil."""
    shear: sparse.csr_array
    """Volume of each element whose shear is measured at each point [length^3], shape (p, m)."""
    volume: sparse.csr_array
    """The same for its change of volume."""
    stabilisation: sparse.csr_array | None = None
    """Volume times the multiple of an element's shear modulus that resists changes of volume at
    each point, negative where that is taken off again; zero sum for each element."""

    @cached_property
    def _transposed(self) -> tuple[sparse.csr_array, sparse.csr_array]:
        return self.shear.T.tocsr(), self.volume.T.tocsr()

    def distribute(self, parameters: np.ndarray, moduli: np.ndarray) -> np.ndarray:
        """Return the parameters of points times their volume, shape (p, k).

        Args:
            parameters: Parameters of elements, shape (m, k); the last one is of volume.
            moduli: Shear modulus at rest of each element, a linear function of them, shape (m,).
        """
        columns = [self.shear @ column for column in parameters.T[:-1]]
        last = self.volume @ parameters[:, -1]
        if self.stabilisation is not None:
            last += self.stabilisation @ moduli
        return np.column_stack([*columns, last])

    def collect(self, derivatives: np.ndarray, by_moduli: np.ndarray) -> np.ndarray:
        """Return derivatives by parameters of elements, shape (m, k), from those by points.

        Args:
            derivatives: Derivatives by parameters of points times their volume, shape (p, k).
            by_moduli: Derivatives of the shear modulus at rest by the parameters, shape (k,).
        """
        shear, volume = self._transposed
        columns = [shear @ column for column in derivatives.T[:-1]]
        total = np.column_stack([*columns, volume @ derivatives[:, -1]])
        if self.stabilisation is not None:
            total += np.outer(self.stabilisation.T @ derivatives[:, -1], by_moduli)
        return total


def element_points(gradients: np.ndarray, elements: np.ndarray, volumes: np.ndarray) -> StrainPoints:
    """Return a point in each element, for shear and volume.

    Args:
        gradients: Gradients of shape functions, shape (m, k, 3).
        elements: Nodes, shape (m, k).
        volumes: Volumes of the elements, shape (m,).
    """
    count = len(elements)
    share = sparse.csr_array(sparse.diags_array(np.abs(volumes)))
    return _points(np.arange(count), gradients, elements, share, share)


def smoothed_points(x0: np.ndarray, tetrahedra: np.ndarray, regions: np.ndarray) -> StrainPoints:
    """Return the points of 4-node tetrahedra: shear around edges, volume in patches.

    Args:
        x0: Positions at rest, shape (n, 3).
        tetrahedra: Shape (m, 4).
        regions: Number of each tetrahedron's region, shape (m,).
    """
    gradients, signed = shape_gradients(x0, tetrahedra)
    volumes, count = np.abs(signed), len(tetrahedra)
    ends = np.sort(tetrahedra[:, TETRAHEDRON_EDGES], axis=2).reshape(-1, 2)
    keys = np.column_stack([ends, np.repeat(regions, 6)])
    _, edges = np.unique(keys, axis=0, return_inverse=True)
    edges = edges.reshape(count, 6)
    patches = _patches(edges)
    of_edge = _shares(edges.ravel(), np.repeat(np.arange(count), 6), np.repeat(volumes / 6.0, 6))
    of_patch = _shares(patches, np.arange(count), volumes)
    shear = sparse.csr_array(sparse.vstack([of_edge, 0.0 * of_patch]))
    volume = sparse.csr_array(sparse.vstack([0.0 * of_edge, of_patch]))
    return _mean_points(gradients, tetrahedra, shear, volume)


def _patches(edges: np.ndarray) -> np.ndarray:
    """Return the patch of each tetrahedron: rings around edges, the largest first, shape (m,).

    Args:
        edges: Edges of each tetrahedron, shape (m, 6).
    """
    order = np.argsort(edges.ravel(), kind="stable") // 6
    rings = np.split(order, np.cumsum(np.bincount(edges.ravel()))[:-1])
    patches = np.full(len(edges), -1)
    count = 0
    queue = [(-len(ring), number) for number, ring in enumerate(rings)]
    heapq.heapify(queue)
    while queue:
        size, number = heapq.heappop(queue)
        ring = rings[number]
        free = ring[patches[ring] < 0]
        if len(free) == -size and size:
            patches[free] = count
            count += 1
        elif len(free):
            heapq.heappush(queue, (-len(free), number))
    return patches


def _shares(points: np.ndarray, elements: np.ndarray, volumes: np.ndarray) -> sparse.csr_array:
    """Return the volume of each element at each point, shape (p, m)."""
    return sparse.csr_array((volumes, (points, elements)))


def _mean_points(
    gradients: np.ndarray, elements: np.ndarray, shear: sparse.csr_array, volume: sparse.csr_array
) -> StrainPoints:
    """Return points whose strain is the mean over the volumes of elements."""
    total = sparse.csr_array(shear + volume)
    weights = sparse.csr_array(sparse.diags_array(1.0 / total.sum(axis=1)) @ total)
    points = np.repeat(np.arange(weights.shape[0]), np.diff(weights.indptr))
    rows = weights.data[:, None, None] * gradients[weights.indices]
    return _points(points, rows, elements[weights.indices], shear, volume)


def _points(
    points: np.ndarray,
    gradients: np.ndarray,
    nodes: np.ndarray,
    shear: sparse.csr_array,
    volume: sparse.csr_array,
    stabilisation: sparse.csr_array | None = None,
) -> StrainPoints:
    """Return points from rows of gradients that add up where point and node are the same.

    Args:
        points: Point of each row, shape (r,).
        gradients, nodes: Gradients and their nodes, shapes (r, k, 3) and (r, k).
        shear, volume, stabilisation: See `StrainPoints`.
    """
    count = int(nodes.max(initial=-1)) + 1
    keys = (points[:, None] * count + nodes).ravel()
    unique, place = np.unique(keys, return_inverse=True)
    g = np.column_stack(
        [np.bincount(place, column, minlength=len(unique)) for column in gradients.reshape(-1, 3).T]
    )
    point, node = np.divmod(unique, max(count, 1))
    first = np.searchsorted(point, np.arange(shear.shape[0] + 1))
    return StrainPoints(first, node, g, shear, volume, stabilisation)


_QUADRATURE = np.full((4, 4), (5.0 - np.sqrt(5.0)) / 20.0) + np.eye(4) / np.sqrt(5.0)
"""Barycentric coordinates of the four points of a rule of degree 2, a point a row."""


FLUCTUATION_RATIO = 1.5
"""Lame's lambda over mu against changes of volume within a 10-node tetrahedron, whose mean has the
material's own [-]: that of Poisson's ratio 0.3, where nothing locks."""


def quadratic_nodes(tetrahedra: np.ndarray) -> np.ndarray | None:
    """Return the 10 nodes of each tetrahedron that is split in eight, shape (m, 10), or None.

    Corners come first, then the middles of TETRAHEDRON_EDGES.

    Args:
        tetrahedra: Parts of tetrahedron k at 8 k to 8 k + 7, as `mesh.split` orders them.
    """
    if not len(tetrahedra) or len(tetrahedra) % 8:
        return None
    parts = tetrahedra.reshape(-1, 8, 4)
    corners = np.stack([parts[:, c, c] for c in range(4)], axis=1)
    middles = [parts[:, a, b] for a, b in TETRAHEDRON_EDGES]
    opposite = [parts[:, b, a] for a, b in TETRAHEDRON_EDGES]
    nodes = np.column_stack([corners, *middles])
    is_split = (np.column_stack(middles) == np.column_stack(opposite)).all()
    inner = parts[:, 4:].reshape(-1, 16)
    is_inside = (inner[:, :, None] == nodes[:, None, 4:]).any(axis=2).all()
    return nodes if is_split and is_inside else None


def quadratic_points(x0: np.ndarray, nodes: np.ndarray) -> tuple[StrainPoints, np.ndarray]:
    """Return the points of 10-node tetrahedra: shear at Gauss points, the mean change of volume.

    Args:
        x0: Positions at rest, shape (n, 3).
        nodes: From `quadratic_nodes`, shape (m, 10).

    Returns:
        Points, whose elements are the eight parts of each tetrahedron, and det(dX / dL) / 6 at the
        Gauss points, shape (m, 4), whose mean is the volume.
    """
    a, b = TETRAHEDRON_EDGES.T
    by_coordinate = np.zeros((4, 10, 4))  # d N_a / d L_i at each point
    corner = np.arange(4)
    by_coordinate[:, corner, corner] = 4.0 * _QUADRATURE - 1.0
    by_coordinate[:, np.arange(4, 10), a] = 4.0 * _QUADRATURE[:, b]
    by_coordinate[:, np.arange(4, 10), b] = 4.0 * _QUADRATURE[:, a]
    by_xi = by_coordinate[..., 1:] - by_coordinate[..., :1]  # L_0 = 1 - L_1 - L_2 - L_3
    J = np.einsum("eai,paj->epij", x0[nodes], by_xi)
    volumes = np.linalg.det(J) / 6.0
    gradients = np.einsum("paj,epji->epai", by_xi, np.linalg.inv(J))
    weights = np.abs(volumes) / 4.0  # elements may be wound either way
    mean = np.einsum("ep,epai->eai", weights, gradients) / weights.sum(axis=1)[:, None, None]
    rows = np.concatenate([gradients, mean[:, None]], axis=1).reshape(-1, 10, 3)
    count = len(nodes)
    parts = np.arange(8 * count)
    at_points = np.arange(5 * count).reshape(count, 5)
    shape = (5 * count, 8 * count)
    point = np.repeat(at_points[:, :4], 8, axis=1)
    part = np.tile(parts.reshape(count, 8), 4)
    shear = (np.repeat(weights / 8.0, 8, axis=1).ravel(), (point.ravel(), part.ravel()))
    means = np.repeat(weights.sum(axis=1) / 8.0, 8), (np.repeat(at_points[:, 4], 8), parts)
    by_shear, by_volume = (sparse.csr_array(part, shape=shape) for part in (shear, means))
    stabilisation = sparse.csr_array(FLUCTUATION_RATIO * (by_shear - by_volume))
    points = _points(
        np.arange(5 * count), rows, np.repeat(nodes, 5, axis=0), by_shear, by_volume, stabilisation
    )
    return points, volumes
