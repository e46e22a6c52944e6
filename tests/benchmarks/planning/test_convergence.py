"""Plans on finer grids come to the plan with the exact map, at the order of their map."""

import json
from pathlib import Path

import pytest

from benchmarks.planning.convergence import measure_convergence, observed_order
from benchmarks.planning.tables import show_convergence

pytestmark = pytest.mark.study

SCENES = Path(__file__).parents[3] / "scenes"


@pytest.fixture(scope="module")
def rows():
    return measure_convergence(SCENES, instants=20)


def test_plans_come_to_that_of_the_exact_map(rows):
    """Lemma IV.1: each halving of the spacing brings tensions, coordinates and reward closer, to
    the precision of the optimiser in the end; and few equilibria are solved for it."""
    *grids, exact = rows
    assert [row.spacing for row in grids] == [0.5, 0.25, 0.125, 0.0625]
    assert exact.level is None and exact.equilibria > 3 * grids[-1].equilibria
    for coarse, fine in zip(grids, grids[1:], strict=False):
        for name in ("tension", "coordinate", "reward"):
            assert getattr(fine, name) < 0.6 * getattr(coarse, name)
    assert grids[-1].tension < 1e-6 and grids[-1].reward < 1e-6


def test_the_order_is_that_of_the_splines(rows):
    """Cubic splines: values to the fourth order; slopes, which the equations of motion have, to the
    third, and the plan's tensions are to come between. A tenth for the next term of the map; half
    an order for plans, which cross other cells on each level."""
    assert observed_order(rows, "map") == pytest.approx(4.0, abs=0.1)
    assert 2.5 < observed_order(rows, "tension") < 4.5
    assert 2.5 < observed_order(rows, "coordinate") < 4.5


def test_rows_are_written_and_shown(rows, capsys):
    told = json.loads(json.dumps([row.to_dict() for row in rows]))
    assert [row["level"] for row in told] == [0, 1, 2, 3, None]
    show_convergence(rows)
    shown = capsys.readouterr().out
    assert "exact" in shown and "0.125" in shown and "order" in shown
