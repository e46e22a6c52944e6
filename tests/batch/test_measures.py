"""Measures of a summary, and the measure that says whether a run succeeded."""

import re
from types import SimpleNamespace

import pytest

from sofa_softctl.batch.study.file import read_study
from sofa_softctl.batch.study.measures import check_measures, evaluate_measures
from sofa_softctl.batch.table.folder import StudyFolder
from sofa_softctl.errors import StudyError
from sofa_softctl.view.terminal.batch import show_results
from tests.batch.studies import GRID, done, written

SUMMARY = {
    "steps": 3,
    "time": 0.03,
    "verdict": None,
    "controllers": {
        "/inverse": {
            "statuses": {"SOLVED": 3},
            "goal": {"reasons": [], "reached": [True, False]},
        }
    },
}


def measure(path):
    summary = SimpleNamespace(to_dict=lambda: SUMMARY)
    check_measures({"found": path}, summary)
    return evaluate_measures({"found": path}, {"summary": summary})["found"]


def test_what_never_happened_is_counted_as_0_and_an_empty_list_is_no_value():
    assert measure("inverse.statuses.SOLVED") == 3
    assert measure("inverse.statuses.HELD") == 0
    assert measure("inverse.goal.reasons") is None
    assert measure("inverse.goal.reached") == [True, False]
    with pytest.raises(StudyError, match="has no 'inverse.goal.reason'. Did you mean"):
        measure("inverse.goal.reason")


TALL = """

def tall(session):
    return bool(height(session) > LIMIT)
"""


def tall(folder, limit, text=GRID):
    """The study of the bar, whose runs succeed where the bar is above a limit."""
    path = written(folder, 'success = "tall"\n' + text + 'tall = "bar.py:tall"\n')
    (folder / "bar.py").write_text(f"LIMIT = {limit}\n" + (folder / "bar.py").read_text() + TALL)
    return path


def test_a_measure_says_whether_runs_succeeded(tmp_path, workers):
    path = tall(tmp_path, 0.0)
    heights = sorted(done(path, workers, "first.study").numbers("height"))
    other = tmp_path / "other"
    other.mkdir()
    path = tall(other, heights[4])
    found = done(path, workers, "second.study")
    assert found.rows["verdict"].to_pylist() == [
        "REACHED" if height > heights[4] else "NOT_REACHED" for height in found.numbers("height")
    ]
    assert found.failed.sum() == 5 and found.counts() == {"REACHED": 4, "NOT_REACHED": 5}


def test_a_run_with_inverted_elements_is_no_success(tmp_path, workers):
    """Whatever the measure says; the reason is in the row."""
    path = tall(tmp_path, -1e3)
    text = path.read_text().replace(
        "[parameters.young]", '[parameters.trouble]\nvalues = ["", "fold"]\n[parameters.young]'
    )
    path.write_text(
        text.replace("count = 3", "count = 2").replace("[[0.0], [2.0], [4.0]]", "[[0.0]]")
    )
    found = done(path, workers)
    assert found.counts() == {"REACHED": 2, "NOT_REACHED": 2}
    reasons = [reason or "" for reason in found.rows["reason"].to_pylist()]
    assert ["inside out" in reason for reason in reasons] == [
        trouble == "fold" for trouble in found.rows["trouble"].to_pylist()
    ]


def test_rows_by_another_criterion_are_not_mixed(tmp_path, workers):
    path = tall(tmp_path, 0.0)
    done(path, workers)
    study = path.read_text().replace('success = "tall"\n', "")
    path.write_text(study)
    with StudyFolder(tmp_path / "bar.study", read_study(path)) as folder:
        assert folder.changes() == ["the study has another measure of success now"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return {'good': 1.0}", "Expected true or false, got 1.0"),
        ("return {'god': True}", "no measure 'good'.* Did you mean 'god'"),
    ],
)
def test_a_function_without_the_measure_of_success_fails(tmp_path, workers, body, said):
    (tmp_path / "f.py").write_text(f"def f(x):\n    {body}\n")
    path = tmp_path / "f.toml"
    path.write_text('function = "f.py:f"\nsuccess = "good"\nparameters.x.values = [1]\n')
    found = done(path, workers)
    assert found.counts() == {"FAILED": 1}
    (reason,) = found.rows["reason"].to_pylist()
    assert re.search(said, reason), reason


def test_an_unknown_measure_of_success_is_an_error(tmp_path):
    path = written(tmp_path, 'success = "tell"\n' + GRID)
    with pytest.raises(StudyError, match="success: expected one of the measures: height, noise"):
        read_study(path)


@pytest.mark.parametrize(
    "value",
    ["object()", "1j", "10 ** 400", "[[1.0], [2.0]]", "[1.0, 'a']", "'\\ud800'", "{'x': 1}"],
)
def test_what_no_table_has_is_a_row_that_failed(tmp_path, workers, value):
    (tmp_path / "f.py").write_text(f"def f(x):\n    return {{'y': {value} if x else 1.0}}\n")
    path = tmp_path / "f.toml"
    path.write_text('function = "f.py:f"\nparameters.x.values = [0, 1]\n')
    found = done(path, workers)
    assert found.counts() == {"OK": 1, "FAILED": 1}
    assert "the measure 'y' gave" in found.rows["reason"].to_pylist()[1]


def test_a_parameter_that_changes_nothing_is_named(tmp_path, workers, capsys):
    """Others may change much."""
    (tmp_path / "f.py").write_text("def f(x, idle):\n    return {'y': x * x}\n")
    path = tmp_path / "f.toml"
    parameters = "parameters.x.values = [1, 2]\nparameters.idle.values = [3, 4, 5]\n"
    path.write_text('function = "f.py:f"\n' + parameters)
    found = done(path, workers)
    assert found.idle_parameters() == ["idle"]
    show_results(found)
    assert "Runs that differ only in 'idle' are equal: no measure shows it." in (
        capsys.readouterr().out
    )
    path.write_text(
        'function = "f.py:f"\nparameters.x.values = [1]\nparameters.idle.values = [3]\n'
    )
    assert done(path, workers, "single.study").idle_parameters() == []  # nothing to compare
