"""The study of causes: its recordings, and how it counts."""

import csv

import numpy as np
import pytest

from benchmarks.causes.cases import PLANTS, recording, wrong
from benchmarks.causes.measure import HEADER, RIGHT, measure_causes, runs
from sofa_softctl.errors import IdentificationError

pytestmark = pytest.mark.study


def test_a_robot_has_the_effect_and_a_changed_recording_its_columns():
    """The same noise: they differ by the effect, an offset by itself."""
    right, off, swapped = (
        recording("rods", cause, 10.0, np.random.default_rng(1))
        for cause in ("", "offset.a", "swap.a.b")
    )
    size = wrong("rods", "offset.a", 10.0)
    assert off.outputs - right.outputs == pytest.approx(np.array([[size.size, 0.0]] * 201))
    assert np.array_equal(swapped.outputs, right.outputs[:, ::-1])
    assert wrong("rods", "offset.a", 3.0).size == pytest.approx(0.3 * size.size)
    with pytest.raises(IdentificationError, match="There is no effect 'sound.a'"):
        recording("rods", "sound.a", 3.0, np.random.default_rng(1))


def test_reports_are_counted_by_what_they_name_first(tmp_path):
    """A file that is whole is read, and nothing is run again."""
    path = tmp_path / "causes.csv"
    rows = [_row(run) for run in runs("rods", 0)]
    for row, first, alike in zip(
        rows, ("friction.b", "", "mass.b"), ("", "", "friction.b"), strict=False
    ):
        row |= {"first": first, "alike": alike, "verdict": "bad" if first else "look"}
    rows[-1] |= {"verdict": "bad", "first": "offset.a"}
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, HEADER, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    told = measure_causes(path, plants=["rods"]).to_dict()
    friction = told["causes"]["rods: friction.b"]
    assert [friction[key] for key in ("runs", "first", "first or alike", "trusted")] == [3, 1, 2, 1]
    assert told["right"] == {"runs": RIGHT, "not to be trusted": 1, "with a cause": 1}
    robot = PLANTS["rods"]
    assert told["wrong"]["runs"] == 3 * len(robot.effects) + len(robot.columns)
    assert told["wrong, not detectable"]["runs"] == len(robot.effects)


def _row(run):
    far = run.cause in PLANTS[run.plant].columns or run.multiple > 3.0
    return {
        "plant": run.plant,
        "cause": run.cause,
        "multiple": repr(run.multiple),
        "seed": str(run.seed),
        "size": "1.0",
        "distance": "9.0" if far else "1.0",
        "status": "CONVERGED",
        "verdict": "bad" if run.cause else "look",
        "first": run.cause,
        "alike": "",
        "rank": "1",
        "could_not_show": "False",
        "seconds": "0.1",
        "report_seconds": "0.2",
        "text": "",
    }
