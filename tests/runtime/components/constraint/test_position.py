import numpy as np
import pytest

from sofa_softctl.errors import SceneError

POINTS = np.arange(9.0).reshape(3, 3)
ALONG_X = {"useDirections": [1, 0, 0]}


@pytest.fixture
def position_constraint(root, integrated, run):
    """Makes three particles on springs, k = 40, with a PositionConstraint."""

    def make(**values):
        root.addObject("FreeMotionAnimationLoop")
        root.addObject("GenericConstraintSolver", name="solver", tolerance=1e-14)
        node = integrated(root, "body", POINTS, rayleighMass=20.0)
        node.addObject("UniformMass", vertexMass=0.5)
        node.addObject("RestShapeSpringsForceField", stiffness=40.0)
        node.addObject("LinearSolverConstraintCorrection")
        constraint = node.addObject("PositionConstraint", **values)
        run(root)
        return constraint

    return make


def test_a_displacement_is_reached_in_one_step(position_constraint, root, run):
    """d . (x - x_init) = value for each node, the others stay: rows are linear."""
    constraint = position_constraint(indices=[0, 2], value=0.3, **ALONG_X)
    run(root, 1)
    expected = POINTS + [[0.3, 0.0, 0.0], [0.0, 0.0, 0.0], [0.3, 0.0, 0.0]]
    assert constraint.state.position.array() == pytest.approx(expected, abs=1e-14)
    assert constraint.delta.array() == pytest.approx([0.3, 0.3])
    assert constraint.displacement.value == pytest.approx(0.3)


def test_directions_are_made_of_length_one(position_constraint, root, run):
    """The displacement is along (0.6, 0.8, 0)."""
    directions = [[3.0, 4.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    constraint = position_constraint(indices=[1], value=0.5, directions=directions, **ALONG_X)
    run(root, 1)
    moved = constraint.state.position.array()[1] - POINTS[1]
    assert moved == pytest.approx([0.3, 0.4, 0.0], abs=1e-14)


def test_a_weight_scales_the_row(position_constraint, root, run):
    """w d . (x - x_init) = value: with w = 2 the node moves half as far."""
    constraint = position_constraint(indices=[1], value=0.5, weight=[2.0, 1.0, 1.0], **ALONG_X)
    run(root, 1)
    assert constraint.state.position.array()[1, 0] - POINTS[1, 0] == pytest.approx(0.25)


def test_a_force_stretches_the_spring(position_constraint, root, run):
    """u = lambda / (h k) at rest, after 400 damped steps."""
    constraint = position_constraint(indices=[1], value=0.8, valueType="force", **ALONG_X)
    run(root, 400)
    u = 0.8 / (0.01 * 40.0)
    expected = POINTS + [[0, 0, 0], [u, 0, 0], [0, 0, 0]]
    assert constraint.state.position.array() == pytest.approx(expected, abs=1e-8)


def test_the_force_zero_moves_nothing_but_has_a_row(position_constraint, root, run):
    """The row of an effector: W and delta_free are there, lambda is 0."""
    constraint = position_constraint(indices=[1], value=0.0, valueType="force", **ALONG_X)
    run(root, 1)
    A = 0.5 * (1.0 + 0.01 * 20.0) + 1e-4 * 40.0
    assert root.solver.W() == pytest.approx(np.array([[0.01 / A]]))
    assert (constraint.state.position.array() == POINTS).all()


@pytest.mark.parametrize(
    ("values", "u"),
    [
        ({"value": 9.0, "maxPositiveDisp": 0.2}, 0.2),
        ({"value": -9.0, "maxNegativeDisp": 0.2}, -0.2),
        ({"value": 9.0, "maxForce": 0.08}, 0.2),  # lambda = h k u
        ({"value": -9.0, "minForce": -0.08}, -0.2),
        ({"value": 9.0, "valueType": "force", "maxForce": 0.08}, 0.2),
        ({"value": 9.0, "valueType": "force", "maxPositiveDisp": 0.2}, 0.2),
    ],
)
def test_limits_hold(values, u, position_constraint, root, run):
    """At rest: the displacement is at its limit, or lambda is and the spring at lambda / (h k)."""
    constraint = position_constraint(indices=[1], **values, **ALONG_X)
    run(root, 400)
    assert constraint.state.position.array()[1, 0] - POINTS[1, 0] == pytest.approx(u, abs=1e-8)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, r"uses 3 directions; SOFA's solver crashes with more than one"),
        ({"useDirections": [1, 1, 0]}, r"uses 2 directions"),
        ({"indices": [], **ALONG_X}, "does nothing without a node in 'indices'"),
        ({"indices": [3], **ALONG_X}, "has 3 in 'indices', but there are 3 nodes"),
        ({"directions": [[1, 0, 0]], **ALONG_X}, "needs three directions, got 1"),
        ({"directions": np.zeros((3, 3)).tolist(), **ALONG_X}, "has a direction of length zero"),
    ],
)
def test_a_constraint_that_is_none_is_an_error(values, message, position_constraint):
    with pytest.raises(SceneError, match=message):
        position_constraint(**values)


@pytest.mark.parametrize("valueType", ["displacement", "force"])
def test_where_limits_contradict_each_other_the_lower_one_counts(
    position_constraint, root, run, valueType
):
    """As in SOFA: at most 0.1, then at least 0.2 (as a force h k u)."""
    limits = {"maxPositiveDisp": 0.1, "maxNegativeDisp": -0.2}
    if valueType == "force":
        limits = {"maxForce": 0.04, "minForce": 0.08}
    constraint = position_constraint(
        indices=[1], value=9.0, valueType=valueType, **limits, **ALONG_X
    )
    run(root, 400 if valueType == "force" else 1)
    assert constraint.state.position.array()[1, 0] - POINTS[1, 0] == pytest.approx(0.2, abs=1e-8)


def test_a_list_without_values_is_that_of_one_zero(position_constraint, root, run):
    constraint = position_constraint(indices=[1], value=[], **ALONG_X)
    run(root, 1)
    assert constraint.value.value.tolist() == [0.0]


@pytest.mark.parametrize(("defects", "reached"), [("0", False), ("1", True)])
def test_sofas_imposed_displacement_knows_no_limit_of_the_force(
    position_constraint, root, run, monkeypatch, defects, reached
):
    monkeypatch.setenv("SOFTCTL_SOFA_DEFECTS", defects)
    constraint = position_constraint(indices=[1], value=0.5, maxForce=0.01, **ALONG_X)
    run(root, 1)
    assert (constraint.displacement.value == pytest.approx(0.5)) == reached
