"""Strain points of elements without locking: where strains are measured, and by which nodes.

Linear tetrahedra and trilinear hexahedra are too stiff in bending (shear locking), and if volume
can hardly change (volume locking). These points average strains so that both disappear:

- 4-node tetrahedra: the strain of shear around each edge, that of volume in disjoint patches of
  tetrahedra around edges. With as many volumes as elements, 1.5 for each degree of freedom, volume
  would lock; with one for each edge of a few, it does not. A greedy choice of edges leaves patches
  of one to four tetrahedra between, which would lock; they join a neighbour. Source: Nguyen-Thoi,
  Liu, Vu-Do, Nguyen-Xuan, "An edge-based smoothed finite element method for visco-elastoplastic
  analyses of 2D solids", 2009, and its form in three dimensions, Cazes and Meschke 2013, for the
  shear; de Souza Neto, Pires, Owen, "F-bar-based linear triangles and tetrahedra for finite strain
  analysis of nearly incompressible solids", 2005, for disjoint patches.
- 10-node tetrahedra: shear at four Gauss points, the mean change of volume of two elements with a
  common face. With the mean of each element, whose faces have no node inside, pressure would
  alternate between neighbours. Source: Simo, Taylor, Pister, "Variational and projection methods
  for the volume constraint in finite deformation elasto-plasticity", 1985; Boffi, Brezzi, Fortin,
  "Mixed finite element methods and applications", 2013, chapter 8, for faces without a node.
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

from sofa_softctl.runtime.components.elasticity.hourglass import mean_gradients
from sofa_softctl.runtime.kernels.elasticity import strain_points as kernel
from sofa_softctl.runtime.kernels.elasticity.corotational import shape_gradients
from sofa_softctl.runtime.mesh.mesh import TETRAHEDRON_EDGES
from sofa_softctl.runtime.mesh.quadratic import quadratic_jacobians, shape_derivatives
from sofa_softctl.runtime.mesh.split import quadratic_nodes

REGION_JUMP = 1.2
"""Ratio of two successive values of a parameter, in order of size, from which on they belong to
different materials [-]. Smaller steps are a gradient, across which averages do no harm."""

_FACES = np.array([(1, 2, 3), (0, 2, 3), (0, 1, 3), (0, 1, 2)])
"""Faces of a tetrahedron."""


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
    gradients: np.ndarray, volumes: np.ndarray, elements: np.ndarray
) -> StrainPoints:
    """Return a point in each element, for shear and volume.

    Args:
        gradients: Gradients of shape functions, shape (m, k, 3).
        volumes: Volumes of the elements, shape (m,).
        elements: Nodes, shape (m, k).
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
    edges = _numbers(tetrahedra[:, TETRAHEDRON_EDGES], regions)
    patches = _patches(edges)
    _join_small(patches, _numbers(tetrahedra[:, _FACES], regions))
    of_edge = _shares(edges.ravel(), np.repeat(np.arange(count), 6), np.repeat(volumes / 6.0, 6))
    of_patch = _shares(np.unique(patches, return_inverse=True)[1], np.arange(count), volumes)
    shear = sparse.csr_array(sparse.vstack([of_edge, 0.0 * of_patch]))
    volume = sparse.csr_array(sparse.vstack([0.0 * of_edge, of_patch]))
    return _mean_points(gradients, tetrahedra, shear, volume)


def regions_of(parameters: np.ndarray) -> np.ndarray:
    """Return the number of each element's region, whose moduli have no jump, shape (m,).

    Args:
        parameters: Parameters of elements, shape (m, k).
    """
    clusters = np.zeros(parameters.shape, dtype=np.int64)
    for values, cluster in zip(np.abs(parameters.T), clusters.T, strict=True):
        order = np.argsort(values)
        ascending = values[order]
        cluster[order[1:]] = np.cumsum(ascending[1:] > REGION_JUMP * ascending[:-1])
    return np.unique(clusters, axis=0, return_inverse=True)[1].ravel()


def points_of(
    element: str, x0: np.ndarray, elements: np.ndarray, parameters: np.ndarray
) -> StrainPoints:
    """Return the strain points of elements.

    Args:
        element: "linear": a point in each tetrahedron; "smoothed": `smoothed_points`; "quadratic":
            `quadratic_points` of tetrahedra that are split in eight; "hexahedra": a point in each.
        x0: Positions at rest, shape (n, 3).
        elements: Tetrahedra or hexahedra, shape (m, 4) or (m, 8).
        parameters: Parameters of each element, which define regions, shape (m, k).

    Raises:
        ValueError: The tetrahedra are not split in eight.
    """
    if element == "smoothed":
        return smoothed_points(x0, elements, regions_of(parameters))
    if element == "quadratic":
        nodes = quadratic_nodes(elements)
        if nodes is None:
            raise ValueError("The tetrahedra are not split in eight.")
        return quadratic_points(x0, nodes, regions_of(parameters)[::8])
    if element == "hexahedra":
        gradients, determinants = mean_gradients(x0, elements)
        return element_points(gradients, determinants.sum(axis=1), elements)
    return element_points(*shape_gradients(x0, elements), elements)


def _numbers(sides: np.ndarray, regions: np.ndarray) -> np.ndarray:
    """Return numbers of edges or faces, the same for equal nodes and regions, shape (m, s).

    Args:
        sides: Nodes of the s edges or faces of each tetrahedron, shape (m, s, k).
        regions: Number of each tetrahedron's region, shape (m,).
    """
    count, per_element, size = sides.shape
    nodes = np.sort(sides, axis=2).reshape(-1, size)
    keys = np.column_stack([nodes, np.repeat(regions, per_element)])
    return np.unique(keys, axis=0, return_inverse=True)[1].reshape(count, per_element)


def _patches(sides: np.ndarray) -> np.ndarray:
    """Return the patch of each tetrahedron: those around a side, most first, shape (m,).

    Args:
        sides: Numbers of the edges of each tetrahedron, for rings around edges, or of its faces,
            for pairs, shape (m, s).
    """
    order = np.argsort(sides.ravel(), kind="stable") // sides.shape[1]
    rings = np.split(order, np.cumsum(np.bincount(sides.ravel()))[:-1])
    patches = np.full(len(sides), -1)
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


PATCH_SIZE_MIN = 5
"""Tetrahedra in a patch, unless its region has fewer: as many as are around an edge on average."""


def _join_small(patches: np.ndarray, faces: np.ndarray) -> None:
    """Join patches below PATCH_SIZE_MIN, the smallest first, to the one with most common faces.

    Args:
        patches: Patch of each tetrahedron, changed in place, shape (m,).
        faces: Numbers of its faces, shape (m, 4).
    """
    order = np.argsort(faces.ravel(), kind="stable")
    sides = faces.ravel()[order]
    first = order[:-1][sides[1:] == sides[:-1]]
    second = order[1:][sides[1:] == sides[:-1]]
    neighbours = np.full(faces.shape, -1)
    neighbours.ravel()[first], neighbours.ravel()[second] = second // 4, first // 4
    members = np.split(np.argsort(patches, kind="stable"), np.cumsum(np.bincount(patches))[:-1])
    queue = [(len(part), number) for number, part in enumerate(members)]
    heapq.heapify(queue)
    while queue and queue[0][0] < PATCH_SIZE_MIN:
        size, number = heapq.heappop(queue)
        beside = neighbours[members[number]].ravel()
        around = patches[beside[beside >= 0]]
        around = around[around != number]
        if size != len(members[number]) or not len(around):
            continue
        candidates, common = np.unique(around, return_counts=True)
        sizes = np.array([len(members[candidate]) for candidate in candidates])
        target = int(candidates[np.lexsort((sizes, -common))[0]])
        patches[members[number]] = target
        members[target] = np.concatenate([members[target], members[number]])
        members[number] = members[number][:0]
        heapq.heappush(queue, (len(members[target]), target))


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


def quadratic_points(x0: np.ndarray, nodes: np.ndarray, regions: np.ndarray) -> StrainPoints:
    """Return the points of 10-node tetrahedra: shear at Gauss points, volume in pairs.

    Args:
        x0: Positions at rest, shape (n, 3).
        nodes: Nodes of the tetrahedra, see `mesh.split.quadratic_nodes`, shape (m, 10).
        regions: Number of each tetrahedron's region, shape (m,).

    Returns:
        Points, whose elements are the eight parts of each tetrahedron.
    """
    by_xi = shape_derivatives()
    J = quadratic_jacobians(x0, nodes)
    gradients = np.einsum("paj,epji->epai", by_xi, np.linalg.inv(J))
    weights = np.abs(np.linalg.det(J)) / 24.0  # a sixth for the volume, a quarter for each point
    sizes, count = weights.sum(axis=1), len(nodes)
    patches = 4 * count + _patches(_numbers(nodes[:, _FACES], regions))  # after Gauss points
    of_point = np.bincount(patches, sizes)[patches]
    mean = np.einsum("ep,epai->eai", weights, gradients) / of_point[:, None, None]
    at_gauss = np.arange(4 * count).reshape(count, 4)
    parts = np.arange(8 * count).reshape(count, 8)
    shape = (int(patches.max(initial=-1)) + 1, 8 * count)
    shear, volume = (
        sparse.csr_array((np.repeat(part / 8.0, 8), (np.repeat(points, 8), columns)), shape=shape)
        for part, points, columns in (
            (weights.ravel(), at_gauss.ravel(), np.repeat(parts, 4, axis=0).ravel()),
            (sizes, patches, parts.ravel()),
        )
    )
    return _points(
        np.append(at_gauss, patches),
        np.concatenate([gradients.reshape(-1, 10, 3), mean]),
        np.concatenate([np.repeat(nodes, 4, axis=0), nodes]),
        shear,
        volume,
        sparse.csr_array(FLUCTUATION_RATIO * (shear - volume)),
    )
