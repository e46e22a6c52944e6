"""Planned gaits: better than waves, within limits, and as far on the exact mass matrix."""

from dataclasses import replace

import numpy as np
import pytest
from softctl_swimmer.body import fish
from softctl_swimmer.motion.inertia import IsolatedInertia
from softctl_swimmer.planning.entries import MassEntries
from softctl_swimmer.planning.gait_plan import Gentle, best_wave, hinge_range, plan_gait
from softctl_swimmer.planning.gaits import follow_angles, wave
from softctl_swimmer.planning.motion_map import HINGES, MotionMap
from softctl_swimmer.planning.objectives import OBJECTIVES
from softctl_swimmer.planning.playing import play
from softctl_swimmer.planning.replay import SUBSTEP_COUNT, replay, solve_gait
from softctl_swimmer.planning.swimming import SwimmingDynamics

from sofa_softctl.errors import SceneError, UsageError
from sofa_softctl.status import Status
from sofa_softctl.surrogate import Settings, TensorSpline, simulate

K, REACH = 51, 1.0


@pytest.fixture(scope="module")
def exact():
    return MassEntries(IsolatedInertia(fish(3)))


@pytest.fixture(scope="module")
def dynamics(exact):
    """Three links: two hinges."""
    masses = TensorSpline(
        replace(exact, slopes=False), 0.3, lower=-1.2 * np.ones(2), upper=1.2 * np.ones(2)
    )
    return SwimmingDynamics(MotionMap(masses, fish(3)), dt=0.05, torque=0.08)


@pytest.fixture(scope="module")
def ahead(dynamics):
    return plan_gait(dynamics, instants=K, reach=REACH)


@pytest.mark.soak
def test_a_plan_goes_farther_than_the_best_wave_within_the_limits(ahead, dynamics):
    assert ahead.plan.status is Status.SOLVED, ahead.message
    assert ahead.progress > 1.3 * ahead.begun > 0.0
    assert np.abs(ahead.plan.u).max() <= 1.0 + 1e-6
    assert np.abs(ahead.plan.a[:, HINGES]).max() <= REACH + 1e-6
    y = dynamics.embedding.at(ahead.plan.a).value[:, list(dynamics.embedding.centre)]
    assert y[-1, 0] - y[0, 0] == pytest.approx(ahead.progress, abs=1e-12)
    # torques alone make that motion; 1e-10 of a torque grows in 3 s of a body without damping
    again = simulate(dynamics, ahead.plan.u, ahead.plan.a[0])
    assert again.a == pytest.approx(ahead.plan.a, abs=1e-4)


def test_it_is_solved_only_on_the_exact_model(ahead, dynamics, exact):
    assert ahead.status is Status.NOT_CONVERGED and "not been replayed" in ahead.message
    found = replay(ahead, dynamics, exact)
    assert found.status is Status.SOLVED and "replay" not in found.message
    assert found.exact == pytest.approx(found.progress, rel=1e-3)
    assert found.played == pytest.approx(found.progress, rel=0.02) and found.played_torque < 1.2
    heavy = replace(fish(3), fluid_density=3000.0)
    wrong = replay(ahead, dynamics, MassEntries(IsolatedInertia(heavy)))
    assert wrong.status is Status.REJECTED
    assert "largest torque" in wrong.message and "Do not execute it" in wrong.message


@pytest.mark.soak
@pytest.mark.parametrize("objective", ["backward", "turn"])
def test_other_objectives_are_planned(objective, dynamics, exact):
    begun = plan_gait(dynamics, objective, instants=K, reach=REACH)
    found = replay(begun, dynamics, exact)
    assert found.status is Status.SOLVED, found.message
    assert found.progress > max(1.1 * found.begun, 0.0)


def test_a_plan_that_is_cut_short_is_not_solved(ahead, dynamics, exact):
    few = plan_gait(
        dynamics, instants=K, reach=REACH, start=ahead.start, settings=Settings(iterations=2)
    )
    assert not replay(few, dynamics, exact).status.ok


@pytest.mark.soak
def test_what_cannot_be_planned_is_refused(dynamics):
    with pytest.raises(UsageError, match="no objective 'up'. There are: forward, backward"):
        plan_gait(dynamics, "up")
    weak = replace(dynamics, torque=1e-6)
    with pytest.raises(SceneError, match="None of the sine waves stays within"):
        best_wave(weak, OBJECTIVES["forward"](weak.embedding), K, REACH)


@pytest.mark.soak
def test_weak_torques_begin_with_a_smaller_wave(dynamics):
    weak = replace(dynamics, torque=2e-3)
    goal = OBJECTIVES["forward"](weak.embedding)
    found = best_wave(weak, goal, K, REACH)
    assert np.abs(found.u).max() <= 1.0 and 0.05 < np.abs(found.a[:, HINGES]).max() < 0.3


@pytest.mark.soak
def test_a_plan_is_that_of_its_size(exact):
    """Ten times as small, with torques of 1e-5: the same motion, of a tenth of the length."""
    found = []
    for size in (1.0, 0.1):
        body = fish(3, semi_axes=tuple(size * np.array([0.1, 0.03, 0.05])), gap=0.02 * size)
        mass = MassEntries(IsolatedInertia(body))
        box = {"lower": -1.2 * np.ones(2), "upper": 1.2 * np.ones(2)}
        masses = TensorSpline(replace(mass, slopes=False), 0.3, **box)
        at = SwimmingDynamics(MotionMap(masses, body), dt=0.05, torque=0.08 * size**5)
        one = plan_gait(at, instants=K, reach=REACH)
        assert one.plan.status is Status.SOLVED
        found.append(one.progress / size)
    assert found[1] == pytest.approx(found[0], rel=1e-3)


def test_a_plan_that_leads_nowhere_is_not_solved(ahead, dynamics, exact):
    for progress in (0.9 * ahead.begun, 1e-9):
        found = replay(replace(ahead, progress=progress), dynamics, exact)
        assert found.status is Status.REJECTED and "this body cannot" in found.message
        assert ("nearly nothing" if progress == 1e-9 else "less far than") in found.message


@pytest.mark.soak
def test_a_gait_that_its_time_step_does_not_resolve_is_not_solved(dynamics, exact):
    """Half a second, 100 times the torque: between the instants it is another motion."""
    strong = replace(dynamics, torque=8.0)
    swing = wave(
        strong.dt * np.arange(11), amplitude=np.ones(2), phase=np.arange(2.0), frequency=2.0
    )
    begun = follow_angles(strong, swing)
    coarse = plan_gait(strong, instants=11, reach=REACH, start=begun, gentle=0.0)
    found = replay(coarse, strong, exact)
    assert found.status is Status.REJECTED
    assert "Between its instants" in found.message and "Do not execute it" in found.message


@pytest.mark.soak
def test_plans_keep_to_the_limits_of_the_hinges(dynamics):
    first, second = fish(3).hinges
    narrow = replace(
        fish(3), hinges=(replace(first, limits=(-0.5, 0.8)), replace(second, limits=(-0.6, 0.6)))
    )
    at = replace(dynamics.embedding, swimmer=narrow)
    low, high = hinge_range(at, 0.7)
    np.testing.assert_allclose(low, [0.15 - 0.96 * 0.65, -0.576])
    np.testing.assert_allclose(high, [0.7, 0.576])
    few = plan_gait(dynamics.on(at), instants=K, settings=Settings(iterations=5))
    angles = few.plan.a[:, HINGES]
    assert (angles >= low - 1e-4).all() and angles.max() <= 0.8


@pytest.mark.soak
def test_hinges_keep_their_limits_between_the_instants(dynamics, exact):
    """Strong torques for 1 s: a plan within 0.96 of the limits swings beyond them, and is refused.

    Planned in a narrower range it holds.
    """
    limits = (-0.9, 0.9)
    hinges = tuple(replace(hinge, limits=limits) for hinge in fish(3).hinges)
    body = replace(fish(3), hinges=hinges)
    at = replace(dynamics.on(replace(dynamics.embedding, swimmer=body)), torque=1.0)

    def bent(found):
        goal = OBJECTIVES["turn"](at.embedding)
        return np.abs(
            play(at, found.plan.a[:, HINGES], goal, SUBSTEP_COUNT).gait.a[:, HINGES]
        ).max()

    coarse = replay(plan_gait(at, "turn", instants=21), at, exact)
    assert bent(coarse) > 0.91 and coarse.status is Status.REJECTED
    assert "bends from" in coarse.message and "it may from -0.9 to 0.9" in coarse.message
    found = replay(solve_gait(at, "turn", instants=21), at, exact)
    assert found.status is Status.SOLVED, found.message
    assert bent(found) <= 0.9


def test_a_body_that_cannot_be_straight_is_refused(dynamics):
    hinges = tuple(replace(hinge, limits=(0.1, 1.0)) for hinge in fish(3).hinges)
    at = replace(dynamics.embedding, swimmer=replace(fish(3), hinges=hinges))
    with pytest.raises(SceneError, match="Plans begin straight, with all angles 0"):
        plan_gait(dynamics.on(at), instants=K)


def test_torques_begin_and_end_gently():
    """The cost's slope and curvature are those of its value; both ends count as 10."""
    u = np.random.default_rng(0).standard_normal((6, 2))
    cost = Gentle(0.3)
    changes = np.vstack((10.0 * u[:1], np.diff(u, axis=0), 10.0 * u[-1:]))
    assert cost.value(u) == pytest.approx(0.15 * np.sum(changes**2))
    other = u + 1e-6 * np.eye(6, 2)
    slope = (cost.value(other) - cost.value(u)) / 1e-6
    assert slope == pytest.approx(float(np.sum(cost.gradient(u) * np.eye(6, 2))), rel=1e-4)
