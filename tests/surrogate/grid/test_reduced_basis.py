"""A grid with few coordinates for many positions: the same motion, the same inertia."""

import numpy as np
import pytest

from sofa_softctl.surrogate.cells.uniform import Grid
from sofa_softctl.surrogate.costs.dynamics import Steps
from sofa_softctl.surrogate.costs.line_dynamics import LineDynamics
from sofa_softctl.surrogate.grid.embedding import Layout
from sofa_softctl.surrogate.grid.evaluation import MapSample
from sofa_softctl.surrogate.grid.reduced_basis import ReducedBasisGrid

NODES, D = 40, 2
RNG = np.random.default_rng(0)
SHAPE = RNG.normal(size=(3 * NODES, 6))
MASS = RNG.uniform(0.5, 2.0, 3 * NODES)
LAYOUT = Layout(NODES, D, ("tip",))


def smooth(u, near=None):
    """A map to many outputs that lie near few of them."""
    a, b = u
    few = np.array([a, b, np.sin(a + b), np.cos(a - b), a * b, np.exp(0.3 * a)])
    slope = np.array(
        [
            [1.0, 0.0],
            [0.0, 1.0],
            [np.cos(a + b)] * 2,
            [-np.sin(a - b), np.sin(a - b)],
            [b, a],
            [0.3 * np.exp(0.3 * a), 0.0],
        ]
    )
    rest = np.array([a - b, a + 2.0 * b, *few[2:5]])
    rest_u = np.concatenate((np.array([[1.0, -1.0], [1.0, 2.0]]), slope[2:5]))
    return MapSample(np.concatenate((SHAPE @ few, rest)), np.concatenate((SHAPE @ slope, rest_u)))


@pytest.fixture
def both():
    grid = Grid(smooth, np.full(D, 0.5))
    return grid, ReducedBasisGrid(grid, LAYOUT, MASS)


def test_lines_and_points_stay_as_they_are(both):
    grid, small = both
    points = RNG.uniform(-1.0, 1.0, (9, D))
    full, found = grid.at(points), small.at(points)
    for name in ("value", "gradient"):
        there, here = getattr(full, name), getattr(found, name)
        assert here[:, small.layout.length] == pytest.approx(there[:, LAYOUT.length], abs=1e-12)
        assert here[:, small.layout.point("tip")] == pytest.approx(
            there[:, LAYOUT.point("tip")], abs=1e-12
        )


def test_few_coordinates_are_enough_and_what_they_lose_is_told(both):
    """The map has rank six, and its gradients lie in the same space."""
    _, small = both
    small.at(RNG.uniform(-1.0, 1.0, (9, D)))
    assert small.used_coordinates == 6 and small.lost < 1e-7
    narrow = ReducedBasisGrid(both[0], LAYOUT, MASS, coordinates=3)
    narrow.at(np.zeros((1, D)))
    assert narrow.used_coordinates == 3 and narrow.lost > 1e-3


def test_the_dynamics_are_those_of_all_positions(both):
    """Residuals and derivatives of eq. (8) with 6 coordinates and with 120: to the share that is
    lost, 1e-7."""
    grid, small = both
    rng = np.random.default_rng(1)
    a, before, ahead, u = rng.uniform(-0.8, 0.8, (4, 5, D))

    class Whole:
        dimension, size = D, LAYOUT.size

        def at(self, points):
            from sofa_softctl.surrogate.grid.embedding import Jet

            found = grid.at(points)
            return Jet(found.value, found.gradient)

        def curvature(self, points, weights):
            return grid.curvature(points, weights)

    small.at(np.concatenate((a, before, ahead)))
    found = []
    for embedding, layout, mass in ((Whole(), LAYOUT, MASS), (small, small.layout, small.mass)):
        dynamics = LineDynamics(embedding, layout, mass, dt=0.1, force=2.0)
        jets = [embedding.at(points) for points in (ahead, a, before)]
        found.append(dynamics.linearise(Steps(ahead, a, u, *jets)))
    for name in ("residual", "by_next", "by_now", "by_before", "by_input", "mass"):
        expected = getattr(found[0], name)
        assert getattr(found[1], name) == pytest.approx(expected, abs=1e-6 * np.abs(expected).max())


def test_points_that_the_grid_cannot_answer_are_nan():
    grid = Grid(smooth, np.full(D, 0.5), lower=np.full(D, -1.0), upper=np.full(D, 1.0))
    small = ReducedBasisGrid(grid, LAYOUT, MASS)
    found = small.at(np.array([[0.1, 0.2], [3.0, 0.0]]))
    assert np.isfinite(found.value[0]).all() and np.isnan(found.value[1]).all()
    np.testing.assert_array_equal(small.refused, [[3.0, 0.0]])


def test_second_derivatives_may_be_asked_first(both):
    """Of cells that no value was asked in, too: these read beyond the known corners once."""
    grid, small = both
    first, far = np.array([[0.1, 0.2]]), np.array([[2.3, -1.7]])
    w = np.zeros((1, small.size))
    w[0, list(small.layout.point("tip"))] = 1.0
    for points in (first, far):
        expected = grid.curvature(points, np.ones((1, 3)), rows=list(LAYOUT.point("tip")))
        assert small.curvature(points, w) == pytest.approx(expected, abs=1e-12)


def test_a_reduced_layout_has_no_nodes(both):
    """Their coordinates are others: a task that looked at them was planned 60 mm off."""
    _, small = both
    with pytest.raises(ValueError, match=r"layout.node\(12\): planning on a grid has no rows") as e:
        small.layout.node(12)
    assert '"points": ["/arm"], and use layout.point("/arm.12")' in str(e.value)
    assert LAYOUT.node(12) == (36, 37, 38)


@pytest.mark.parametrize("coordinates", [4, 0, -3])
def test_coordinates_come_in_threes(coordinates):
    with pytest.raises(ValueError, match="multiple of three"):
        ReducedBasisGrid(Grid(smooth, np.full(D, 0.5)), LAYOUT, MASS, coordinates=coordinates)
