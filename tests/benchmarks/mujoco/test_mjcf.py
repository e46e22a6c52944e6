"""Mechanisms as MJCF: numbers are the declared ones, and MuJoCo moves them as declared."""

import sys
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from benchmarks.mujoco.mjcf import along, inertial, mjcf
from benchmarks.mujoco.record import record
from benchmarks.mujoco.robots import arm, chain
from sofa_softctl.errors import IdentificationError, SimulationError
from sofa_softctl.identification import Channel, Parameter
from sofa_softctl.identification.mechanism import (
    Body,
    Damper,
    Joint,
    Mechanism,
    MechanismProblem,
    Output,
    Spring,
)
from sofa_softctl.identification.mechanism.parts import Distance, Rod

RHO = np.array([3.0])


def problem(**others):
    parts = {
        "joints": (
            Joint("length", axis=(1, 0, 0), sliding=True, rigid=0.25, moved=(0, 0, 1)),
            Joint("swing", "length", axis=(0, 2, 0)),
        ),
        "bodies": (
            Body("swing", 1.0, (0, 0, 0), (0.1, 0.2, 0.3)),
            Body("swing", "m", (0, 0, -0.4), 0.01),
        ),
        "springs": (Spring("swing", 2.0, 0.3), Spring("swing", 6.0, -0.1)),
        "dampers": (Damper("swing", 0.1), Damper("swing", 0.05)),
        "parameters": (Parameter("m", 1.0, "kg"),),
    }
    return MechanismProblem("pendulum", Mechanism(**parts | others), 0.01, outputs=())


def test_masses_of_a_joint_are_added_up():
    """Steiner: 1 kg at 0 and 3 kg at -0.4 m have their centre at -0.3 m; xx is 0.1 + 1 * 0.09 +
    3 * (0.01 + 0.01) = 0.25, yy 0.1 more, and zz 0.3 + 0.03 without a part by distance."""
    found = inertial("swing", problem().mechanism, RHO)
    assert found.mass == 4.0
    assert found.center == pytest.approx([0.0, 0.0, -0.3])
    assert found.inertia == pytest.approx([0.25, 0.35, 0.33, 0.0, 0.0, 0.0])


def test_springs_in_parallel_are_one_spring_about_their_common_rest():
    """2 (q - 0.3) + 6 (q + 0.1) = 8 (q - 0)."""
    found = along(problem().mechanism, RHO)
    assert (found.stiffness, found.damping) == (pytest.approx([8.0]), pytest.approx([0.15]))
    assert found.springref == pytest.approx([0.0], abs=1e-15)


def test_joints_that_do_not_move_shift_what_they_carry():
    root = ElementTree.fromstring(mjcf(problem(), RHO, step=1e-3, integrator="RK4"))
    body = root.find("worldbody/body")
    assert body.get("pos") == "0.25 0.0 1.0"
    assert body.find("joint") is None
    assert body.find("body/joint").get("axis") == "0.0 1.0 0.0"


def test_what_mjcf_cannot_have_is_refused():
    loop = problem(constraints=(Rod("swing", (0, 0, -1), 1.0),))
    with pytest.raises(IdentificationError, match="pendulum: a mechanism with loops"):
        mjcf(loop, RHO, step=1e-3, integrator="RK4")
    reading = Output(Distance("swing", (0, 0, 0)), (Channel("string", "m"),))
    with pytest.raises(IdentificationError, match="string: distances are not written"):
        mjcf(replace(problem(), outputs=(reading,)), RHO, step=1e-3, integrator="RK4")


def test_without_mujoco_the_message_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(SimulationError, match=r"pip install .*\[mujoco\]"):
        record(arm(0))


def test_steps_that_do_not_divide_the_time_step_are_refused():
    with pytest.raises(ValueError, match="no multiple of MuJoCo's step"):
        record(arm(0), step=3e-4)


@pytest.mark.parametrize("make", [arm, chain])
def test_the_model_and_mujoco_agree_to_second_order(make):
    """Errors fall with the square of the model's step: log2 of the ratio is 2 (theory), 0.1 for the
    next term. MuJoCo's own, of fourth order at 0.5 ms, is too small to be seen."""
    pytest.importorskip("mujoco")
    errors = []
    for dt in (4e-3, 2e-3):
        robot = replace(make(1, dt=dt), duration=1.0)
        exact = record(robot, step=5e-4)
        found = robot.problem.experiment(exact).outputs(robot.truth)
        errors.append(np.abs(found - exact.outputs).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)
