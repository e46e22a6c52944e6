"""Plans on a sparse grid: those of the exact map, in few rounds, or not called solved."""

from dataclasses import replace

import numpy as np
import pytest

from sofa_softctl.status import Status
from sofa_softctl.surrogate.costs.costs import Effort, Following, Point, Smoothness
from sofa_softctl.surrogate.grid.evaluation import MapSample
from sofa_softctl.surrogate.grid.reduced_basis import ReducedBasisGrid
from sofa_softctl.surrogate.planning.planner import plan
from sofa_softctl.surrogate.planning.rounds import plan_in_rounds
from sofa_softctl.surrogate.program.transcription import Limits, PlanningProblem
from sofa_softctl.surrogate.sparse.sparse import SparseGrid

K, D = 40, 3


class Costly:
    """A chain as a costly map."""

    def __init__(self, chain):
        self.chain = chain

    def __call__(self, u, near=None):
        jet = self.chain.at(u[None])
        return MapSample(jet.value[0], jet.gradient[0])


@pytest.fixture
def problem(make_chain, make_dynamics):
    """The tip of a chain with three lines follows a path."""
    chain = make_chain(d=D, nodes=5)
    time = np.linspace(0.0, 1.0, K)[:, None]
    ease = np.clip(time / 0.8, 0.0, 1.0) ** 2 * (3.0 - 2.0 * np.clip(time / 0.8, 0.0, 1.0))
    path = chain.at(ease * (0.4 + 0.3 * np.sin(2.0 * time + np.arange(D)))).value[:, -3:]
    tip = Point(chain.layout.point("tip"))
    return PlanningProblem(
        make_dynamics(chain, dt=0.025),
        K,
        np.zeros(D),
        Limits(u_max=2.0, a_min=-0.5, a_max=2.5),
        outputs=(Following(tip, path, 100.0, tolerance=5e-3),),
        inputs=(Effort(1e-3), Smoothness(1e-2)),
    )


def on_a_grid(problem):
    """The same with the chain behind a sparse grid, and the grid."""
    dynamics, chain = problem.dynamics, problem.dynamics.embedding
    grid = SparseGrid(Costly(chain), np.full(D, 0.5), lower=-0.5, upper=2.5)
    reduced = ReducedBasisGrid(grid, chain.layout, dynamics.mass)
    tip = Point(reduced.layout.point("tip"))
    there = replace(dynamics, embedding=reduced, layout=reduced.layout, mass=reduced.mass)
    outputs = tuple(replace(term, probe=tip) for term in problem.outputs)
    return replace(problem, dynamics=there, outputs=outputs), grid


def from_rest(problem, grid, **given):
    u = np.zeros((K - 1, D))
    return plan_in_rounds(problem, grid, u, np.zeros((K, D)), **given)


@pytest.mark.soak
def test_the_plan_is_that_of_the_exact_map(problem):
    """To the slopes' error, an order less exact than the tolerance of 1e-7."""
    there, grid = on_a_grid(problem)
    found, exact = from_rest(there, grid, tolerance=1e-7), plan(problem)
    assert found.status is exact.status is Status.SOLVED
    assert found.u == pytest.approx(exact.u, abs=1e-4)
    assert found.miss == pytest.approx(exact.miss, abs=1e-5)
    assert found.iterations == len(found.history)
    true = problem.dynamics.embedding.at(found.a).value
    off = np.abs(grid.at(found.a).value - true).max()
    assert off <= grid.error <= 1e-7


@pytest.mark.soak
def test_a_coarser_tolerance_takes_fewer_samples(problem):
    counts = []
    for tolerance in (1e-3, 1e-5, 1e-7):
        there, grid = on_a_grid(problem)
        assert from_rest(there, grid, tolerance=tolerance).status is Status.SOLVED
        counts.append(grid.counts.evaluations)
    assert counts[0] <= counts[1] < counts[2] < 300


def test_a_map_that_is_not_known_well_enough_does_not_end_solved(problem):
    there, grid = on_a_grid(problem)
    found = from_rest(there, grid, tolerance=1e-12, most=20)
    assert found.status is Status.NOT_CONVERGED
    assert "map's error along the plan is estimated at" in found.message
    assert "above the tolerance of 1e-12" in found.message


@pytest.mark.soak
def test_limits_stay_those_of_the_problem(problem):
    """Boxes around the plan before narrow them, and never widen."""
    tight = replace(problem, limits=replace(problem.limits, u_max=0.3, a_max=0.35))
    there, grid = on_a_grid(tight)
    found = from_rest(there, grid, tolerance=1e-6)
    assert found.u.max() <= 0.3 + 1e-9 and found.a.max() <= 0.35 + 1e-9
    assert found.reward == pytest.approx(plan(tight).reward, rel=1e-3)
