"""Steps that bring a motion to its final conditions and within its limits."""

from dataclasses import replace

import numpy as np
import pytest

from scenes.problems.flexible_cart import flexible_cart
from sofa_softctl.library.motions.correction import correct_trajectory
from sofa_softctl.library.ocp.problem import Motion, OptimalControlProblem, Parameter, Variable
from sofa_softctl.library.ocp.shooting import Program


def test_one_step_is_the_least_change_for_a_linear_robot(make_cart):
    """The cart: of all forces that end there, those nearest to the given ones, in closed form."""
    program = Program(make_cart(force=100.0))
    model, p = program.model, np.array([0.4, 0.1])
    motion = Motion(np.zeros((10, 1)), np.zeros((11, 2)))
    found = correct_trajectory(model, model.simulate(motion, p), p)
    end = model.simulate(found, p)
    assert np.abs(end.terminal).max() < 1e-9
    h, k = 0.1, np.arange(10)
    rows = np.stack([h * (1.0 - h * (k + 0.5)), np.full(10, h)])
    least = np.linalg.lstsq(rows, np.array([0.4 - 0.1, -0.1]), rcond=None)[0]
    assert found.u[:, 0] == pytest.approx(least, abs=1e-8)


def test_limits_of_inputs_are_kept(make_cart):
    """The same needs 2.2 N without a limit."""
    program = Program(make_cart(force=1.9))
    model, p = program.model, np.array([0.4, 0.0])
    motion = Motion(np.zeros((10, 1)), np.zeros((11, 2)))
    found = correct_trajectory(model, model.simulate(motion, p), p)
    assert np.abs(found.u).max() == pytest.approx(1.9, abs=1e-6)
    assert np.abs(found.u).max() <= 1.9
    assert np.abs(model.simulate(found, p).terminal).max() < 1e-6
    weak = replace(model, inputs=(Variable("force [N]", -1.0, 1.0),))
    assert correct_trajectory(weak, weak.simulate(motion, p), p) is None


@pytest.mark.soak
def test_two_steps_bring_a_motion_within_limits_and_path():
    """Forces of another task; nonlinear, with a limit of the speed that is reached."""
    program = Program(flexible_cart())
    model = program.model
    for seed in range(5):
        rng = np.random.default_rng(seed)
        p = np.array([0.4, 0.1, 0.01, 0.05, 20.0])
        q = p + [*rng.uniform(-0.1, 0.1, 1), 0.0, *rng.uniform(-0.01, 0.01, 2), 0.0]
        found = model.simulate(program.motion(program.solve(p).v), q)
        assert not model.report(found).passed
        for _ in range(2):
            found = model.simulate(correct_trajectory(model, found, q), q)
        assert model.report(found).passed, model.report(found).reason


def fast_load():
    """A load that swings at 20 to 40 Hz on a drive that follows with a lag of 50 ms; mm, s.

    x = [place, speed, acceleration of the drive, deflection of the load, its rate].
    """

    def dynamics(x, u, z, p):
        omega = 2.0 * np.pi * p[1]
        swing = -(omega**2) * x[3] - 2.0 * p[2] * omega * x[4] - x[2]
        return [x[1], x[2], (u[0] - x[2]) / 0.05, x[4], swing]

    return OptimalControlProblem(
        name="fast load",
        states=[
            Variable("place [mm]"),
            Variable("speed [mm/s]", -600.0, 600.0),
            Variable("acceleration [mm/s²]"),
            Variable("deflection [mm]", -0.11, 0.11),
            Variable("its rate [mm/s]"),
        ],
        inputs=[Variable("commanded acceleration [mm/s²]", -4000.0, 4000.0)],
        parameters=[
            Parameter("distance [mm]", -300.0, 300.0),
            Parameter("frequency [Hz]", 20.0, 40.0),
            Parameter("damping [-]", 0.005, 0.05),
        ],
        dynamics=dynamics,
        initial=lambda z, p: [0.0, 0.0, 0.0, 0.0, 0.0],
        terminal=lambda x, z, p: [x[0] - p[0], x[1], 1e-2 * x[2], 10.0 * x[3], 0.1 * x[4]],
        cost=lambda x, u, z, p: (1e-3 * u[0]) ** 2,
        error=lambda x, z, p: abs(x[0] - p[0]),
        tolerance=0.05,
        terminal_tolerances=[0.05, 1.0, 1.0, 0.5, 0.6],
        horizon=1.0,
    )


def test_a_load_that_swings_fast_is_corrected():
    """At 38 Hz; with half as many steps as the plan RK4 is unstable: omega h = 4.0, above 2.8."""
    program = Program(fast_load())
    model, p = program.model, np.array([200.0, 38.0, 0.02])
    motion = program.motion(program.solve(p).v)
    u = motion.u.copy()
    u[10] *= 1.01
    found = model.simulate(replace(motion, u=u), p)
    assert not model.report(found).passed
    mended = model.simulate(correct_trajectory(model, found, p), p)
    assert model.report(mended).passed


def test_the_rest_of_a_motion_is_corrected_from_another_state(make_cart):
    """From the third instant on, pushed to another place: the other inputs bring it to its goal."""
    program = Program(make_cart())
    model, p = program.model, np.array([0.4, 0.0])
    motion = program.motion(program.solve(p).v)
    start = motion.x[3] + [0.02, -0.05]
    rest = Motion(motion.u[3:], motion.x[3:], motion.z)
    found = model.simulate(rest, p, start)
    assert not model.report(found).passed
    end = model.simulate(correct_trajectory(model, found, p, free=False), p, start)
    assert model.report(end).passed
    np.testing.assert_array_equal(end.motion.x[0], start)
