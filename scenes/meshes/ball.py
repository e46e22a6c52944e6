"""Build the mesh of the rolling ball (mm): ball.vtk, two surfaces, and the cell of each element.

Run by hand, `python scenes/meshes/ball.py`; the files beside it are its output and are committed.
ball_cells.txt names the cell, 0 to 19, of every tetrahedron: the faces of an icosahedron.
"""

import itertools

import numpy as np
from grid import orient
from make import HERE, Mesh, check, summary, write_obj, write_vtk

OUTER, INNER, SHELLS = 40.0, 28.0, 4
FREQUENCY, SKIN_FREQUENCY = 5, 8
"""Parts of an edge of the icosahedron: of the body's mesh and cavity, and of its skin. The skin is
finer, since a ball on facets must be lifted over each edge."""


def icosahedron() -> tuple[np.ndarray, np.ndarray]:
    """Twelve unit vectors and twenty outward triangles, two opposite corners along y."""
    rings = [(np.arctan(0.5), 0.0), (-np.arctan(0.5), np.pi / 5.0)]
    points = [(0.0, 1.0, 0.0)]
    for latitude, start in rings:
        for k in range(5):
            a = start + 2.0 * np.pi * k / 5.0
            c = np.cos(latitude)
            points.append((c * np.cos(a), np.sin(latitude), c * np.sin(a)))
    points.append((0.0, -1.0, 0.0))
    corners = np.array(points)
    faces = []
    for k in range(5):
        a, b, c, d = 1 + k, 1 + (k + 1) % 5, 6 + k, 6 + (k + 1) % 5
        faces += [(0, a, b), (a, c, b), (b, c, d), (11, d, c)]
    triangles = np.array(faces)
    inward = np.linalg.det(corners[triangles]) < 0.0
    triangles[inward] = triangles[inward][:, [0, 2, 1]]
    return corners, triangles


def sphere(frequency: int = FREQUENCY) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points of the unit sphere, outward triangles, and the icosahedron's face of each triangle."""
    corners, faces = icosahedron()
    index_by_point: dict[tuple[float, ...], int] = {}
    points: list[np.ndarray] = []
    triangles, cells = [], []
    for cell, face in enumerate(faces):
        number = {}
        for i, j in itertools.product(range(frequency + 1), repeat=2):
            if i + j > frequency:
                continue
            weights = np.array([frequency - i - j, i, j]) / frequency
            point = weights @ corners[face]
            point /= np.linalg.norm(point)
            key = tuple(np.round(point, 9) + 0.0)
            if key not in index_by_point:
                index_by_point[key] = len(points)
                points.append(point)
            number[i, j] = index_by_point[key]
        for i, j in itertools.product(range(frequency), repeat=2):
            if i + j < frequency:
                triangles.append((number[i, j], number[i + 1, j], number[i, j + 1]))
                cells.append(cell)
            if i + j < frequency - 1:
                triangles.append((number[i + 1, j], number[i + 1, j + 1], number[i, j + 1]))
                cells.append(cell)
    return np.array(points), np.array(triangles), np.array(cells)


def ball_mesh() -> tuple[Mesh, np.ndarray]:
    """The hollow ball, and the cell of each tetrahedron.

    Prisms between two shells are cut by the order of their corners' numbers, so that neighbours
    agree on the diagonals.
    """
    points, triangles, cells = sphere()
    radii = np.linspace(INNER, OUTER, SHELLS)
    n = len(points)
    tetrahedra, owners = [], []
    for triangle, cell in zip(triangles, cells, strict=True):
        a, b, c = sorted(triangle)
        for shell in range(SHELLS - 1):
            low, high = shell * n, (shell + 1) * n
            tetrahedra += [
                (a + low, b + low, c + low, c + high),
                (a + low, b + low, b + high, c + high),
                (a + low, a + high, b + high, c + high),
            ]
            owners += [cell] * 3
    nodes = (radii[:, None, None] * points).reshape(-1, 3)
    return orient(nodes, np.array(tetrahedra)), np.array(owners)


def main() -> None:
    mesh, cells = ball_mesh()
    points, triangles, _ = sphere()
    check(mesh, 0.5 * (INNER + OUTER) * icosahedron()[0] * 0.99)
    write_vtk(HERE / "ball.vtk", mesh, "hollow ball of twenty cells, mm")
    fine, skin_triangles, _ = sphere(SKIN_FREQUENCY)
    write_obj(HERE / "ball_skin.obj", OUTER * fine, skin_triangles)
    write_obj(HERE / "ball_cavity.obj", INNER * points, triangles)
    (HERE / "ball_cells.txt").write_text("\n".join(map(str, cells)) + "\n", newline="\n")
    print("ball  ", summary(mesh))


if __name__ == "__main__":
    main()
