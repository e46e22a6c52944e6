"""Files of plans: what they keep, what is refused, and whether a robot is the planned one."""

from dataclasses import replace

import numpy as np
import pytest

from sofa_softctl.acceptance import AcceptanceReport, Criterion
from sofa_softctl.errors import RecordError
from sofa_softctl.record.writer import RecordWriter
from sofa_softctl.surrogate.scene.plan_file import PlanFile, differences, read_plan

REPORT = AcceptanceReport("model", (Criterion("path", 0.1, 1.0),))
PLAN = PlanFile(
    times=np.array([0.01, 0.02, 0.03]),
    tension=np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
    spot=np.arange(9.0).reshape(3, 3),
    coordinates=np.ones((3, 2)),
    metadata={"scene": "arm.py", "task": "reach"},
    line_stiffness=False,
    flutter=1.5,
    robot={"dt": [0.01]},
    report=REPORT,
)


def test_a_plan_is_the_same_after_it_was_written_and_read(tmp_path):
    PLAN.write(tmp_path / "plan.mcap")
    found = read_plan(tmp_path / "plan.mcap")
    for name in ("times", "tension", "spot", "coordinates"):
        assert np.array_equal(getattr(found, name), getattr(PLAN, name))
    assert (found.line_stiffness, found.flutter, found.robot) == (False, 1.5, {"dt": [0.01]})
    assert found.report == REPORT and found.accepted
    assert found.metadata["task"] == "reach"


def test_what_did_not_pass_or_was_not_replayed_is_not_accepted(tmp_path):
    failed = AcceptanceReport("model", (Criterion("path", 2.0, 1.0),))
    for report in (None, failed):
        replace(PLAN, report=report).write(tmp_path / "plan.mcap")
        assert not read_plan(tmp_path / "plan.mcap").accepted


def test_a_delayed_plan_begins_after_some_steps():
    assert PLAN.delayed(0).times == pytest.approx(PLAN.times)
    assert PLAN.delayed(7).times == pytest.approx([0.08, 0.09, 0.10])


def test_what_is_no_plan_is_cut_short_or_damaged_is_refused(tmp_path):
    file = tmp_path / "plan.mcap"
    with RecordWriter(file, {}) as run:
        run.add_channel("tip", shape=(3,))
        run.write(0.01, {"tip": np.zeros(3)})
    with pytest.raises(RecordError, match="this recording is no plan"):
        read_plan(file)
    PLAN.write(file)
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(RecordError, match="damaged or cut short|no plan"):
        read_plan(file)
    replace(PLAN, tension=PLAN.tension * np.nan).write(file)
    with pytest.raises(RecordError, match="tensions are not finite"):
        read_plan(file)
    with pytest.raises(RecordError, match="cannot be read"):
        read_plan(tmp_path / "none.mcap")


def test_no_flipped_bit_changes_a_plan_without_a_word(tmp_path):
    """A file with a flipped bit is refused, or gives the same plan."""
    file = tmp_path / "plan.mcap"
    PLAN.write(file)
    whole = file.read_bytes()
    rng = np.random.default_rng(0)
    refused = 0
    for place in rng.choice(len(whole), 300, replace=False):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << int(rng.integers(8))
        file.write_bytes(flipped)
        try:
            found = read_plan(file)
        except RecordError:
            refused += 1
            continue
        assert np.array_equal(found.tension, PLAN.tension)
        assert np.array_equal(found.times, PLAN.times)
        assert np.array_equal(found.spot, PLAN.spot)
        assert found.report == PLAN.report and found.robot == PLAN.robot
        assert found.line_stiffness == PLAN.line_stiffness
    assert refused > 100


def test_differences_of_robots_are_named_with_both_numbers():
    planned = {"dt": [0.01], "/arm/fem.youngModulus": [300.0], "only here": [1.0]}
    same = {"dt": [0.01 * (1.0 + 1e-9)], "/arm/fem.youngModulus": [300.0], "only there": [2.0]}
    assert differences(planned, same) == []
    other = same | {"/arm/fem.youngModulus": [250.0]}
    assert differences(planned, other) == ["/arm/fem.youngModulus: 300 planned, 250 here"]
    assert differences(planned, same | {"dt": [0.01, 0.02]}) == [
        "dt: 0.01 planned, 0.01, 0.02 here"
    ]
