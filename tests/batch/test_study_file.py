"""Files of studies: what they say, and what is wrong with them."""

import numpy as np
import pytest

from sofa_softctl.batch.study.axes import Normal, Range, Values
from sofa_softctl.batch.study.file import read_study
from sofa_softctl.batch.study.study import Limits
from sofa_softctl.errors import StudyError
from tests.batch.studies import written

FULL = """\
name = "bars"
scene = "bar.py"
duration = 0.5
plugins = ["plugin.py"]

[parameters.young]
range = [300, 900]
log = true

[parameters.pull]
normal = [2.0, 0.5]

[parameters.trouble]
values = ["", "raise"]

[parameters."body.gravity"]
range = [[0, 0, -1.0], [1, 1, 0]]

[sampling]
method = "latin"
count = 8
seed = 3

[warmup]
steps = 10

[measures]
height = "bar.py:height"
error = "inverse.error_last"

[limits]
seconds = 60
memory = 2000

[keep]
record = "failures"
movie = "failures"
"""


def test_a_study_has_what_its_file_says(tmp_path):
    study = read_study(written(tmp_path, FULL))
    assert study.name == "bars" and study.method == "latin"
    assert (study.count, study.seed) == (8, 3)
    assert study.plugins == (str(tmp_path / "plugin.py"),)
    scenario = study.scenario
    assert scenario.scene == str(tmp_path / "bar.py")
    assert (scenario.steps, scenario.duration, scenario.warmup) == (None, 0.5, 10)
    assert scenario.measures == {
        "height": f"{tmp_path / 'bar.py'}:height",
        "error": "inverse.error_last",
    }
    young, pull, trouble, gravity = study.axes.values()
    assert isinstance(young, Range) and young.log and (young.low, young.high) == (300.0, 900.0)
    assert isinstance(pull, Normal) and isinstance(trouble, Values)
    assert isinstance(gravity, Range) and np.array_equal(gravity.low, [0.0, 0.0, -1.0])
    assert study.limits == Limits(60.0, 2e9)
    assert (study.record, study.movie) == ("failures", "failures")
    assert len(list(study.runs())) == 8
    assert study.text == FULL


def test_a_short_file_is_a_study(tmp_path):
    study = read_study(written(tmp_path, 'scene = "bar.py"\n'))
    assert study.name == "bar" and study.limits == Limits()
    assert [run.parameters for run in study.runs()] == [{}]


@pytest.mark.parametrize(
    ("before", "after", "line", "text"),
    [
        ('scene = "bar.py"', 'scene = "bra.py"', 2, "expected a file that there is, got 'bra.py'"),
        ('scene = "bar.py"', "", 1, "expected either a scene or a function, got none. Add: scene"),
        ("duration = 0.5", "duration = 0.5\nsteps = 4", 3, "either steps or a duration, got both"),
        ("duration = 0.5", "duration = -1", 3, "duration: expected a time above 0, got -1"),
        ("duration = 0.5", "durration = 0.5", 3, "got 'durration'. Did you mean 'duration'?"),
        ("duration = 0.5", "function = 'bar.py:height'", 3, "got both. Remove one."),
        ("[300, 900]", "[900, 300]", 7, "[parameters.young] range: expected the low end first"),
        ("[300, 900]", "[0, 900]", 7, "expected ends above 0, since log = true"),
        ("[300, 900]", "[300]", 7, "expected [low, high], two numbers"),
        ("[300, 900]", "[300, inf]", 7, "expected [low, high], two numbers"),
        ("log = true", "whole = true\nlgo = 1", 9, "got 'lgo'. Did you mean 'log'?"),
        ("log = true", "values = [1]", 8, "expected one of values, range, normal; got values,"),
        ("[2.0, 0.5]", "[2.0, 0.0]", 11, "expected a standard deviation above 0"),
        ('["", "raise"]', "[]", 14, "[parameters.trouble] values: expected a list of values, at"),
        ('["", "raise"]', '["", 2]', 14, "values[1]: expected finite numbers; or texts"),
        ('"latin"', '"latn"', 20, "got 'latn'. Did you mean 'latin'?"),
        ('"latin"', '"grid"', 6, "[parameters.young] count: expected the values of a grid"),
        ('"latin"', '"grid"', 21, "[sampling] count: expected no count here: a grid has as many"),
        ("count = 8", "", 19, "[sampling]: expected the key 'count', got none. Add: count = 1000"),
        ("count = 8", "count = 0", 21, "expected a whole number from 1 to 10,000,000: runs, got 0"),
        ("height =", "young =", 28, "a column of its own, got 'young', which a parameter has"),
        ("height =", "status =", 28, "got 'status', which every table of a study has"),
        ('"bar.py:height"', "3", 28, "[measures] height: expected what is measured, such as"),
        ("seconds = 60", "seconds = 0", 32, "[limits] seconds: expected a time above 0 [s], got 0"),
        ("memory = 2000", "memory = 2", 33, "expected at least 300 MB"),
        ('record = "failures"', 'record = "some"', 36, "expected one of: none, failures, all"),
        ("[keep]", "[kept]", 35, "kept: expected a key of a study: "),
        ("[keep]", "[keep", 35, "expected TOML, got a mistake"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_line(tmp_path, before, after, line, text):
    assert before in FULL
    path = written(tmp_path, FULL.replace(before, after, 1))
    with pytest.raises(StudyError) as raised:
        read_study(path)
    said = [each for each in str(raised.value).splitlines() if text in each]
    assert said and said[0].startswith(f"{path}:{line}: "), str(raised.value)


def test_a_file_that_is_not_there_is_said(tmp_path):
    written(tmp_path, FULL)
    with pytest.raises(StudyError, match="expected a study file, got none. Did you mean bar.toml"):
        read_study(tmp_path / "bra.toml")


LIST = """\
scene = "bar.py"
parameters.young.values = [1, 2, 3]
parameters.pull.values = [1, 2]
[sampling]
method = "list"
"""


def test_lists_of_different_lengths_are_said(tmp_path):
    text = "expected as many values of each parameter, .*; got 3 of 'young', 2 of 'pull'"
    with pytest.raises(StudyError, match=rf"bar.toml:5: \[sampling\] method: {text}"):
        read_study(written(tmp_path, LIST))


def test_a_grid_of_too_many_runs_is_said(tmp_path):
    text = "".join(
        f"[parameters.{name}]\nrange = [0, 1]\ncount = 1000\n"
        for name in ("young", "pull", "pause")
    )
    with pytest.raises(StudyError, match="at most 10,000,000 runs, got a grid of 1,000,000,000"):
        read_study(written(tmp_path, f'scene = "bar.py"\n{text}'))


def test_a_name_that_is_there_twice_is_said(tmp_path):
    with pytest.raises(StudyError, match="bar.toml:8: .*twice"):
        read_study(written(tmp_path, FULL.replace("log = true", "range = [1, 2]")))


def test_a_function_has_no_steps_and_no_record(tmp_path):
    text = 'function = "bar.py:noise"\nsteps = 3\n[keep]\nrecord = "all"\n'
    with pytest.raises(StudyError) as raised:
        read_study(written(tmp_path, text))
    first, second = str(raised.value).splitlines()
    assert ":2: " in first and "expected no 'steps' with a function" in first
    assert ":3: " in second and "expected no 'keep' with a function" in second
