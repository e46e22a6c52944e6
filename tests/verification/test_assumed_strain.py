"""Elements without locking against mechanics: laws that hold to rounding, and closed forms.

Each test runs with the three elements: 4-node tetrahedra with smoothed strains, 10-node tetrahedra
and hexahedra, most of them on nodes that were moved by up to a fifth of an edge.
"""

import itertools

import numpy as np
import pytest
import scipy.sparse as sparse
import scipy.sparse.linalg as sparse_linalg
from scipy.spatial import Delaunay
from scipy.spatial.transform import Rotation

from sofa_softctl.runtime.components.elasticity.strain_points import quadratic_nodes
from sofa_softctl.runtime.core.node import Node
from sofa_softctl.runtime.mesh.mesh import Mesh
from sofa_softctl.runtime.mesh.split import split
from sofa_softctl.runtime.simulation import simulation
from sofa_softctl.runtime.simulation.system_matrix import SystemMatrix

ELEMENTS = ("smoothed", "quadratic", "hexahedra")
MATERIALS = ("Corotational", "NeoHookean", "StVenantKirchhoff", "MooneyRivlin")
FACES = {
    4: [(1, 2, 3), (0, 2, 3), (0, 1, 3), (0, 1, 2)],
    8: [(0, 1, 2, 3), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7)],
}
TRIANGLES = {4: [(0, 1, 2)], 8: [(0, 1, 2), (0, 2, 3), (1, 2, 3), (1, 3, 0)]}
"""Triangles of a face, and of a quadrilateral those of both ways to cut it, by nodes of a cell."""

every_element = pytest.mark.parametrize("element", ELEMENTS)
every_ratio = pytest.mark.parametrize("poisson", [0.3, 0.499])


def block(element, cells, size=(1.0, 1.0, 1.0), shake=0.0, seed=0):
    """Cubes, or six tetrahedra each: positions, cells, and the positions in the unit cube.

    Args:
        element: One of ELEMENTS.
        cells: Cubes along x, y and z.
        size: Lengths along x, y and z.
        shake: Greatest random move of nodes along each axis, in edges of a cube. Faces stay plane.
        seed: Seed of the moves.
    """
    cells = np.array(cells)
    counts = cells + 1
    grid = np.array(list(itertools.product(*(range(count) for count in counts))))
    strides = np.array([counts[1] * counts[2], counts[2], 1])
    corners = [strides @ corner for corner in itertools.product(*(range(n) for n in cells))]
    moves = shake * np.random.default_rng(seed).uniform(-1.0, 1.0, grid.shape)
    points = (grid + moves * ((grid > 0) & (grid < cells))) / cells
    if element == "hexahedra":
        face = np.array([0, strides[0], strides[0] + strides[1], strides[1]])
        elements = np.array(corners)[:, None] + np.concatenate([face, face + 1])
    else:
        elements = np.array(
            [
                corner + np.cumsum([0, *order])
                for corner in corners
                for order in itertools.permutations(strides)
            ]
        )
    if element == "quadratic":
        points, elements = eighths(points, elements)
    return points * size, elements, points


def eighths(points, tetrahedra):
    """The eight parts of 10-node tetrahedra."""
    mesh = split(Mesh(points, tetrahedra=tetrahedra))
    return mesh.positions, mesh.tetrahedra


def body(element, points, cells, *, young=1.0, poisson=0.3, material="Corotational", held=None,
         solver="StaticSolver", **newton):  # fmt: skip
    """The scene of a body, initialised, and the body's node."""
    root = Node("root", dt=0.01, gravity=[0.0, 0.0, 0.0])
    node = root.addChild("body")
    if solver == "StaticSolver":
        node.addObject("NewtonRaphsonSolver", name="newton", **newton)
    node.addObject(solver)
    if solver == "StaticSolver":
        node.addObject("SparseLDLSolver")
    kind = "Tetrahedron" if cells.shape[1] == 4 else "Hexahedron"
    topology = {kind.lower().replace("on", "a"): cells}
    node.addObject(f"{kind}SetTopologyContainer", position=points, **topology)
    node.addObject("MechanicalObject", name="dofs", position=points)
    if solver == "StaticSolver":
        node.addObject("MeshMatrixMass", name="mass", massDensity=1.0, lumping=True)
    else:
        node.addObject("UniformMass", name="mass", totalMass=1.0)
    node.addObject(
        "AssumedStrainFEMForceField",
        name="elasticity",
        youngModulus=young,
        poissonRatio=poisson,
        materialName=material,
        quadratic=element == "quadratic",
    )
    if held is not None:
        node.addObject("FixedProjectiveConstraint", indices=np.flatnonzero(held))
    simulation.init(root)
    return root, node


def forces(node, positions):
    """The forces of the elements at these positions, shape (n, 3)."""
    node.dofs.position.value = positions
    out = np.zeros_like(positions)
    node.elasticity.add_force(out)
    return out


def masses(node):
    """Mass of each node, shape (n,)."""
    out = np.zeros_like(node.dofs.position.array())
    node.mass.add_gravity(out, np.array([1.0, 0.0, 0.0]))
    return out[:, 0]


def stiffness(root):
    """K at the present positions, sparse, shape (3 n, 3 n)."""
    matrix = SystemMatrix(simulation.loop_of(root).systems[0])
    return matrix.pattern.to_csr(matrix.assemble(0.0, 1.0, 0.0))


def solve(root, loads, held, moves=None):
    """Small displacements under loads where those of `held` coordinates are `moves`, all (n, 3)."""
    K, free = stiffness(root), ~held.ravel()
    u = np.zeros(free.size) if moves is None else moves.ravel().copy()
    residual = (loads.ravel() - K @ u)[free]
    u[free] = sparse_linalg.spsolve(sparse.csc_array(K[free][:, free]), residual)
    return u.reshape(-1, 3)


def surface_loads(points, cells, on_surface, traction):
    """Loads of a traction: a triangle's to its corners, of 10-node tetrahedra to middles of edges,
    which is consistent: the six shape functions of a face have the integrals 0 and a third.

    Args:
        points, cells: Nodes (n, 3) and tetrahedra or hexahedra.
        on_surface: Nodes of the loaded surface, shape (n,).
        traction: Force on a triangle from its center and its area vector, whose sign is arbitrary.
    """
    corners = cells.shape[1]
    faces = cells[:, FACES[corners]].reshape(-1, len(FACES[corners][0]))
    faces = faces[on_surface[faces].all(axis=1)]
    triangles = np.concatenate([faces[:, list(nodes)] for nodes in TRIANGLES[corners]])
    a, b, c = points[triangles.T]
    area = np.cross(b - a, c - a) / len(TRIANGLES[corners]) * (1.0 if corners == 8 else 0.5)
    nodes = quadratic_nodes(cells) if corners == 4 else None
    carries = np.ones(len(points))
    if nodes is not None:
        carries[nodes[:, :4]] = 0.0
    shares = carries[triangles] / carries[triangles].sum(axis=1)[:, None]
    loads = np.zeros_like(points)
    for node, share in zip(triangles.T, shares.T, strict=True):
        np.add.at(loads, node, share[:, None] * traction((a + b + c) / 3.0, area))
    return loads


# -- laws that hold to rounding ----------------------------------------------------------------


@every_element
@every_ratio
@pytest.mark.parametrize("material", ["Corotational", "NeoHookean"])
def test_a_linear_displacement_is_reproduced(element, poisson, material):
    """The patch test: the surface moves by x -> (I + G) x with stretch and shear in all six strains
    and a rotation; inside, the same field is in equilibrium, and the stress is the material's.

    The forces inside cancel to rounding, 1e-12 of those on the surface.
    """
    points, cells, unit = block(element, (3, 3, 3), shake=0.2)
    _, node = body(element, points, cells, poisson=poisson, material=material)
    G = 0.05 * np.random.default_rng(1).normal(size=(3, 3))
    F = Rotation.from_rotvec([0.3, -0.5, 0.2]).as_matrix() @ (np.eye(3) + G)
    out = forces(node, points @ F.T)
    inside = ((unit > 1e-9) & (unit < 1.0 - 1e-9)).all(axis=1)
    assert inside.sum() >= 8
    assert np.abs(out[inside]).max() < 1e-12 * np.abs(out).max()
    stress = -out.T @ points  # V P: the virial of a uniform first Piola-Kirchhoff stress
    mu, lam = 0.5 / (1.0 + poisson), poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson))
    if material == "NeoHookean":
        inverse = np.linalg.inv(F).T
        expected = mu * (F - inverse) + lam * np.log(np.linalg.det(F)) * inverse
    else:
        U, sizes, Vt = np.linalg.svd(F)
        expected = 2.0 * mu * (F - U @ Vt) + lam * (sizes.sum() - 3.0) * U @ Vt
    assert stress == pytest.approx(expected, abs=1e-11 * np.abs(expected).max())


@every_element
@every_ratio
@pytest.mark.parametrize("material", MATERIALS)
def test_a_rotated_body_has_no_stress(element, poisson, material):
    """Any turn and move: forces are the rounding of K x, 1e-12 of it."""
    points, cells, _ = block(element, (2, 2, 2), shake=0.2)
    root, node = body(element, points, cells, poisson=poisson, material=material)
    size = np.abs(stiffness(root)).max()
    R = Rotation.from_rotvec([2.0, -1.0, 0.5]).as_matrix()
    assert np.abs(forces(node, points @ R.T + [3.0, 1.0, -2.0])).max() < 1e-12 * size


@every_element
@every_ratio
@pytest.mark.parametrize("mesh", ["one", "distorted", "Delaunay"])
def test_a_free_body_has_six_modes_without_energy(element, poisson, mesh):
    """Eigenvalues of K: six are zero to rounding, 1e-14 of the largest; the seventh is above 1e-7
    of it (bodies of flat tetrahedra are soft)."""
    if mesh == "Delaunay" and element == "hexahedra":
        pytest.skip("Delaunay's cells are tetrahedra.")
    for seed in range(4):
        if mesh == "Delaunay":
            points = np.random.default_rng(seed).uniform(size=(12, 3))
            cells = Delaunay(points).simplices.astype(np.int64)
            if element == "quadratic":
                points, cells = eighths(points, cells)
        elif mesh == "one" and element != "hexahedra":
            points = np.eye(4)[:, 1:] + 0.2 * np.random.default_rng(seed).uniform(-1, 1, (4, 3))
            cells = np.array([[0, 1, 2, 3]])[:, [1, 0, 2, 3] if seed % 2 else [0, 1, 2, 3]]
            if element == "quadratic":
                points, cells = eighths(points, cells)
        else:
            count = 1 if mesh == "one" else 2
            points, cells, _ = block(element, (count, count, count), shake=0.2, seed=seed)
            points = points + 0.1 / count * np.random.default_rng(seed).normal(
                size=points.shape
            ) * (element != "quadratic")
        root, _ = body(element, points, cells, poisson=poisson)
        values = np.linalg.eigvalsh(stiffness(root).toarray())
        assert np.abs(values[:6]).max() < 1e-14 * values[-1]
        assert values[6] > 1e-7 * values[-1]


@every_element
@pytest.mark.parametrize("material", MATERIALS)
def test_the_tangent_of_a_bent_and_stretched_body_is_that_of_differences(element, material):
    """Bent by 70 degrees, stretched by 30 % and irregular by 5 %: central differences with steps of
    1e-5 have an error of 1e-9 of the third derivative."""
    points, cells, _ = block(element, (2, 2, 4), (2.0, 2.0, 4.0), shake=0.15)
    root, node = body(element, points, cells, young=100.0, poisson=0.4, material=material)
    angle, radius = 1.2 * points[:, 2] / 4.0, 4.0 / 1.2
    bent = np.column_stack(
        [
            radius - (radius - points[:, 0]) * np.cos(angle),
            1.2 * points[:, 1],
            1.3 * (radius - points[:, 0]) * np.sin(angle),
        ]
    )
    random = np.random.default_rng(0)
    bent += (0.02 if element == "quadratic" else 0.05) * random.normal(size=bent.shape)
    direction, step = random.normal(size=bent.shape), 1e-5
    ahead, behind = (forces(node, bent + sign * step * direction) for sign in (1.0, -1.0))
    expected = (behind - ahead).ravel() / (2.0 * step)
    forces(node, bent)
    node.elasticity.exact_tangent = True  # steps may take another, positive one
    product = stiffness(root) @ direction.ravel()
    assert product == pytest.approx(expected, abs=1e-6 * np.abs(expected).max())


# -- closed forms ------------------------------------------------------------------------------


def cantilever(element, across, poisson, shake=0.0, mesh=None):
    """Tip deflection under its weight over Timoshenko's."""
    length, width = 100.0, 10.0
    counts = round(length / width) * across, across, across
    points, cells = mesh or block(element, counts, (length, width, width), shake)[:2]
    root, node = body(element, points, cells, young=500.0, poisson=poisson)
    load = 1e-3  # [force/length^3]
    loads = np.zeros_like(points)
    node.mass.add_gravity(loads, np.array([0.0, -load, 0.0]))
    held = np.repeat(points[:, :1] < 1e-9, 3, axis=1)
    tip = points[:, 0] > length - 1e-9
    deflection = -solve(root, loads, held)[tip, 1].mean()
    shear = 500.0 / (2.0 * (1.0 + poisson))
    weight, area, inertia = load * width**2, width**2, width**4 / 12.0
    bending = weight * length**4 / (8.0 * 500.0 * inertia)
    return deflection / (bending + weight * length**2 / (2.0 * 5.0 / 6.0 * shear * area))


@pytest.mark.parametrize("poisson", [0.3, 0.45, 0.49, 0.499])
@pytest.mark.parametrize(
    ("element", "across", "least"),
    [
        ("smoothed", 1, 0.85),
        ("smoothed", 2, 0.95),
        ("quadratic", 1, 0.92),
        ("quadratic", 2, 0.97),
        ("hexahedra", 1, 0.95),
        ("hexahedra", 2, 0.93),
    ],
)
@pytest.mark.parametrize("shake", [0.0, 0.2])
def test_a_coarse_cantilever_bends_as_beams_do(element, across, least, shake, poisson):
    """Tip over Timoshenko's. The clamp also holds the section's width, which takes 1 % at ratio 0.3
    and 4 % at 0.499: the converged ratio is 0.99 to 0.96. SOFA's tetrahedra, two across, have 0.51,
    0.30, 0.11, 0.02. Above, averaged strains are up to 7 % too soft; moved nodes cost up to 0.08.
    """
    ratio = cantilever(element, across, poisson, shake)
    assert least - (0.08 if shake and across == 1 else 0.02 if shake else 0.0) < ratio < 1.04


@pytest.mark.study
@pytest.mark.parametrize("edge", [10.0, 9.0, 8.0, 6.0, 5.0, 4.5, 4.0, 3.3])
def test_meshes_of_pytetwild_bend_as_beams_do(edge, tmp_path, monkeypatch):
    """Meshes without any order, another in each run: 10-node tetrahedra reach 0.95 on all, smoothed
    ones 0.8 with one layer, 0.9 with two, above 200 nodes, and 0.94 with three, above 500. SOFA's
    tetrahedra have 0.16 to 0.34 at edges of 10, 0.41 to 0.66 at 5."""
    pytetwild = pytest.importorskip("pytetwild")
    monkeypatch.chdir(tmp_path)  # it writes a file
    corners = np.array(list(itertools.product((0.0, 100.0), (0.0, 10.0), (0.0, 10.0))))
    sides = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    triangles = np.array([t for a, b, c, d in sides for t in ((a, b, c), (a, c, d))])
    length = edge / np.linalg.norm(corners[-1])
    points, cells = pytetwild.tetrahedralize(corners, triangles, edge_length_fac=length)[:2]
    points, cells = np.asarray(points, float), np.asarray(cells, np.int64)
    volume = np.abs(np.linalg.det(points[cells[:, 1:]] - points[cells[:, :1]])).sum() / 6.0
    if abs(volume - 1e4) > 10.0:
        pytest.skip(f"the mesh of volume {volume:g} is not the beam's")
    parts = eighths(points, cells)
    for poisson in (0.3, 0.45, 0.49):
        assert 0.95 < cantilever("quadratic", 0, poisson, mesh=parts) < 1.04
        least = 0.94 if len(points) > 500 else 0.9 if len(points) > 200 else 0.8
        assert least < cantilever("smoothed", 0, poisson, mesh=(points, cells)) < 1.1


def layered_cantilever(element, ratio, across):
    """Tip deflection under an end load of a beam of two layers over the theory of composites."""
    length, width = 100.0, 10.0
    cells = 10 * across, 2 * across, across
    points, elements, _ = block(element, cells, (length, width, width))
    height = points[elements][..., 1].mean(axis=1)
    if element == "quadratic":
        height = np.repeat(height.reshape(-1, 8).mean(axis=1), 8)
    young = np.where(height < 0.5 * width, ratio, 1.0)
    root, _ = body(element, points, elements, young=young)
    tip = points[:, 0] > length - 1e-9
    loads = surface_loads(
        points,
        elements,
        tip,
        lambda center, area: np.linalg.norm(area, axis=1)[:, None] * [0.0, -1e-3, 0.0],
    )
    held = np.repeat(points[:, :1] < 1e-9, 3, axis=1)
    deflection = -solve(root, loads, held)[tip, 1].mean()
    half, moduli = 0.5 * width, np.array([ratio, 1.0])
    middles = np.array([0.5, 1.5]) * half
    neutral = (moduli @ middles) / moduli.sum()
    inertia = width * half**3 / 12.0 + width * half * (middles - neutral) ** 2
    return deflection / (0.1 * length**3 / (3.0 * moduli @ inertia))


@every_element
def test_a_beam_of_two_materials_bends_as_composite_beams_do(element):
    """Moduli of 1000 and 1: strains are averaged within a material only, or the soft layer would
    stiffen. With two cells in each layer: 0.93 (smoothed), 0.99; SOFA's tetrahedra have 0.37."""
    least = 0.92 if element == "smoothed" else 0.98
    assert least < layered_cantilever(element, 1000.0, 2) < 1.02


@pytest.mark.parametrize(
    ("element", "mean", "least"),
    [("smoothed", 18.5, 0.985), ("quadratic", 18.5, 0.96), ("hexahedra", 18.5, 0.965)],
)
def test_cooks_membrane_at_constant_volume(element, mean, least):
    """A tapered panel in plane strain, clamped on one side and sheared on the other, ratio 0.499:
    mean deflection of the end 18.50 (hexahedra 64 across and extrapolated); with 8 elements a side
    (10-node: 4) 0.99 (smoothed), 0.97, 0.97 of it. The error falls with an order above 1, that of
    the corner's singularity. SOFA's tetrahedra, 16 a side, have 0.36."""
    errors = []
    for count in (4, 8) if element != "quadratic" else (2, 4):
        _, cells, unit = block(element, (count, count, 1), (1.0, 1.0, 1.0))
        x, y, z = unit.T
        points = np.column_stack([48.0 * x, 44.0 * x + y * (44.0 - 28.0 * x), 48.0 * z / count])
        root, _ = body(element, points, cells, poisson=0.499)
        loads = surface_loads(
            points,
            cells,
            x > 1.0 - 1e-9,
            lambda center, area: np.linalg.norm(area, axis=1)[:, None] * [0.0, 1.0 / 16.0, 0.0],
        )
        held = np.repeat(x[:, None] < 1e-9, 3, axis=1)
        held[(z < 1e-9) | (z > 1.0 - 1e-9), 2] = True
        u = solve(root, loads, held)
        errors.append(1.0 - (loads * u).sum() / loads[:, 1].sum() / mean)
    assert abs(errors[-1]) < 1.0 - least
    assert np.log2(errors[0] / errors[1]) > 1.0


def lame(element, count, poisson, dimensions):
    """Inner displacement of a thick tube (2) or sphere (3), radii 1 and 2, over Lame's."""
    if dimensions == 2:
        _, cells, unit = block(element, (count, 2 * count, 1))
        radius, angle = 1.0 + unit[:, 0], 0.5 * np.pi * unit[:, 1]
        points = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle), 0.0 * angle])
        points[:, 2] = 0.5 * unit[:, 2] / count
        held = np.zeros(points.shape, bool)
        held[:, 2] = (unit[:, 2] < 1e-9) | (unit[:, 2] > 1.0 - 1e-9)
        expected = (1.0 + poisson) / 3.0 * (1.0 - 2.0 * poisson + 4.0)
    else:  # an eighth: three parts of a cube's surface
        _, part, unit = block(element, (count, count, count))
        directions = np.column_stack([np.ones(len(unit)), np.tan(0.25 * np.pi * unit[:, 1:])])
        directions /= np.linalg.norm(directions, axis=1)[:, None]
        scaled = directions * (1.0 + unit[:, :1])
        points = np.concatenate([np.roll(scaled, axis, axis=1) for axis in range(3)])
        cells = np.concatenate([part + axis * len(unit) for axis in range(3)])
        _, first, index = np.unique(points.round(9), axis=0, return_index=True, return_inverse=True)
        points, cells = points[first], index.ravel()[cells]
        held = np.zeros(points.shape, bool)
        expected = 1.0 / 7.0 * (1.0 - 2.0 * poisson + (1.0 + poisson) / 2.0 * 8.0)
    held |= (np.abs(points) < 1e-9) & (np.arange(3) < dimensions)
    outwards = points * (np.arange(3) < dimensions)
    radius = np.linalg.norm(outwards, axis=1)
    inner = radius < 1.0 + 1e-9
    root, _ = body(element, points, cells, poisson=poisson)

    def pressure(center, area):
        outwards = center * (np.arange(3) < dimensions)
        return area * np.sign((area * outwards).sum(axis=1))[:, None]

    u = solve(root, surface_loads(points, cells, inner, pressure), held)
    return (u * outwards).sum(axis=1)[inner].mean() / expected


@every_element
@every_ratio
@pytest.mark.parametrize(("dimensions", "error_max"), [(2, 0.015), (3, 0.05)])
def test_thick_tubes_and_spheres_under_pressure_are_lames(element, poisson, dimensions, error_max):
    """Tube in plane strain: u(a) = (1 + nu) / (b^2 / a^2 - 1) ((1 - 2 nu) a + b^2 / a) p / E,
    and the like for the sphere. With 4 elements through the wall, 10-node ones with curved edges,
    the error is below 1.3 % and 4 %, of order 2; at ratio 0.499 SOFA's hexahedra have 61 and 83 %.
    """
    errors = [abs(lame(element, count, poisson, dimensions) - 1.0) for count in (2, 4)]
    assert errors[1] < error_max
    assert np.log2(errors[0] / errors[1]) > 1.5 or errors[1] < 1e-3


def pressed_block(element, count, poisson=0.499):
    """Pressures in a block between rough plates, the means of neighbours, weights, and centers."""
    points, cells, unit = block(element, (count, count, count))
    root, node = body(element, points, cells, poisson=poisson)
    held = np.repeat((unit[:, 1:2] < 1e-9) | (unit[:, 1:2] > 1.0 - 1e-9), 3, axis=1)
    moves = np.zeros_like(points)
    moves[unit[:, 1] > 1.0 - 1e-9, 1] = -0.01
    u = solve(root, np.zeros_like(points), held, moves)
    strains = node.elasticity.points
    weights = np.asarray(strains.volume.sum(axis=1))
    measures = weights > 0.0
    bulk = 1.0 / (3.0 * (1.0 - 2.0 * poisson))
    pressures = -bulk * np.einsum("pii->p", strains.gradients_of(u))[measures]
    parts = sparse.csr_array(strains.volume[np.flatnonzero(measures)] > 0.0, dtype=float)
    centers = (parts @ points[cells].mean(axis=1)) / parts.sum(axis=1)[:, None]
    faces = np.sort(cells[:, FACES[cells.shape[1]]], axis=2)
    _, face = np.unique(faces.reshape(-1, faces.shape[2]), axis=0, return_inverse=True)
    of_faces = sparse.csr_array(
        (np.ones(face.size), (np.repeat(np.arange(len(cells)), faces.shape[1]), face.ravel()))
    )
    neighbours = (parts @ of_faces @ of_faces.T @ parts.T).toarray() > 0.0
    np.fill_diagonal(neighbours, False)
    means = (neighbours @ pressures) / neighbours.sum(axis=1)
    return pressures, means, weights[measures], centers


@every_element
def test_pressures_of_neighbours_do_not_alternate(element):
    """At ratio 0.499, a third of the way into the block: pressures less the mean of their
    neighbours', over their size (rms). In a checkerboard this is 1 or more on every mesh. Here it
    is 0.13 to 0.18 with 4 elements a side, and falls to there (10-node: from 0.36 with 2)."""
    roughness = {}
    for count in (2, 4) if element == "quadratic" else (4, 8):
        pressures, means, weights, centers = pressed_block(element, count)
        inner = ((centers > 0.2) & (centers < 0.8))[:, [0, 2]].all(axis=1)
        size = np.average(pressures[inner] ** 2, weights=weights[inner])
        rough = np.average((pressures - means)[inner] ** 2, weights=weights[inner])
        roughness[count] = np.sqrt(rough / size)
    assert max(roughness.values()) < 0.4
    assert roughness[max(roughness)] < 0.2


@every_element
@pytest.mark.parametrize("poisson", [0.3, 0.499])
def test_pressure_is_determined_by_the_motion(element, poisson):
    """Smallest singular value of div u in units of energy (the inf-sup condition), a block held at
    one end, with 2 and 3 elements a side: above 0.3, so that no pressure is without forces."""
    for count in (2, 3):
        points, cells, unit = block(element, (count, count, count), shake=0.2)
        root, node = body(element, points, cells, poisson=0.0)
        free = np.repeat(unit[:, 2] > 1e-9, 3)
        K = stiffness(root).toarray()[np.ix_(free, free)]
        strains = node.elasticity.points
        volumes = np.asarray(strains.volume.sum(axis=1))
        sizes = np.diff(strains.first)
        point = np.repeat(np.arange(len(sizes)), sizes)
        div = np.zeros((len(sizes), len(points), 3))
        div[point, strains.nodes] = strains.gradients * np.sqrt(volumes)[point, None]
        div = div[volumes > 0.0].reshape(-1, 3 * len(points))[:, free]
        values = np.linalg.eigvalsh(div @ np.linalg.solve(K, div.T))
        assert np.sqrt(values[0]) > 0.3


@pytest.mark.parametrize("poisson", [0.3, 0.499])
def test_a_twisted_column_stores_the_same_energy_in_every_element(poisson):
    """A column of 1 x 1 x 3 twisted by 120 degrees between its ends (neo-Hookean): large turns, and
    sections that warp. Energies of the three elements agree within 3 %, on coarse meshes."""
    energies = {}
    for element, cells in (("smoothed", (3, 3, 9)), ("quadratic", (2, 2, 4)),
                           ("hexahedra", (4, 4, 10))):  # fmt: skip
        points, elements, unit = block(element, cells, (1.0, 1.0, 3.0))
        ends = (unit[:, 2] < 1e-9) | (unit[:, 2] > 1.0 - 1e-9)
        root, node = body(
            element, points, elements, poisson=poisson, material="NeoHookean", held=ends,
            maxNbIterationsNewton=40, maxNbIterationsLineSearch=12,
            relativeSuccessiveStoppingThreshold=0.0, relativeInitialStoppingThreshold=1e-8,
            absoluteResidualStoppingThreshold=0.0,
        )  # fmt: skip
        angle = np.radians(20.0) * unit[:, 2]
        turn = np.stack([np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle)], axis=1)
        for _ in range(6):
            x = node.dofs.position.array().copy()
            x[:, :2] = 0.5 + np.einsum("nij,nj->ni", turn.reshape(-1, 2, 2), x[:, :2] - 0.5)
            node.dofs.position.value = x
            simulation.animateNSteps(root, 1)
        assert np.abs(forces(node, node.dofs.position.array().copy())[~ends]).max() < 1e-6
        assert node.elasticity.inverted_elements() == 0
        energies[element] = node.elasticity.energy()
    values = np.array(list(energies.values()))
    assert np.ptp(values) < 0.03 * values.mean(), energies


@every_element
@pytest.mark.parametrize("material", ["Corotational", "NeoHookean"])
def test_a_spinning_and_vibrating_body_keeps_its_momenta_and_energy(element, material):
    """Symplectic Euler, v += h M^-1 f(x), x += h v, keeps momentum and angular momentum exactly,
    since the forces' sum and moments vanish: 1e-10 after 400 steps. Energy swings by O(h) around
    its value without a trend; a quarter of the step leaves less than half of the swing."""
    points, cells, _ = block(element, (1, 1, 3), (1.0, 1.0, 3.0), shake=0.1)
    swings = []
    for step in (8e-3, 2e-3):
        root, node = body(
            element, points, cells, young=20.0, material=material, solver="EulerExplicitSolver"
        )
        root.dt.value = step
        mass = masses(node)
        center = mass @ points / mass.sum()
        stretched = center + (points - center) * [1.0, 1.0, 1.1]
        node.dofs.position.value = stretched
        node.dofs.velocity.value = np.cross([0.5, 0.3, 1.0], stretched - center) + [0.1, 0.2, 0.3]
        values = []
        for _ in range(round(3.2 / step)):
            simulation.animateNSteps(root, 1)
            x, v = node.dofs.position.array(), node.dofs.velocity.array()
            kinetic = 0.5 * mass @ (v**2).sum(axis=1)
            values.append(
                [kinetic + node.elasticity.energy(), *(mass @ v), *(mass @ np.cross(x, v))]
            )
        values = np.array(values)
        momenta = values[:, 1:]
        assert np.ptp(momenta, axis=0).max() < 1e-10 * np.abs(momenta).max()
        third = len(values) // 3
        swing = np.ptp(values[:, 0])
        assert abs(values[:third, 0].mean() - values[-third:, 0].mean()) < 0.2 * swing
        swings.append(swing / values[0, 0])
    assert swings[1] < 0.5 * swings[0] < 0.1
