"""Maps with several answers at one point: each cell stays on one branch, or is refused."""

import numpy as np
import pytest

from sofa_softctl.errors import MapError
from sofa_softctl.surrogate.cells.adaptive import AdaptiveGrid
from sofa_softctl.surrogate.cells.uniform import Grid, MapSample
from sofa_softctl.surrogate.grid.store import Store

SPACING = 0.25


def cusp(u, near):
    """A strut that buckles: the stable x with x^3 - u1 x - u0 = 0; two for small u0 and u1 > 0.

    Newton's method goes on from what the neighbour says, as it does for robots.
    """
    starts = [np.cbrt(u[0])]
    if near is not None:
        starts.insert(0, near.sample.value[0] + near.sample.gradient[0] @ (u - near.u))
    for x in starts:
        for _ in range(100):
            slope = 3.0 * x * x - u[1]
            step = -(x**3 - u[1] * x - u[0]) / slope if slope else 0.1
            x += np.clip(step, -0.3, 0.3)
            if abs(step) < 1e-13:
                break
        slope = 3.0 * x * x - u[1]
        if abs(x**3 - u[1] * x - u[0]) < 1e-10 and slope > 1e-9:
            return MapSample(np.array([x]), np.array([[1.0, x]]) / slope)
    raise MapError(f"no stable answer at {u}")


def stable(u):
    """All stable answers, smallest first."""
    roots = np.roots([1.0, 0.0, -u[1], -u[0]])
    real = np.sort(roots[np.abs(roots.imag) < 1e-9].real)
    return real[3.0 * real**2 > u[1]]


def made(**given):
    """Origin off the line u0 = 0, on which the first answer is unstable."""
    return Grid(cusp, [SPACING, SPACING], origin=[0.1, 0.0], **given)


def swept():
    """Queries row by row, from the left in one and from the right in the next."""
    rows = []
    for k, u1 in enumerate(np.arange(-0.95, 1.6, 0.1)):
        u0 = np.arange(-1.0, 1.0, 0.1)[:: 1 if k % 2 else -1]
        rows.append(np.stack((u0, np.full(20, u1)), axis=1))
    return np.concatenate(rows)


def test_where_there_is_one_answer_nothing_is_asked_twice():
    grid = made()
    x = swept()
    grid.at(x[x[:, 1] < -0.3])
    assert grid.counts.continuations == grid.counts.branching == grid.counts.refused == 0


@pytest.mark.soak
def test_every_cell_is_on_one_branch():
    """Each corner of a cell has the answer that continuation in 100 steps from another one has."""
    grid = made()
    for point in swept():
        try:
            grid.at(point[None])
        except MapError:
            continue
    assert grid.counts.branching > 0 and grid.counts.continuations > 0
    for rows in grid.cells.rows[: grid.cells.size]:
        points, values = grid.corners.points[rows], grid.corners.data[rows, 0, 0]
        for to, value in zip(points, values, strict=True):
            x = values[0]
            for u in np.linspace(points[0], to, 100):
                found = stable(u)
                x = found[np.abs(found - x).argmin()]
            assert value == pytest.approx(x, abs=1e-8)


def test_without_continuation_cells_would_mix_branches(monkeypatch):
    """Cells that are taken as they come: the test above can fail."""
    from sofa_softctl.surrogate.grid.branches import Branches

    monkeypatch.setattr(Branches, "is_one_branch", lambda self, rows, edges: True)
    with pytest.raises(AssertionError):
        test_every_cell_is_on_one_branch()


def test_a_cell_in_which_a_branch_ends_is_refused_and_the_adaptive_grid_splits_it():
    """Left of u0 = 0 at u1 = 0.1 the branch from the right ends within 0.02 of u0 = -0.01.

    The uniform grid refuses the whole cell, -0.15 to 0.1: its points are answered by the map. The
    adaptive one refuses only cells of a sixteenth of its width there.
    """
    points = np.stack((np.linspace(-0.14, 0.09, 24), np.full(24, 0.1)), axis=1)
    assert made().at(points).exact.all()
    grid = AdaptiveGrid(cusp, 2 * [SPACING], 1e-2, origin=[0.1, 0.0], level=4)
    by_map = grid.at(points).exact
    assert 0 < by_map.sum() <= 6
    assert np.abs(points[by_map, 0]).max() < 0.05


def test_all_answers_at_a_corner_come_back_from_the_store(tmp_path):
    with Store(tmp_path / "corners", "cusp") as store:
        first = made(store=store)
        first.at(swept()[:400])
        told = store.info()
    assert told.branching == first.counts.branching > 0
    with Store(tmp_path / "corners", "cusp") as store:
        second = made(store=store)
        found, known = second.at(swept()[:400]), first.at(swept()[:400])
    np.testing.assert_array_equal(found.exact, known.exact)
    np.testing.assert_array_equal(found.value[~found.exact], known.value[~known.exact])
    assert second.counts.branching == first.counts.branching
    assert second.counts.exact == {}
