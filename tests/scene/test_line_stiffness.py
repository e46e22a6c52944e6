"""Stiffness of tight lines: the derivative of their forces, and steps that do not flutter."""

from pathlib import Path

import numpy as np
import pytest

from sofa_softctl.scene.backend.backend import find_backend
from sofa_softctl.scene.graph.nodes import state_at
from sofa_softctl.scene.session.session import Session
from sofa_softctl.surrogate.scene.replay import lines_of

find_backend("embedded")

from sofa_softctl.scene.control.line_stiffness import (  # noqa: E402
    LineStiffness,
    add_line_stiffness,
    has_line_stiffness,
)

ARM = Path(__file__).parents[2] / "scenes" / "laser_arm.py"
PATH = np.array([[0.0, 1, 2], [1, 3, 2.5], [4, 2, 0], [4, 2, 0], [6, 5, 1]])
TENSION = 7.0


def line(pull_point):
    """A line through points, two of them at the same place, and its stiffness."""
    made = {}

    def create(root):
        root.addObject("FreeMotionAnimationLoop")
        root.addObject("GenericConstraintSolver")
        node = root.addChild("body")
        node.addObject("EulerImplicitSolver")
        node.addObject("SparseLDLSolver")
        node.addObject("MechanicalObject", name="dofs", position=PATH.tolist())
        node.addObject("UniformMass", totalMass=1.0)
        node.addObject("LinearSolverConstraintCorrection")
        made["cable"] = node.addObject(
            "CableConstraint",
            name="line",
            indices=list(range(len(PATH))),
            hasPullPoint=pull_point is not None,
            pullPoint=pull_point or [0.0, 0.0, 0.0],
            valueType="force",
            value=[0.0],
        )
        made["stiffness"] = add_line_stiffness(root, made["cable"])

    made["session"] = Session(create)
    made["stiffness"].tension = TENSION
    return made


def forces(x, pull_point):
    """Forces of the line on its points."""
    whole = x if pull_point is None else np.vstack((pull_point, x))
    along = np.diff(whole, axis=0)
    length = np.linalg.norm(along, axis=1, keepdims=True)
    unit = np.where(length > 0.0, along / np.where(length > 0.0, length, 1.0), 0.0)
    found = np.zeros_like(whole)
    found[:-1] += TENSION * unit
    found[1:] -= TENSION * unit
    return found if pull_point is None else found[1:]


@pytest.mark.parametrize("pull_point", [None, [-2.0, 0.5, 1.0]])
def test_it_is_the_derivative_of_the_lines_forces(pull_point):
    """Central differences, 1e-6 of the path. Two points at the same place have none between them,
    and are not moved apart here."""
    field = line(pull_point)["stiffness"]
    n = len(PATH)
    matrix = np.zeros((3 * n, 3 * n))
    for row, column, value in field.addKToMatrix({"kFactor": 1.0}, n, 3):
        matrix[int(row), int(column)] += value
    assert matrix == pytest.approx(matrix.T)
    rng = np.random.default_rng(0)
    for _ in range(5):
        way = rng.normal(size=PATH.shape)
        way[3] = way[2]
        slope = (
            forces(PATH + 1e-6 * way, pull_point) - forces(PATH - 1e-6 * way, pull_point)
        ) / 2e-6
        assert matrix @ way.ravel() == pytest.approx(slope.ravel(), abs=1e-7)
        df, dx = field._as_data(np.zeros_like(way)), field._as_data(way)
        field.addDForce({"kFactor": 0.5}, df, dx)
        assert df.value == pytest.approx(0.5 * slope, abs=1e-7)


def test_an_imposed_tension_is_that_of_this_step_and_another_one_that_of_the_last():
    """A tension that is imposed is known before the step; that of a length, only after it."""
    made = line([-2.0, 0.5, 1.0])
    field, cable = made["stiffness"], made["cable"]

    def values():
        return field.addKToMatrix({"kFactor": 1.0}, 5, 3)[:, 2]

    expected, field.tension = values(), None
    assert not values().any()
    cable.value.value = [0.01 * TENSION]  # an impulse, in steps of 0.01
    assert values() == pytest.approx(expected)
    cable.value.value, cable.valueIndex.value = [0.0, 0.01 * TENSION], 1
    assert values() == pytest.approx(expected)
    made["session"].step()
    cable.value.value = [0.0, 0.0]
    assert not values().any()
    cable.valueType.value = "displacement"
    assert values().any()
    assert has_line_stiffness(made["session"].root)
    assert isinstance(field, LineStiffness)


def test_a_cable_gets_it_once():
    """A scene that adds it, and a controller that does so too."""
    made = []

    def add(root):
        cable = lines_of(root)[0]
        made.extend(add_line_stiffness(root, cable) for _ in range(2))

    session = Session(ARM, add=add)
    assert made[0] is made[1]
    fields = [e for node in session.nodes() for e in node.objects if isinstance(e, LineStiffness)]
    assert len(fields) == 1


def held(stiffness, tension, seconds=2.0):
    """Positions of the arm's tip, its lines pulled up to tensions in one second and held."""
    fields = []

    def add(root):
        if stiffness:
            fields.extend(add_line_stiffness(root, line) for line in lines_of(root))

    session = Session(ARM, add=add)
    tip, found = state_at(session.root, "/arm/beam"), []
    for step in range(round(seconds / 0.01)):
        share = min(1.0, 0.01 * step)
        for each, pull in zip(lines_of(session.root), tension, strict=True):
            each.value.value = [0.01 * share * pull]
        session.step()
        found.append(tip.position.value[0].copy())
    return np.array(found)


@pytest.mark.soak
def test_a_bent_arm_rests_where_its_lines_make_it_flutter_without():
    """Two lines with 1.2 N, one and a half times what the arm would buckle under without their
    hold: 5 mm to and fro, growing, or none."""
    tension = 1200.0 * np.array([1.0, 1.0, 0.0, 0.0])
    flutters, rests = (held(stiffness, tension)[-20:] for stiffness in (False, True))
    assert np.ptp(flutters, axis=0).max() > 3.0
    assert np.ptp(rests, axis=0).max() < 0.01


@pytest.mark.soak
def test_it_moves_no_equilibrium():
    """It is no force: below flutter the arm comes to rest at the same place, to what is left of
    its swings."""
    tension = 400.0 * np.array([1.0, 0.0, 0.0, 0.0])
    explicit, implicit = (held(stiffness, tension, 4.0)[-1] for stiffness in (False, True))
    assert np.linalg.norm(explicit - [0.0, 0.0, -100.0]) > 4.0
    assert implicit == pytest.approx(explicit, abs=1e-4)
