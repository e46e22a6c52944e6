"""RigidMapping: points and bodies that bodies carry."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.simulation import simulation, snapshot

POINTS = np.random.default_rng(5).normal(size=(5, 3))
BODIES = [1, 0, 2, 1, 1]


def poses(count=3):
    turns = Rotation.random(count, random_state=1).as_quat()
    return np.hstack([np.random.default_rng(1).normal(size=(count, 3)), turns])


@pytest.fixture
def carried(root):
    """Makes three bodies that carry points or bodies."""

    def make(template="Vec3", position=POINTS, **values):
        node = root.addChild("bodies")
        node.addObject("EulerImplicitSolver")
        node.addObject("SparseLDLSolver", name="solver")
        node.addObject("MechanicalObject", name="dofs", template="Rigid3", position=poses())
        node.addObject("UniformMass", vertexMass=[2, 1, 3, 0.1, 0, 0.1, 2, 0, 0, 0, 1])
        child = node.addChild("carried")
        child.addObject("MechanicalObject", name="dofs", template=template, position=position)
        child.addObject("RigidMapping", name="mapping", **values)
        simulation.init(root)
        return node, child

    return make


def expected(bodies=BODIES, points=POINTS):
    turned = Rotation.from_quat(poses()[bodies, 3:]).apply(points)
    return poses()[bodies, :3] + turned


@pytest.mark.parametrize(
    ("values", "bodies"),
    [
        ({}, [0] * 5),
        ({"index": 2}, [2] * 5),
        ({"index": 0, "indexFromEnd": True}, [2] * 5),
        ({"rigidIndexPerPoint": BODIES}, BODIES),
    ],
)
def test_points_are_placed_in_the_axes_of_their_bodies(carried, values, bodies):
    """x = c + R p, of the body that is named."""
    _, child = carried(**values)
    assert child.dofs.position.value == pytest.approx(expected(bodies), abs=1e-14)


def test_with_x0_all_points_are_on_one_body_as_in_sofa(carried, tolerant):
    _, child = carried(useX0=True, rigidIndexPerPoint=BODIES, index=2, globalToLocalCoords=True)
    assert child.dofs.position.value == pytest.approx(expected([2] * 5), abs=1e-14)
    said = child.mapping.getLoggedMessagesAsString()
    assert "reads no rigidIndexPerPoint with useX0: all nodes are on body 2." in said


def test_points_given_in_the_world_stay_where_they_are(carried):
    node, child = carried(globalToLocalCoords=True, rigidIndexPerPoint=BODIES)
    assert child.dofs.position.value == pytest.approx(POINTS, abs=1e-14)
    local = Rotation.from_quat(poses()[BODIES, 3:]).inv().apply(POINTS - poses()[BODIES, :3])
    assert child.mapping.initialPoints.value == pytest.approx(local, abs=1e-14)


def test_given_places_make_the_points(carried):
    _, child = carried(position=[[0, 0, 0]], initialPoints=POINTS, rigidIndexPerPoint=BODIES)
    assert child.dofs.position.value == pytest.approx(expected(), abs=1e-14)


def test_bodies_on_a_body_turn_with_it(carried, root):
    """Their frame is R R_p, and their angular velocity the carrier's."""
    inner = poses(2)[::-1]
    node, child = carried("Rigid3", inner, index=1)
    node.dofs.velocity.value = np.arange(18.0).reshape(3, 6)
    simulation.loop_of(root).propagate()
    outer = Rotation.from_quat(poses()[1, 3:])
    found = Rotation.from_quat(child.dofs.position.value[:, 3:])
    assert found.as_matrix() == pytest.approx(
        (outer * Rotation.from_quat(inner[:, 3:])).as_matrix(), abs=1e-14
    )
    assert (child.dofs.velocity.value[:, 3:] == [9.0, 10.0, 11.0]).all()


@pytest.mark.parametrize("template", ["Vec3", "Rigid3"])
def test_products_with_j_are_those_of_its_matrix(carried, template):
    """v -> J v and f -> J^T f are products with the matrix `jacobian`."""
    position = POINTS if template == "Vec3" else poses(5)
    _, child = carried(template, position, rigidIndexPerPoint=BODIES)
    mapping, width = child.mapping, child.dofs.deriv_size
    random = np.random.default_rng(0)
    J = mapping.jacobian().toarray()
    v, f = random.normal(size=(3, 6)), random.normal(size=(5, width))
    out, back = np.empty((5, width)), np.zeros((3, 6))
    mapping.apply_j(v, out)
    mapping.add_jt(f, back)
    assert out.ravel() == pytest.approx(J @ v.ravel(), abs=1e-14)
    assert back.ravel() == pytest.approx(J.T @ f.ravel(), abs=1e-14)


def test_blocks_of_j_keep_their_pattern(carried):
    """Zeros are kept, where a body stands straight or a point is its centre."""
    _, child = carried(rigidIndexPerPoint=BODIES)
    patterns = []
    for arm in (np.zeros((5, 3)), POINTS):
        child.mapping.arm = arm
        patterns.append([part.tolist() for part in child.mapping.jacobian_blocks()[:2]])
    assert patterns[0] == patterns[1]


def test_forces_of_springs_on_points_enter_as_j_transposed_k_j(carried, root):
    """A = M + h^2 J^T K J, by hand."""
    node, child = carried(rigidIndexPerPoint=BODIES)
    child.addObject("RestShapeSpringsForceField", stiffness=[40.0])
    child.addObject("UniformMass", vertexMass=0.7)
    child.init()
    simulation.animateNSteps(root, 1)
    moment = 2.0 * np.array([[3, 0.1, 0], [0.1, 2, 0], [0, 0, 1]])
    M = np.kron(
        np.eye(3), np.block([[2 * np.eye(3), np.zeros((3, 3))], [np.zeros((3, 3)), moment]])
    )
    J = jacobian()
    expected = M + (0.7 + 0.01**2 * 40.0) * J.T @ J
    assert node.solver.A().toarray() == pytest.approx(expected, abs=1e-12)


def jacobian():
    """J at the poses of the scene, when the step began; shape (15, 18)."""
    arm = Rotation.from_quat(poses()[BODIES, 3:]).apply(POINTS)
    out = np.zeros((5, 3, 3, 6))
    for i, body in enumerate(BODIES):
        x, y, z = arm[i]
        out[i, :, body, :3] = np.eye(3)
        out[i, :, body, 3:] = [[0, z, -y], [-z, 0, x], [y, -x, 0]]
    return out.reshape(15, 18)


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"index": 3}, "names body 3, but .* has 3"),
        ({"rigidIndexPerPoint": [0, 1, 2, -1, 0]}, "names body -1"),
        ({"geometricStiffness": "Exact"}, "does not support geometricStiffness 'Exact'"),
        ({"filename": "points.xs3"}, "does not support 'filename'"),
    ],
)
def test_what_cannot_be_carried_is_an_error(carried, values, problem):
    with pytest.raises(SceneError, match=problem):
        carried(**values)


def test_points_cannot_carry(root):
    root.addObject("MechanicalObject", position=[[0, 0, 0]])
    child = root.addChild("child")
    child.addObject("MechanicalObject", position=[[0, 0, 0]])
    child.addObject("RigidMapping")
    with pytest.raises(SceneError, match=r"cannot map .*\(Vec3d\) onto .*It knows 'Rigid3,Vec3'"):
        simulation.init(root)


def test_what_a_script_moves_carries_its_points(root):
    """An obstacle without an integrator: its points follow at the end of the step."""
    body = root.addChild("floor")
    body.addObject("MechanicalObject", name="dofs", template="Rigid3")
    child = body.addChild("points")
    child.addObject("MechanicalObject", name="dofs", position=[[1, 0, 0]])
    child.addObject("RigidMapping")
    simulation.init(root)
    with body.dofs.position.writeable() as x:
        x[0] = [0, 0, 5, 0, 0, np.sqrt(0.5), np.sqrt(0.5)]
    simulation.animateNSteps(root, 1)
    assert child.dofs.position.value[0] == pytest.approx([0, 1, 5], abs=1e-14)


def test_a_snapshot_brings_j_back(carried, root):
    """From a turned pose back to an earlier one: the steps after are the same to the bit."""
    node, child = carried(rigidIndexPerPoint=BODIES)
    rest = child.dofs.rest_position.value + 0.1
    child.dofs.rest_position.value = rest
    child.addObject("RestShapeSpringsForceField", stiffness=[900.0])
    child.init()
    simulation.animateNSteps(root, 3)
    kept = snapshot.take_snapshot(root)
    simulation.animateNSteps(root, 20)
    later = node.dofs.position.value.copy()
    simulation.animateNSteps(root, 7)
    snapshot.put_back(root, kept)
    simulation.animateNSteps(root, 20)
    assert (node.dofs.position.value == later).all()


def test_the_free_motion_of_what_a_script_moves_is_its_velocity(root):
    """As in SOFA: x_free = x + h v of every state, also of those that nothing integrates."""
    root.addObject("FreeMotionAnimationLoop")
    body = root.addChild("floor")
    body.addObject(
        "MechanicalObject", name="dofs", template="Rigid3", velocity=[[1, 0, 0, 0, 0, 2]]
    )
    child = body.addChild("points")
    child.addObject("MechanicalObject", name="dofs", position=[[1, 0, 0]])
    child.addObject("RigidMapping")
    simulation.init(root)
    with body.dofs.position.writeable() as x:
        x[0, 1] = 5.0
    simulation.animateNSteps(root, 2)
    assert body.dofs.position.value[0].tolist() == [0, 5, 0, 0, 0, 0, 1]
    assert body.dofs.free_position.value[0, :3] == pytest.approx([0.01, 5, 0])
    assert child.dofs.free_position.value[0] == pytest.approx([1.01, 5.02, 0])
