"""Reading OFF files."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.mesh.formats.cursor import Path, excerpt, fault, numbers
from sofa_softctl.runtime.mesh.mesh import Mesh


def read_off(data: bytes, path: Path) -> Mesh:
    """Return the points, triangles and quads of an OFF file, as SOFA's MeshOffLoader reads them.

    Faces of other sizes are passed over, colours too.

    Args:
        data: The bytes of the file.
        path: File of the bytes, for messages.
    """
    lines = [line for line in data.splitlines() if line.strip() and not line.startswith(b"#")]
    if not lines or not lines[0].startswith(b"OFF"):
        raise fault(
            path,
            f"expected 'OFF' at the beginning, got {excerpt(data)}",
            "It is damaged, or no OFF file: export it again.",
        )
    words = lines[0][3:].split() or (lines[1].split() if len(lines) > 1 else [])
    start = 1 if lines[0][3:].split() else 2
    if len(words) < 2 or not all(word.isdigit() for word in words[:2]):
        raise fault(
            path, f"expected the numbers of points and faces, got {excerpt(b' '.join(words))}"
        )
    n_points, n_faces = int(words[0]), int(words[1])
    rows = [line.split() for line in lines[start:]]
    if len(rows) < n_points + n_faces or any(len(row) < 3 for row in rows[:n_points]):
        raise fault(
            path,
            f"expected {n_points} points and {n_faces} faces, one a line, got {len(rows)} lines",
            "It is cut off: export it again.",
        )
    coordinates = [word for row in rows[:n_points] for word in row[:3]]
    positions = numbers(coordinates, "f8", "a point", path).reshape(-1, 3)
    faces: dict[bytes, list[list[bytes]]] = {b"3": [], b"4": []}
    for row in rows[n_points : n_points + n_faces]:
        if row[0] in faces:
            faces[row[0]].append(row[1 : 1 + int(row[0])])
    try:
        triangles, quads = (np.array(faces[size], dtype=np.int64) for size in (b"3", b"4"))
    except ValueError as error:
        raise fault(path, f"a face does not name 3 or 4 points ({error})") from error
    return Mesh(positions, triangles=triangles, quads=quads)
