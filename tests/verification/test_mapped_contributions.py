"""Masses and force fields on mapped states, against dense matrices: with J the mapping by nodes,

A = (1 + h alpha) (M + J^T M_c J) + h (h + beta) (K + J^T K_c J),
b = h (f + J^T f_c - alpha (M + J^T M_c J) v - (h + beta) (K + J^T K_c J) v).
"""

import numpy as np
import pytest

from sofa_softctl.runtime.simulation import simulation

H, ALPHA, BETA = 0.02, 0.7, 0.05
GRAVITY = np.array([1.0, -9.81, 2.0])
CARRIED, SUBSET = 6, [4, 0, 4]
CARRIED_MASS, SUBSET_MASS = 0.3, 0.5
CARRIED_SPRING, SUBSET_SPRING = 70.0, 40.0


@pytest.fixture
def scene(root, box, soft_body, run):
    """A body that carries points, of which some are followed in turn, and that shares its nodes
    with a second body: masses and forces on all of them."""

    def make(map_forces=True, linear_solver="SparseLDLSolver", **own):
        root.dt, root.gravity = H, GRAVITY.tolist()
        mesh = points, tetrahedra = box((1, 1, 2), (1.0, 1.0, 2.0))
        node = soft_body(
            root, mesh, mass="MeshMatrixMass", young=100.0, poisson=0.3, method="large",
            linear_solver=linear_solver, rayleighMass=ALPHA, rayleighStiffness=BETA,
        )  # fmt: skip
        if linear_solver == "CGLinearSolver":
            for name, value in {"tolerance": 1e-14, "threshold": 1e-30, "iterations": 999}.items():
                node.linear_solver.findData(name).value = value
        node.addObject("FixedProjectiveConstraint", indices=[0, 3])
        carried = node.addChild("carried")
        random = np.random.default_rng(0)
        places = random.uniform(0.0, 1.0, (CARRIED, 3)) * [1.2, 1.2, 2.2]
        carried.addObject("MechanicalObject", name="dofs", position=places.tolist())
        carried.addObject("BarycentricMapping", name="mapping", mapForces=map_forces)
        carried.addObject("UniformMass", name="mass", vertexMass=CARRIED_MASS)
        carried.addObject("RestShapeSpringsForceField", name="springs", stiffness=CARRIED_SPRING)
        subset = carried.addChild("subset")
        subset.addObject("MechanicalObject", name="dofs")
        subset.addObject("SubsetMapping", name="mapping", indices=SUBSET)
        subset.addObject("UniformMass", vertexMass=SUBSET_MASS)
        subset.addObject("RestShapeSpringsForceField", points=[0, 2], stiffness=SUBSET_SPRING)
        twin = node.addChild("twin")
        twin.addObject("MeshTopology", position=points.tolist(), tetrahedra=tetrahedra.tolist())
        twin.addObject("MechanicalObject", name="dofs")
        twin.addObject("IdentityMapping")
        twin.addObject(
            "TetrahedronFEMForceField", method="small", youngModulus=30.0, poissonRatio=0.2
        )
        for path, value in own.items():
            component, data = path.split("__")
            node.carried.getObject(component).findData(data).value = value
        run(root, 0)
        node.dofs.position.value = points + random.uniform(-0.2, 0.2, points.shape)
        moves = np.isin(np.arange(len(points)), [0, 3], invert=True)[:, None]
        node.dofs.velocity.value = random.uniform(-1.0, 1.0, points.shape) * moves
        simulation.loop_of(root).propagate()
        return node

    return make


def jacobians(node):
    """Weights of the carried points and of their followers on the body's nodes."""
    count = node.dofs.size.value
    starts, nodes, factors = node.carried.mapping.weights()
    J = np.zeros((CARRIED, count))
    for i in range(CARRIED):
        np.add.at(J[i], nodes[starts[i] : starts[i + 1]], factors[starts[i] : starts[i + 1]])
    return J, J[SUBSET]


def own_matrices(node, matrices, root):
    """M and K of the body and its twin, without what the carried points add: by assembling the
    scene and taking that off again."""
    J, S = (np.kron(weights, np.eye(3)) for weights in jacobians(node))
    M, K = matrices(root)
    held = np.flatnonzero(simulation.loop_of(root).systems[0].fixed.ravel())
    M_c, K_c = contributions(J, S)
    M, K = M - M_c, K - K_c
    for matrix in (M, K):
        matrix[held], matrix[:, held] = 0.0, 0.0
    return M, K


def contributions(J, S, own_mass=0.0, own_spring=0.0):
    """J^T M_c J and J^T K_c J of the carried points and their followers."""
    held = np.repeat([1.0, 0.0, 1.0], 3)[:, None]
    M = (CARRIED_MASS + own_mass) * J.T @ J + SUBSET_MASS * S.T @ S
    K = (CARRIED_SPRING + own_spring) * J.T @ J + SUBSET_SPRING * S.T @ (held * S)
    return M, K


def test_the_matrix_is_that_of_the_body_alone_and_J_transposed_K_J(scene, root, matrices, run):
    """A dense comparison, in which the body's and its twin's own parts come from a scene without
    the carried points. Rounding."""
    node = scene()
    J, S = (np.kron(weights, np.eye(3)) for weights in jacobians(node))
    with_points = matrices(root)
    node.removeChild(node.carried)
    simulation.loop_of(root).prepare()
    alone = matrices(root)
    held = np.flatnonzero(simulation.loop_of(root).systems[0].fixed.ravel())
    for whole, own, added in zip(with_points, alone, contributions(J, S), strict=True):
        expected = own + added
        expected[held], expected[:, held] = np.eye(len(own))[held], np.eye(len(own))[:, held]
        assert whole == pytest.approx(expected, abs=1e-12)


def test_a_twin_on_the_same_nodes_doubles_the_body(root, box, soft_body, matrices, run):
    """IdentityMapping: an elastic force field on the follower has the stiffness that it has on the
    body itself, with all its couplings between nodes."""
    stiffnesses = []
    for twin in (False, True):
        scene = type(root)(f"twin{twin}", gravity=[0, 0, 0])
        mesh = points, tetrahedra = box((1, 1, 2), (1.0, 1.0, 2.0), shake=0.1)
        node = soft_body(scene, mesh, young=100.0, poisson=0.3)
        if twin:
            child = node.addChild("twin")
            child.addObject(
                "MeshTopology", position=points.tolist(), tetrahedra=tetrahedra.tolist()
            )
            child.addObject("MechanicalObject")
            child.addObject("IdentityMapping")
            child.addObject("TetrahedronFEMForceField", method="small", youngModulus=100.0,
                            poissonRatio=0.3)  # fmt: skip
        run(scene, 0)
        stiffnesses.append(matrices(scene)[1])
    assert stiffnesses[1] == pytest.approx(2.0 * stiffnesses[0], abs=1e-12)


def expected_step(node, root, matrices, *, in_b=True, in_A=True, own_mass=0.0, own_spring=0.0):
    """The velocity after a step, by the module's equations, and A.

    Args:
        node, root, matrices: The scene before its step.
        in_b, in_A: Whether what the carried points add stands in b and in A.
        own_mass, own_spring: Components' own Rayleigh damping, which stands in A alone.
    """
    J, S = (np.kron(weights, np.eye(3)) for weights in jacobians(node))
    x, v = node.dofs.position.array(), node.dofs.velocity.array().ravel()
    f = np.zeros_like(x)
    for field in (node.elasticity, node.twin.TetrahedronFEMForceField):
        field.add_force(f)  # finds the rotations that K has, too
    node.mass.add_gravity(f, GRAVITY)
    M, K = own_matrices(node, matrices, root)
    f = f.ravel() - ALPHA * (M @ v) - (H + BETA) * (K @ v)
    A = (1.0 + H * ALPHA) * M + H * (H + BETA) * K
    M_c, K_c = contributions(J, S)
    if in_b:
        moved = [
            child.dofs.position.array() - child.dofs.rest_position.array()
            for child in (node.carried, node.carried.subset)
        ]
        moved[1] = moved[1] * [[1.0], [0.0], [1.0]]
        f_1 = CARRIED_MASS * GRAVITY - CARRIED_SPRING * moved[0]
        f_2 = SUBSET_MASS * GRAVITY - SUBSET_SPRING * moved[1]
        f = f + J.T @ f_1.ravel() + S.T @ f_2.ravel()
        f -= ALPHA * (M_c @ v) + (H + BETA) * (K_c @ v)
    if in_A:
        A += (1.0 + H * ALPHA) * M_c + H * (H + BETA) * K_c
        A += H * own_mass * CARRIED_MASS * J.T @ J + H * own_spring * CARRIED_SPRING * J.T @ J
    held = np.flatnonzero(simulation.loop_of(root).systems[0].fixed.ravel())
    A[held], A[:, held] = np.eye(len(A))[held], np.eye(len(A))[:, held]
    b = H * f
    b[held] = 0.0
    return (v + np.linalg.solve(A, b)).reshape(-1, 3), A


@pytest.mark.parametrize("linear_solver", ["SparseLDLSolver", "CGLinearSolver"])
def test_a_step_has_mapped_forces_and_stiffnesses_on_both_sides(
    linear_solver, scene, root, matrices, run
):
    """v+ = v + A^-1 b with the module's A and b; held rows are identity, b is 0 there."""
    node = scene(linear_solver=linear_solver)
    v, A = expected_step(node, root, matrices)
    run(root, 1)
    assert node.dofs.velocity.array() == pytest.approx(v, abs=1e-11)
    assert node.linear_solver.A().toarray() == pytest.approx(A, abs=1e-12)


def test_forces_that_are_not_mapped_leave_b_but_not_the_matrix(scene, root, matrices, run):
    """SOFA's mapForces=False with an assembled system: gravity, f_c, K_c v and M_c v vanish from b,
    those of followers' followers too, while M_c and K_c still stand in A."""
    node = scene(map_forces=False)
    v, A = expected_step(node, root, matrices, in_b=False)
    run(root, 1)
    assert node.linear_solver.A().toarray() == pytest.approx(A, abs=1e-12)
    assert node.dofs.velocity.array() == pytest.approx(v, abs=1e-12)


def test_without_a_matrix_they_leave_both_sides(scene, root, matrices, run):
    """The same with conjugate gradients, which go through the graph: the follower is pruned."""
    node = scene(map_forces=False, linear_solver="CGLinearSolver")
    v, _ = expected_step(node, root, matrices, in_b=False, in_A=False)
    run(root, 1)
    assert node.dofs.velocity.array() == pytest.approx(v, abs=1e-11)


@pytest.mark.parametrize("linear_solver", ["SparseLDLSolver", "CGLinearSolver"])
def test_own_damping_of_mapped_components_acts_on_the_matrix_alone(
    linear_solver, scene, root, matrices, run
):
    """r_m and r_s: A += h r_m J^T M_c J + h r_s J^T K_c J of those components."""
    own = {"mass__rayleighMass": 3.0, "springs__rayleighStiffness": 0.6}
    node = scene(linear_solver=linear_solver, **own)
    v, _ = expected_step(node, root, matrices, own_mass=3.0, own_spring=0.6)
    run(root, 1)
    assert node.dofs.velocity.array() == pytest.approx(v, abs=1e-11)


def test_followers_are_where_the_body_carries_them(scene, root, run):
    """After every step x_c = J x and v_c = J v, for followers of followers too."""
    node = scene()
    run(root, 3)
    for weights, child in zip(jacobians(node), (node.carried, node.carried.subset), strict=True):
        for name in ("position", "velocity"):
            expected = weights @ node.dofs.findData(name).array()
            assert child.dofs.findData(name).array() == pytest.approx(expected, abs=1e-13)


def test_a_body_hung_by_carried_points_is_in_balance(root, box, soft_body, run):
    """At rest the springs of the carried points bear the whole weight and its moment: sum k u =
    -m g and sum x cross (-k u) + sum x cross m g = 0 (method small: about the first configuration,
    where J^T was made, up to second order; springs are stiff)."""
    root.dt, root.gravity = 1e9, [0.0, -9.81, 0.0]
    mesh = points, _ = box((2, 2, 2), (1.0, 1.0, 1.0))
    node = soft_body(root, mesh, density=2.0, young=1e6, poisson=0.3, firstOrder=True)
    child = node.addChild("hooks")
    places = np.array([[0.1, 0.9, 0.2], [0.9, 1.2, 0.1], [0.5, 0.8, 0.95], [0.3, 0.4, 0.5]])
    child.addObject("MechanicalObject", name="dofs", position=places.tolist())
    child.addObject("BarycentricMapping")
    child.addObject("RestShapeSpringsForceField", stiffness=1e6)
    run(root, 3)
    pull = -1e6 * (child.dofs.position.array() - places)
    weight = node.mass.vertexMass.array()[:, None] * [0.0, -9.81, 0.0]
    assert weight.sum() == pytest.approx(-2.0 * 9.81)
    assert pull.sum(axis=0) == pytest.approx(-weight.sum(axis=0), abs=1e-8)
    moments = np.cross(places, pull).sum(axis=0) + np.cross(points, weight).sum(axis=0)
    assert moments == pytest.approx(0.0, abs=1e-8)
