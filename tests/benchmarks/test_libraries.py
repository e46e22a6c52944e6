"""The paper's method as the paper has it, and what the table's numbers are."""

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from typer.testing import CliRunner

pytest.importorskip("casadi", reason="needs the extra [library]")

from benchmarks.libraries import measure as library_table
from benchmarks.libraries.measure import PAPER, LibraryRow, _row, measure_library
from benchmarks.libraries.paper_method import answer_blind, build_as_paper
from sofa_softctl.cli import app as _commands  # noqa: F401
from sofa_softctl.library.building.solving import solve
from sofa_softctl.library.building.verify import FreshTasks
from sofa_softctl.library.motions.library import TrajectoryLibrary
from sofa_softctl.library.ocp.problem import OptimalControlProblem, Parameter, Variable
from sofa_softctl.library.ocp.shooting import Program
from tests.support.benchmark_commands import app_of

pytestmark = pytest.mark.study

DISTANCE, SPEED = 0.3, 0.0


def cart(force=3.0):
    """Over a distance in a second, from a first speed to rest; linear, so that one motion answers
    all tasks that have one: up to 0.75 m from rest with 3 N."""
    return OptimalControlProblem(
        name="cart",
        states=[Variable("x [m]"), Variable("dx [m/s]")],
        inputs=[Variable("force [N]", -force, force)],
        parameters=[Parameter("distance [m]", -1.0, 1.0), Parameter("speed [m/s]", -0.3, 0.3)],
        dynamics=lambda x, u, z, p: [x[1], u[0]],
        initial=lambda z, p: [0.0, p[1]],
        terminal=lambda x, z, p: [x[0] - p[0], x[1]],
        cost=lambda x, u, z, p: u[0] ** 2,
        error=lambda x, z, p: abs(x[0] - p[0]),
        tolerance=1e-3,
        terminal_tolerances=[1e-3, 1e-3],
        error_unit="m",
        horizon=1.0,
        intervals=6,
        steps=1,
    )


@pytest.fixture(scope="module")
def program():
    return Program(cart())


def test_algorithm_1_ends_after_so_many_tasks_in_a_row(program):
    """One motion answers all others; tasks that IPOPT finds no motion for are skipped."""
    built = build_as_paper(program, successes=15, seed=3)
    assert len(built.library) == 1 and built.skipped > 0
    assert built.plannings == built.skipped + 1 + 15
    tasks = FreshTasks(program.problem, 1_000_003)
    drawn = [tasks.draw() for _ in range(built.plannings)]
    assert sum(not program.solve(p).status.ok for p in drawn) == built.skipped


def test_algorithm_1_adds_a_motion_where_the_error_is_too_large_and_counts_anew():
    """Of an error that is too large for all ways back, whatever the motion: about half the tasks,
    so that three in a row are known after some."""
    program = Program(
        replace(cart(force=100.0), tolerance=0.0, error=lambda x, z, p: abs(p[0]) - p[0])
    )
    built = build_as_paper(program, successes=3, seed=4)
    tasks, known = FreshTasks(program.problem, 1_000_004), []
    while known[-3:] != 3 * [True]:
        known.append(bool(tasks.draw()[0] >= 0.0 and known))  # the library is empty at first
    assert built.plannings == len(known) > 8 and built.skipped == 0
    assert len(built.library) == known.count(False)


def test_blind_answers_are_executed_as_they_are():
    """A motion without sensitivities is played as it is, from another first speed."""
    program = Program(cart(force=100.0))
    entry = solve(program, np.array([DISTANCE, SPEED])).entry
    spoilt = replace(entry, v_p=0.0 * entry.v_p, mu_p=0.0 * entry.mu_p)
    library = TrajectoryLibrary(program.model, [spoilt])
    found = answer_blind(library, program, 5, seed=2)
    fresh = FreshTasks(program.problem, 2)
    p = np.array([fresh.draw() for _ in range(5)])
    missed = np.abs(DISTANCE + p[:, 1] - SPEED - p[:, 0])
    np.testing.assert_allclose(found.errors, missed, atol=1e-9)
    np.testing.assert_allclose(found.unrefined, missed, atol=1e-9)
    np.testing.assert_allclose(found.costs, entry.cost, rtol=1e-9)
    np.testing.assert_allclose(found.optimal, [program.solve(each).cost for each in p], rtol=1e-9)
    assert found.linear.all() and found.infeasible == 0


def test_tasks_without_a_motion_are_no_error_of_the_method(program):
    library = TrajectoryLibrary(program.model, [solve(program, np.array([0.62, 0.0])).entry])
    found = answer_blind(library, program, 12, seed=2, compared=3)
    assert found.infeasible > 0 and found.errors.max() < 1e-5
    assert np.isfinite(found.optimal).sum() == 3  # the others were right without asking
    np.testing.assert_allclose(found.costs[:3], found.optimal[:3], rtol=1e-4)
    assert found.unrefined.max() > 0.1


def test_numbers_of_a_row_are_those_of_its_errors_and_times():
    seconds = np.array([*99 * [1.0], 3.0, np.nan])
    row = _row(
        errors=np.array([1.0, 2.0, 4.0, 1.0]),
        tolerance=3.0,
        nearest=np.array([5.0, 7.0]),
        seconds=seconds,
        loss=0.5,
    )
    assert (row.mean, row.largest, row.above) == (2.0, 4.0, 0.25)
    assert (row.nearest_mean, row.nearest_largest, row.loss) == (6.0, 7.0, 0.5)
    assert (row.median, row.p90) == (1.0, 1.0) and 1.0 < row.p99 < 3.0
    none = _row(errors=np.array([]), tolerance=3.0, nearest=np.array([5.0]), seconds=seconds)
    assert np.isnan([none.mean, none.largest, none.above]).all()


@pytest.fixture(scope="module")
def measured():
    said = []
    small = partial(measure_library, make=cart, compiled=False, successes=8)
    return small(said.append, seeds=2, tasks=8, building={"failure_rate": 0.6}), said


def test_all_ways_of_planning_are_measured_on_fresh_tasks(measured):
    found, said = measured
    assert [each.seed for each in found.measured] == [0, 1] and len(said) == 2
    assert (found.tasks, found.compared, found.tolerance) == (8, 8, 1e-3)
    for each in found.measured:
        method, ours, cold, warm = (each.rows[w] for w in ("method", "ours", "cold", "warm"))
        assert method.motions == 1.0 and method.plannings >= 9.0
        assert method.executed == 1.0 and 0.5 < ours.executed <= 1.0
        for row in (method, ours):  # the cart is linear: answers are the optima
            assert row.above == 0.0
            assert row.largest < 1e-4 < row.nearest_mean < row.nearest_largest
            assert abs(row.loss) < 1e-3
        assert cold.executed == 1.0 and np.isnan(cold.mean)
        times = {way: np.nanmedian(each.seconds[way]) for way in each.rows}
        rows = {way: row.median for way, row in each.rows.items()}
        assert rows == pytest.approx(times)
        assert warm.median > 0.0 and len(each.errors["method"]) == 8


def test_the_range_is_over_the_seeds(measured):
    found, _ = measured
    rows = [LibraryRow(motions=3.0), LibraryRow(motions=5.0)]
    seeds = [
        replace(each, rows=each.rows | {"ours": row})
        for each, row in zip(found.measured, rows, strict=True)
    ]
    changed = replace(found, measured=seeds[::-1])
    assert changed.range("ours", "motions") == (3.0, 5.0)
    assert [each["ours"]["motions"] for each in changed.to_dict()["seeds"]] == [5.0, 3.0]


def test_the_command_shows_each_number_in_its_column(measured, monkeypatch, tmp_path):
    found, _ = measured
    seeds = [
        replace(each, rows=each.rows | {"ours": replace(each.rows["ours"], motions=41.0 + k)})
        for k, each in enumerate(found.measured)
    ]
    asked = []

    def measure(progress, **given):
        asked.append(given)
        return replace(found, measured=seeds)

    monkeypatch.setattr(library_table, "measure_library", measure)
    monkeypatch.setenv("COLUMNS", "170")
    plot = tmp_path / "libraries.png"
    words = ["--seeds", "2", "--tasks", "8"]
    told = CliRunner().invoke(app_of("libraries"), [*words, "--plot", str(plot)])
    assert told.exit_code == 0, told.output
    assert (asked[0]["seeds"], asked[0]["tasks"]) == (2, 8) and asked[0]["executor"] is None
    (line,) = (each for each in told.output.splitlines() if each.startswith("│ motions"))
    cells = [each.strip() for each in line.split("│")[2:5]]
    assert cells == [f"{PAPER.motions:.0f}", "1", "41 to 42"]
    assert "least to largest of 2 seeds" in told.output and plot.stat().st_size > 10_000
    told = CliRunner().invoke(app_of("libraries"), [*words, "--json", "--quiet"])
    data = json.loads(told.stdout)
    assert [each["ours"]["motions"] for each in data["seeds"]] == [41.0, 42.0]
    assert data["seeds"][0]["cold"]["mean"] is None


def test_the_plot_is_readable(measured, tmp_path, drawn, check_readable):
    from benchmarks.libraries.plot import save_library_table_plot

    save_library_table_plot(tmp_path / "libraries.png", measured[0])
    check_readable(drawn[0])
