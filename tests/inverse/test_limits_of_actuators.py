"""Limits as efforts: the same at any dt and integrator; warnings of SOFA's multipliers."""

import logging
import re

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.scene.backend.backend import find_backend
from sofa_softctl.scene.session.run import run
from sofa_softctl.scene.session.session import Session
from sofa_softctl.status import Verdict

find_backend("embedded")

from sofa_softctl import InverseController, add_effector  # noqa: E402

FAR = [30.0, 0.0, 0.0]
"""A goal that no limited motor reaches."""


def particle(data=None, dt=0.01, first_order=False, component="PositionConstraint", **options):
    """A scene: a motor on a damped mass of 1 with a spring of 10 to its place."""

    def create(root):
        root.dt = dt
        root.gravity = [0.0, 0.0, 0.0]
        root.addObject("FreeMotionAnimationLoop")
        root.addObject("GenericConstraintSolver", maxIterations=100, tolerance=1e-9)
        node = root.addChild("body")
        node.addObject("EulerImplicitSolver", firstOrder=first_order, rayleighMass=2.0)
        node.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
        node.addObject("MechanicalObject", name="dofs", position=[[0.0, 0.0, 0.0]])
        node.addObject("UniformMass", totalMass=1.0)
        node.addObject("RestShapeSpringsForceField", stiffness=10.0, points=[0])
        node.addObject("LinearSolverConstraintCorrection")
        along = {"useDirections": [1, 0, 0]}
        if component == "CableConstraint":
            along = {"pullPoint": [100.0, 0.0, 0.0]}
        motor = node.addObject(
            component,
            name="motor",
            indices=[0],
            valueType="force",
            value=[0.0],
            **along,
            **(data or {}),
        )
        given = {
            "root": root,
            "name": "inverse",
            "actuators": [motor],
            "effectors": [add_effector(node)],
            "goal": FAR,
        }
        root.addObject(InverseController(**(given | options)))

    return create


def effort_at(create, steps):
    session = Session(create)
    session.step(steps)
    return float(session.root.inverse.effort.value[0]), session


@pytest.mark.soak(keep=1)
@pytest.mark.parametrize("dt", [0.02, 0.01, 0.003])
@pytest.mark.parametrize("first_order", [False, True])
def test_a_limit_of_the_controller_is_an_effort_at_any_dt_and_integrator(dt, first_order):
    """The force at its limit is the number of the user, and the spring stands at effort / 10."""
    effort, session = effort_at(
        particle(dt=dt, first_order=first_order, effort_max=50.0), round(8.0 / dt)
    )
    assert effort == pytest.approx(50.0, abs=1e-9)
    at = session.root.body.dofs.position.value[0, 0]
    assert at == pytest.approx(50.0 / 10.0, rel=2e-3)  # exp(-8 / (2 / 2)): at rest


def test_the_same_number_in_the_component_is_another_motor_at_another_dt(caplog):
    """SOFA's semantics, which the warning is about."""
    for dt, force in ((0.01, 50.0), (0.02, 25.0)):
        caplog.clear()
        with caplog.at_level(logging.WARNING, "sofa_softctl"):
            effort, _ = effort_at(particle({"maxForce": 0.5}, dt=dt), 3)
        assert effort == pytest.approx(force, abs=1e-9)
        (warning,) = [entry.message for entry in caplog.records]
        assert re.search(
            r"maxForce=0.5 of PositionConstraint '/body/motor' \(.*test_limits_of_actuators.py:\d+"
            rf"\) limits SOFA's multiplier, which is {dt:g} times the force with this integrator "
            rf"and dt: here it means a force of {force:g}, and another one at another dt. Give the "
            rf"controller effort_max={force:g} instead",
            warning,
        )


@pytest.mark.parametrize(
    ("data", "options"),
    [
        ({}, {"effort_max": 50.0, "effort_min": -50.0}),
        ({"minForce": 0.0}, {"effort_max": 50.0}),
    ],
)
def test_limits_in_the_users_units_give_no_warning(caplog, data, options):
    with caplog.at_level(logging.WARNING, "sofa_softctl"):
        effort_at(particle(data, **options), 2)
    assert not caplog.records


def test_with_a_first_order_integrator_the_multiplier_is_the_effort_and_nothing_is_said(caplog):
    with caplog.at_level(logging.WARNING, "sofa_softctl"):
        effort, _ = effort_at(particle({"maxForce": 50.0}, first_order=True), 3)
    assert effort == pytest.approx(50.0, abs=1e-9)
    assert not caplog.records


def test_the_tighter_one_of_two_limits_holds():
    assert effort_at(particle({"maxForce": 0.5}, effort_max=20.0), 3)[0] == pytest.approx(20.0)
    assert effort_at(particle({"maxForce": 0.2}, effort_max=50.0), 3)[0] == pytest.approx(20.0)


def test_a_limit_of_the_displacement_is_a_length():
    """The spring is pulled no further than the limit: 3 mm by 30."""
    effort, session = effort_at(particle(displacement_max=3.0), 800)
    assert session.root.body.dofs.position.value[0, 0] == pytest.approx(3.0, abs=1e-6)
    assert effort == pytest.approx(30.0, rel=1e-3)
    assert session.root.inverse.step_counts.limits_met["body: displacement at its maximum"] > 100


def test_a_cable_without_a_lower_limit_can_push_and_is_warned_of(caplog):
    with caplog.at_level(logging.WARNING, "sofa_softctl"):
        effort, _ = effort_at(particle(component="CableConstraint", goal=[-3.0, 0.0, 0.0]), 1)
    assert effort < 0.0
    (warning,) = [entry.message for entry in caplog.records]
    assert "body: no lower limit of the force, so it can push, which a cable cannot" in warning
    caplog.clear()
    with caplog.at_level(logging.WARNING, "sofa_softctl"):
        create = particle(component="CableConstraint", goal=[-3.0, 0.0, 0.0], effort_min=0.0)
        effort, _ = effort_at(create, 1)
    assert effort == 0.0 and not caplog.records


@pytest.mark.parametrize(
    ("data", "options", "said"),
    [
        (
            {"minForce": 2.0, "maxForce": 1.0},
            {},
            r"body: its limits contradict each other: minForce=2 of PositionConstraint "
            r"'/body/motor' \(.*\.py:\d+\), an effort of 200, and maxForce=1 of PositionConstraint",
        ),
        (
            {},
            {"effort_min": 5.0, "effort_max": 1.0},
            r"effort_min=5 of InverseController, and effort_max=1 of InverseController\.",
        ),
        (
            {"maxForce": 1.0},
            {"effort_min": 500.0},
            r"effort_min=500 of InverseController, and maxForce=1 of PositionConstraint.*an effort "
            r"of 100",
        ),
        (
            {"maxPositiveDisp": 1.0},
            {"displacement_min": 2.0},
            r"displacement_min=2 of InverseController, and maxPositiveDisp=1 of PositionConstraint",
        ),
        ({}, {"effort_min": np.inf}, r"effort_min=inf of InverseController, and effort_max=inf"),
    ],
)
def test_limits_that_contradict_each_other_are_named_as_the_user_wrote_them(data, options, said):
    with pytest.raises(SceneError, match=said):
        Session(particle(data, **options)).step()


def test_each_actuator_can_have_its_own_limit():
    """Two motors that pull one mass aside: each at its own maximum."""

    def create(root):
        particle()(root)
        node, controller = root.body, root.inverse
        second = node.addObject(
            "PositionConstraint",
            name="second",
            indices=[0],
            valueType="force",
            value=[0.0],
            useDirections=[0, 1, 0],
        )
        root.removeObject(controller)
        root.addObject(
            InverseController(
                root=root,
                name="both",
                actuators=[controller.actuators[0], second],
                effectors=controller.effectors,
                goal=[30.0, 30.0, 0.0],
                effort_max=[50.0, np.inf],
                effort_min=0.0,
            )
        )

    session = Session(create)
    session.step()
    effort = session.root.both.effort.value
    assert effort[0] == pytest.approx(50.0, rel=1e-9) and effort[1] > 1000.0


@pytest.mark.parametrize("dt", [0.02, 0.01, 0.005])
def test_the_speed_of_a_motor_is_a_limit_at_any_dt(dt):
    """5 length units in a unit of time, so the mass is led no faster than that."""
    session = Session(particle(dt=dt, motor_speed=5.0))
    positions = [0.0]
    for _ in range(round(0.4 / dt)):
        session.step()
        positions.append(float(session.root.body.dofs.position.value[0, 0]))
    speed = np.diff(positions) / dt
    assert speed == pytest.approx(np.full(len(speed), 5.0), rel=1e-6)
    assert "body: displacement rate at its maximum" in session.root.inverse.step_counts.limits_met


def test_a_goal_that_is_reached_beyond_limits_is_not_reached():
    """The mass stands at its goal; the displacement should be -1 at most, but nothing pushes."""
    create = particle(
        goal=[0.0, 0.0, 0.0], effort_min=0.0, displacement_max=-1.0, goal_tolerance=0.5
    )
    (inverse,) = run(Session(create), 5).inverse
    assert not inverse.goal.reached and inverse.verdict is Verdict.NOT_REACHED
    assert inverse.goal.verdict.startswith("not reached within the limits: 0 length off at the end")
    assert "body: displacement 1 above its maximum" in inverse.goal.verdict


def test_an_effector_that_nothing_moves_is_named():
    def create(root):
        particle(goal=[3.0, 0.0, 0.0], goal_tolerance=0.1)(root)
        root.body.addObject("FixedProjectiveConstraint", indices=[0])

    (inverse,) = run(Session(create), 3).inverse
    assert inverse.goal.reasons[0].startswith("no actuator moves /body: is it in the clamp, or on")
