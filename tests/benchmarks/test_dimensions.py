"""The study of many lines: equilibria, errors and their estimates on both kinds of grids."""

from pathlib import Path

import pytest

from benchmarks.dimensions import measure_dimensions, show_dimensions
from benchmarks.planning.cases import CASES

pytestmark = pytest.mark.study

SCENES = Path(__file__).parents[2] / "scenes"


@pytest.fixture(scope="module")
def rows():
    """Four lines, few instants, one case."""
    told = []
    found = measure_dimensions(SCENES, told.append, lines=(4,), cases=CASES[:1], instants=16)
    assert told == ["4 lines, as it is, cells", "4 lines, as it is, sparse"]
    return dict(zip(("cells", "sparse"), found, strict=True))


def test_a_third_of_the_equilibria_are_as_exact(rows):
    """A tenth with six lines; with 200 instants a twentieth to a seventieth."""
    cells, sparse = rows["cells"], rows["sparse"]
    assert cells.status == sparse.status == "SOLVED"
    assert sparse.amplitude == pytest.approx(cells.amplitude, rel=1e-3)
    assert sparse.equilibria < 0.33 * cells.equilibria
    assert sparse.error <= cells.error
    assert sparse.megabytes < 0.33 * cells.megabytes


def test_costs_are_known_before_and_the_sparse_estimate_holds_at_nine_of_ten_points(rows):
    assert rows["sparse"].below >= 0.9
    for row in rows.values():
        assert 0.5 < row.expected / row.equilibria < 2.0


def test_the_table_has_a_line_for_each_grid(rows, capsys):
    show_dimensions(rows.values())
    shown = capsys.readouterr().out
    assert "4, cells" in shown and "4, sparse" in shown
