"""Gaits as they are played: slopes by differences, steps that are too coarse corrected."""

from dataclasses import replace

import numpy as np
import pytest
from softctl_swimmer.body import fish
from softctl_swimmer.motion.inertia import IsolatedInertia
from softctl_swimmer.planning import replay as replays
from softctl_swimmer.planning.entries import MassEntries
from softctl_swimmer.planning.gait_plan import GENTLE, plan_gait
from softctl_swimmer.planning.gaits import follow_angles, wave
from softctl_swimmer.planning.motion_map import HINGES, MotionMap
from softctl_swimmer.planning.objectives import OBJECTIVES, Turn
from softctl_swimmer.planning.playing import Refinement, play, slope_by_angles
from softctl_swimmer.planning.replay import replay, solve_gait
from softctl_swimmer.planning.swimming import SwimmingDynamics

from sofa_softctl.status import Status
from sofa_softctl.surrogate import Settings, TensorSpline


@pytest.fixture(scope="module")
def exact():
    return MassEntries(IsolatedInertia(fish(3)))


@pytest.fixture(scope="module")
def dynamics(exact):
    """Three links: two hinges; 0.1 s, with torques for which that is coarse."""
    masses = TensorSpline(
        replace(exact, slopes=False), 0.3, lower=-1.2 * np.ones(2), upper=1.2 * np.ones(2)
    )
    return SwimmingDynamics(MotionMap(masses, fish(3)), dt=0.1, torque=0.2)


@pytest.fixture
def swing(dynamics):
    """Angles of a wave, at 21 instants."""
    return wave(
        dynamics.dt * np.arange(21),
        amplitude=np.array([0.6, 0.8]),
        phase=np.array([0.0, 1.0]),
        frequency=0.6,
        middle=0.2,
    )


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_slopes_of_progress_are_those_of_differences(objective, dynamics, swing):
    goal = OBJECTIVES[objective](dynamics.embedding)
    random = np.random.default_rng(0)
    change = random.standard_normal(swing.shape)
    change[0] = 0.0
    played, coarse = play(dynamics, swing, goal), follow_angles(dynamics, swing)
    for made, slope in (
        (lambda q: goal.progress_of(dynamics.embedding, follow_angles(dynamics, q).a),
         slope_by_angles(dynamics, coarse, goal)),
        (lambda q: play(dynamics, q, goal).progress, played.slope()),
    ):  # fmt: skip
        by_differences = (made(swing + 1e-5 * change) - made(swing - 1e-5 * change)) / 2e-5
        assert float(np.sum(slope * change)) == pytest.approx(by_differences, rel=1e-5)


def test_a_refined_plan_has_the_progress_that_is_played(dynamics, swing):
    """Value and slopes; None where the angles cannot be followed."""
    goal = OBJECTIVES["forward"](dynamics.embedding)
    played, coarse = play(dynamics, swing, goal), follow_angles(dynamics, swing)
    own = goal.progress_of(dynamics.embedding, coarse.a)
    more = Refinement(dynamics, goal)
    assert own - more.value(swing) == pytest.approx(played.progress, abs=1e-14)
    slope = slope_by_angles(dynamics, coarse, goal) - more.gradient(swing)
    np.testing.assert_allclose(slope, played.slope(), atol=1e-14)
    assert more.rows == (6, 7) and not more.hessian(swing).any()
    assert np.isnan(more.value(3.0 * swing))


@pytest.mark.soak
def test_steps_that_are_too_coarse_are_refined(dynamics, exact, monkeypatch):
    """Otherwise a plan is not what is played: 5.1 cm, played 5.6, refined 5.8."""
    made = []

    def recorded(*given, **options):
        made.append(plan_gait(*given, **options))
        return made[-1]

    monkeypatch.setattr(replays, "plan_gait", recorded)
    found = replay(solve_gait(dynamics, instants=21, reach=1.0), dynamics, exact)
    coarse = replay(made[0], dynamics, exact)
    assert coarse.status is Status.REJECTED and "Between its instants" in coarse.message
    assert found.status is Status.SOLVED, found.message
    assert found.played == pytest.approx(found.progress, rel=0.01)  # in steps of dt / 16, and / 4
    assert found.exact == pytest.approx(found.progress, rel=1e-3)
    assert found.played > coarse.played and found.begun == coarse.begun
    goal = OBJECTIVES["forward"](dynamics.embedding)
    again = play(dynamics, found.plan.a[:, HINGES], goal)
    assert again.progress == pytest.approx(found.progress, rel=1e-6)
    assert play(dynamics, found.plan.a[:, HINGES], goal, 16).progress == found.played


@pytest.mark.soak
def test_a_gait_that_strains_between_its_instants_is_planned_gentler(dynamics, exact, monkeypatch):
    """It takes less torque there, and leads a little less far."""
    plain = replay(solve_gait(dynamics, instants=21, reach=1.0), dynamics, exact)
    excess = plain.played_torque - 1.0 - 0.02
    settings = replays.ReplaySettings(played_torque_excess_max=excess)
    monkeypatch.setattr(replays, "SETTINGS", settings)
    gentle = replay(solve_gait(dynamics, instants=21, reach=1.0), dynamics, exact)
    assert gentle.played_torque < plain.played_torque - 0.02
    assert 0.8 * plain.progress < gentle.progress < plain.progress
    assert gentle.status is Status.SOLVED


@pytest.mark.soak
def test_one_that_did_not_converge_is_planned_gentler_as_well(dynamics, monkeypatch):
    """Turns creep where torques strain, and converge where they are gentle."""
    charged = []

    def recorded(*given, **options):
        charged.append(options["gentle"])
        return plan_gait(*given, **options)

    monkeypatch.setattr(replays, "plan_gait", recorded)
    settings = replays.ReplaySettings(played_torque_excess_max=-1.0)  # any torque strains
    monkeypatch.setattr(replays, "SETTINGS", settings)
    found = solve_gait(dynamics, instants=21, reach=1.0, settings=Settings(iterations=2))
    assert not found.plan.status.ok
    assert list(dict.fromkeys(charged))[-2:] == [3.0 * GENTLE, 9.0 * GENTLE]


@pytest.mark.soak
def test_a_gait_that_leaves_torque_unused_is_charged_less(dynamics, monkeypatch):
    """As ways to the side are, which are short: it leads farther, until it takes its torque."""
    made = []

    def recorded(*given, **options):
        made.append((options["gentle"], plan_gait(*given, **options)))
        return made[-1][1]

    monkeypatch.setattr(replays, "plan_gait", recorded)
    monkeypatch.setattr(replays, "GENTLE", 3e-3)  # sixty times as much
    found = solve_gait(dynamics, instants=21, reach=1.0)
    charges = [charge for charge, _ in made]
    assert charges[-2:] == [3e-3 / 4.0, 3e-3 / 16.0]
    assert found.progress > 1.2 * made[0][1].progress
    assert found.begun == made[0][1].begun


def test_a_turn_bends_as_differences_of_its_slope():
    """To the left, where it is convex; to the right it counts as straight."""
    cost, y = Turn(), np.array([[0.0], [0.4], [3.0]])
    ahead, back = (cost.gradient(y + step) for step in (1e-6, -1e-6))
    bend = cost.hessian(y)[:, 0, 0]
    assert bend[-1] == pytest.approx(float((ahead - back)[-1, 0]) / 2e-6, rel=1e-6) and bend[-1] > 0
    assert not bend[:-1].any() and not cost.hessian(-y).any()
    assert -cost.value(np.array([[0.0], [2.0 * np.tan(1.0)]])) == pytest.approx(2.0)
