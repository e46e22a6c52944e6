"""The stiffness that turning bodies make of forces that do not turn."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sofa_softctl.runtime.simulation import simulation


@pytest.fixture
def body(root):
    """Makes a body with points that constant forces pull."""

    def make(points, stiffness="Stabilized"):
        node = root.addChild("body")
        node.addObject("EulerImplicitSolver")
        node.addObject("SparseLDLSolver", name="solver")
        node.addObject("MechanicalObject", name="dofs", template="Rigid3")
        node.addObject("UniformMass", totalMass=1.0)
        child = node.addChild("points")
        child.addObject("MechanicalObject", name="dofs", position=points)
        child.addObject("RigidMapping", name="mapping", geometricStiffness=stiffness)
        simulation.init(root)
        return node

    return make


def moment(points, forces, turn):
    """Of constant forces about the centre, when the body has turned."""
    return np.cross(Rotation.from_rotvec(turn).apply(points), forces).sum(axis=0)


def test_it_is_the_derivative_of_the_moment_made_symmetric_and_positive(body):
    """Central differences, error of order h^2; eigenvalues of -dm/dw below zero are cut off."""
    random = np.random.default_rng(0)
    points, forces = random.normal(size=(4, 3)), random.normal(size=(4, 3))
    node = body(points)
    node.points.dofs.force.value = forces
    geometric = node.points.mapping.geometric
    geometric.update(0.0)
    h = 1e-5
    K = -np.array(
        [
            (moment(points, forces, h * e) - moment(points, forces, -h * e)) / (2 * h)
            for e in np.eye(3)
        ]
    ).T
    values, axes = np.linalg.eigh((K + K.T) / 2.0)
    assert values.min() < -0.1 < 0.1 < values.max()  # both kinds are there
    expected = axes @ np.diag(np.maximum(values, 0.0)) @ axes.T
    assert geometric.blocks[0] == pytest.approx(expected, abs=1e-9)


def test_a_pendulum_that_hangs_is_stiff_and_one_that_stands_is_not(body, root):
    """Weight at the arm l below the centre: K = m g l about both level axes; above: none."""
    root.gravity = [0.0, 0.0, -10.0]
    for arm, stiffness in ((-2.0, 20.0), (2.0, 0.0)):
        node = body([[0.0, 0.0, arm]])
        node.points.addObject("UniformMass", totalMass=1.0)
        node.points.init()
        simulation.animateNSteps(root, 1)
        found = node.points.mapping.geometric.blocks[0]
        assert found == pytest.approx(np.diag([stiffness, stiffness, 0.0]), abs=1e-12)
        root.removeChild(node)


def test_the_matrix_holds_it(body, root):
    """A = M + J^T M_c J + h^2 K, K = m g l as above; the moment of the weight is m l^2 too."""
    root.gravity = [0.0, 0.0, -10.0]
    node = body([[0.0, 0.0, -2.0]])
    node.points.addObject("UniformMass", totalMass=1.0)
    node.points.init()
    simulation.animateNSteps(root, 1)
    turns = node.solver.A().toarray()[3:, 3:]
    expected = np.diag([1.0 + 4.0 + 20.0 * 0.01**2] * 2 + [1.0])
    assert turns == pytest.approx(expected, abs=1e-12)
