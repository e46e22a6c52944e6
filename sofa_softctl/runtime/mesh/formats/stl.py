"""Reading STL files, text or binary.

Read by ourselves: meshio 5.3.5 takes any text for numbers, keeps the coordinates of text files in
double precision and the triangles that collapse, and always merges.
"""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.mesh.formats.cursor import Path, excerpt, fault, numbers
from sofa_softctl.runtime.mesh.mesh import Mesh

FACET = np.dtype([("normal", "<f4", 3), ("vertices", "<f4", (3, 3)), ("attribute", "<u2")])
HEADER = 80


def read_stl(data: bytes, path: Path, *, merge: bool = True) -> Mesh:
    """Return the triangles in an STL file, as SOFA's MeshSTLLoader reads them.

    Coordinates are rounded to single precision, in text files too. Files with exactly the
    length for their number of facets are binary, even if they begin with "solid". Triangles of
    binary files that use a point twice are left out; in text files SOFA keeps them.

    Args:
        data: The bytes of the file.
        path: File of the bytes, for messages.
        merge: Merge points with equal coordinates, in the order of their first appearance, as SOFA
            always does (`mergePositionUsingMap` only chooses its search); otherwise no two
            triangles share points.
    """
    facets = _read_binary(data)
    is_binary = facets is not None
    if facets is None:
        facets = _read_text(data, path)  # (n, 3, 3)
    if not merge:
        return Mesh(facets.reshape(-1, 3), triangles=np.arange(3 * len(facets)).reshape(-1, 3))
    points, triangles = merge_points(facets)
    if is_binary:
        a, b, c = triangles.T
        triangles = triangles[(a != b) & (b != c) & (c != a)]
    return Mesh(points, triangles=triangles)


def merge_points(facets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the unique points in the order of their first appearance, and the triangles.

    Args:
        facets: Corners of each triangle, shape (n, 3, 3).

    Returns:
        Points of shape (n_points, 3), and triangles of shape (n, 3).
    """
    corners = facets.reshape(-1, 3)
    _, first, inverse = np.unique(
        corners + 0.0,  # -0 is 0
        axis=0,
        return_index=True,
        return_inverse=True,
    )
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return corners[first[order]], rank[inverse.reshape(-1, 3)]


def _read_binary(data: bytes) -> np.ndarray | None:
    """Return the corners of the facets, shape (n, 3, 3), or None if the file is not binary."""
    begin = HEADER + 4
    if len(data) < begin:
        return None
    count = int.from_bytes(data[HEADER:begin], "little")
    if len(data) != begin + count * FACET.itemsize:
        return None
    return np.frombuffer(data, FACET, count, begin)["vertices"].astype(np.float32)


def _read_text(data: bytes, path: Path) -> np.ndarray:
    """Return the corners of the facets, shape (n, 3, 3)."""
    if not data.lstrip().lower().startswith(b"solid"):
        raise _no_stl(data, path)
    words: list[bytes] = []
    in_facet, ended = -1, False  # number of vertices of the open facet; -1: no facet is open
    for number, line in enumerate(data.splitlines(), 1):
        word, *rest = line.split() or [b""]
        word = word.lower()
        if ended and word == b"facet":
            raise fault(
                path,
                f"a second solid begins before line {number}",
                "SOFA reads the first only: join the solids, or save each in a file of its own.",
            )
        if word == b"vertex" and 0 <= in_facet < 3 and len(rest) >= 3:
            words += rest[:3]
            in_facet += 1
        elif (word, in_facet) in ((b"facet", -1), (b"endfacet", 3)):
            in_facet = 0 if word == b"facet" else -1
        elif word in (b"facet", b"vertex", b"endfacet"):
            raise fault(
                path, f"line {number}: expected facets of three vertices, got {excerpt(line)}"
            )
        ended = ended or word in (b"endsolid", b"end")
    if not ended or in_facet != -1:
        raise fault(path, "expected 'endsolid' at the end, got none")
    return numbers(words, "f4", "a vertex", path).reshape(-1, 3, 3)


def _no_stl(data: bytes, path: Path) -> Exception:
    if len(data) < HEADER + 4:
        return fault(path, f"expected an STL file, got {len(data)} bytes: {excerpt(data)}")
    count = int.from_bytes(data[HEADER : HEADER + 4], "little")
    return fault(
        path,
        f"expected 'solid', or a binary STL file of {HEADER + 4 + count * FACET.itemsize} bytes "
        f"for its {count} facets, got {len(data)} bytes: {excerpt(data)}",
        "It is cut short, damaged, or no STL file: export it again.",
    )
