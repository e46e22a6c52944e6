"""Reading Wavefront OBJ files.

Read by ourselves: meshio 5.3.5 knows no lines and no negative indices, and cuts no polygons.
"""

from __future__ import annotations

from sofa_softctl.errors import MeshError
from sofa_softctl.runtime.mesh.formats.cursor import Path, excerpt, fault, numbers
from sofa_softctl.runtime.mesh.mesh import Mesh


def read_obj(data: bytes, path: Path, *, triangulate: bool = False) -> Mesh:
    """Return the vertices and faces of an OBJ file, as SOFA's MeshOBJLoader reads them.

    Every `v` is a point, in the order of the file. Faces of four vertices are quads, larger ones
    fans of triangles; two vertices, in `f` or `l`, are an edge, lower index first. Texture and
    normal indices, groups and materials are passed over; seams are not split.

    Args:
        data: The bytes of the file.
        path: File of the bytes, for messages.
        triangulate: Also cut faces of four vertices into triangles.
    """
    coordinates: list[bytes] = []
    faces: dict[str, list[tuple[int, ...]]] = {"edges": [], "triangles": [], "quads": []}
    for number, line in enumerate(data.splitlines(), 1):
        keyword, *words = line.partition(b"#")[0].split() or [b""]
        if keyword == b"v":
            if len(words) < 3:
                raise fault(path, f"line {number}: expected 3 coordinates, got {excerpt(line)}")
            coordinates += words[:3]
        elif keyword in (b"f", b"l"):
            nodes = [_index(word, len(coordinates) // 3, number, path) for word in words]
            if keyword == b"l" and len(nodes) > 2:
                raise _long_line(number, path)
            _add_face(faces, nodes, 3 if triangulate else 4)
    if not coordinates:
        raise fault(
            path,
            f"expected lines 'v x y z', got none: {excerpt(data)}",
            "It is damaged, or no OBJ file: export it again.",
        )
    positions = numbers(coordinates, "f8", "a vertex", path).reshape(-1, 3)
    return Mesh(positions, **faces)  # type: ignore[arg-type]


def _add_face(faces: dict[str, list[tuple[int, ...]]], nodes: list[int], corners_max: int) -> None:
    """Add an edge or a face, which is cut if it has more than `corners_max` vertices."""
    if len(nodes) == 2:
        faces["edges"].append((min(nodes), max(nodes)))
    elif len(nodes) == 4 <= corners_max:
        faces["quads"].append(tuple(nodes))
    else:
        fan = zip(nodes[1:], nodes[2:], strict=False)
        faces["triangles"] += [(nodes[0], a, b) for a, b in fan]


def _index(word: bytes, n_points: int, number: int, path: Path) -> int:
    """Return the point of `7`, `7/1/3` or `-1`, which counts back from the last vertex read."""
    digits = word.partition(b"/")[0]
    if not digits.removeprefix(b"-").isdigit() or len(digits) > 18 or int(digits) == 0:
        raise fault(
            path,
            f"line {number}: expected the number of a vertex, counted from 1, got {excerpt(word)}",
        )
    index = int(digits)
    return index - 1 if index > 0 else n_points + index


def _long_line(number: int, path: Path) -> MeshError:
    return fault(
        path,
        f"line {number}: expected two vertices in 'l', got more",
        "SOFA takes a longer line for a face: write one 'l' for each of its segments.",
    )
