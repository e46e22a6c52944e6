"""Checks of a mesh; they raise MeshError with the element and its points."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.mesh.formats.cursor import Path, fault
from sofa_softctl.runtime.mesh.mesh import ELEMENTS, Mesh

LISTED_MAX = 3
"""Number of faulty points or elements that a message lists."""

FLAT_VOLUME_RATIO = 1e-12
"""Volume up to which a tetrahedron counts as flat, relative to its longest edge cubed [-].

A regular one has 1/(6 sqrt 2) = 0.12, a needle that a solver survives 1e-6; rounding gives
one in a plane about 1e-16 times (distance from the origin over edge length).
"""


def check_mesh(mesh: Mesh, path: Path) -> None:
    """Raise a MeshError unless all coordinates are finite and all indices point to points.

    Args:
        mesh: The mesh.
        path: File of the mesh, for the message.
    """
    faulty = np.flatnonzero(~np.isfinite(mesh.positions).all(axis=1))
    if len(faulty):
        listed = ", ".join(f"{i} at {mesh.positions[i].tolist()}" for i in faulty[:LISTED_MAX])
        raise fault(
            path,
            f"expected finite coordinates, got {len(faulty)} of {len(mesh.positions)} points that "
            f"are not (point {listed})",
            "Export the mesh again.",
        )
    for kind in (*ELEMENTS, "middles"):
        rows, n_points = getattr(mesh, kind), len(mesh.positions)
        is_outside = ((rows < 0) | (rows >= n_points)).any(axis=1)
        if kind == "middles":
            is_outside &= (rows != -1).any(axis=1)
        _raise_for(
            is_outside,
            kind,
            rows,
            path,
            f"join points that do not exist (expected indices from 0 to {n_points - 1})",
            "The file is damaged or was edited: export the mesh again.",
        )


def check_tetrahedra(mesh: Mesh, path: Path) -> None:
    """Raise a MeshError unless every tetrahedron has four different points and a volume.

    Args:
        mesh: The mesh; indices and coordinates are checked first.
        path: File of the mesh, for the message.
    """
    check_mesh(mesh, path)
    rows = mesh.tetrahedra
    ordered = np.sort(rows, axis=1)
    has_equal_points = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
    advice = "Remove these elements, or mesh the shape again."
    _raise_for(has_equal_points, "tetrahedra", rows, path, "use a point twice", advice)
    _, first, times = np.unique(ordered, axis=0, return_index=True, return_counts=True)
    is_repeated = np.zeros(len(rows), dtype=bool)
    is_repeated[first[times > 1]] = True
    _raise_for(is_repeated, "tetrahedra", rows, path, "are in the file more than once", advice)
    corners = mesh.positions[rows]  # (k, 4, 3)
    a, b = np.triu_indices(4, 1)
    longest = np.linalg.norm(corners[:, a] - corners[:, b], axis=2).max(axis=1, initial=0.0)
    is_flat = np.abs(volumes(mesh)) <= FLAT_VOLUME_RATIO * longest**3
    _raise_for(is_flat, "tetrahedra", rows, path, "have no volume", advice)


def require_tetrahedra(mesh: Mesh, path: Path) -> None:
    """Raise a MeshError if a mesh has no tetrahedra, because it is a surface for example.

    Args:
        mesh: The mesh.
        path: File of the mesh, for the message.
    """
    if len(mesh.tetrahedra):
        return
    got = ", ".join(f"{len(getattr(mesh, k))} {k}" for k in ELEMENTS if len(getattr(mesh, k)))
    raise fault(
        path,
        f"expected tetrahedra, got {got or 'points only'}",
        "A surface must be filled first (docs/how-to/make-a-mesh.md); "
        "hexahedra need a force field of their own.",
    )


def volumes(mesh: Mesh) -> np.ndarray:
    """Return the signed volume of each tetrahedron [scene length^3], shape (k,)."""
    return signed_volumes(mesh.positions, mesh.tetrahedra)


def signed_volumes(x: np.ndarray, elements: np.ndarray) -> np.ndarray:
    """Return the signed volumes of elements [length^3], shape (m,).

    The volume of a hexahedron is the product of its mean edges, exact for parallelepipeds.

    Args:
        x: Positions [length], shape (n, 3).
        elements: Vertex numbers of tetrahedra or hexahedra, shape (m, 4) or (m, 8).
    """
    # Axis, corner, element: np.cross takes three times as long, x.T[:, elements.T] twice.
    corners = np.ascontiguousarray(x.T).take(elements.T, axis=1)
    if elements.shape[1] == 4:
        a, b, c = (corners[:, k] - corners[:, 0] for k in (1, 2, 3))
        factor = 1.0 / 6.0
    else:  # four edges along each direction
        a = corners[:, [1, 2, 5, 6]].sum(axis=1) - corners[:, [0, 3, 4, 7]].sum(axis=1)
        b = corners[:, [2, 3, 6, 7]].sum(axis=1) - corners[:, [0, 1, 4, 5]].sum(axis=1)
        c = corners[:, [4, 5, 6, 7]].sum(axis=1) - corners[:, [0, 1, 2, 3]].sum(axis=1)
        factor = 1.0 / 64.0
    volumes = (
        a[0] * (b[1] * c[2] - b[2] * c[1])
        + a[1] * (b[2] * c[0] - b[0] * c[2])
        + a[2] * (b[0] * c[1] - b[1] * c[0])
    )
    return np.asarray(factor * volumes)


def _raise_for(
    is_faulty: np.ndarray, kind: str, rows: np.ndarray, path: Path, problem: str, advice: str
) -> None:
    faulty = np.flatnonzero(is_faulty)
    if len(faulty):
        listed = ", ".join(f"{i} {tuple(rows[i].tolist())}" for i in faulty[:LISTED_MAX])
        raise fault(
            path,
            f"{len(faulty)} of {len(rows)} {kind} {problem}: {listed}"
            + (", ..." if len(faulty) > LISTED_MAX else ""),
            advice,
        )
