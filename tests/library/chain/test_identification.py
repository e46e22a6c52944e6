"""A chain is identified from motions, and a payload from the first part of one."""

from dataclasses import replace

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.library.ocp.problem import Motion
from sofa_softctl.library.reduced.chain.correction import (
    ChainCorrection,
    ChainEstimate,
    Limits,
    Prior,
    estimate,
    replan_inputs,
)
from sofa_softctl.library.reduced.chain.identification import Frame, RecordedMotion, identify_chain
from sofa_softctl.library.reduced.chain.model import Plant
from sofa_softctl.library.reduced.chain.motion import rest_tension, rollout
from tests.library.chain.test_model import MODEL

AT = (50.0, 80.0, 100.0)
HORIZON, INTERVALS = 0.35, 14
LIMITS = Limits(tension_max=2000.0, rate_max=30000.0)


def moved(model, plant, tension, steps=4):
    """Points of a chain at AT, shape (K + 1, m, 2), and its states."""
    rest = model.equilibrium(tension[0], plant)
    x = rollout(model, rest, 0.0 * rest, tension, plant, dt=model.dt, steps=steps)
    links = [x[:, 0], x[:, 1]]
    return np.array([model.point(links, tension, at) for at in AT]).transpose(2, 0, 1), x


def smooth(first, last, count):
    share = np.linspace(0.0, 1.0, count)
    return first + (last - first) * share**2 * (3.0 - 2.0 * share)


def test_the_constants_of_a_simulated_chain_are_found_again():
    """From 20 % off, without noise: to what the steps of integration, 2.5 for 1.25 ms, change."""
    motions = []
    for payload, levels in ((0.003, (0, 900, 300)), (0.006, (800, 200, 1000))):
        a, b, c = levels
        tension = np.concatenate([smooth(a, b, 15), np.full(15, b), smooth(b, c, 15)])
        motions.append(
            RecordedMotion(Plant(payload), tension, moved(MODEL, Plant(payload), tension)[0])
        )
    start = replace(
        MODEL,
        lengths=(12.0, 44.0, 44.0),
        stiffness=(26000.0, 20000.0),
        cubic=(0.0, 0.0),
        damping=(150.0, 40.0),
        arms=(5.0, 5.0),
        shortening=0.0,
    )
    found = identify_chain(motions, start, AT)
    for name, tolerance in (
        ("lengths", 0.01),
        ("stiffness", 0.01),
        ("damping", 0.05),
        ("arms", 0.01),
    ):
        assert getattr(found, name) == pytest.approx(getattr(MODEL, name), rel=tolerance), name
    assert found.shortening == pytest.approx(MODEL.shortening, rel=0.01)
    assert sum(found.lengths) == pytest.approx(100.0)
    assert found.misfit < 0.01


def test_a_chain_too_stiff_for_the_steps_is_refused():
    """At 60 times the stiffness Runge-Kutta steps of 2.5 ms are not stable."""
    tension = np.full(20, 100.0)
    tension[0] = 0.0
    stiff = replace(MODEL, stiffness=(2e6, 2e6), damping=(1e5, 1e5))
    points = moved(MODEL, Plant(0.004), tension)[0]
    with pytest.raises(SceneError, match="No stable chain of 2 moving links.*Give more steps"):
        identify_chain([RecordedMotion(Plant(0.004), tension, points)], stiff, AT)


def test_a_frame_gives_coordinates_along_and_aside():
    frame = Frame(base=(-50.0, 0.0, 0.0), along=(1.0, 0.0, 0.0), aside=(0.0, -1.0, 0.0))
    assert frame.coordinates([[-20.0, -3.0, 7.0]]).tolist() == [[30.0, 3.0]]


PRIOR = Prior(payload=0.005, payload_spread=0.002, stiffness_spread=0.15, noise=0.01)
TRUE = Plant(0.0065, 0.9)


def played(start=600.0, goal=30.0, count=41):
    """Tension of a motion that was planned for 5 g, until now; the whole motion."""
    end = rest_tension(MODEL, goal, Plant(0.005), 2000.0)
    nodes = smooth(start, end, INTERVALS + 1)
    times = MODEL.dt * np.arange(count)
    tension = np.interp(times, HORIZON / INTERVALS * np.arange(INTERVALS + 1), nodes)
    states = np.column_stack([np.zeros((INTERVALS + 1, 4)), nodes])
    return tension, Motion(np.diff(nodes)[:, None] * INTERVALS / HORIZON, states)


def test_payload_stiffness_and_state_are_estimated_from_the_first_part():
    """Without noise; the prior pulls by a few thousandths of its spread."""
    tension, _ = played()
    points, x = moved(MODEL, TRUE, tension, steps=2)
    found = estimate(MODEL, tension, points[:, -1], PRIOR)
    assert found.plant.payload == pytest.approx(TRUE.payload, rel=0.01)
    assert found.plant.stiffness == pytest.approx(TRUE.stiffness, rel=0.005)
    assert found.x == pytest.approx(np.append(x[-1], tension[-1]), abs=0.02)
    assert found.misfit < 0.01 and np.abs(found.offset).max() < 0.02


def test_a_noise_larger_than_the_motion_leaves_the_prior():
    tension, _ = played()
    points, _ = moved(MODEL, TRUE, tension, steps=2)
    found = estimate(MODEL, tension, points[:, -1], replace(PRIOR, noise=1e4))
    assert found.plant.payload == pytest.approx(0.005, rel=1e-3)
    assert found.plant.stiffness == pytest.approx(1.0, rel=1e-3)


def rests(motion, plant, interval, x):
    """Where the tip is in the second after a motion that is entered at an interval in x."""
    n = 2
    nodes = motion.x[interval:, 4]
    end = rollout(MODEL, x[:n], x[n:4], nodes, plant, dt=HORIZON / INTERVALS, steps=20)[-1]
    hold = rollout(MODEL, end[:n], end[n:], np.full(201, nodes[-1]), plant, dt=0.005, steps=2)
    return MODEL.tip([hold[:, 0], hold[:, 1]], nodes[-1])[1]


def test_a_replanned_motion_brings_the_other_plant_to_the_goal():
    """It missed by 9 mm; the weight of the changes leaves 0.3 mm."""
    tension, motion = played()
    _, x = moved(MODEL, TRUE, tension, steps=2)
    now = ChainEstimate(TRUE, np.append(x[-1], tension[-1]), np.zeros(2), 0.0)
    assert np.abs(rests(motion, TRUE, 8, now.x) - 30.0).max() > 5.0
    changed = replan_inputs(MODEL, motion, 8, now, goal=30.0, horizon=HORIZON, limits=LIMITS)
    assert np.abs(rests(changed, TRUE, 8, now.x) - 30.0).max() < 0.4
    assert changed.u[:8].tolist() == motion.u[:8].tolist()
    assert changed.x[8, 4] == pytest.approx(tension[-1])
    assert np.abs(changed.u).max() <= 30000.0


def test_a_replanned_motion_keeps_the_limits_of_the_cable():
    tension, motion = played()
    _, x = moved(MODEL, TRUE, tension, steps=2)
    now = ChainEstimate(TRUE, np.append(x[-1], tension[-1]), np.zeros(2), 0.0)
    for goal, limits in ((2.0, LIMITS), (45.0, Limits(900.0, 4000.0))):
        changed = replan_inputs(MODEL, motion, 8, now, goal=goal, horizon=HORIZON, limits=limits)
        assert np.abs(changed.u[8:]).max() <= limits.rate_max
        pulls = tension[-1] + HORIZON / INTERVALS * np.cumsum(changed.u[8:, 0])
        assert pulls == pytest.approx(changed.x[9:, 4], abs=0.01 * limits.tension_max)
        assert changed.x[:, 4].min() >= 0.0 and changed.x[8:, 4].max() <= limits.tension_max


def correction(**given):
    spreads = {"payload_spread": 0.002, "stiffness_spread": 0.15, "noise": 0.01}
    return ChainCorrection(MODEL, HORIZON, LIMITS, **spreads | given)


def test_a_correction_estimates_and_replans():
    tension, motion = played()
    points, x = moved(MODEL, TRUE, tension, steps=2)
    p = np.array([600.0, 30.0, 0.005])
    changed, numbers = correction()(p, motion, tension[:, None], points[:, -1])
    assert numbers[:2] == pytest.approx(TRUE[:2], rel=0.01)
    now = np.append(x[-1], tension[-1])
    assert np.abs(rests(changed, TRUE, 8, now) - 30.0).max() < 0.6
    asked = []

    def other(motion, interval, now, goal):
        asked.append((interval, now.plant.payload, goal))
        return motion

    same, _ = correction(replan=other)(p, motion, tension[:, None], points[:, -1])
    assert same is motion
    assert asked == [(8, pytest.approx(TRUE.payload, rel=0.01), 30.0)]


def test_what_the_chain_does_not_explain_changes_nothing():
    """The tip is held 20 mm beside its way."""
    tension, motion = played()
    points, _ = moved(MODEL, TRUE, tension, steps=2)
    p = np.array([600.0, 30.0, 0.005])
    held = points[:, -1] + [20.0, 20.0]
    same, numbers = correction(misfit_max=2.0)(p, motion, tension[:, None], held)
    assert same is motion and numbers[2] > 2.0


def test_a_correction_between_intervals_is_refused():
    tension, motion = played(count=40)
    points, _ = moved(MODEL, TRUE, tension)
    with pytest.raises(ValueError, match="Got: after 7.800 intervals. Choose another time."):
        correction()(np.array([600.0, 30.0, 0.005]), motion, tension[:, None], points[:, -1])


def test_measurements_that_are_none_are_refused():
    with pytest.raises(ValueError, match=r"Got shapes: \(3,\) and \(2, 2\)"):
        estimate(MODEL, np.zeros(3), np.zeros((2, 2)), PRIOR)
    with pytest.raises(ValueError, match="needs finite tensions"):
        estimate(MODEL, np.zeros(3), np.full((3, 2), np.nan), PRIOR)
