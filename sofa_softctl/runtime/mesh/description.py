"""Description of a mesh by numbers: sizes, shape of its elements, faults.

The shape of elements depends neither on the unit nor on the order of the points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from sofa_softctl.runtime.mesh.checks import FLAT_VOLUME_RATIO, volumes
from sofa_softctl.runtime.mesh.faces import TETRAHEDRON_TRIANGLES
from sofa_softctl.runtime.mesh.formats.cursor import Path, fault
from sofa_softctl.runtime.mesh.mesh import ELEMENTS, Mesh
from sofa_softctl.runtime.mesh.quadratic import (
    MIDDLE_OFFSET_MAX,
    are_folded,
    middle_offsets,
    quadratic_jacobians,
)
from sofa_softctl.runtime.mesh.skin import Skin, overlaps, skin_of
from sofa_softctl.runtime.mesh.split import quadratic_nodes

COINCIDENCE_TOLERANCE = 1e-9
"""Distance of points that coincide, relative to the diagonal of the bounding box [-]."""


@dataclass(frozen=True)
class Shapes:
    """Shape of tetrahedra; those without volume or with a point twice are left out."""

    edge_length: tuple[float, float, float]
    """Least, mean and greatest [scene length]."""
    dihedral_angle: tuple[float, float]
    """Least and greatest [degrees]; 70.5 in a regular tetrahedron."""
    scaled_jacobian: tuple[float, float]
    """Least and mean [-]; 1 in a regular tetrahedron."""
    aspect_ratio: tuple[float, float]
    """Mean and greatest [-]; 1 in a regular tetrahedron."""


@dataclass(frozen=True)
class QuadraticDescription:
    """Numbers of 10-node tetrahedra."""

    tetrahedra: int
    """Number of 10-node tetrahedra."""
    loose_nodes: int
    """Number of nodes in the middle of edges without an element in scenes; 0 of eighths."""
    offset_max: float
    """Greatest distance of a node from the middle of its edge, over the edge [-]."""
    far_nodes: int
    """Number of nodes farther from it than MIDDLE_OFFSET_MAX."""
    folded: int
    """Number of tetrahedra whose Jacobian changes sign at an integration point."""


@dataclass(frozen=True, eq=False)
class MeshDescription:
    """Numbers of a mesh that `softctl info` shows."""

    nodes: int
    """Number of points."""
    elements: dict[str, int]
    """Number of edges, triangles, quads, tetrahedra and hexahedra in the file."""
    quadratic: QuadraticDescription | None
    """10-node tetrahedra: in the file, or those whose eighths the tetrahedra are."""
    lower: tuple[float, ...]
    """Least coordinates [scene length], shape (3,)."""
    upper: tuple[float, ...]
    """Greatest coordinates [scene length], shape (3,)."""
    volume: float
    """Volume of the tetrahedra [scene length^3]; without any, signed volume inside the surface."""
    shapes: Shapes | None
    """Shape of the tetrahedra, or None without any."""
    skin: Skin
    """The surface."""
    thin_fraction: float
    """Fraction of the volume in walls of one element: all nodes are on the skin [-]."""
    flat: int
    """Tetrahedra without volume, or with a point twice."""
    repeated: int
    """Elements of the highest dimension with the same points as one before them."""
    overlapping: int
    """Faces whose tetrahedra lie on the same side of it."""
    reversed: int
    """Tetrahedra of negative volume: their points are in the other order."""
    unused: int
    """Points of no element of the highest dimension."""
    coincident: int
    """Points at the position of an earlier point."""
    pieces: int
    """Parts that share no point."""

    @property
    def diagonal(self) -> float:
        """Diagonal of the bounding box [scene length]."""
        return float(np.linalg.norm(np.subtract(self.upper, self.lower)))


def describe(mesh: Mesh, path: Path) -> MeshDescription:
    """Return the numbers of a mesh whose coordinates are finite and whose indices are valid.

    Args:
        mesh: Mesh that `read_mesh` has checked.
        path: File of the mesh, for the message.

    Raises:
        MeshError: The mesh has no points.
    """
    if not len(mesh.positions):
        raise fault(path, "expected points, got none", "Export the mesh again.")
    points, rows = mesh.positions, mesh.tetrahedra
    lower, upper = points.min(axis=0), points.max(axis=0)
    skin, signed = skin_of(mesh), volumes(mesh)
    is_flat = _is_flat(mesh, signed)
    main, size = _main_elements(mesh), np.abs(signed)
    is_used, is_on_skin = np.zeros((2, len(points)), dtype=bool)
    is_used[main], is_on_skin[skin.triangles] = True, True
    quadratic = _describe_quadratic(mesh, is_used)
    is_used[mesh.middles[mesh.middles >= 0]] = True
    return MeshDescription(
        nodes=len(points),
        elements={kind: len(getattr(mesh, kind)) for kind in ELEMENTS},
        quadratic=quadratic,
        lower=tuple(lower.tolist()),
        upper=tuple(upper.tolist()),
        volume=float(size.sum()) if len(rows) else skin.volume,
        shapes=_shapes(Mesh(points, tetrahedra=rows[~is_flat])) if not is_flat.all() else None,
        skin=skin,
        thin_fraction=float(size[is_on_skin[rows].all(axis=1)].sum() / max(size.sum(), 1e-300)),
        flat=int(is_flat.sum()),
        repeated=len(main) - len(np.unique(np.sort(main, axis=1), axis=0)),
        overlapping=overlaps(mesh),
        reversed=int((signed < 0.0)[~is_flat].sum()),
        unused=int((~is_used).sum()),
        coincident=_coincident(points, float(np.linalg.norm(upper - lower))),
        pieces=_pieces(main, len(points)),
    )


def _describe_quadratic(mesh: Mesh, is_used: np.ndarray) -> QuadraticDescription | None:
    nodes = quadratic_nodes(mesh.tetrahedra)
    if len(mesh.middles):
        nodes = np.column_stack([mesh.tetrahedra, mesh.middles])[mesh.middles[:, 0] >= 0]
    if nodes is None:
        return None
    x, middles = mesh.positions, nodes[:, 4:]
    offsets = middle_offsets(x, nodes)
    return QuadraticDescription(
        tetrahedra=len(nodes),
        loose_nodes=len(np.unique(middles[~is_used[middles]])),
        offset_max=float(offsets.max()),
        far_nodes=len(np.unique(middles[offsets > MIDDLE_OFFSET_MAX])),
        folded=int(are_folded(x, nodes, np.linalg.det(quadratic_jacobians(x, nodes))).sum()),
    )


def _main_elements(mesh: Mesh) -> np.ndarray:
    """Return the elements of highest dimension."""
    for rows in (mesh.tetrahedra, mesh.hexahedra, mesh.triangles, mesh.quads):
        if len(rows):
            return rows
    return mesh.edges


def _is_flat(mesh: Mesh, signed: np.ndarray) -> np.ndarray:
    longest = edge_lengths(mesh).max(axis=1, initial=0.0)
    return np.asarray(np.abs(signed) <= FLAT_VOLUME_RATIO * longest**3)


def _shapes(mesh: Mesh) -> Shapes:
    edges, angles = edge_lengths(mesh), dihedral_angles(mesh)
    jacobian, aspect = scaled_jacobian(mesh), aspect_ratio(mesh)
    return Shapes(
        edge_length=(float(edges.min()), float(edges.mean()), float(edges.max())),
        dihedral_angle=(float(angles.min()), float(angles.max())),
        scaled_jacobian=(float(jacobian.min()), float(jacobian.mean())),
        aspect_ratio=(float(aspect.mean()), float(aspect.max())),
    )


def _coincident(points: np.ndarray, diagonal: float) -> int:
    cells = np.round((points - points.min(axis=0)) / (COINCIDENCE_TOLERANCE * diagonal or 1.0))
    return len(points) - len(np.unique(cells, axis=0))


def _pieces(rows: np.ndarray, count: int) -> int:
    """Return the number of groups of elements that are joined by points."""
    if not len(rows):
        return 0
    first, neighbour = np.repeat(rows[:, 0], rows.shape[1] - 1), rows[:, 1:].ravel()
    graph = coo_array((np.ones(len(first)), (first, neighbour)), shape=(count, count))
    _, label = connected_components(graph, directed=False)
    return len(np.unique(label[rows[:, 0]]))


EDGES = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
EDGES_OF_CORNER = ((0, 1, 2), (0, 3, 4), (1, 3, 5), (2, 4, 5))


def edge_lengths(mesh: Mesh) -> np.ndarray:
    """Return the lengths of the six edges of each tetrahedron [scene length], shape (k, 6)."""
    a, b = np.array(EDGES).T
    corners = mesh.positions[mesh.tetrahedra]
    return np.asarray(np.linalg.norm(corners[:, b] - corners[:, a], axis=2))


def dihedral_angles(mesh: Mesh) -> np.ndarray:
    """Return the angle between the faces at each edge [degrees], shape (k, 6); NaN without area.

    A regular tetrahedron has arccos(1/3) = 70.53 at all six, a flat one 0 and 180.
    """
    normals = _face_normals(mesh)
    areas = np.linalg.norm(normals, axis=2, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        normals = normals / areas  # (k, 4, 3)
    a, b = np.array(EDGES).T  # two faces share each edge
    cosine = -np.einsum("kei,kei->ke", normals[:, a], normals[:, b])
    return np.asarray(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))))


def aspect_ratio(mesh: Mesh) -> np.ndarray:
    """Return the longest edge over 2 sqrt(6) radii of the inscribed sphere [-], shape (k,).

    1 for a regular tetrahedron, infinite for a flat one. Source: Stimpson et al., The Verdict
    Geometric Quality Library, Sandia report SAND2007-1751, 2007, "aspect ratio".
    """
    areas = 0.5 * np.linalg.norm(_face_normals(mesh), axis=2).sum(axis=1)
    longest = edge_lengths(mesh).max(axis=1, initial=0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        radius = 3.0 * np.abs(volumes(mesh)) / areas
        return np.asarray(longest / (2.0 * np.sqrt(6.0) * radius))


def scaled_jacobian(mesh: Mesh) -> np.ndarray:
    """Six volumes times sqrt(2), over the largest product of the edges at a corner [-], shape (k,).

    1 for a regular tetrahedron, 0 for a flat one; never negative, whatever the order of the
    points. Source: as above, "scaled Jacobian".
    """
    lengths = edge_lengths(mesh)
    products = lengths[:, EDGES_OF_CORNER].prod(axis=2).max(axis=1, initial=0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.sqrt(2.0) * 6.0 * np.abs(volumes(mesh)) / products)


def _face_normals(mesh: Mesh) -> np.ndarray:
    """Return twice the area vector of each face, all outwards or all inwards, shape (k, 4, 3)."""
    corners = mesh.positions[mesh.tetrahedra[:, TETRAHEDRON_TRIANGLES]]  # (k, 4, 3, 3)
    u, v = corners[:, :, 1] - corners[:, :, 0], corners[:, :, 2] - corners[:, :, 0]
    return np.cross(u, v)
