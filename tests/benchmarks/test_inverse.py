from pathlib import Path

import numpy as np
import pytest

from benchmarks.inverse.measure import TABLE_2, compare_strategies, measure_row
from benchmarks.inverse.tables import show_table_2
from benchmarks.planning.cases import Case
from benchmarks.planning.measure import PaperRow, measure_planning
from benchmarks.planning.tables import show_planning
from benchmarks.success_rates.cases import ROBOTS
from tests.support.random_contact_problems import random_problem

pytestmark = pytest.mark.study

SCENES = Path(__file__).parents[2] / "scenes"


@pytest.fixture(scope="module")
def ring():
    """The ring's line of the table, measured over 20 steps."""
    return measure_row(SCENES, TABLE_2[0], 20)


def test_a_line_of_the_papers_table_is_filled_in(ring):
    """The ring stands on the ground: three variables a contact, every law obeyed, times counted."""
    assert ring.contacts >= 3.0
    assert ring.dofs == 2160 + 12  # and the four corners of the ground
    assert ring.law_error < 1e-6
    assert 0.0 < ring.qp_median <= ring.qp_p99 <= ring.qp_worst
    assert 0.0 < ring.qp_median < ring.ms_step and ring.ms_w > 0.0
    assert ring.mode == "coulomb" and ring.steps == 20
    assert len(ring.problems) == 2
    assert ring.to_dict()["paper"]["ms_w"] == 7.91


def test_every_scene_of_the_table_exists():
    assert all((SCENES / ROBOTS[row.robot].scene).is_file() for row in TABLE_2)


def test_strategies_are_compared_and_shown(ring, capsys):
    """Exact is never beaten for the same law; what pivoting finds is as good or worse."""
    rng = np.random.default_rng(0)
    problems = [*ring.problems, *(random_problem(rng, n_c=2) for _ in range(4))]
    found = compare_strategies(problems)
    assert all(entry["count"] >= 5 for entry in found.values())
    assert found["exact, 300 nodes"]["largest"] <= 1e-3
    assert compare_strategies([]) == {}
    show_table_2([ring], found)
    shown = capsys.readouterr().out
    assert "Table II" in shown and "coulomb" in shown and "pivoting" in shown


def test_the_table_on_planning_is_filled_in():
    """A short plan of a coarse arm: fewer equilibria on grids, and all plans are the same."""
    found = measure_planning(SCENES, instants=8, case=Case("coarse", nodes=(3, 3, 9)))
    assert found.dofs == 3 * 81
    for grid in found.grids.values():
        assert grid.evaluations < found.evaluations_from_rest
        assert grid.error < 7e-6 and grid.apart < 1e-3
        assert 0.0 < grid.g < found.g
    show_planning([found], PaperRow())
    assert found.to_dict()["paper"]["evaluations"] == 4800
