"""The chain of links: its mechanics by energy and closed forms, its motions and their end."""

from dataclasses import replace

import numpy as np
import pytest

from sofa_softctl.library.ocp.problem import Motion
from sofa_softctl.library.ocp.shooting import Program
from sofa_softctl.library.reduced.chain.model import ChainModel, Plant
from sofa_softctl.library.reduced.chain.motion import (
    chain_problem,
    residual_motion,
    rest_tension,
    rollout,
    swing_rate,
    tension_command,
)

MODEL = ChainModel(
    lengths=(9.4, 49.1, 41.5),
    stiffness=(32000.0, 17000.0),
    cubic=(-6000.0, 3000.0),
    damping=(200.0, 20.0),
    arms=(4.2, 5.9),
    shortening=1.5e-5,
    density=1.54e-4,
    gravity=-9810.0,
    dt=0.005,
)
"""About that of scenes/arm_library.py: mm, kg, s."""
THREE = replace(
    MODEL,
    lengths=(10.0, 40.0, 30.0, 20.0),
    stiffness=(30000.0, 20000.0, 15000.0),
    cubic=(-4000.0, 2000.0, 1000.0),
    damping=(0.0, 0.0, 0.0),
    arms=(5.0, 4.0, 3.0),
)
PLANT = Plant(0.005, 0.9, 1.1)


def test_energy_is_kept_without_dampers():
    """Runge-Kutta of order four: half the step, a sixteenth of the drift or less."""
    angles, speeds = np.array([0.5, -0.3, 0.9]), np.array([1.0, -2.0, 5.0])
    drifts = []
    for steps in (10, 20):
        x = rollout(THREE, angles, speeds, np.zeros(31), PLANT, dt=0.002, steps=steps)
        energy = [THREE.energy(each[:3], each[3:], PLANT) for each in x]
        drifts.append(abs(energy[-1] - energy[0]))
    kinetic = energy[0] - THREE.energy(angles, 0.0 * speeds, PLANT)
    assert drifts[1] < drifts[0] / 12.0 and drifts[1] < 1e-3 * kinetic
    assert np.ptp(x[:, 0]) > 0.3  # it moved


def test_dampers_take_energy_and_give_none():
    x = rollout(MODEL, np.array([0.5, 0.2]), np.zeros(2), np.zeros(201), PLANT, dt=0.002, steps=4)
    energy = [MODEL.energy(each[:2], each[2:], PLANT) for each in x]
    assert np.diff(energy).max() < 0.0


def test_torques_are_the_slopes_of_the_potential_energy():
    """Central differences; the cable adds tension times the slope of the moment arms' work."""
    angles, tiny, tension = np.array([0.5, -0.3, 0.9]), 1e-5, 700.0
    work = np.array([5.0 - 4.0, 4.0 - 3.0, 3.0])
    rigid = replace(THREE, shortening=0.0)
    expected = [
        (
            rigid.energy(angles - step, np.zeros(3), PLANT)
            - rigid.energy(angles + step, np.zeros(3), PLANT)
        )
        / (2.0 * tiny)
        for step in tiny * np.eye(3)
    ]
    found = rigid.torques(list(angles), 3 * [0.0], tension, PLANT)
    assert found == pytest.approx(np.array(expected) + tension * work, rel=1e-6)


@pytest.mark.parametrize("gravity", [9810.0, 0.0, -9810.0])
def test_a_chain_of_one_link_is_a_pendulum(gravity):
    """w^2 = (k + g l (m / 2 + M)) / (l^2 (m / 3 + M)), hanging, lying and standing."""
    length, mass, load, stiff = 90.0, 0.014, 0.005, 20000.0
    one = ChainModel(
        (10.0, length), (stiff,), (0.0,), (0.0,), (5.0,), 0.0, mass / length, gravity, 1.0
    )
    squared = (stiff + gravity * length * (mass / 2.0 + load)) / (length**2 * (mass / 3.0 + load))
    assert swing_rate(one, 0.0, Plant(load)) == pytest.approx(np.sqrt(squared), rel=1e-5)
    period = 2.0 * np.pi / np.sqrt(squared)
    x = rollout(
        one, np.array([1e-3]), np.zeros(1), np.zeros(101), Plant(load), dt=period / 100, steps=2
    )
    assert x[[25, 50, 100], 0] == pytest.approx([0.0, -1e-3, 1e-3], abs=1e-8)


def test_symbols_and_numbers_give_the_same():
    """One source for planning and simulation; to rounding."""
    ca = pytest.importorskip("casadi")
    x = ca.SX.sym("x", 7)
    links, rates = [x[i] for i in range(3)], [x[3 + i] for i in range(3)]
    terms = [*THREE.acceleration(links, rates, x[6], PLANT), *THREE.tip(links, x[6])]
    terms += THREE.torques(links, rates, x[6], PLANT)
    terms += THREE.tip_motion(links, rates, x[6], PLANT)
    at = np.array([0.5, -0.3, 0.9, 1.0, -2.0, 5.0, 700.0])
    symbolic = ca.Function("f", [x], [ca.vertcat(*terms)])(at).full().ravel()
    given = (at[:3], at[3:6], at[6], PLANT)
    numbers = [*THREE.acceleration(*given), *THREE.tip(at[:3], at[6])]
    numbers += [*THREE.torques(*given), *THREE.tip_motion(*given)]
    assert symbolic == pytest.approx(np.array(numbers), rel=1e-12)


def test_many_chains_at_once_are_each_alone():
    plants = [Plant(0.003), Plant(0.006, 0.8), Plant(0.004, 1.1, 1.2)]
    both = Plant(*(np.array(each) for each in zip(*plants, strict=True)))
    tension = np.linspace(0.0, 800.0, 21)
    rest = MODEL.equilibrium(300.0, both)
    x = rollout(MODEL, rest, 0.0 * rest, tension, both, dt=0.005)
    for k, plant in enumerate(plants):
        alone = MODEL.equilibrium(300.0, plant)
        own = rollout(MODEL, alone, 0.0 * alone, tension, plant, dt=0.005)
        assert x[..., k] == pytest.approx(own, abs=1e-9)


def test_the_tips_motion_is_the_slope_of_its_position():
    """Central differences over 10 us, in which stiff joints turn a little: to 1e-4, 1e-3."""
    angles, speeds, tiny = np.array([0.5, 0.8]), np.array([2.0, -3.0]), 1e-5
    path = np.full(2, 600.0)
    ends = []
    for way in (-tiny, tiny):
        end = rollout(MODEL, angles, speeds, path, PLANT, dt=way)[-1]
        ends.append(MODEL.tip(list(end[:2]), 600.0)[1])
    y, speed, acceleration = MODEL.tip_motion(angles, speeds, 600.0, PLANT)
    assert y == pytest.approx(MODEL.tip(angles, 600.0)[1])
    assert speed == pytest.approx((ends[1] - ends[0]) / (2.0 * tiny), rel=1e-4)
    assert acceleration == pytest.approx((ends[1] - 2.0 * y + ends[0]) / tiny**2, rel=1e-3)
    assert MODEL.point(angles, 600.0, 100.0) == pytest.approx(MODEL.tip(angles, 600.0))
    assert MODEL.point(angles, 0.0, 5.0) == pytest.approx((5.0, 0.0))


def test_an_equilibrium_has_no_torques_and_where_there_is_none_it_says_so():
    rest = MODEL.equilibrium(np.array([0.0, 800.0, 1600.0]), Plant(0.005))
    for k, tension in enumerate((0.0, 800.0, 1600.0)):
        assert (
            np.abs(MODEL.torques(list(rest[:, k]), [0.0, 0.0], tension, Plant(0.005))).max() < 1e-4
        )
    softening = replace(MODEL, gravity=0.0, cubic=(-30000.0, 0.0))
    assert np.isnan(softening.equilibrium(8000.0, Plant(0.005))).all()


def test_a_chain_that_buckles_has_no_swing():
    with pytest.raises(ValueError, match="buckles. Allow less payload"):
        swing_rate(MODEL, 0.0, Plant(0.05))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"arms": (4.0,)}, "n values of stiffness"),
        ({"stiffness": (1.0, -1.0)}, "stiffness, density"),
    ],
)
def test_a_chain_that_is_none_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        replace(MODEL, **wrong)


@pytest.fixture(scope="module")
def program():
    pytest.importorskip("casadi")
    return Program(
        chain_problem(
            MODEL,
            horizon=0.35,
            tension=(0.0, 1200.0),
            goal=(5.0, 50.0),
            payload=(0.003, 0.007),
            tension_max=2000.0,
            rate_max=5500.0,
            tolerance=1.0,
            units="mm, kg, s",
            intervals=14,
            steps=10,
        )
    )


@pytest.mark.parametrize("p", [(0.0, 45.0, 0.004), (1000.0, 12.0, 0.006)])
def test_a_motion_goes_from_rest_to_rest(program, p):
    """It stays within 1e-3 mm of its goal for a second at constant tension, by finer steps: the
    program's own, 2.5 ms, are good to that."""
    optimum = program.solve(np.array(p))
    assert optimum.status.ok
    motion, plant = program.motion(optimum.v), Plant(p[2])
    assert motion.z == pytest.approx(MODEL.equilibrium(p[0], plant), abs=1e-6)
    x = rollout(MODEL, motion.z, np.zeros(2), motion.x[:, 4], plant, dt=0.025, steps=40)[-1]
    hold = rollout(MODEL, x[:2], x[2:], np.full(101, motion.x[-1, 4]), plant, dt=0.01, steps=8)
    tips = MODEL.tip([hold[:, 0], hold[:, 1]], motion.x[-1, 4])[1]
    assert np.abs(tips - p[1]).max() < 1e-3
    assert program.error(optimum.v, np.array(p)) < 1e-6
    assert motion.x[-1, 4] == pytest.approx(rest_tension(MODEL, p[1], plant, 2000.0), rel=1e-5)
    assert np.abs(motion.u).max() <= 5500.0 and motion.x[:, 4].min() >= 0.0


def test_the_residual_motion_is_about_what_follows():
    """One swing, linear: within a fifth of the largest distance for swings of some mm."""
    plant, rate = Plant(0.005), swing_rate(MODEL, 700.0, Plant(0.005))
    free = replace(MODEL, damping=(0.0, 0.0))
    rest = free.equilibrium(700.0, plant)
    goal = free.tip(rest, 700.0)[1]
    for way, speed in ((0.03, 0.0), (0.0, 0.5), (-0.02, 0.3)):
        x = np.array([rest[0] + way, rest[1] + 1.5 * way, speed, 1.5 * speed, 700.0])
        hold = rollout(free, x[:2], x[2:4], np.full(201, 700.0), plant, dt=0.005, steps=4)
        largest = np.abs(free.tip([hold[:, 0], hold[:, 1]], 700.0)[1] - goal).max()
        assert residual_motion(free, x, goal, plant, rate) == pytest.approx(largest, rel=0.2)


def test_the_line_pulls_as_it_should_at_the_end_of_each_step():
    """Implicit Euler takes the force of the step's end: the last one is that of rest."""
    pulls = np.array([0.0, 30.0, 90.0, 100.0])
    motion = Motion(u=np.zeros((3, 1)), x=np.column_stack([np.zeros((4, 4)), pulls]))
    command = tension_command(MODEL, 0.03)
    assert [command(motion, k / 6)[0] for k in range(6)] == pytest.approx(
        [15.0, 30.0, 60.0, 90.0, 95.0, 100.0]
    )
