"""UnilateralPlaneConstraint: a point and the plane of three others."""

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.simulation import simulation

X = np.array([[0.2, 0.2, 0.05], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


@pytest.fixture
def falling(root):
    """A free triangle whose normal is of length 1, and a point above it that comes down."""

    def make(velocity=-10.0, x=X, **values):
        root.addObject("FreeMotionAnimationLoop")
        root.addObject("GenericConstraintSolver", tolerance=1e-14, maxIterations=1000)
        node = root.addChild("body")
        node.addObject("EulerImplicitSolver")
        node.addObject("SparseLDLSolver")
        node.addObject(
            "MechanicalObject", name="dofs", position=x, velocity=[[0, 0, velocity]] + [[0] * 3] * 3
        )
        node.addObject("UniformMass", totalMass=4.0)
        node.addObject("LinearSolverConstraintCorrection")
        node.addObject("UnilateralPlaneConstraint", indices=[0, 1, 2, 3], **values)
        simulation.init(root)
        simulation.animate(root, 0.01)
        return node.dofs

    return make


def test_a_point_that_comes_down_ends_on_the_plane(falling):
    """It would pass by 0.05; both it and the plane give way, so that their distance is 0. Their
    momentum stays: the row pushes the plane as much as the point."""
    dofs = falling()
    x, v = dofs.position.array(), dofs.velocity.array()
    assert x[0, 2] - x[1:, 2].mean() == pytest.approx(0.0, abs=1e-13)
    assert v.sum(axis=0) == pytest.approx(np.array([0.0, 0.0, -10.0]), abs=1e-12)
    assert x[1, 2] < 0.0


def test_a_point_that_stays_away_is_free(falling):
    assert falling(velocity=-1.0).velocity.array()[0].tolist() == [0, 0, -1]


def test_a_point_of_the_other_side_is_held_there_with_flip_normal(falling):
    dofs = falling(velocity=10.0, x=X * [1, 1, -1], flipNormal=True)
    x = dofs.position.array()
    assert x[0, 2] - x[1:, 2].mean() == pytest.approx(0.0, abs=1e-13)


@pytest.mark.parametrize(
    ("indices", "message"), [([0, 1, 2], "takes four points"), ([0, 1, 2, 4], "has 4 in 'indices'")]
)
def test_points_that_do_not_fit_are_an_error(root, indices, message):
    node = root.addChild("body")
    node.addObject("MechanicalObject", position=X)
    node.addObject("UnilateralPlaneConstraint", indices=indices)
    with pytest.raises(SceneError, match=message):
        simulation.init(root)


def test_a_plane_through_points_on_a_line_is_an_error(falling):
    with pytest.raises(SceneError, match="three points of the plane on a line"):
        falling(x=X * [1, 0, 1])
