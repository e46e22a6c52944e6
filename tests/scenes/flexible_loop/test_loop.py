"""The paper's experiment: an arm and a flexible loop, a recording, what is identified from it."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from scenes.flexible_loop import baxter
from scenes.flexible_loop.model import MASS, POSTURE, RADIUS, arm_with_loop
from scenes.flexible_loop.motion import joint_angles
from scenes.flexible_loop.problem import HAND_NOISE, LoopProblem
from scenes.flexible_loop.recording import Noise, record
from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.fitting.estimate import estimate
from sofa_softctl.identification.mechanism import kernels
from sofa_softctl.identification.mechanism.start import settle, violation
from sofa_softctl.identification.model.parameter import starts
from sofa_softctl.identification.model.problem import load_problem
from tests.support.perfect import perfect

SCENES = Path(__file__).parents[3] / "scenes"
TRUTH = np.array([4.4, 1.0])


@pytest.fixture(scope="module")
def recording():
    """Twelve links at 5 ms, without noise, from 6 to 12 s: the loop is pushed aside and bent."""
    whole = record(links=12, dt=5e-3, duration=12.0, noise=Noise(0.0, 0.0))
    part = slice(600, None)
    return replace(
        whole,
        time=whole.time[part],
        inputs=whole.inputs[part],
        outputs=whole.outputs[part],
    )


@pytest.fixture(scope="module")
def exact(recording):
    """What the model itself would have recorded."""
    return perfect(LoopProblem(), TRUTH, recording)


@pytest.mark.parametrize(("links", "coordinates"), [(12, 31), (6, 19), (24, 55)])
def test_the_paper_counts_its_coordinates_and_constraints_so(links, coordinates):
    mechanism = arm_with_loop(links)
    assert len(mechanism.coordinates) == coordinates
    assert len(mechanism.tree.closed.kind) == 12


@pytest.mark.parametrize("links", [6, 12, 24])
def test_a_round_loop_is_closed_between_hand_and_clamp(links):
    mechanism = arm_with_loop(links)
    q = np.zeros(len(mechanism.coordinates))
    q[:7] = POSTURE
    assert np.abs(violation(mechanism, TRUTH, q)).max() < 1e-12
    loop = [body.mass for body in mechanism.bodies[len(baxter.bodies()) :]]
    # The clamped link does not move; the mass of the others is that of the loop.
    assert sum(loop) == pytest.approx(MASS * (links - 1) / links)


def test_a_loop_of_five_links_is_refused():
    with pytest.raises(IdentificationError, match="even number of links, 6 or more. Got 5"):
        arm_with_loop(5)


def test_the_arm_reaches_as_far_as_its_links_and_weighs_what_they_weigh():
    """Straight out (all angles zero), the hand is where the maker's lengths add up to."""
    arm = arm_with_loop()
    at = kernels.frames(arm.tree, TRUTH, np.zeros(31))
    hand = at.x[6] + at.R[6] @ np.array(baxter.HAND)
    lengths = (0.055695, 0.069, 0.102, 0.26242, 0.10359, 0.2707, 0.115975, 0.13855)
    expected = math.fsum(lengths)
    assert hand[0] == pytest.approx(expected, abs=1e-9)
    assert sum(body.mass for body in baxter.bodies()) == pytest.approx(19.71082)


def test_stiffer_loops_pull_harder_in_proportion_where_gravity_is_small():
    """Pressed by 5 cm, the forces at the clamp grow with both stiffnesses together."""
    q = np.zeros(31)
    q[:7] = joint_angles(np.array([5.0]))[0]
    forces = []
    for factor in (1.0, 2.0, 4.0):
        mechanism = arm_with_loop()
        found = settle(mechanism, factor * 10.0 * TRUTH, q, baxter.JOINTS)
        forces.append(np.abs(found.multipliers[:3]).max())
    assert forces[1] / forces[0] == pytest.approx(2.0, rel=0.02)
    assert forces[2] / forces[1] == pytest.approx(2.0, rel=0.01)


def test_the_motion_stretches_presses_and_turns_the_hand():
    b = joint_angles(np.array([0.0, 2.0, 5.0, 8.0, 14.25]))
    arm = arm_with_loop()
    poses = [kernels.frames(arm.tree, TRUTH, np.concatenate([q, np.zeros(24)])) for q in b]
    hands = [at.x[6] + at.R[6] @ np.array(baxter.HAND) for at in poses]
    assert hands[1][2] - hands[0][2] == pytest.approx(0.035, abs=1e-6)
    assert hands[2][2] - hands[0][2] == pytest.approx(-0.07, abs=1e-6)
    turned = poses[4].R[6].T @ poses[0].R[6]
    assert math.acos((np.trace(turned) - 1.0) / 2.0) == pytest.approx(0.4, abs=1e-6)
    assert 2.0 * RADIUS + 0.035 < math.pi * RADIUS  # stretched within what the loop is around


@pytest.mark.soak
def test_parameters_come_back_from_a_perfect_recording_to_1e_6(exact):
    found = estimate([LoopProblem().experiment(exact)])
    np.testing.assert_allclose(found.rho, TRUTH, rtol=1e-6)


def test_light_links_have_short_steps():
    """With 10 ms no step of 24 links has a solution: the motion is unstable."""
    noisy, fine = record(duration=1.0), LoopProblem(24)
    assert [LoopProblem(links).dt for links in (6, 12, 18, 24)] == [0.01, 0.01, 0.01 / 3, 0.0025]
    experiment = fine.experiment(noisy)
    off = experiment.outputs(starts(fine.parameters)) - experiment.measured
    assert np.abs(off).max() < 3.5 * HAND_NOISE
    gain = experiment.problem.feedback.gain
    assert len(gain) == experiment.steps == 400 and np.abs(gain).max() < 100.0


@pytest.mark.soak
def test_gradients_of_the_experiment_are_those_of_central_differences_to_1e_6(recording):
    """The start rests where the parameters let it: that is part of the gradient."""
    experiment = LoopProblem().experiment(recording)
    rho = starts(experiment.parameters)

    def cost(rho):
        return float(((experiment.outputs(rho) - experiment.measured) ** 2).sum())

    found = experiment.pull_back(rho, lambda y: 2.0 * (y - experiment.measured))
    for k in range(2):
        sides = []
        for h in (1e-3, 2e-3):
            e = h * np.eye(2)[k]
            sides.append((cost(rho + e) - cost(rho - e)) / (2 * h))
        exact = (4.0 * sides[0] - sides[1]) / 3.0
        assert found.by_parameters[k] == pytest.approx(exact, rel=1e-6)
    _, by_rho = experiment.sensitivities(rho)
    weights = 2.0 * (experiment.outputs(rho) - experiment.measured)
    forward = np.einsum("ty,tyr->r", weights, by_rho)
    np.testing.assert_allclose(found.by_parameters, forward, rtol=1e-10)


def test_noise_of_joint_angles_enters_what_is_measured_as_well(recording):
    experiment = LoopProblem().experiment(recording)
    weights = np.zeros_like(experiment.measured)
    weights[100, 1] = 1.0
    found = experiment.measured_by_inputs(weights)
    changed = recording.inputs.copy()
    changed[100, 9] += 1e-6
    other = LoopProblem().experiment(replace(recording, inputs=changed))
    slope = (other.measured[100, 1] - experiment.measured[100, 1]) / 1e-6
    assert found[100, 9] == pytest.approx(slope, rel=1e-5)
    assert np.count_nonzero(found) <= 7


def test_both_models_have_names_for_the_command():
    assert load_problem(str(SCENES / "loop_manipulation.py")).name == "loop of 12 links"
    assert load_problem(str(SCENES / "flexible_loop" / "problem.py") + ":loop6").links == 6
