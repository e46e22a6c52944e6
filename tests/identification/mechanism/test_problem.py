"""A recorded run of a mechanism: predictions, derivatives, what is recovered from them."""

from dataclasses import replace

import numpy as np
import pytest

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.fitting.estimate import estimate
from sofa_softctl.identification.mechanism.mechanism import Mechanism
from sofa_softctl.identification.mechanism.parts import (
    Body,
    Damper,
    Distance,
    Joint,
    Point,
    Rod,
    Scaled,
    Spring,
)
from sofa_softctl.identification.mechanism.problem import MechanismProblem
from sofa_softctl.identification.mechanism.signals import Angle, Feedback, Force, GivenStart, Output
from sofa_softctl.identification.model.channel import Channel
from sofa_softctl.identification.model.parameter import Parameter
from sofa_softctl.identification.model.recording import Recording

PARAMETERS = (
    Parameter("mass", 1.2, "kg"),
    Parameter("stiffness", 3.0, "N m/rad"),
    Parameter("damping", 0.1, "N m s/rad"),
    Parameter("length", 0.7, "m"),
    Parameter("late", 0.0131, "s", lower=-1.0),
    Parameter("first", 0.3, "rad", lower=-1.0),
)
RHO = np.array([one.start for one in PARAMETERS])
TIME = np.arange(0.0, 2.0, 0.0173)


def problem():
    """Two rods, driven at the first joint, seen by a marker, an angle and a string."""
    joints = (
        Joint("a", axis=(0, 1, 0)),
        Joint("l", "a", axis=(0, 0, -1), sliding=True, rigid="length"),
        Joint("b", "l", axis=(0.3, 1, 0)),
    )
    rods = Mechanism(
        joints,
        [Body("l", "mass", gyration=0.01), Body("b", 0.5, (0, 0, -0.4), 0.02)],
        [Spring("a", "stiffness"), Spring("b", Scaled("stiffness", 0.5))],
        [Damper("a", "damping"), Damper("b", "damping")],
        parameters=PARAMETERS,
    )
    marker = tuple(Channel(f"tip.{axis}", "m", 1e-3) for axis in "xyz")
    return MechanismProblem(
        name="two rods",
        mechanism=rods,
        dt=0.01,
        outputs=(
            Output(Point("b", (0, 0, -0.5)), marker),
            Output(Angle("a"), (Channel("a", "rad", 1e-3),)),
            Output(Distance("b", (0, 0, -0.5), "", (0, 0, 1)), (Channel("s", "m", 1e-3),)),
        ),
        forces=(Force("a", Channel("torque", "N m")),),
        feedback=Feedback(("b",), (Channel("b", "rad"),), np.array([[[2.0]]])),
        start=GivenStart({"a": "first"}, {"b": Scaled("first", 2.0)}),
        delay={"torque": "late"},
    )


def recording(time=TIME):
    inputs = np.column_stack([2.0 * time, 0.3 * np.cos(2 * time)])
    return Recording("driven", time, inputs, np.zeros((len(time), 5)))


@pytest.fixture(scope="module")
def run():
    return problem().experiment(recording())


def test_sensitivities_are_those_of_central_differences(run):
    """The late signal is a straight line: between samples it is linear, with kinks elsewhere."""
    y, by_rho = run.sensitivities(RHO)
    for k, one in enumerate(PARAMETERS):
        e = 1e-5 * np.eye(len(RHO))[k]
        slope = (run.outputs(RHO + e) - run.outputs(RHO - e)) / 2e-5
        np.testing.assert_allclose(
            by_rho[:, :, k], slope, atol=1e-6 * np.abs(slope).max(), rtol=0.0, err_msg=one.name
        )
    np.testing.assert_array_equal(y, run.outputs(RHO))


def test_the_adjoint_agrees_with_them_to_1e_10(run):
    weights = np.random.default_rng(0).normal(size=(len(TIME), 5))
    _, by_rho = run.sensitivities(RHO)
    found = run.pull_back(RHO, lambda y: weights)
    np.testing.assert_allclose(
        found.by_parameters, np.einsum("ty,tyr->r", weights, by_rho), rtol=1e-10
    )


def test_derivatives_by_recorded_inputs_are_those_of_central_differences():
    weights, one = np.random.default_rng(0).normal(size=(len(TIME), 5)), recording()
    found = problem().experiment(one).pull_back(RHO, lambda y: weights).by_inputs
    for at in ((0, 0), (0, 1), (5, 0), (17, 1), (60, 1)):
        ends = []
        for h in (1e-5, -1e-5):
            changed = recording()
            changed.inputs[at] += h
            ends.append((weights * problem().experiment(changed).outputs(RHO)).sum())
        assert found[at] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-6)


def test_all_parameters_come_back_from_a_perfect_recording():
    """Masses, springs, damping, a length, a delay and the start, to 1e-6."""
    truth = RHO * [1.2, 0.7, 1.5, 1.1, 0.5, 1.3]
    one = recording()
    outputs = problem().experiment(one).outputs(truth)
    measured = Recording("perfect", one.time, one.inputs, outputs)
    found = estimate([problem().experiment(measured)], PARAMETERS)
    np.testing.assert_allclose(found.rho, truth, rtol=1e-6)


def test_a_delay_of_no_input_is_said():
    wrong = replace(problem(), delay={"torqe": "late"})
    with pytest.raises(
        IdentificationError, match="no input 'torqe' to delay.*delayed are wrapped in .*Del"
    ):
        wrong.experiment(recording()).outputs(RHO)


def test_times_in_another_unit_are_refused_before_they_are_simulated():
    """2 s, given as 2,000: 200,000 steps for 116 samples."""
    with pytest.raises(IdentificationError, match=r"198,950 steps of 0.01 s.* Are its times in ms"):
        problem().experiment(recording(1000.0 * TIME))
    problem().experiment(recording(TIME[::10]))  # 17 steps a sample


def test_a_recording_of_two_steps_is_too_short():
    with pytest.raises(IdentificationError, match="are 2 steps of 0.01 s"):
        problem().experiment(recording(np.array([0.0, 0.01, 0.02])))


def test_a_start_off_the_constraints_is_moved_onto_them_and_told():
    """Two rods of 1 m whose end a rod of 1.8 m holds: straight down it is 0.2 m too far."""
    joints = (Joint("a", axis=(0, 1, 0)), Joint("b", "a", axis=(0, 1, 0), moved=(0, 0, -1)))
    held = Mechanism(
        joints,
        [Body(one.name, 1.0, (0, 0, -0.5), 0.1) for one in joints],
        constraints=[Rod("b", (0, 0, -1), 1.8)],
        parameters=(Parameter("bent", 0.1, lower=-1.0),),
    )
    problem = MechanismProblem(
        "held",
        held,
        0.01,
        (Output(Angle("b"), (Channel("b", "rad"),)),),
        start=GivenStart({"b": "bent"}),
    )
    blank = Recording("run", np.arange(11) / 100.0, np.zeros((11, 0)), np.zeros((11, 1)))
    run = problem.experiment(blank)
    (told,) = run.notes
    # 1 + 1 + 2 cos(b) = 1.8^2; a does not matter for the rod, so stays.
    bent = np.arccos(0.5 * 1.8**2 - 1.0)
    assert run.outputs(np.array([0.1]))[0, 0] == pytest.approx(bent, abs=1e-9)
    assert f"moved by {bent - 0.1:.3g} " in told


def test_a_recording_with_other_steps_than_the_model_is_told():
    """With the model's own nothing is."""
    (told,) = problem().experiment(recording()).notes
    assert told == (
        f"recorded every {recording().time[1]:.4g} s, simulated every {problem().dt:.4g} s: inputs "
        "and predictions are interpolated"
    )
    own = replace(recording(), time=problem().dt * np.arange(len(recording().time)))
    assert problem().experiment(own).notes == ()
