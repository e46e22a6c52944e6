"""Success rates over fixed lists of runs: rows, resuming, and what counts."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from benchmarks.success_rates import study as robust
from benchmarks.success_rates import table as robust_tables
from benchmarks.success_rates.cases import ROBOTS, Case, cases_of
from benchmarks.success_rates.run import COLUMNS, run_case
from benchmarks.success_rates.run_measures import RunMeasures
from benchmarks.success_rates.study import measure_robust
from sofa_softctl.base.executors.workers import workers
from sofa_softctl.errors import SoftctlError
from sofa_softctl.scene.session.session import Session
from tests.support.benchmark_commands import app_of

pytestmark = pytest.mark.study

SCENES = Path(__file__).parents[3] / "scenes"
FINGERS = Case("fingers", {}, 0, 43)
"""The tips take hold of the beam for 0.4 s, then the goals move."""


def row_of(case, **values):
    """A row as the file has it."""
    found = dict.fromkeys(COLUMNS, "")
    found |= dict(zip(("robot", "parameters", "seed"), case.key, strict=True))
    return found | {name: str(value) for name, value in values.items()}


def write(path, rows):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def test_a_run_is_a_row_with_errors_solves_and_times():
    row = run_case(SCENES / "three_fingers.py", FINGERS)
    assert set(row) == set(COLUMNS) - {"error"}
    assert row["steps"] == 43
    assert row["SOLVED"] + row["CLOSEST_FEASIBLE"] + row["HELD"] == 43
    assert 0.0 < row["position end"] <= row["position worst"]
    assert 0.0 < row["angle mean"] <= row["angle worst"] < 20.0
    assert row["qp median"] <= row["qp p99"] <= row["qp p99.9"] <= row["qp worst"]
    assert row["step median"] > 0.0 and row["qp median"] > 0.0  # by two clocks
    assert float(row["qp slowest"].split()[0]) == pytest.approx(row["qp worst"], rel=1e-3)
    assert row["lost"] == 0 and row["contacts"] > 1.0


def test_a_run_that_fails_is_a_row_with_its_error():
    row = run_case(SCENES / "three_fingers.py", Case("fingers", {"bent": 3.0}))
    assert row["reached"] == "no" and row["why"] == "the run failed"
    assert row["error"].startswith("ParameterError: The scene takes no parameter 'bent'")


def test_what_is_in_the_file_is_not_run_again(tmp_path, monkeypatch):
    """The second row was cut off by a kill: it is run, the first is not."""
    cases = [Case("ring", {"start": start}) for start in (0.0, 2.5)]
    path, ran = tmp_path / "robust.csv", []
    write(path, [row_of(case, reached="yes", steps=10) for case in cases])
    path.write_text(path.read_text()[:-9])

    def run(scene, case):
        ran.append(case)
        return row_of(case, reached="no", why="position end 5 above 2", steps=10)

    monkeypatch.setattr(robust, "run_case", run)
    done = []
    [found] = measure_robust(path, SCENES, cases, done.append)
    assert ran == cases[1:] and done == [1, 2]
    assert (found.runs, found.reached) == (2, 1)
    assert found.failures == [('{"start": 2.5}', "0", "position end 5 above 2")]
    measure_robust(path, SCENES, cases)
    assert len(ran) == 1


def test_another_file_is_left_alone(tmp_path):
    path = tmp_path / "notes.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(SoftctlError, match="notes.csv' is not a file of this benchmark"):
        measure_robust(path, SCENES, [FINGERS])
    assert path.read_text() == "a,b\n1,2\n"


def test_processes_give_the_rows_that_one_alone_gives(tmp_path):
    """All but times."""
    cases = [Case("fingers", {"friction": 0.5}, 1, 43)]
    with workers(1) as executor:
        [found] = measure_robust(tmp_path / "a.csv", SCENES, cases, executor=executor)
    [alone] = measure_robust(tmp_path / "b.csv", SCENES, cases)
    assert found.median == alone.median and found.steps == alone.steps
    assert not np.isnan(found.median["point end"]) and found.runs == 1


def test_the_slowest_thousandth_is_of_all_steps_together(tmp_path, capsys):
    """Of 4,000 steps the fifth slowest is the first that 0.1 % exceed."""
    cases = [Case("cup", {}, seed) for seed in (0, 1)]
    times = "9 8 7 6", "10 5 4 3"
    rows = [
        row_of(case, steps=2000, reached="yes", lost=0, **{"qp slowest": slowest, "qp worst": 9})
        for case, slowest in zip(cases, times, strict=True)
    ]
    write(tmp_path / "robust.csv", rows)
    [found] = measure_robust(tmp_path / "robust.csv", SCENES, cases)
    assert found.qp_p999 == 6.0
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["median"]["angle end"] is None
    robust_tables.show_robust([found])
    shown = capsys.readouterr().out
    assert "2 (100%)" in shown and "the paper's means" in shown


def test_there_are_as_many_runs_as_start_angles_frictions_goals_and_shapes():
    """18 angles, 3 frictions, 2 directions; 6 goals of 10 shapes; 6 frictions, 3 ways.
    No run twice."""
    counts = {name: len(cases_of([name])) for name in ROBOTS}
    assert (counts["ring"], counts["ball"], counts["pushing"]) == (108, 60, 18)
    every = cases_of()
    assert len({case.key for case in every}) == len(every) == sum(counts.values())
    assert len(cases_of(sample=2)) == 2 * len(ROBOTS)
    with pytest.raises(SoftctlError, match=r"no robot 'wheel' to measure; there are ring, ball"):
        cases_of(["wheel"])


def test_a_body_that_leaves_all_contacts_is_lost():
    """The ball touches the ground; half a second after a kick upwards it does not."""
    run = RunMeasures(Session(SCENES / "rolling_ball.py"), (0,))
    for _ in range(20):
        run.step()
    assert not run.lost
    state = run.session.root.ball.dofs
    state.velocity.value = state.velocity.value + [0.0, 3000.0, 0.0]
    for _ in range(10):
        run.step()
    assert run.lost
    assert np.isnan(RunMeasures(run.session, (0,), begin=1.0).errors()["position end"])


def command(*arguments):
    """Exit code and output of `python -m benchmarks.success_rates`."""
    done = CliRunner().invoke(app_of("success_rates"), ["--scenes", str(SCENES), *arguments])
    return done.exit_code, done.output


def test_the_command_writes_rows_and_says_json(tmp_path):
    out = tmp_path / "robust.csv"
    options = ["--only", "fingers", "--sample", "1", "--steps", "3", "--out", str(out)]
    code, said = command(*options, "--json")
    assert code == 0
    [found] = json.loads(said)
    assert (found["robot"], found["runs"], found["reached"]) == ("fingers", 1, 0)
    assert found["failures"] == [['{"steps": 3}', "0", "point end was not measured"]]
    before = out.read_text()
    code, said = command(*options)
    assert code == 0 and "failed: fingers" in said
    assert command(*options, "--quiet") == (0, "")
    assert out.read_text() == before
