"""Build the meshes of the demo robots: a trunk with eight cables and a finger with one (mm).

Run by hand, `python scenes/meshes/make.py`; the files beside it are its output and are committed.
Needs gmsh (the version in README.md gives the same bytes), which the package itself never imports.

Both robots are meshed on the smallest piece that their symmetry allows and mirrored: an eighth
of the trunk, half of the finger. So a quarter turn maps the trunk's mesh, nodes and elements,
onto itself, and the four sides with their cables are exactly alike.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import combinations, pairwise
from pathlib import Path
from types import ModuleType

import numpy as np

HERE = Path(__file__).parent
DENSITY = 1.07e-6
"""Silicone rubber [kg/mm^3]."""

# --- the trunk: along +z, base at z = 0, ten rings on a thinner core above a clamped foot

TRUNK_LENGTH = 195.0
TRUNK_RADIUS = (17.0, 8.5)
"""Outer radius [mm] at the base and at the tip; linear in between."""
TRUNK_CORE = 0.5
"""Radius of the core, as a fraction of the outer radius."""
TRUNK_TIP = np.array([0.0, 0.0, TRUNK_LENGTH])
RING_PITCH = 17.5
RINGS = 27.5 + RING_PITCH * np.arange(10)
"""Heights of the rings' mid-planes [mm]."""
RING_RIM, RING_ROOT = 3.0, 5.0
"""Half the thickness of a ring at its rim and at the core [mm]."""

# --- the finger: along -x, base at x = 0, three joints that a cable on the side -y closes

FINGER_LENGTH = 100.0
FINGER_HEIGHT = (20.0, 16.0)
FINGER_WIDTH = (17.0, 14.0)
"""Extent along y and z [mm] at the base and at the tip."""
TIP_RADIUS = 10.0
"""Length of the rounded tip [mm]."""
FINGER_TIP = np.array([-FINGER_LENGTH, 0.0, 0.0])
JOINTS = (-30.0, -54.0, -78.0)
"""Position of the three notches along x [mm]."""
NOTCH_MOUTH, NOTCH_ROOT, NOTCH_TOP = 6.0, 3.0, 3.0
"""Half the width of a notch at y = -10 and at its round root, and the height of the root [mm]."""
FINGER_CABLE = -5.5
"""Height y of the cable [mm]."""


def trunk_cable(side: int, count: int) -> np.ndarray:
    """Guide points of the cable on side 0..3 (+y, -x, -y, +x) through the lowest `count` rings.

    Returns:
        Points [mm], shape (1 + 2 count, 3): the pull point in the base, then two in each ring.
    """
    z = np.concatenate([[0.0], (RINGS[:count, None] + [-RING_RIM, RING_RIM]).ravel()])
    r = 10.0 - 7.0 * z / TRUNK_LENGTH
    x, y = [(0, 1), (-1, 0), (0, -1), (1, 0)][side]
    return np.column_stack([x * r, y * r, z])


def finger_cable() -> np.ndarray:
    """Guide points of the finger's cable from base to tip.

    Returns:
        Points [mm], shape (8, 3): the pull point in the base, one on either side of each
        joint, and the anchor in the fingertip.
    """
    x = [0.0, *(joint + d for joint in JOINTS for d in (7.0, -7.0)), -93.0]
    return np.column_stack([x, np.full(len(x), FINGER_CABLE), np.zeros(len(x))])


@dataclass(frozen=True)
class Mesh:
    """Tetrahedra of a body."""

    points: np.ndarray
    """Nodes [mm], shape (n, 3)."""
    tetrahedra: np.ndarray
    """Node indices, positive volume, shape (m, 4)."""


def main() -> None:
    trunk = trunk_mesh()
    check(trunk, np.vstack([TRUNK_TIP, *(trunk_cable(side, len(RINGS)) for side in range(4))]))
    write_vtk(HERE / "trunk.vtk", trunk, "trunk with eight cables, mm")
    write_obj(HERE / "trunk.obj", *trunk_surface())
    print("trunk ", summary(trunk))

    finger = finger_mesh()
    check(finger, np.vstack([FINGER_TIP, finger_cable()]))
    write_vtk(HERE / "finger.vtk", finger, "finger with one cable, mm")
    write_obj(HERE / "finger.obj", *skin(finger_mesh(size=2.0, hinge=2.0, edge=0.8)))
    print("finger", summary(finger))


# --- trunk


def trunk_radius(z: float) -> float:
    return float(np.interp(z, [0.0, TRUNK_LENGTH], TRUNK_RADIUS))


def trunk_outline() -> list[tuple[float, float, int]]:
    """The trunk's half section from the base up: radius, height [mm], edges around the circle."""

    def rim(z: float) -> tuple[float, float, int]:
        return (trunk_radius(z), z, 16)

    def core(z: float) -> tuple[float, float, int]:
        return (TRUNK_CORE * trunk_radius(z), z, 8)

    outline = [rim(0.0), rim(12.0), core(15.0)]
    for z in RINGS:
        outline += [core(z - RING_PITCH / 2), core(z - RING_ROOT)]
        outline += [rim(z - RING_RIM), rim(z + RING_RIM), core(z + RING_ROOT)]
    outline[-1] = (5.5, 193.0, 8)  # the last ring ends in the dome of the tip
    return outline


def trunk_mesh() -> Mesh:
    with gmsh_model() as gmsh:
        trunk_octant(gmsh)
        octant = tetrahedralise(gmsh)
    on_diagonal = np.isclose(octant.points[:, 0], octant.points[:, 1], atol=2e-4)
    octant.points[on_diagonal, 1] = octant.points[on_diagonal, 0]
    quadrant = with_mirror_image(octant, lambda p: p[:, [1, 0, 2]])
    half = with_mirror_image(quadrant, lambda p: p * [-1, 1, 1])
    return sorted_along(with_mirror_image(half, lambda p: p * [1, -1, 1]), 2)


def trunk_octant(gmsh: ModuleType) -> None:
    """The eighth between 0 and 45 degrees; every node is given, so that all rings are alike."""
    geo, mesh = gmsh.model.geo, gmsh.model.geo.mesh
    outline = trunk_outline()
    on_axis = [0.0, 7.5, 15.0, *(z + d for z in RINGS for d in (-RING_PITCH / 2, -3.0, 3.0))]
    inside = [(TRUNK_CORE * trunk_radius(z), z) for z in (6.0, *RINGS)]

    tip = geo.addPoint(*TRUNK_TIP)
    bones = [*(geo.addPoint(0, 0, z) for z in on_axis), tip]
    spine = [geo.addLine(a, b) for a, b in pairwise(bones)]
    directions = ((1.0, 0.0), (np.sqrt(0.5), np.sqrt(0.5)))
    corners, walls, floors, halves = [], [], [], []
    for c, s in directions:
        corners.append([geo.addPoint(r * c, r * s, z) for r, z, _ in outline])
        walls.append([geo.addLine(a, b) for a, b in pairwise([*corners[-1], tip])])
        floors.append(geo.addLine(bones[0], corners[-1][0]))
        loop = geo.addCurveLoop([floors[-1], *walls[-1], *(-line for line in reversed(spine))])
        halves.append(geo.addPlaneSurface([loop]))
    arcs = []
    for start, end, (_, z, edges) in zip(*corners, outline, strict=True):
        arcs.append(geo.addCircleArc(start, geo.addPoint(0, 0, z), end))
        mesh.setTransfiniteCurve(arcs[-1], edges // 8 + 1)
    skin = [geo.addPlaneSurface([geo.addCurveLoop([floors[0], arcs[0], -floors[1]])])]
    for low, high, a, b in zip(arcs, [*arcs[1:], None], *walls, strict=True):
        loop = [low, b, -a] if high is None else [low, b, -high, -a]
        skin.append(geo.addSurfaceFilling([geo.addCurveLoop(loop)]))
    geo.addVolume([geo.addSurfaceLoop([*halves, *skin])])
    for line in (*spine, *walls[0], *walls[1]):
        mesh.setTransfiniteCurve(line, 2)
    for line in floors:
        mesh.setTransfiniteCurve(line, 3)
    for half, (c, s) in zip(halves, directions, strict=True):
        points = [geo.addPoint(r * c, r * s, z) for r, z in inside]
        geo.synchronize()
        gmsh.model.mesh.embed(0, points, 2, half)
    gmsh.option.setNumber("Mesh.Algorithm", 3)  # both: triangulate the given nodes, add none
    gmsh.option.setNumber("Mesh.Algorithm3D", 3)


def trunk_surface(around: int = 26) -> tuple[np.ndarray, np.ndarray]:
    """Points and triangles of the trunk as it would be cast: round, where the mesh is a polygon."""
    section = np.array([(r, z) for r, z, _ in trunk_outline()] + [(0.0, TRUNK_LENGTH)])
    section = section[~np.isin(section[:, 1], RINGS - RING_PITCH / 2)]  # straight on, no corner
    quarters = [0.75 * section[:-1] + 0.25 * section[1:], 0.25 * section[:-1] + 0.75 * section[1:]]
    corner_cut = np.stack(quarters, axis=1).reshape(-1, 2)
    section = np.vstack([section[:1], corner_cut[1:]])  # (n, 2); the edge of the base stays sharp
    angle = 2 * np.pi * np.arange(around) / around
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    rounds = [np.column_stack([r * circle, np.full(around, z)]) for r, z in section]
    points = np.vstack([*rounds, [0.0, 0.0, 0.0], TRUNK_TIP])
    base, tip = len(points) - 2, len(points) - 1
    i, j = np.arange(around), (np.arange(around) + 1) % around
    triangles = [np.column_stack([np.full(around, base), j, i])]
    for low in around * np.arange(len(section) - 1):
        high = low + around
        triangles += [np.column_stack([low + i, low + j, high + j])]
        triangles += [np.column_stack([low + i, high + j, high + i])]
    triangles += [np.column_stack([base - around + i, base - around + j, np.full(around, tip)])]
    return points, np.vstack(triangles)


# --- finger


def finger_mesh(size: float = 6.5, hinge: float = 4.2, edge: float = 0.4) -> Mesh:
    """The side view, extruded to both sides by a width that falls off towards back, palm, tip.

    Args:
        size: Length of the element edges [mm].
        hinge: The same above the notches.
        edge: Relative reduction of the finger's width at back and palm [-].
    """
    with gmsh_model() as gmsh:
        geo = gmsh.model.geo
        side = geo.addPlaneSurface([geo.addCurveLoop(finger_outline(gmsh, size, hinge))])
        geo.extrude([(2, side)], 0, 0, 1, numElements=[1])
        geo.synchronize()
        half = tetrahedralise(gmsh)
    x, y, z = half.points.T
    half.points[:, 2] = (z * finger_half_width(x, y, edge)).round(4)
    return sorted_along(with_mirror_image(half, lambda p: p * [1, 1, -1]), 0)


def finger_half_width(x: np.ndarray, y: np.ndarray, edge: float) -> np.ndarray:
    height = np.interp(-x, [0, FINGER_LENGTH], FINGER_HEIGHT)
    width = np.interp(-x, [0, FINGER_LENGTH], FINGER_WIDTH)
    across = 1 - edge * np.clip(2 * abs(y) / height, 0, 1) ** 3
    tip = np.clip((-x - FINGER_LENGTH + TIP_RADIUS) / TIP_RADIUS, 0, 1)
    return width / 2 * across * (1 - edge * tip**3)


def finger_outline(gmsh: ModuleType, size: float, hinge: float) -> list[int]:
    """Curves around the side view, from the palm's end of the base to the tip and back."""
    geo = gmsh.model.geo

    def palm(x: float) -> float:
        return -float(np.interp(-x, [0, FINGER_LENGTH], FINGER_HEIGHT)) / 2

    def point(x: float, y: float, size: float = size) -> int:
        return geo.addPoint(x, y, 0, size)

    start = last = point(0, palm(0))
    curves = []
    for joint in JOINTS:
        mouth = [point(joint + d, palm(joint + d)) for d in (NOTCH_MOUTH, -NOTCH_MOUTH)]
        y = NOTCH_TOP - NOTCH_ROOT
        root = [point(joint + d, y, hinge) for d in (NOTCH_ROOT, -NOTCH_ROOT)]
        top, centre = point(joint, NOTCH_TOP, hinge), point(joint, y)
        curves += [geo.addLine(last, mouth[0]), geo.addLine(mouth[0], root[0])]
        curves += [geo.addCircleArc(root[0], centre, top), geo.addCircleArc(top, centre, root[1])]
        curves += [geo.addLine(root[1], mouth[1])]
        last = mouth[1]
    shoulder = TIP_RADIUS - FINGER_LENGTH
    bends = [point(shoulder, s * palm(shoulder)) for s in (1, -1)]
    tip, centre = point(*FINGER_TIP[:2]), point(shoulder, 0)
    back = [bends[1], *(point(x, -palm(x), hinge) for x in JOINTS[::-1]), point(0, -palm(0))]
    curves += [geo.addLine(last, bends[0]), geo.addEllipseArc(bends[0], centre, tip, tip)]
    curves += [geo.addEllipseArc(tip, centre, tip, bends[1])]
    return curves + [geo.addLine(a, b) for a, b in pairwise([*back, start])]


# --- meshing


@contextmanager
def gmsh_model() -> Iterator[ModuleType]:
    import gmsh

    gmsh.initialize(["-noenv"], readConfigFiles=False)
    try:
        gmsh.option.setNumber("General.Verbosity", 2)
        gmsh.option.setNumber("General.NumThreads", 1)  # one order of operations, the same bytes
        yield gmsh
    finally:
        gmsh.finalize()


def tetrahedralise(gmsh: ModuleType) -> Mesh:
    """Mesh the running model; coordinates to 1e-4 mm, so that mirror images meet exactly."""
    gmsh.model.mesh.generate(3)
    gmsh.model.mesh.optimize("")
    tags, coordinates, _ = gmsh.model.mesh.getNodes()
    index = np.zeros(int(tags.max()) + 1, dtype=int)
    index[tags] = np.arange(len(tags))
    _, nodes = gmsh.model.mesh.getElementsByType(4)  # gmsh's number for the tetrahedron
    return Mesh(coordinates.reshape(-1, 3).round(4), index[nodes].reshape(-1, 4))


def with_mirror_image(mesh: Mesh, mirror: Callable[[np.ndarray], np.ndarray]) -> Mesh:
    """The mesh and its image; nodes on the mirror plane are shared, unused nodes dropped."""
    image = mesh.tetrahedra[:, [1, 0, 2, 3]] + len(mesh.points)
    tetrahedra = np.vstack([mesh.tetrahedra, image])
    mirrored_points = (
        np.vstack([mesh.points, mirror(mesh.points)]) + 0.0
    )  # -0 and 0 are one coordinate
    points, place = np.unique(mirrored_points, axis=0, return_inverse=True)
    used, tetrahedra = np.unique(place[tetrahedra], return_inverse=True)
    return Mesh(points[used], tetrahedra.reshape(-1, 4))


def sorted_along(mesh: Mesh, axis: int) -> Mesh:
    """The same mesh with its nodes numbered along an axis: a narrow band for direct solvers."""
    order = np.lexsort((*mesh.points.T, abs(mesh.points[:, axis])))
    rank = np.argsort(order)
    tetrahedra = rank[mesh.tetrahedra]
    return Mesh(mesh.points[order], tetrahedra[np.lexsort(np.sort(tetrahedra, axis=1).T[::-1])])


# --- checks


def volumes(mesh: Mesh) -> np.ndarray:
    a, b, c, d = np.moveaxis(mesh.points[mesh.tetrahedra], 1, 0)
    return np.einsum("ij,ij->i", np.cross(b - a, c - a), d - a) / 6


def radius_ratios(mesh: Mesh) -> np.ndarray:
    """Three times inscribed over circumscribed radius: 1 when regular, 0 when flat."""
    norm = partial(np.linalg.norm, axis=1)
    a, b, c, d = np.moveaxis(mesh.points[mesh.tetrahedra], 1, 0)
    area = sum(norm(np.cross(q - p, r - p)) / 2 for p, q, r in combinations((a, b, c, d), 3))
    opposite = [
        norm(p - q) * norm(r - s) for p, q, r, s in ((a, b, c, d), (a, c, b, d), (a, d, b, c))
    ]
    half = np.sum(opposite, axis=0) / 2
    crelle = np.sqrt(half * np.prod(half - opposite, axis=0))  # 6 V R, by Crelle's formula
    volume = volumes(mesh)
    return 3 * (3 * volume / area) * 6 * volume / crelle


def dihedral_angles(mesh: Mesh) -> np.ndarray:
    """Angles between the faces [degrees], shape (m, 6)."""
    a, b, c, d = np.moveaxis(mesh.points[mesh.tetrahedra], 1, 0)
    outward = [np.cross(q - p, r - p) for p, q, r in ((b, c, d), (a, d, c), (a, b, d), (a, c, b))]
    units = [n / np.linalg.norm(n, axis=1, keepdims=True) for n in outward]
    cosines = [-np.einsum("ij,ij->i", m, n) for m, n in combinations(units, 2)]
    return np.degrees(np.arccos(np.clip(cosines, -1, 1))).T


def edge_ratios(mesh: Mesh) -> np.ndarray:
    """Longest over shortest edge."""
    corners = np.moveaxis(mesh.points[mesh.tetrahedra], 1, 0)
    lengths = [np.linalg.norm(q - p, axis=1) for p, q in combinations(corners, 2)]
    return np.max(lengths, axis=0) / np.min(lengths, axis=0)


def barycentric(mesh: Mesh, point: np.ndarray) -> np.ndarray:
    """Barycentric coordinates of a point in every tetrahedron, shape (m, 4)."""
    corner = mesh.points[mesh.tetrahedra]
    edges = np.moveaxis(corner[:, 1:] - corner[:, :1], 1, 2)
    rest = np.linalg.solve(edges, (point - corner[:, 0])[..., None])[..., 0]
    return np.column_stack([1 - rest.sum(axis=1), rest])


def check(mesh: Mesh, inside: np.ndarray) -> None:
    """Refuse a mesh that a scene could not use."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    n = len(mesh.points)
    pairs = mesh.tetrahedra[:, [0, 1, 2]].ravel(), mesh.tetrahedra[:, [1, 2, 3]].ravel()
    pieces, _ = connected_components(coo_matrix((np.ones(len(pairs[0])), pairs), shape=(n, n)))
    outside = [p.tolist() for p in inside if barycentric(mesh, p).min(axis=1).max() < -1e-9]
    faults = {
        "inverted tetrahedra": (volumes(mesh) <= 0).sum(),
        "slivers": (radius_ratios(mesh) < 0.15).sum(),
        "unused nodes": n - len(np.unique(mesh.tetrahedra)),
        "further pieces": pieces - 1,
        "faces of more than two tetrahedra": (faces(mesh)[1] > 2).sum(),
        f"points outside: {outside}": len(outside),
    }
    if any(faults.values()):
        fault_list = ", ".join(f"{count} {fault}" for fault, count in faults.items() if count)
        raise RuntimeError(f"The mesh has {fault_list}. Change the element size or the shape.")


def faces(mesh: Mesh) -> tuple[np.ndarray, np.ndarray]:
    """Every face once, outward from one of its tetrahedra, and how many tetrahedra share it."""
    all_faces = mesh.tetrahedra[:, [[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]]].reshape(-1, 3)
    sorted_faces = np.sort(all_faces, axis=1)
    _, first, count = np.unique(sorted_faces, axis=0, return_index=True, return_counts=True)
    return all_faces[first], count


def summary(mesh: Mesh) -> str:
    volume, ratio, angle = volumes(mesh).sum(), radius_ratios(mesh), dihedral_angles(mesh)
    return (
        f"{len(mesh.points)} nodes, {len(mesh.tetrahedra)} tetrahedra, {volume:.0f} mm^3, "
        f"{volume * DENSITY:.4f} kg, radius ratio {ratio.min():.2f} (mean {ratio.mean():.2f}), "
        f"longest over shortest edge up to {edge_ratios(mesh).max():.2f}, "
        f"dihedral angles {angle.min():.1f} to {angle.max():.1f} degrees"
    )


# --- files


def skin(mesh: Mesh) -> tuple[np.ndarray, np.ndarray]:
    """Points and outward triangles of the boundary."""
    all_faces, count = faces(mesh)
    used, triangles = np.unique(all_faces[count == 1], return_inverse=True)
    return mesh.points[used], triangles.reshape(-1, 3)


def write_vtk(path: Path, mesh: Mesh, title: str) -> None:
    """Legacy VTK in ASCII, which SOFA's MeshVTKLoader reads."""
    n, m = len(mesh.points), len(mesh.tetrahedra)
    lines = ["# vtk DataFile Version 3.0", title, "ASCII", "DATASET UNSTRUCTURED_GRID"]
    lines += [f"POINTS {n} double", *(" ".join(f"{v:.4f}" for v in p) for p in mesh.points)]
    lines += [f"CELLS {m} {5 * m}", *("4 " + " ".join(map(str, t)) for t in mesh.tetrahedra)]
    lines += [f"CELL_TYPES {m}", *["10"] * m]
    path.write_text("\n".join(lines) + "\n", newline="\n")


def write_obj(path: Path, points: np.ndarray, triangles: np.ndarray) -> None:
    lines = ["v " + " ".join(f"{v:.3f}" for v in p) for p in points]
    lines += ["f " + " ".join(map(str, t)) for t in triangles + 1]
    path.write_text("\n".join(lines) + "\n", newline="\n")


if __name__ == "__main__":
    main()
