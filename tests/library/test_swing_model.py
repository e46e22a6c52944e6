"""Reduced models: a swing is found in samples and in scenes, and motions leave none."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

from sofa_softctl.errors import SceneError
from sofa_softctl.library.building.build import Builder
from sofa_softctl.library.motions.storage import LibraryFile
from sofa_softctl.library.ocp.problem import Motion
from sofa_softctl.library.ocp.shooting import Program
from sofa_softctl.library.reduced.swing import (
    ReducedModel,
    fit_swing,
    identify,
    motion_problem,
    pull,
    residual_swing,
)
from sofa_softctl.scene.session.session import Session

MODEL = ReducedModel(compliance=0.05, frequency=5.0, damping=0.08, dt=0.005, misfit=0.0)
REACH = (0.0, 20.0)


def problem(force_max=500.0, rate_max=8000.0, horizon=0.12):
    return motion_problem(
        MODEL,
        horizon=horizon,
        reach=REACH,
        force_max=force_max,
        rate_max=rate_max,
        tolerance=0.01,
    )


@pytest.fixture(scope="module")
def program():
    return Program(problem())


def swung(model, x, seconds=2.0):
    """Displacements after a state, the force held."""
    w = model.rate

    def rate(time, y):
        return [y[1], -2.0 * model.damping * w * y[1] - w**2 * (y[0] - model.compliance * x[2])]

    found = solve_ivp(rate, (0.0, seconds), x[:2], max_step=1e-3, rtol=1e-9, atol=1e-9)
    return found.y[0]


@pytest.mark.parametrize("decay", [0.0, 2.0, 12.0])
def test_a_swing_is_found_in_its_samples(decay):
    time = 0.005 * np.arange(200)
    y = 3.0 + np.exp(-decay * time) * (1.5 * np.cos(33.0 * time) - 0.7 * np.sin(33.0 * time))
    found = fit_swing(y, 0.005)
    assert (found.rest, found.decay, found.rate) == pytest.approx((3.0, decay, 33.0), abs=1e-6)
    assert found.misfit < 1e-7


def test_noise_is_told_as_misfit_and_hardly_moves_the_swing():
    """Noise of 0.02 on a swing of rms 0.35: 6 %. 200 samples of it: frequency to some 1e-3."""
    time = 0.005 * np.arange(200)
    clean = 3.0 + np.exp(-2.0 * time) * np.cos(33.0 * time)
    noise = 0.02 * np.random.default_rng(0).standard_normal(200)
    found = fit_swing(clean + noise, 0.005)
    expected = np.std(noise) / np.sqrt(np.mean((clean - 3.0) ** 2))
    assert found.misfit == pytest.approx(expected, rel=0.05)
    assert found.rate == pytest.approx(33.0, rel=5e-3)
    assert found.rest == pytest.approx(3.0, abs=0.01)


@pytest.mark.parametrize("y", [np.full(50, 2.0), 1.0 - np.exp(-0.1 * np.arange(50)), np.ones(3)])
def test_what_does_not_swing_is_said(y):
    with pytest.raises(SceneError, match="does not swing: in .* steps.*make dt and rayleigh"):
        fit_swing(y, 0.01)


def mass_on_a_spring(stiffness, mass, dt, rayleigh):
    """A point that a cable along x pulls against a spring."""

    def create(root):
        root.dt = dt
        root.gravity = [0.0, 0.0, 0.0]
        root.addObject("FreeMotionAnimationLoop")
        root.addObject("GenericConstraintSolver")
        body = root.addChild("body")
        body.addObject("EulerImplicitSolver", rayleighMass=0.0, rayleighStiffness=rayleigh)
        body.addObject("SparseLDLSolver")
        body.addObject("MechanicalObject", name="dofs", position=[[0.0, 0.0, 0.0]])
        body.addObject("UniformMass", totalMass=mass)
        body.addObject("RestShapeSpringsForceField", stiffness=stiffness, points=[0])
        body.addObject("LinearSolverConstraintCorrection")
        body.addObject(
            "CableConstraint",
            name="cable",
            indices=[0],
            pullPoint=[1000.0, 0.0, 0.0],
            valueType="force",
            value=[0.0],
        )

    session = Session(create, backend="embedded")
    body = session.root.body
    return session, body.cable, lambda: body.dofs.position.value[0]


def test_a_mass_on_a_spring_is_identified_with_what_implicit_euler_makes_of_it():
    """Backward Euler takes each swing of w_0 = sqrt(k / m) by 1 / (1 - i w_0 dt) a step: a decay of
    log(1 + w_0^2 dt^2) / (2 dt) and a rate of atan(w_0 dt) / dt. The compliance stays 1 / k."""
    k, m, dt = 40.0, 0.02, 0.005
    session, line, point = mass_on_a_spring(k, m, dt, 0.0)
    found = identify(session, line, point, [2.0, 0.0, 0.0], low=5.0, high=12.0, wait=1.0)
    turn = np.sqrt(k / m) * dt
    decay, rate = np.log(1.0 + turn**2) / (2.0 * dt), np.arctan(turn) / dt
    assert found.compliance == pytest.approx(1.0 / k, rel=1e-6)
    assert found.rate == pytest.approx(np.hypot(decay, rate), rel=1e-6)
    assert found.damping == pytest.approx(decay / np.hypot(decay, rate), rel=1e-5)
    assert found.misfit < 1e-5 and found.dt == dt
    assert session.time == pytest.approx(2.0)


def test_a_robot_that_creeps_to_its_rest_is_refused():
    session, line, point = mass_on_a_spring(40.0, 0.02, 0.005, 0.2)
    with pytest.raises(SceneError, match="does not swing"):
        identify(session, line, point, [1.0, 0.0, 0.0], low=5.0, high=12.0, wait=1.0)


@pytest.mark.parametrize("wrong", [{"frequency": 0.0}, {"damping": 1.0}, {"compliance": 0.0}])
def test_a_model_that_is_none_is_refused(wrong):
    given = {"compliance": 0.05, "frequency": 5.0, "damping": 0.1, "dt": 0.01, "misfit": 0.0}
    with pytest.raises(ValueError, match="frequency above 0, a damping from 0 to below 1"):
        ReducedModel(**given | wrong)


def test_the_residual_swing_bounds_what_follows_and_is_nearly_reached():
    """The envelope touches the swing next to its peaks, which come before much has faded."""
    model = ReducedModel(compliance=0.05, frequency=5.0, damping=0.01, dt=0.005, misfit=0.0)
    for x in ([10.5, 0.0, 200.0], [10.0, 20.0, 200.0], [9.7, -15.0, 200.0], [10.0, 0.0, 210.0]):
        bound = residual_swing(model, np.array(x), 10.0)
        largest = np.abs(swung(model, x) - 10.0).max()
        assert 0.95 * bound < largest < 1.0001 * bound


def test_the_residual_swing_fades_as_the_model_does():
    """The envelope of one and the same swing, at any instant of it: by exp(-zeta w t)."""
    time, w = 0.13, MODEL.rate
    A = np.array([[0.0, 1.0], [-(w**2), -2.0 * MODEL.damping * w]])
    for y, speed in ((0.5, 0.0), (0.3, 12.0), (-0.2, 7.0)):
        later = expm(time * A) @ [y, speed]
        now, then = (residual_swing(MODEL, np.array([*x, 0.0]), 0.0) for x in ((y, speed), later))
        assert then == pytest.approx(np.exp(-MODEL.damping * w * time) * now)


def test_a_motion_ends_at_rest_and_within_its_limits(program):
    """The optimum of 2 to 18 needs the limit of the rate; the solver's tolerance is 1e-9."""
    p = np.array([2.0, 18.0])
    optimum = program.solve(p)
    motion, states = program.motion(optimum.v), program.simulate(optimum.v, p)
    assert optimum.status.ok
    assert states[0] == pytest.approx([2.0, 0.0, 40.0])
    assert states[-1] == pytest.approx([18.0, 0.0, 360.0], abs=1e-4)
    assert np.abs(swung(MODEL, states[-1]) - 18.0).max() < 1e-5
    assert np.abs(motion.u).max() == pytest.approx(8000.0, abs=1e-3)
    assert program.problem.error(states[-1], motion.z, p) < 1e-5


def test_of_all_motions_it_has_the_least_mean_square_rate():
    """Without limits: inputs u + v that also end at rest have mean(u v) = 0 (least squares)."""
    free = Program(problem(force_max=5000.0, rate_max=1e6))
    p = np.array([8.0, 12.0])
    optimum = free.solve(p)
    u = free.motion(optimum.v).u[:, 0]
    assert optimum.status.ok

    def end(u):
        v = optimum.v.copy()
        v[free.u_at[:, 0]] = u
        return free.simulate(v, p)[-1]

    slopes = np.array([end(u + 1.0 * e) - end(u - 1.0 * e) for e in np.eye(30)]).T / 2.0
    others = np.linalg.svd(slopes)[2][3:]  # changes of u that leave the end alone
    assert np.abs(others @ u).max() < 1e-5 * np.linalg.norm(u)


def test_a_cable_that_cannot_push_is_not_asked_to():
    """In 0.4 of a swing the force overshoots, and is let go to brake: to 0, but not below."""
    fast = Program(problem(rate_max=20000.0, horizon=0.08))
    optimum = fast.solve(np.array([2.0, 18.0]))
    force = fast.motion(optimum.v).x[:, 2]
    assert optimum.status.ok
    assert force.min() == pytest.approx(0.0, abs=1e-6) and force.max() > 1.2 * 360.0


def test_what_is_too_far_for_the_time_is_infeasible():
    slow = Program(problem(rate_max=1000.0))
    assert not slow.solve(np.array([1.0, 19.0])).status.ok


def test_few_motions_answer_all_tasks(program, tmp_path):
    """The tangent QP of a linear robot is exact, so only new sets of active limits are stored."""
    path = tmp_path / "motions.library"
    with LibraryFile.create(path, program.model) as file:
        library = Builder(program, file, failure_rate=0.2).build()
    assert len(library) <= 16
    rng = np.random.default_rng(3)
    for p in rng.uniform(*REACH, (30, 2)):
        answer = library.query(p)
        assert answer.status.ok
        end = program.simulate(answer.v, p)[-1]
        assert residual_swing(MODEL, end, p[1]) < 0.01


def test_the_line_pulls_as_it_should_at_the_end_of_each_step():
    """Implicit Euler takes the force of the step's end: the last one is that of rest."""
    f = np.array([0.0, 30.0, 90.0, 100.0])
    motion = Motion(u=np.zeros((3, 1)), x=np.column_stack([0 * f, 0 * f, f]))
    command = pull(MODEL, 0.03)
    assert [command(motion, k / 6)[0] for k in range(6)] == pytest.approx(
        [15.0, 30.0, 60.0, 90.0, 95.0, 100.0]
    )
