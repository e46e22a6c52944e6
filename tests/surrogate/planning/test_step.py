"""Newton's method for a step, and simulations: fixed points, references, energy, orders."""

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
import scipy.optimize

from sofa_softctl.status import Status
from sofa_softctl.surrogate.costs.dynamics import Steps
from sofa_softctl.surrogate.costs.step import simulate, step
from sofa_softctl.surrogate.grid.embedding import Jet


def test_tensions_that_the_robot_rests_under_leave_it_at_rest(chain, make_dynamics):
    a = np.array([0.7, 0.2])
    result = step(make_dynamics(chain), a, a, a)
    assert result.status is Status.SOLVED
    assert result.a == pytest.approx(a, abs=1e-15)
    assert result.iterations == 0


def test_a_damped_robot_comes_to_rest_where_the_tensions_are(chain, make_dynamics):
    """Implicit Euler and damping of 20 / s: exp(-10) after 1 s at the slowest mode, and more."""
    u = np.array([0.5, 0.9])
    dynamics = make_dynamics(chain, dt=0.05, mass_damping=5.0)
    run = simulate(dynamics, np.tile(u, (400, 1)), np.zeros(2))
    assert run.status is Status.SOLVED
    assert run.a[-1] == pytest.approx(u, abs=1e-8)


def test_a_step_is_the_root_that_another_solver_finds(chain, make_dynamics):
    dynamics = make_dynamics(chain, mass_damping=1.0)
    rng = np.random.default_rng(1)
    for _ in range(5):
        a, v, u = rng.normal(size=2), 0.05 * rng.normal(size=2), rng.uniform(size=2)
        known = chain.at(np.array([a, a - v]))

        def r(p, a=a, u=u, known=known):
            ahead = chain.at(p[None])
            steps = Steps(p[None], a[None], u[None], ahead, known[0:1], known[1:2])
            return dynamics.residual(steps)[0]

        reference = scipy.optimize.root(r, a, method="lm", options={"xtol": 1e-14, "ftol": 1e-14})
        result = step(dynamics, a, a - v, u)
        assert result.status is Status.SOLVED
        assert result.defect < 1e-10
        assert result.a == pytest.approx(reference.x, abs=1e-9)


def test_newton_doubles_its_digits(chain, make_dynamics):
    """With exact derivatives, 1e-10 is reached in a handful of iterations."""
    result = step(make_dynamics(chain), np.zeros(2), np.zeros(2), np.array([1.0, 0.0]))
    assert 1 <= result.iterations <= 5


def total_energy(chain, dynamics, a, before, u):
    """Kinetic and elastic energy, and the potential of the constant tensions."""
    jets = chain.at(np.array([a, before])).value
    v = (jets[0] - jets[1])[chain.layout.position] / dynamics.dt
    L = jets[0][chain.layout.length]
    return 0.5 * v @ (dynamics.mass * v) + chain.energy(a) + chain.force * u @ L


def energies(chain, dynamics, seconds):
    u = np.array([0.6, 0.1])
    a = simulate(dynamics, np.tile(u, (round(seconds / dynamics.dt), 1)), np.zeros(2)).a
    return [total_energy(chain, dynamics, a[k], a[max(k - 1, 0)], u) for k in range(len(a))]


@pytest.mark.soak
def test_energy_falls_and_only_by_what_implicit_euler_takes(chain, make_dynamics):
    """Without damping; the loss is of first order in dt: it halves with the step, up to dt^2."""
    losses = []
    for dt in (0.001, 0.0005):
        energy = energies(chain, make_dynamics(chain, dt=dt), 0.4)
        assert np.diff(energy).max() <= 1e-9 * abs(energy[0])
        losses.append(energy[0] - energy[-1])
    assert losses[1] > 0.0
    assert math.log2(losses[0] / losses[1]) == pytest.approx(1.0, abs=0.1)


@pytest.mark.soak
def test_the_step_is_of_first_order(chain, make_dynamics):
    """Differences between steps of dt, dt / 2, dt / 4 halve: theory 1, 0.1 for the next term."""
    u = np.array([0.6, 0.1])
    ends = [
        simulate(make_dynamics(chain, dt=dt), np.tile(u, (round(0.3 / dt), 1)), np.zeros(2)).a[-1]
        for dt in (0.002, 0.001, 0.0005)
    ]
    ratio = np.linalg.norm(ends[0] - ends[1]) / np.linalg.norm(ends[1] - ends[2])
    assert math.log2(ratio) == pytest.approx(1.0, abs=0.1)


@pytest.mark.soak
def test_the_reduced_motion_is_that_of_the_lagrangian(chain, make_dynamics):
    """d/dt (C a') - 1/2 a'^T C_a a' = -d(W + s u.L)/da by scipy; first order, so 1e-2 at 0.5 ms."""
    dynamics = make_dynamics(chain, dt=0.0005)
    u = np.array([0.6, 0.1])

    def rhs(_, state):
        a, v = state[:2], state[2:]
        jet = chain.at(a[None])
        X = jet.gradient[0, chain.layout.position]
        C = X.T @ (dynamics.mass[:, None] * X)
        h = 1e-6
        X_v = (chain.at((a + h * v)[None]).gradient - chain.at((a - h * v)[None]).gradient)[
            0, chain.layout.position
        ] / (2 * h)
        pull = -chain.force * jet.gradient[0, chain.layout.length].T @ (u - a)
        return np.concatenate((v, np.linalg.solve(C, pull - X.T @ (dynamics.mass * (X_v @ v)))))

    exact = scipy.integrate.solve_ivp(rhs, (0.0, 0.3), np.zeros(4), rtol=1e-10, atol=1e-12)
    found = simulate(dynamics, np.tile(u, (600, 1)), np.zeros(2)).a[-1]
    assert found == pytest.approx(exact.y[:2, -1], abs=1e-2)


@dataclass(frozen=True)
class Kinked:
    """The chain, its lines' lengths with a gradient that jumps at a_0 = 0.3: C0 as across cells."""

    smooth: object
    jump: float

    dimension = property(lambda self: self.smooth.dimension)
    size = property(lambda self: self.smooth.size)

    def at(self, points):
        jet = self.smooth.at(points)
        beyond = points[:, 0] > 0.3
        row = self.smooth.layout.length.start
        jet.value[beyond, row] += self.jump * (points[beyond, 0] - 0.3)
        jet.gradient[beyond, row, 0] += self.jump
        return jet

    def curvature(self, points, weights):
        return self.smooth.curvature(points, weights)


@pytest.mark.soak
def test_a_step_that_flips_between_two_cells_takes_the_smaller_residual(chain, make_dynamics):
    """Between a_0 = 0.28 and 0.32 the gradient's jump of 20 % leaves no root for some tensions."""
    dynamics = replace(make_dynamics(chain, dt=0.05), embedding=Kinked(chain, 0.02))
    a = np.array([0.0, 0.2])
    borders = 0
    for u in np.linspace(0.3, 6.0, 400):
        result = step(dynamics, a, a, np.array([u, 0.2]))
        assert result.status.ok is not result.at_border
        borders += result.at_border
        if result.at_border:
            assert result.a[0] == pytest.approx(0.3, abs=1e-6)
            assert 1e-10 < result.defect < 1.0
            assert "border between two cells" in result.message
    assert 1 <= borders <= 200


@pytest.mark.soak
def test_borders_of_a_simulation_are_counted(chain, make_dynamics):
    dynamics = replace(make_dynamics(chain, dt=0.05), embedding=Kinked(chain, 0.02))
    found = [
        run.borders
        for u in np.linspace(0.3, 6.0, 100)
        if (run := simulate(dynamics, np.array([[u, 0.2]]), np.array([0.0, 0.2]))).borders
    ]
    assert found
    assert set(found) == {1}


def test_a_map_that_hardly_moves_mass_is_told(chain, make_dynamics):
    """A second coordinate that moves nothing: C is singular, the step is still solved."""

    @dataclass(frozen=True)
    class Stuck:
        dimension, size = 2, chain.size

        def at(self, points):
            jet = chain.at(points * [1.0, 0.0])
            gradient = jet.gradient * [1.0, 0.0]
            rows = chain.layout.length
            value = jet.value.copy()
            value[:, rows] = 0.4 - 0.1 * points
            gradient[:, rows] = -0.1 * np.eye(2)
            return Jet(value, gradient)

        def curvature(self, points, weights):
            weights = weights.copy()
            weights[:, chain.layout.length] = 0.0
            return chain.curvature(points * [1.0, 0.0], weights) * [[1.0, 0.0], [0.0, 0.0]]

    dynamics = replace(make_dynamics(chain), embedding=Stuck())
    result = step(dynamics, np.zeros(2), np.zeros(2), np.array([0.3, 0.5]))
    assert result.status is Status.SOLVED
    assert result.a[1] == pytest.approx(0.5)
    assert result.condition > 1e10
    assert "hardly moves mass" in result.message


def test_a_step_that_is_cut_short_says_so(chain, make_dynamics):
    dynamics = make_dynamics(chain)
    result = step(dynamics, np.zeros(2), np.zeros(2), np.array([1.0, 0.0]), iterations=1)
    assert result.status is Status.NOT_CONVERGED
    assert result.defect > 1e-10
    assert "smallest residual it reached" in result.message
    assert step(dynamics, np.zeros(2), np.zeros(2), np.ones(2), iterations=0).a.tolist() == [0, 0]
