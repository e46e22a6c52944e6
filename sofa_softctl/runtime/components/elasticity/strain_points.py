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

from sofa_softctl.runtime.kernels.elasticity import strain_points as kernel
from sofa_softctl.runtime.kernels.elasticity.corotational import shape_gradients
from sofa_softctl.runtime.mesh.mesh import TETRAHEDRON_EDGES
from sofa_softctl.runtime.mesh.quadratic import shape_derivatives
from sofa_softctl.runtime.mesh.split import quadratic_nodes

REGIONS_MAX = 64
"""Most different moduli that count as regions."""


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
    def _by_element(self) -> tuple[sparse.csr_array, sparse.csr_array]:
        return self.shear.T.tocsr(), self.volume.T.tocsr()

    @cached_property
    def _fractions(self) -> sparse.csr_array:
        """Fraction of each point that belongs to each element [-], shape (m, p)."""
        total = sparse.csr_array(self.shear + self.volume)
        return sparse.csr_array((sparse.diags_array(1.0 / total.sum(axis=1)) @ total).T)

    @cached_property
    def volumes(self) -> np.ndarray:
        """Volume of each element at rest [length^3], shape (m,)."""
        return np.asarray(self.shear.sum(axis=0))

    def gradients_of(self, u: np.ndarray) -> np.ndarray:
        """Return the gradient of u, shape (n, 3), at each point, shape (p, 3, 3)."""
        out = np.empty((len(self.first) - 1, 3, 3))
        kernel.gradients(np.ascontiguousarray(u), self.first, self.nodes, self.gradients, out)
        return out

    def sum_in_elements(self, values: np.ndarray) -> np.ndarray:
        """Return the shares of elements in sums over points, shapes (p, ...) and (m, ...)."""
        rows = self._fractions @ values.reshape(len(values), -1)
        return np.asarray(rows).reshape(-1, *values.shape[1:])

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
        shear, volume = self._by_element
        columns = [shear @ column for column in derivatives.T[:-1]]
        total = np.column_stack([*columns, volume @ derivatives[:, -1]])
        if self.stabilisation is not None:
            total += np.outer(self.stabilisation.T @ derivatives[:, -1], by_moduli)
        return total


def element_points(
    gradients: np.ndarray, elements: np.ndarray, volumes: np.ndarray
) -> StrainPoints:
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


def regions_of(parameters: np.ndarray) -> np.ndarray:
    """Return the number of each element's region: elements of equal parameters, shape (m,).

    Args:
        parameters: Parameters of elements, shape (m, k). More different ones than REGIONS_MAX are
            the gradient of a single region.
    """
    _, regions = np.unique(parameters, axis=0, return_inverse=True)
    regions = regions.ravel()
    return regions if regions.max(initial=0) < REGIONS_MAX else np.zeros_like(regions)


def tetrahedral_points(
    element: str, x0: np.ndarray, tetrahedra: np.ndarray, parameters: np.ndarray
) -> StrainPoints:
    """Return the strain points of tetrahedra.

    Args:
        element: "linear": a point in each; "smoothed": `smoothed_points`; "quadratic":
            `quadratic_points` of tetrahedra that are split in eight.
        x0: Positions at rest, shape (n, 3).
        tetrahedra: Shape (m, 4).
        parameters: Parameters of each tetrahedron, which define regions, shape (m, k).

    Raises:
        ValueError: The tetrahedra are not split in eight.
    """
    if element == "smoothed":
        return smoothed_points(x0, tetrahedra, regions_of(parameters))
    if element == "quadratic":
        nodes = quadratic_nodes(tetrahedra)
        if nodes is None:
            raise ValueError("The tetrahedra are not split in eight.")
        return quadratic_points(x0, nodes)[0]
    gradients, volumes = shape_gradients(x0, tetrahedra)
    return element_points(gradients, tetrahedra, volumes)


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


FLUCTUATION_RATIO = 1.5
"""Lame's lambda over mu against changes of volume within a 10-node tetrahedron, whose mean has the
material's own [-]: that of Poisson's ratio 0.3, where nothing locks."""


def quadratic_points(x0: np.ndarray, nodes: np.ndarray) -> tuple[StrainPoints, np.ndarray]:
    """Return the points of 10-node tetrahedra: shear at Gauss points, the mean change of volume.

    Args:
        x0: Positions at rest, shape (n, 3).
        nodes: Nodes of the tetrahedra, see `mesh.split.quadratic_nodes`, shape (m, 10).

    Returns:
        Points, whose elements are the eight parts of each tetrahedron, and det(dX / dL) / 6 at the
        Gauss points, shape (m, 4), whose mean is the volume.
    """
    by_xi = shape_derivatives()
    J = np.einsum("eai,paj->epij", x0[nodes], by_xi)
    volumes = np.linalg.det(J) / 6.0
    gradients = np.einsum("paj,epji->epai", by_xi, np.linalg.inv(J))
    weights = np.abs(volumes) / 4.0
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
