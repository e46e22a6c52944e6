"""Equilibria under line tensions: they are at rest, and their derivatives are exact."""

import itertools

import numpy as np
import pytest
import scipy.sparse

from sofa_softctl.errors import MapError, SceneError
from sofa_softctl.runtime.core.node import Node
from sofa_softctl.runtime.equilibrium.map import EquilibriumMap
from sofa_softctl.runtime.simulation import simulation

YOUNG, POISSON, SCALE = 300.0, 0.4, 500.0  # [kPa], [-], [mN]
ELASTICITY = {
    "gradient": ("FastTetrahedralCorotationalForceField", {"method": "polar"}),
    "large": ("TetrahedronFEMForceField", {"method": "large"}),
    "polar": ("TetrahedronFEMForceField", {"method": "polar"}),
    "StVenantKirchhoff": ("TetrahedronHyperelasticityFEMForceField", {}),
    "StableNeoHookean": ("TetrahedronHyperelasticityFEMForceField", {}),
}
SYMMETRIC = ("gradient", "StVenantKirchhoff", "StableNeoHookean")


@pytest.fixture(scope="module")
def grid():
    """A box of tetrahedra; the same for all tests."""
    counts = np.array([3, 3, 8])
    points = np.array(list(itertools.product(*(range(c) for c in counts))), float)
    strides = np.array([24, 8, 1])
    elements = [
        strides @ corner + np.cumsum([0, *order])
        for corner in itertools.product(range(2), range(2), range(7))
        for order in itertools.permutations(strides)
    ]
    return points * [10.0, 10.0, 10.0] - [10.0, 10.0, 0.0], np.array(elements)


def arm(
    grid,
    elasticity="gradient",
    gravity=(0.0, -9810.0, 0.0),
    lines=((8, 8), (-8, 8), (0, -8)),
    linear_solver="SparseLDLSolver",
):
    """A clamped beam along z with a line at each place, and its tip."""
    positions, tetrahedra = grid
    root = Node("root", dt=0.01, gravity=list(gravity))
    root.addObject("FreeMotionAnimationLoop")
    root.addObject("GenericConstraintSolver")
    body = root.addChild("arm")
    body.addObject("EulerImplicitSolver")
    body.addObject(linear_solver)
    body.addObject(
        "TetrahedronSetTopologyContainer",
        position=positions.tolist(),
        tetrahedra=tetrahedra.tolist(),
    )
    body.addObject("MechanicalObject", name="dofs")
    body.addObject("UniformMass", totalMass=0.02)
    kind, options = ELASTICITY[elasticity]
    if kind.startswith("TetrahedronHyper"):
        mu = YOUNG / (2.0 * (1.0 + POISSON))
        lam = YOUNG * POISSON / ((1.0 + POISSON) * (1.0 - 2.0 * POISSON))
        options = {"materialName": elasticity, "ParameterSet": [mu, lam]}
    else:
        options = {**options, "youngModulus": YOUNG, "poissonRatio": POISSON}
    body.addObject(kind, name="fem", **options)
    foot = np.flatnonzero(positions[:, 2] == 0.0).tolist()
    body.addObject("FixedProjectiveConstraint", indices=foot)
    body.addObject("LinearSolverConstraintCorrection")
    for k, (x, y) in enumerate(lines):
        node = body.addChild(f"line_{k}")
        points = [[x, y, z] for z in (5.0, 25.0, 45.0, 68.0)]
        node.addObject("MechanicalObject", name="dofs", position=points)
        node.addObject(
            "CableConstraint",
            name="cable",
            indices=[0, 1, 2, 3],
            pullPoint=[x, y, 0.0],
            valueType="force",
            value=[0.0],
        )
        node.addObject("BarycentricMapping")
    tip = body.addChild("tip")
    tip.addObject("MechanicalObject", name="dofs", position=[[0.0, 0.0, 70.0]])
    tip.addObject("BarycentricMapping")
    simulation.init(root)
    return root


def map_of(root, **options):
    return EquilibriumMap(root, scale=SCALE, points=[root.arm.tip.dofs], **options)


@pytest.mark.parametrize("elasticity", ELASTICITY)
def test_the_derivatives_are_those_of_the_equilibrium(grid, elasticity):
    """Central differences with h = 1e-3: their error is h^2 times the third derivative, and the
    tolerance of the equilibria over h, together below 1e-5 of the largest."""
    f = map_of(arm(grid, elasticity))
    u, h = np.array([1.5, 0.5, -0.3]), 1e-3
    here = f(u)
    assert here.residual <= 1e-10 and here.stable
    for j, e in enumerate(h * np.eye(3)):
        ahead, back = f(u + e, here), f(u - e, here)
        for name in ("x", "lengths", "points"):
            found = getattr(here, f"{name}_u")[..., j]
            expected = (getattr(ahead, name) - getattr(back, name)) / (2.0 * h)
            assert found == pytest.approx(expected, abs=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("elasticity", SYMMETRIC)
def test_lengths_have_a_potential_where_forces_have_an_energy(grid, elasticity):
    """dL_i/du_j = dL_j/du_i: Maxwell's reciprocity, to what the factorisation leaves."""
    found = map_of(arm(grid, elasticity))(np.array([1.5, 0.5, -0.3])).lengths_u
    assert found == pytest.approx(found.T, abs=1e-10 * np.abs(found).max())
    assert np.linalg.eigvalsh(found)[-1] < 0.0  # pulling shortens


def test_what_the_runtime_settles_to_is_the_equilibrium(grid):
    """The scene itself, stepped until it rests under the same tensions."""
    u = np.array([1.0, 0.2, 0.0])
    expected = map_of(arm(grid))(u)
    root = arm(grid)
    root.arm.EulerImplicitSolver.rayleighStiffness = 0.1
    for k, tension in enumerate(SCALE * u):
        root.arm[f"line_{k}"].cable.value.value = [tension * 0.01]  # an impulse
    simulation.animateNSteps(root, 400)
    assert root.arm.dofs.position.value == pytest.approx(expected.x, abs=1e-6)


def test_at_rest_lengths_follow_the_linear_compliance(grid):
    """Without gravity and tension dL/du = -scale H K^-1 H^T, with H = dL/dx by central differences
    (error 1e-8) and K the stiffness that the component gives to Python."""
    root = arm(grid, gravity=(0.0, 0.0, 0.0))
    f = map_of(root)
    found = f(np.zeros(3)).lengths_u
    x, h = root.arm.dofs.position.value.copy(), 1e-4
    free = np.flatnonzero(np.repeat(x[:, 2] > 0.0, 3))
    H = np.zeros((3, x.size))
    for i in free:
        for sign in (1.0, -1.0):
            moved = x.copy()
            moved.flat[i] += sign * h
            root.arm.dofs.position.value = moved
            for k in range(3):
                H[k, i] += sign * np.linalg.norm(_line(root, k), axis=1).sum() / (2.0 * h)
    root.arm.dofs.position.value = x
    K = -root.arm.fem.assembleKMatrix().toarray()[np.ix_(free, free)]
    expected = -SCALE * H[:, free] @ np.linalg.solve(K, H[:, free].T)
    assert found == pytest.approx(expected, rel=1e-6)


def _line(root, k):
    """Segments of a line, from its pull point on, where the body's positions put it."""
    simulation.loop_of(root).propagate()
    node = root.arm[f"line_{k}"]
    points = node.dofs.position.value
    return np.diff(np.concatenate([[node.cable.pullPoint.value], points]), axis=0)


def test_controls_far_away_are_reached_by_continuation(grid):
    """From rest at once or over a path in between: the same state."""
    f = map_of(arm(grid))
    u = np.array([6.0, 0.0, 0.0])
    near = f(0.5 * u)
    assert f(u).x == pytest.approx(f(u, near).x, abs=1e-7)


def test_a_mesh_that_turns_inside_out_is_refused(grid):
    f = map_of(arm(grid))
    with pytest.raises(MapError, match="turned inside out|no equilibrium"):
        f(np.array([200.0, 200.0, 200.0]))
    assert f(np.array([1.0, 0.0, 0.0])).residual <= 1e-10  # and the map still works


def test_an_iterative_linear_solver_is_refused(grid):
    with pytest.raises(SceneError, match="is iterative, but equilibria need factors"):
        map_of(arm(grid, linear_solver="CGLinearSolver"))


def test_a_singular_stiffness_that_is_not_symmetric_gives_no_answer(grid, monkeypatch):
    """Newton's method takes it for a failed step, and an equilibrium with it is refused."""
    f = map_of(arm(grid, "large"))
    here = f(np.zeros(3))
    empty = scipy.sparse.csr_array((here.x.size, here.x.size))
    monkeypatch.setattr(f.tangent, "_full_matrix", lambda matrix, shift: empty)
    f.tangent.factorise()
    assert np.isnan(f.tangent.solve(here.x)).all()
    with pytest.raises(MapError, match="stiffness is singular at u = .0.0, 0.0, 0.0."):
        f(np.zeros(3), here)


def test_a_robot_that_sags_far_is_pulled_from_where_it_hangs(grid, monkeypatch):
    """Under 40 g its tip sinks by 45 of 70 mm, and Newton's method fails from the mesh: twice, and
    not once more for each shorter step of the tensions, which does not help."""
    f = map_of(arm(grid, "large", gravity=(0.0, -40.0 * 9810.0, 0.0)))
    newton, failed = f._newton, []

    def counted(u, x):
        steps = newton(u, x)
        failed.append(steps is None)
        return steps

    monkeypatch.setattr(f, "_newton", counted)
    assert f(np.array([0.5, 0.2, 0.0])).residual <= 1e-10
    assert sum(failed) == 2


def test_the_stiffness_that_steps_leave_out_is_that_of_stress(grid):
    """Without weight it is 0 at rest, to what is left of forces, and proportional to the tension of
    lines that compress the robot, to 2 % at tilts of some degrees; it makes the robot softer."""
    f = map_of(arm(grid, "large", gravity=(0.0, 0.0, 0.0)))
    at_rest, once, twice = (f.stress_stiffness(f(np.array([u, 0.0, 0.0]))) for u in (0.0, 0.2, 0.4))
    assert np.abs(at_rest).max() < 1e-8 * np.abs(once).max()
    assert twice == pytest.approx(2.0 * once, abs=0.02 * np.abs(twice).max())
    assert (np.diag(once) < 0.0).all()
    exact = map_of(arm(grid, "StableNeoHookean"))
    assert not exact.stress_stiffness(exact(np.array([1.0, 0.0, 0.0]))).any()


def test_a_scene_without_cables_is_refused(grid):
    with pytest.raises(SceneError, match="no cables"):
        EquilibriumMap(arm(grid, lines=()))


@pytest.mark.parametrize("elasticity", ELASTICITY)
def test_the_curvature_is_the_derivative_of_the_gradient(grid, elasticity):
    """Of a weighted sum of all outputs: central differences of the exact gradient with h = 1e-3
    agree to h^2 and to what the map's own differences leave, 1e-4 of the largest."""
    f = map_of(arm(grid, elasticity))
    u, h = np.array([0.6, 0.2, -0.2]), 1e-3
    here = f(u)
    rng = np.random.default_rng(0)
    weights = [5.0 * rng.normal(size=a.shape) for a in (here.x, here.lengths, here.points)]

    def slope(at):
        names = ("x_u", "lengths_u", "points_u")
        parts = [
            np.tensordot(w, getattr(at, n), w.ndim) for w, n in zip(weights, names, strict=True)
        ]
        return sum(parts)

    expected = [(slope(f(u + e, here)) - slope(f(u - e, here))) / (2 * h) for e in h * np.eye(3)]
    found = f.curvature(here, *weights)
    assert found == pytest.approx(found.T, abs=1e-12 * np.abs(found).max())
    assert found == pytest.approx(np.array(expected), abs=1e-4 * np.abs(expected).max())
