"""Equilibria with closed forms, reached as the fixed point of first-order integration:
(M + h K) v = f and x += h v end where f = 0. With h = 1e9 a step is a Newton step up to
M / (h K) < 1e-8, so that three steps reach the solution of the linear systems to rounding."""

import itertools
import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

GRAVITY = 9.81


def positions(node):
    return node.dofs.position.array().copy()


def settle(root, run):
    root.dt.value = 1e9
    run(root, 3)


def face(mesh, z):
    """Weights of the mean over the mesh's triangles in the plane of this z, shape (n,)."""
    points, tetrahedra = mesh
    inside = np.abs(points[:, 2] - z) < 1e-9
    triangles = {
        tuple(sorted(corners))
        for element in tetrahedra.tolist()
        for corners in itertools.combinations(element, 3)
        if inside[list(corners)].all()
    }
    weights = np.zeros(len(points))
    for triangle in triangles:
        a, b, c = points[list(triangle)]
        weights[list(triangle)] += np.linalg.norm(np.cross(b - a, c - a)) / 6.0
    return weights / weights.sum()


def nodes_at(points, axis, value=0.0):
    return np.flatnonzero(np.abs(points[:, axis] - value) < 1e-9).tolist()


@pytest.mark.parametrize("mass", ["DiagonalMass", "MeshMatrixMass"])
def test_a_hanging_bar_stretches_by_half_its_weight(mass, root, box, soft_body, run):
    """u(z) = rho g (L z - z^2 / 2) / E, at the tip rho g L^2 / (2 E), for a clamped bar, nu = 0.

    With consistent loads a Galerkin solution has the exact mean over each plane of nodes, whatever
    the elements: the exact answer to a unit stress up to that plane, w = min(z, z_k) / E, is one of
    the trial functions. Tolerance: rounding times the condition number, 1e4.
    """
    length, young, density = 5.0, 1e5, 1.2
    root.gravity = [0.0, 0.0, GRAVITY]
    mesh = points, _ = box((2, 2, 5), (1.0, 0.7, length), shake=0.2, along=(1.0, 1.0, 0.0))
    node = soft_body(root, mesh, mass=mass, density=density, young=young, firstOrder=True)
    node.addObject("FixedProjectiveConstraint", indices=nodes_at(points, 2))
    settle(root, run)
    u = positions(node) - points
    for z in range(1, 6):
        expected = density * GRAVITY * (length * z - z**2 / 2.0) / young
        assert face(mesh, z) @ u[:, 2] == pytest.approx(expected, rel=1e-11, abs=0.0)


def test_a_bar_that_may_thin_stretches_just_as_far(root, box, soft_body, run):
    """Mean of u over the tip: rho g L^2 / (2 E) for any nu, when the foot only holds z, and the
    planes x = 0 and y = 0 hold x and y: w = (-nu x, -nu y, z) / E is then a trial function."""
    length, young, density = 5.0, 1e5, 1.2
    root.gravity = [0.0, 0.0, GRAVITY]
    mesh = points, _ = box((2, 2, 5), (1.0, 0.7, length), shake=0.2)
    node = soft_body(root, mesh, density=density, young=young, poisson=0.4, firstOrder=True)
    for axis in range(3):
        node.addObject(
            "PartialFixedProjectiveConstraint",
            indices=nodes_at(points, axis),
            fixedDirections=np.eye(3, dtype=int)[axis].tolist(),
        )
    settle(root, run)
    u = positions(node) - points
    expected = density * GRAVITY * length**2 / (2.0 * young)
    assert face(mesh, length) @ u[:, 2] == pytest.approx(expected, rel=1e-11, abs=0.0)
    assert np.ptp(u[:, 0]) > 0.1 * expected * 0.4  # it did thin


@pytest.mark.parametrize("method", ["large", "polar", "svd"])
def test_turning_the_scene_turns_the_equilibrium(method, root, box, soft_body, run):
    """Corotational elasticity does not know the axes: a body far from small strain, hung by
    springs, in two scenes of which one is turned.

    Springs are alike in all directions. The equilibrium is reached by Newton without dR/dx,
    which converges linearly here, 1e-9 after 60 steps.
    """
    turn = Rotation.from_euler("xyz", [50.0, -20.0, 110.0], degrees=True).as_matrix()
    points, elements = box((2, 2, 4), (1.0, 1.0, 2.0), shake=0.1)
    nodes = []
    for name, R in (("upright", np.eye(3)), ("turned", turn)):
        scene = type(root)(name, dt=1e3, gravity=(R @ [3.0, -8.0, 2.0]).tolist())
        node = soft_body(
            scene, (points @ R.T, elements), method=method, young=100.0, poisson=0.4,
            firstOrder=True,
        )  # fmt: skip
        node.addObject("RestShapeSpringsForceField", points=nodes_at(points, 2), stiffness=1e3)
        run(scene, 60)
        nodes.append(node)
    assert np.abs(positions(nodes[0]) - points).max() > 0.3
    assert positions(nodes[1]) == pytest.approx(positions(nodes[0]) @ turn.T, abs=1e-9)


def deflection(refinement, root, box, soft_body, run):
    """How far the tip of a cantilever of 10 x 1 x 1 hangs down, with that many cells across."""
    n = refinement
    scene = type(root)(f"cells{n}", gravity=[0.0, -GRAVITY, 0.0])
    mesh = points, _ = box((n, n, 10 * n), (1.0, 1.0, 10.0))
    node = soft_body(scene, mesh, young=1e6, firstOrder=True)
    node.addObject("FixedProjectiveConstraint", indices=nodes_at(points, 2))
    settle(scene, run)
    return -face(mesh, 10.0) @ (positions(node) - points)[:, 1]


def test_a_cantilever_converges_to_beam_theory(root, box, soft_body, run):
    """w = q L^4 / (8 E I) (1 + 4 E I / (k G A L^2)): Euler and Bernoulli's bending, and 1 % for
    shear, k = 5/6. Linear tetrahedra are too stiff in bending, so that w_h comes from below, and
    their stiffness has an excess w / w_h - 1 = O(h^2): the log2 of the ratio at 2 and 4 cells
    across is 2 up to the next order, 0.1. What beam theory leaves out is 1e-3 of w."""
    area, inertia, young, shear, length = 1.0, 1.0 / 12.0, 1e6, 0.5e6, 10.0
    bending = GRAVITY * length**4 / (8.0 * young * inertia)
    exact = bending + GRAVITY * length**2 / (2.0 * (5.0 / 6.0) * shear * area)
    found = [deflection(n, root, box, soft_body, run) for n in (1, 2, 4)]
    assert found[0] < found[1] < found[2] < exact
    excess = [exact / w - 1.0 for w in found]
    assert math.log2(excess[1] / excess[2]) == pytest.approx(2.0, abs=0.1)


def test_a_spring_carries_its_weight_at_m_g_over_k(root, particles, run):
    """k u = m g, by many damped steps of second order: alpha = 2 sqrt(k / m) and h = 0.1 multiply
    the distance by less than 0.9 a step, 0.9^300 = 2e-14."""
    mass, stiffness = 0.3, 12.0
    root.gravity, root.dt = [0.0, -GRAVITY, 0.0], 0.1
    node = particles(
        root, [[1.0, 2.0, 3.0]], mass=mass, rayleighMass=2.0 * math.sqrt(stiffness / mass)
    )
    node.addObject("RestShapeSpringsForceField", stiffness=stiffness)
    run(root, 300)
    expected = [[1.0, 2.0 - mass * GRAVITY / stiffness, 3.0]]
    assert positions(node) == pytest.approx(np.array(expected), abs=1e-12)
