"""Swimmers that learn: the planner's steps, conserved momentum, exact twins, one environment."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from softctl_swimmer.body import fish
from softctl_swimmer.flow.potential import Flow
from softctl_swimmer.learning.exact import NearbySolutions
from softctl_swimmer.learning.starts import FACTORS, compare_starts
from softctl_swimmer.learning.strokes import Swimmers, momenta_of, rates_of, stroke
from softctl_swimmer.learning.task import Start, SwimTask
from softctl_swimmer.motion.inertia import IsolatedInertia
from softctl_swimmer.planning.entries import MassEntries
from softctl_swimmer.planning.gaits import follow_angles, wave
from softctl_swimmer.planning.motion_map import MotionMap
from softctl_swimmer.planning.study import Study
from softctl_swimmer.planning.swimming import SwimmingDynamics

from sofa_softctl.learning import Policy, SurrogateEnv
from sofa_softctl.surrogate import Steps, TensorSpline


@pytest.fixture(scope="module")
def study():
    """Three links without interactions: two hinges, and a closed form behind the map."""
    exact = MassEntries(IsolatedInertia(fish(3)))
    values = replace(exact, slopes=False)
    masses = TensorSpline(values, 0.3, lower=-1.2 * np.ones(2), upper=1.2 * np.ones(2))
    dynamics = SwimmingDynamics(MotionMap(masses, fish(3)), dt=0.05, torque=0.05)
    return Study("fish", Flow.from_swimmer(fish(3), 18), exact, dynamics, 81, instants=41)


def coordinates(swimmers):
    """Of the planner: positions, Cayley coordinates and angles."""
    turn = Rotation.from_matrix(swimmers.rotation).as_rotvec()
    angle = np.linalg.norm(turn, axis=1, keepdims=True)
    scale = np.where(angle > 1e-12, 2.0 * np.tan(0.5 * angle) / np.maximum(angle, 1e-300), 1.0)
    return np.hstack((swimmers.position, scale * turn, swimmers.angles))


@pytest.mark.soak
def test_strokes_are_the_planners_steps(study):
    """Their residual, over the torque's unit, is that of Newton's method, 1e-9 of the momenta."""
    dynamics, random = study.dynamics, np.random.default_rng(0)
    masses, at = dynamics.embedding.masses, dynamics.embedding
    now = Swimmers(
        np.zeros((4, 3)), np.tile(np.eye(3), (4, 1, 1)), np.zeros((4, 2)), np.zeros((4, 2))
    )
    places, torques = [coordinates(now)], []
    for _ in range(12):
        u = random.uniform(-0.02, 0.02, (4, 2))
        now, solved = stroke(masses, now, u, dynamics.dt)
        assert solved.all()
        places.append(coordinates(now))
        torques.append(u)
    for k in range(1, 12):
        after, here, before = places[k + 1], places[k], places[k - 1]
        steps = Steps(after, here, torques[k] / dynamics.torque, *map(at.at, (after, here, before)))
        assert np.abs(dynamics.residual(steps)).max() < 1e-7


@pytest.mark.soak
def test_torques_of_a_gait_make_it_again_up_to_the_edge_of_the_map(study):
    """Newton's method begins beyond the edge, at 1.2 rad, where hinges turn back just before it."""
    dynamics = study.dynamics
    masses, dt, n = dynamics.embedding.masses, dynamics.dt, dynamics.inputs
    swing = wave(
        dt * np.arange(41), amplitude=np.full(n, 1.18), phase=1.5 * np.arange(n), frequency=1.5
    )
    gait = follow_angles(dynamics, swing)
    now, beyond = Swimmers(np.zeros((1, 3)), np.eye(3)[None], swing[:1], np.zeros((1, n))), 0
    for u, angles in zip(dynamics.torque * gait.u, swing[1:], strict=True):
        first = now.angles + dt * rates_of(masses, now.angles, now.momenta + dt * u)
        beyond += bool(np.abs(first).max() > 1.2)
        now, solved = stroke(masses, now, u[None], dt)
        assert solved.all()
        assert now.angles[0] == pytest.approx(angles, abs=1e-6)
    assert beyond >= 10


@pytest.mark.soak
def test_rates_and_momenta_are_inverse(study):
    masses, random = study.dynamics.embedding.masses, np.random.default_rng(1)
    angles, rates = random.uniform(-1.0, 1.0, (5, 2)), random.uniform(-2.0, 2.0, (5, 2))
    assert rates_of(masses, angles, momenta_of(masses, angles, rates)) == pytest.approx(rates)


def test_energy_of_a_free_swimmer_does_not_drift(study):
    """A variational integrator: energies of 400 steps stay within the square of the step."""
    masses, dt = study.dynamics.embedding.masses, 0.01
    angles, rates = np.array([[0.3, -0.2]]), np.array([[0.4, 0.5]])
    now = Swimmers(np.zeros((1, 3)), np.eye(3)[None], angles, momenta_of(masses, angles, rates))
    energies = []
    for _ in range(150):
        now, solved = stroke(masses, now, np.zeros((1, 2)), dt)
        assert solved.all()
        energies.append(
            0.5 * float((rates_of(masses, now.angles, now.momenta) * now.momenta).sum())
        )
    assert np.ptp(energies) < 2e-3 * np.mean(energies)


def test_an_exact_twin_goes_where_the_map_goes(study):
    """Off by the map's error; one solution a step, and one at the start."""
    mapped = SwimTask(study)
    masses = NearbySolutions(study.exact, study.dynamics.embedding.masses)
    exact = SwimTask(study, masses)
    state = mapped.begin(np.random.default_rng(2), 1)
    other = state.copy()
    for k in range(10):
        action = np.array([[0.01 * np.sin(k), -0.01]])
        state, other = (
            task.advance(s, action).state for task, s in ((mapped, state), (exact, other))
        )
    assert state == pytest.approx(other, abs=1e-6)
    assert masses.solutions == 11


def test_solutions_nearby_are_those_of_the_flow(study):
    """A hair from a solution, to the square of the distance times the map's error of curvature."""
    masses = NearbySolutions(study.exact, study.dynamics.embedding.masses)
    point = np.array([[0.31, -0.4]])
    masses.at(point)
    near = point + 1e-3
    found, expected = masses.at(near), study.exact.at(near)
    assert masses.solutions == 1
    assert found.value == pytest.approx(expected.value, abs=1e-9)
    assert found.gradient == pytest.approx(expected.gradient, abs=1e-5)
    assert masses.at(point + 0.1).value == pytest.approx(study.exact.at(point + 0.1).value)
    assert masses.solutions == 2
    assert np.isnan(masses.at(np.array([[1.3, 0.0]])).value).all()


@pytest.mark.soak
def test_episodes_begin_around_rest_and_end_where_hinges_do(study):
    task = SwimTask(study, start=Start(angle=0.1, rate=0.0, heading=0.3))
    state = task.begin(np.random.default_rng(3), 50)
    seen = task.observe(state)
    names = task.interface.observation.names
    angles = seen[:, [names.index("angle 1"), names.index("angle 2")]]
    assert np.abs(angles).max() <= 0.1 and np.abs(angles).max() > 0.08
    assert np.abs(seen[:, names.index("rate 1")]).max() < 1e-12
    assert np.abs(task.centre(state)).max() < 1e-12
    assert (seen[:, names.index("time left")] == 2.0).all()
    for _ in range(40):
        found = task.advance(state, np.full((50, 2), 0.05))
        state = np.where(found.valid[:, None], found.state, state)
    assert not found.valid.any()
    assert (np.abs(task.from_state(state)[0].angles) <= task.limit).all()


def test_torques_rise_within_their_time(study):
    """From zero to the limit in 0.1 s, two steps, and as long back."""
    task = SwimTask(study, start=Start().times(0.0))
    state = task.begin(np.random.default_rng(0), 1)
    state = task.advance(state, np.full((1, 2), 0.05)).state
    assert task.from_state(state)[1] == pytest.approx(0.025)
    state = task.advance(state, np.full((1, 2), -0.05)).state
    assert task.from_state(state)[1] == pytest.approx(0.0)


def test_gaits_from_disturbed_starts_are_compared_with_policies(study):
    """From rest its torques make the plan's way; the best of the others is chosen; one that does
    nothing stays."""
    task, dynamics = SwimTask(study), study.dynamics
    time, n = dynamics.dt * np.arange(study.instants), dynamics.inputs
    waves = [
        follow_angles(
            dynamics, wave(time, amplitude=size * np.ones(n), phase=np.arange(n), frequency=0.7)
        )
        for size in (0.5, 0.1, 0.3)
    ]
    still = Policy(
        task.interface, (np.zeros((n, len(task.interface.observation))),), (np.zeros(n),)
    )
    found = compare_starts(study, {"still": still}, waves[0], waves[1:], starts=4)
    assert len(found) == 3 * len(FACTORS)
    rest = {each.name: each for each in found if each.disturbance == 0.0}
    places = dynamics.embedding.at(waves[0].a[[0, -1]]).value[:, list(dynamics.embedding.centre)]
    way = 100.0 * (places[1] - places[0])[0]
    assert rest["planned gait"].mean == pytest.approx(way, rel=1e-4)
    assert rest["planned gait"].deviation < 1e-9
    assert rest["still"].mean == pytest.approx(0.0, abs=1e-9)
    assert 0.0 < rest["best of 2 random gaits"].mean < rest["planned gait"].mean
    disturbed = [each for each in found if each.disturbance == 1.0]
    assert all(each.deviation > 0.01 for each in disturbed)
    assert set(rest["still"].to_dict()) == {"name", "disturbance", "mean", "deviation", "lost"}


def test_the_environment_is_registered_and_clean(study, monkeypatch):
    import gymnasium
    from gymnasium.utils.env_checker import check_env
    from softctl_swimmer.learning import environment

    check_env(SurrogateEnv(SwimTask(study)), skip_render_check=True)
    monkeypatch.setattr(environment, "_study", lambda *given: study)
    spec = "softctl_swimmer.learning:softctl/Swimmer-v0"
    env = gymnasium.make(spec, disable_env_checker=True, store="unused")
    assert env.unwrapped.interface.digest == SwimTask(study).interface.digest
    many = gymnasium.make_vec(spec.rpartition(":")[2], num_envs=3, store="unused")
    assert many.reset(seed=0)[0].shape == (3, 9)
    exact = gymnasium.make(spec, disable_env_checker=True, exact=True, store="unused").unwrapped
    assert exact.costly_episodes == 1


def test_a_row_counts_what_was_not_run(study):
    """One solution with slopes a decision, against the map's corners and the training."""
    pytest.importorskip("stable_baselines3", reason="the extra [rl] is not installed")
    from softctl_swimmer.learning.row import measure
    from softctl_swimmer.planning.table import Times

    row, policy = measure(study, Times(0.5, 2.0), 0, steps=16384, episodes=3)
    assert row.calls == 16384 and row.corners == 81
    assert row.fewer == 16384 / 81
    assert row.faster == pytest.approx(2.0 * 16384 / (40.5 + row.train_seconds))
    assert row.error < 1e-5
    assert row.exact == pytest.approx(row.mapped, rel=0.05)
    assert len(policy.interface.action) == 2
