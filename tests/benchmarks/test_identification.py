"""The studies of identification: resumable, and shown."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.intervals import measure as coverage
from benchmarks.intervals.measure import measure_coverage
from benchmarks.intervals.table import show_coverage
from benchmarks.loop.measure import measure_identification
from benchmarks.loop.plot import save_study_plot
from benchmarks.loop.table import show_study
from sofa_softctl.base.executors.local import LocalExecutor
from sofa_softctl.errors import SoftctlError
from sofa_softctl.identification.uncertainty.discretisation import DiscretisationBudget

pytestmark = pytest.mark.study

PROBLEM = str(Path(__file__).parents[1] / "identification" / "lag_problem.py")


def test_a_study_that_was_killed_goes_on_where_it_was(tmp_path):
    whole, cut = tmp_path / "whole.csv", tmp_path / "cut.csv"
    first = measure_coverage(whole, repetitions=3)
    text = whole.read_text()
    cut.write_text(text[: int(0.7 * len(text))])
    counts = []
    again = measure_coverage(cut, counts.append, repetitions=3)
    assert cut.read_text() == text
    assert 0 < len(counts) < 6
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one.found, other.found)
        assert one.found.shape == (3, 3)
        np.testing.assert_allclose(one.found, one.truth * np.ones((3, 1)), rtol=0.2)


def test_worker_processes_write_the_same_rows(tmp_path):
    one, both = tmp_path / "one.csv", tmp_path / "both.csv"
    measure_coverage(one, repetitions=2)
    counts = []
    with LocalExecutor(2) as executor:
        measure_coverage(both, counts.append, repetitions=2, executor=executor)
    assert sorted(both.read_text().splitlines()) == sorted(one.read_text().splitlines())
    assert counts == [1, 2, 3, 4]


def test_another_file_is_left_alone(tmp_path):
    other = tmp_path / "notes.csv"
    other.write_text("a,b\n1,2\n")
    with pytest.raises(SoftctlError, match="is not a file of this benchmark"):
        measure_coverage(other, repetitions=1)
    assert other.read_text() == "a,b\n1,2\n"


def test_noise_of_inputs_widens_intervals(tmp_path):
    outputs, inputs = measure_coverage(tmp_path / "both.csv", repetitions=2)
    assert (
        (inputs.high - inputs.low).mean(axis=0) > (outputs.high - outputs.low).mean(axis=0)
    ).all()


def test_the_command_shows_how_often_intervals_hold(run_benchmark, tmp_path):
    words = ("intervals", "--out", tmp_path / "few.csv", "--repetitions", 2)
    _, out, _ = run_benchmark(*words)
    assert "inputs too" in out and "2 estimates each" in " ".join(out.split())
    _, out, _ = run_benchmark(*words, "--case", "arm")
    assert "payload" in out and "stiffness" in out
    status, _, err = run_benchmark(*words, "--case", "legs")
    assert status == 1 and "There is no case 'legs'" in err


def test_starts_and_noise_are_other_ones_each_time(tmp_path):
    measure_coverage(tmp_path / "some.csv", cases=("inputs too",), repetitions=3)
    with (tmp_path / "some.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for what in ("start", "found", "low"):
        assert len({row[f"stiffness {what}"] for row in rows}) == 3
    assert {row["status"] for row in rows} == {"SOLVED"} and not rows[0]["payload low"]


def test_the_papers_experiment_is_repeated_and_shown(tmp_path, capsys, drawn, check_readable):
    """The small model on the first 2 s, in which the loop is stretched and pressed; twice."""
    study = measure_identification(seeds=2, links=(6,), duration=2.0, iterations=8)
    (fit,) = study.fits
    assert fit.coordinates == 19
    assert fit.descent.iterates[-1].cost < 0.9 * fit.descent.iterates[0].cost
    assert fit.newton.cost <= fit.descent.iterates[-1].cost * (1.0 + 1e-3)
    assert study.recovered < 1e-6
    assert np.isfinite(study.adjoint_ratio)
    show_study(study)
    told = capsys.readouterr().out
    assert "A loop of 6 links" in told and "unknown" in told
    assert "Least to largest of 2 recordings" in told
    for fits in study.recordings:
        assert f"{fits[0].unknown.found.rho[0]:.3f}" in told
    assert fit.unknown.found.status.ok and not np.any(fit.unknown.trust.input_covariance)
    save_study_plot(tmp_path / "loop.png", study)
    check_readable(drawn[0])
    assert (tmp_path / "loop.png").stat().st_size > 10_000


def test_intervals_are_widened_by_the_error_of_the_discretisation(tmp_path):
    """Steps of 10 ms make a stiff spring 6 % too stiff, which noise alone does not allow."""
    (found,) = measure_coverage(tmp_path / "steps.csv", cases=("step of 10 ms",), repetitions=4)
    k2 = found.names.index("k2")
    assert found.held[k2] == 0.0 and found.held_widened[k2] == 1.0
    assert (found.wide_low <= found.low).all() and (found.wide_high >= found.high).all()
    assert found.to_dict()["half_width_widened"]["k2"] < 6.0 * found.to_dict()["half_width"]["k2"]
    (plain,) = measure_coverage(tmp_path / "steps.csv", cases=("outputs",), repetitions=2)
    assert np.isnan(plain.held_widened).all() and "held_widened" not in plain.to_dict()


def test_where_the_finer_model_cannot_be_fitted_widened_intervals_do_not_hold(
    tmp_path, capsys, monkeypatch
):
    """The study goes on."""
    real, calls = coverage.discretisation_budget, []

    def sometimes(found, *_, **__):
        calls.append(found)
        if len(calls) == 1:
            return DiscretisationBudget(found.names, (), ("The finer model has no solution.",))
        return real(found, *_, **__)

    monkeypatch.setattr(coverage, "discretisation_budget", sometimes)
    found = measure_coverage(tmp_path / "steps.csv", cases=("step of 10 ms",), repetitions=2)
    assert found[0].held_widened[found[0].names.index("k2")] == 0.5
    assert found[0].to_dict()["widened"] == 1
    assert np.isfinite(list(found[0].to_dict()["half_width_widened"].values())).all()
    show_coverage(found)
    assert "of 1 the error of the discretisation was not found" in capsys.readouterr().out


def test_intervals_of_a_problem_of_ones_own(run_benchmark, tmp_path):
    """It simulates its data along a planned motion, with the noise that it declares."""
    time = np.arange(101) * 0.02
    rows = [f"{t},{drive},0.0" for t, drive in zip(time, np.sin(3.0 * time), strict=True)]
    (tmp_path / "motion.csv").write_text("\n".join(["time [s], drive [V], tip [mm]", *rows]))
    words = ("intervals", "--out", tmp_path / "own.csv", "--json", "--problem", PROBLEM)
    words += ("--data", tmp_path / "motion.csv", "--repetitions", 5)
    status, out, err = run_benchmark(*words, "--true", "tau=0.3")
    assert status == 0, err
    (row,) = json.loads(out)
    assert row["truth"] == {"tau": 0.3, "gain": 1.0} and row["solved"] == 5
    assert row["mean"]["tau"] == pytest.approx(0.3, rel=0.02)
    _, _, err = run_benchmark(*words, "--generator", "mesh")
    assert "has no finer model 'mesh'. It has: none" in err
