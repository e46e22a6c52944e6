"""The studies of scenes/studies can be read, and their first runs have all measures."""

from dataclasses import replace
from pathlib import Path

import pytest

from sofa_softctl.batch.run_one import Task, run_one
from sofa_softctl.batch.study_file import read_study

STUDIES = sorted((Path(__file__).parents[2] / "scenes" / "studies").glob("*.toml"))
STEPS = 120
"""Past the time from which errors count in every scene, 0.9 s."""


@pytest.fixture(autouse=True, params=STUDIES, ids=lambda path: path.stem)
def study(request):
    return read_study(request.param)


def test_the_scene_as_it_is_lies_within_the_ranges(study):
    """Else the map says nothing of the robot that the documentation shows."""
    from sofa_softctl.scene.loader import load_scene, parameters_of

    own = parameters_of(load_scene(study.scenario.scene).create)
    for name, axis in study.axes.items():
        values = axis.grid()
        if len(values) > 1:
            assert min(values) <= own[name] <= max(values)


def test_the_first_run_gives_all_measures(study):
    scenario = replace(study.scenario, steps=STEPS, duration=None)
    row = run_one(Task(scenario, next(study.runs())))
    assert row["status"] == "OK", row.get("traceback")
    measures = row["measures"]
    assert set(measures) == set(study.scenario.measures)
    assert measures["reached"] == (measures["ratio"] <= 1.0)
    assert measures["ratio"] >= 0.0
