import numpy as np
import pytest

POINTS = np.arange(12.0).reshape(4, 3)
VELOCITY = np.array([[1.0, 2.0, 3.0], [0, 0, 1], [4, 0, 0], [0, 5, 0]])
UNIFORM, DIAGONAL = "UniformVelocityDampingForceField", "DiagonalVelocityDampingForceField"


def test_one_coefficient_slows_all_velocities(body, force_of):
    field = body(UNIFORM, POINTS, VELOCITY, dampingCoefficient=0.5)
    assert force_of(field) == pytest.approx(-0.5 * VELOCITY)


def test_each_node_and_direction_can_have_its_own(body, force_of, tolerant):
    """The last one is that of all further nodes."""
    field = body(DIAGONAL, POINTS, VELOCITY, dampingCoefficient=[[1, 2, 3], [4, 5, 6]])
    assert force_of(field) == pytest.approx(
        -VELOCITY * [[1, 2, 3], [4, 5, 6], [4, 5, 6], [4, 5, 6]]
    )


@pytest.mark.parametrize("linear_solver", ["SparseLDLSolver", "CGLinearSolver"])
@pytest.mark.parametrize(
    ("kind", "values", "c", "implicit"),
    [
        (UNIFORM, {"dampingCoefficient": 3.0, "implicit": True}, [3.0] * 3, True),
        (UNIFORM, {"dampingCoefficient": 3.0}, [3.0] * 3, False),
        (DIAGONAL, {"dampingCoefficient": [[3.0, 0.0, 5.0]]}, [3.0, 0.0, 5.0], True),
    ],
)
def test_a_step_is_that_of_implicit_or_explicit_damping(
    kind, values, c, implicit, linear_solver, body, root, run
):
    """m dv = -h c (v + dv), or without dv; so v+ = v / (1 + h c / m), or v (1 - h c / m)."""
    field = body(kind, POINTS, VELOCITY, linear_solver=linear_solver, **values)
    if linear_solver == "CGLinearSolver":
        root.body.linear_solver.threshold.value = 0.0
        root.body.linear_solver.tolerance.value = 1e-12
    run(root, 1)
    ratio = 0.01 * np.array(c) / 0.5
    expected = VELOCITY / (1.0 + ratio) if implicit else VELOCITY * (1.0 - ratio)
    assert field.state.velocity.value == pytest.approx(expected, rel=1e-9)


def test_without_coefficients_nothing_is_slowed(body, force_of):
    assert not force_of(body(DIAGONAL, POINTS, VELOCITY)).any()
