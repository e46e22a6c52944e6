"""The hardware bridge in SOFA: the same targets as in the embedded runtime, and the way to rest."""

import numpy as np
import pytest

from sofa_softctl.record.record import read_record

ROBOT = """
[stream]
rate = 100
realtime = false
[safety]
command_timeout = 5.0
hold = 0.02
[devices.board]
type = "loopback"
[actuators.cable]
device = "board"
channel = 0
quantity = "length"
unit = "cm"
map = { type = "linear", factor = 100.0 }
position = [-1.0, 3.0]
rate = 50.0
acceleration = 1000.0
jump = 1.0
rest = 0.0
soft_start = 0.05
"""

CODE = """
from pathlib import Path
from sofa_softctl.scene.session.run import run
add = lambda root: root.addObject(HardwareBridge(name="bridge", root=root, config={config!r}))
session = Session({scene!r}, parameters={{"bend": 10.0}}, add=add)
with session.recording({record!r}):
    summary = run(session, 30, close=True)
    histories = summary.histories
found = summary.controllers["/bridge"]
bridge = session.root.getObject("bridge")
result({{"state": found.state, "steps": found.steps, "measured": bridge.measured.value}})
"""


@pytest.fixture
def run_of(tmp_path):
    """run_of(in_sofa or embedded, name) -> what it gave, and its recording."""
    (tmp_path / "robot.toml").write_text(ROBOT)

    def make(where, name):
        from tests.sofa.conftest import ROOT

        record = tmp_path / f"{name}.mcap"
        code = CODE.format(
            config=str(tmp_path / "robot.toml"),
            scene=str(ROOT / "scenes" / "finger.py"),
            record=str(record),
        )
        found = where(code)
        return (found[0] if isinstance(found, tuple) else found), read_record(record)

    return make


def test_a_robot_is_sent_the_same_targets_as_without_sofa(in_sofa, embedded, run_of):
    given, sofa = run_of(in_sofa, "sofa")
    assert given["state"] == "RESTED" and given["steps"] == 30
    assert np.isfinite(given["measured"]).all()
    _, ours = run_of(embedded, "embedded")
    for record in (sofa, ours):
        target = record.streams["bridge.robot.target"]
        at = np.isfinite(target.time) & np.isfinite(target.values[:, 0])
        steps, asked = record.time, 0.1 * record.channels["inverse.displacement"][:, 0]
        expected = np.interp(target.time[at], steps, asked)
        assert target.values[at, 0] == pytest.approx(expected, abs=1e-9)
        assert record.streams["bridge.robot.state"].values[-1] == "RESTED"
        assert record.units["bridge.measured"] == "mm"
    difference = sofa.channels["inverse.displacement"] - ours.channels["inverse.displacement"]
    assert np.abs(difference).max() < 1e-3
