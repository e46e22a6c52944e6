"""The studies of benchmarks/robustness can be read, and their first runs have all measures."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.success_rates.cases import ROBOTS
from sofa_softctl.batch.execution.run_one import Task, run_one
from sofa_softctl.batch.study.file import read_study
from sofa_softctl.scene.session.loader import load_scene, parameters_of
from tests.docs.pages import text

pytestmark = pytest.mark.study

FOLDER = Path(__file__).parents[2] / "benchmarks" / "robustness"
STUDIES = sorted(FOLDER.glob("*.toml"))
BEGIN = {robot.scene: robot.begin for robot in ROBOTS.values()}
PAGE = text("reference/robustness")


@pytest.fixture(params=STUDIES, ids=lambda path: path.stem)
def study(request):
    return read_study(request.param)


@pytest.fixture
def own(study):
    """The scene's own parameters."""
    return parameters_of(load_scene(study.scenario.scene).create)


def test_the_scene_as_it_is_lies_within_the_ranges(study, own):
    for name, axis in study.axes.items():
        values = axis.grid()
        if len(values) > 1:
            assert min(values) <= own[name] <= max(values)


def test_the_page_on_robustness_says_how_many_runs_it_has(study):
    assert f"| `{study.name}` | {len(list(study.runs()))} |" in PAGE


def test_the_first_run_gives_all_measures(study, own):
    """A run that ends as soon as errors count."""
    begin = BEGIN.get(Path(study.scenario.scene).name, 0.0)
    scenario = replace(study.scenario, steps=round(begin / own["dt"]) + 3, duration=None)
    row = run_one(Task(scenario, next(study.runs())))
    assert row["status"] == "OK", row.get("traceback")
    measures = row["measures"]
    assert set(measures) == set(study.scenario.measures)
    assert measures["reached"] == (measures["ratio"] <= 1.0)
    assert measures["ratio"] >= 0.0


@pytest.mark.parametrize(("name", "count"), [("paths", 32), ("fast", 16)])
def test_the_studies_of_random_paths_can_be_read(name, count):
    study = read_study(FOLDER / "planning" / f"{name}.toml")
    assert len(list(study.runs())) == count
