import os

from rig import LONG

from sofa_softctl.bridge.config.robot import SafetyConfig
from sofa_softctl.bridge.stream import watch as module
from sofa_softctl.bridge.stream.watch import StopConditions


def test_a_late_period_is_no_gap_and_a_computer_that_slept_is_one(monkeypatch):
    """The monotonic clock stands still while the computer sleeps; that of its uptime goes on."""
    asleep = 7.0
    monkeypatch.setattr(module, "_sleep_time", lambda: asleep)
    watch = StopConditions(SafetyConfig(**LONG), 0.01, os.getppid())
    assert watch.gap(100.0) == 0.0
    assert watch.gap(100.4) == 0.0
    assert watch.gap(101.0) > 0.59
    asleep = 3607.0
    assert watch.gap(101.01) > 3600.0
    assert watch.gap(101.02) == 0.0


def test_a_dead_man_file_is_touched_when_its_time_changes_whatever_the_time_is(tmp_path):
    path = tmp_path / "held"
    path.touch()
    watch = StopConditions(
        SafetyConfig(dead_man_file=str(path), command_timeout=0.5), 0.01, os.getppid()
    )
    assert "was not touched for 0.5 s" in watch.dead_man(10.0), "an old file counts as a touch"
    for now, mtime in ((11.0, 4e9), (11.4, 5.0), (11.8, 6.0)):  # of a wrong clock, too
        os.utime(path, (mtime, mtime))
        assert watch.dead_man(now) == ""
    assert watch.dead_man(12.2) == "" and watch.dead_man(12.4) != ""
    path.touch()
    assert watch.dead_man(12.5) == ""
    path.unlink()
    assert watch.dead_man(12.51) != "", "a file that is removed releases at once"


def test_the_end_of_the_scene_is_seen_without_its_socket():
    assert not StopConditions(SafetyConfig(), 0.01, os.getppid()).has_scene_process_ended()
    assert StopConditions(
        SafetyConfig(), 0.01, 1 if os.getppid() != 1 else 2
    ).has_scene_process_ended()
