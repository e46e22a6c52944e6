"""Files of results, and what changes from one to another."""

import json
from dataclasses import replace

import pytest

from sofa_softctl.bench.results import (
    Results,
    changes,
    describe_machine,
    lost_cases,
    machine_differences,
    new_cases,
    read_results,
    save_results,
)
from sofa_softctl.bench.speed import CaseResult, Timing
from sofa_softctl.errors import SoftctlError

TIMING = Timing("embedded", 10, 2.0, 3.0, 4.0, {"free motion": 1.0}, 50.0)
MACHINE = {"cpu": "a", "gemm_gflops": 30.0, "versions": {"numba": "0.60", "scipy": "1.15"}}


def results(ms, sofa_ms=None, **machine):
    sofa = None if sofa_ms is None else replace(TIMING, ms_median=sofa_ms)
    speed = CaseResult("finger", "scenes", 0, 1332, 4, replace(TIMING, ms_median=ms), sofa)
    return Results(MACHINE | machine, [speed, CaseResult("broken", "scenes", 0, note="no mesh")])


def test_results_are_read_as_they_were_written(tmp_path):
    path = tmp_path / "r.json"
    save_results(path, results(2.0, 8.0))
    assert read_results(path) == results(2.0, 8.0)
    assert json.loads(path.read_text())["cases"][0]["name"] == "finger"


def test_the_machine_is_described_for_json():
    machine = json.loads(json.dumps(describe_machine()))
    assert machine["cores"] >= 1 and machine["versions"]["numba"] and machine["cpu"]
    assert machine["gemm_gflops_one_core"] > 0.0


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": "softctl bench 0"}'])
def test_another_file_is_refused(tmp_path, text):
    path = tmp_path / "r.json"
    path.write_text(text)
    with pytest.raises(SoftctlError, match="does not hold results of a benchmark"):
        read_results(path)


def test_a_file_with_other_fields_says_so(tmp_path):
    path = tmp_path / "r.json"
    save_results(path, results(2.0))
    path.write_text(path.read_text().replace("ms_p99", "ms_p98"))
    with pytest.raises(SoftctlError, match="by another version of softctl bench, or is damaged"):
        read_results(path)
    with pytest.raises(SoftctlError, match="Cannot read .*: No such file"):
        read_results(tmp_path / "none.json")


def test_a_change_is_a_ratio_beside_sofas_where_both_ran_it():
    (change,) = changes(results(2.0, 8.0), results(3.0, 12.0))
    assert (change.name, change.ratio, change.ratio_beside_sofa) == ("finger", 1.5, 1.0)
    (change,) = changes(results(2.0), results(3.0, 12.0))
    assert change.ratio_beside_sofa is None
    with pytest.raises(SoftctlError, match="first has finger, broken, the second no case"):
        changes(results(2.0), Results(MACHINE, []))


def test_other_machines_and_versions_are_named():
    old = results(2.0)
    assert machine_differences(old, results(2.0, gemm_gflops=33.0)) == []
    new = results(2.0, cpu="b", gemm_gflops=60.0, versions={"numba": "0.61", "scipy": "1.15"})
    assert machine_differences(old, new) == [
        "cpu: a, now b",
        "gemm_gflops: 30.0, now 60.0",
        "numba: 0.60, now 0.61",
    ]


def test_a_case_that_is_lost_or_new_is_named():
    old, new = results(2.0), results(3.0)
    cases = [replace(new.speeds[0], embedded=None, note="no solver"), new.speeds[0]]
    new = Results(MACHINE, [cases[0], replace(cases[1], name="trunk")])
    assert lost_cases(old, new) == ["finger failed: no solver"]
    assert lost_cases(old, Results(MACHINE, [])) == ["finger is not in the second file"]
    assert new_cases(old, new) == ["trunk"]
    assert lost_cases(old, old) == [] == new_cases(old, old)


@pytest.mark.parametrize(
    ("ms", "twice", "reason"),
    [("abc", 1, "has the times"), (0.0, 1, "has the times"), (2.0, 2, "two cases are called")],
)
def test_a_file_with_wrong_numbers_or_names_is_refused(tmp_path, ms, twice, reason):
    path = tmp_path / "r.json"
    good = results(2.0)
    save_results(path, Results(MACHINE, [results(ms).speeds[0]] * twice + good.speeds[1:]))
    with pytest.raises(SoftctlError, match=reason):
        read_results(path)
