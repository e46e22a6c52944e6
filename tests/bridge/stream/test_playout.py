import numpy as np
import pytest

from sofa_softctl.bridge.course.playout import TargetBuffer

DT = 0.01


def filled(playout, times, value=lambda time: 10.0 * time):
    for time in times:
        playout.add(time, np.array([value(time)]), sent=time)
    return playout


def test_targets_are_interpolated_on_a_line():
    playout = filled(TargetBuffer("linear", 2), [0.0, 0.03, 0.06, 1.0])
    values = [playout.target()[0]]
    for _ in range(6):
        playout.advance(DT)
        values.append(playout.target()[0])
    np.testing.assert_allclose(values, 10.0 * np.arange(7) * DT, atol=1e-12)
    assert playout.waited == 0.0


def test_hold_changes_at_the_times_of_the_targets():
    """Whatever the rounding of sums of periods and of steps."""
    playout = filled(TargetBuffer("hold", 2), np.arange(110) * 0.03)
    values = []
    for _ in range(300):
        playout.advance(DT)
        values.append(playout.target()[0])
    np.testing.assert_allclose(values, 0.3 * (np.arange(1, 301) // 3), atol=1e-12)


def test_the_clock_starts_when_the_lookahead_waits():
    playout = TargetBuffer("linear", 2)
    for index, ready in enumerate([False, False, True]):
        filled(playout, [5.0 + index * 0.02])
        assert playout.ready is ready and playout.time == 5.0


def test_the_clock_never_passes_the_newest_target_and_slows_down_before_it():
    playout = filled(TargetBuffer("linear", 3), np.arange(6) * 0.02)
    speeds = []
    for _ in range(100):
        before = playout.time
        playout.advance(DT)
        speeds.append((playout.time - before) / DT)
    assert playout.time <= 0.1 and playout.time == pytest.approx(0.1, abs=1e-6)
    assert np.all(np.diff(speeds) <= 1e-9), "it slows down, and never speeds up"
    # below two steps the speed is left / 0.04 s: it changes by at most DT / 0.04 a period
    assert np.abs(np.diff(speeds)).max() <= DT / 0.04 + 1e-9
    assert playout.waiting and playout.target()[0] == pytest.approx(1.0, abs=1e-5)


def test_a_scene_at_half_of_real_time_is_played_evenly_at_half_speed():
    """Once it settles, the clock neither stops nor hurries between targets."""
    playout = filled(TargetBuffer("linear", 4), np.arange(5) * 0.02)
    speeds = []
    for period in range(800):
        if period % 4 == 0:  # 0.02 s of the scene each 0.04 s
            filled(playout, [0.1 + period // 4 * 0.02])
        before = playout.time
        playout.advance(DT)
        speeds.append((playout.time - before) / DT)
    last = np.array(speeds[400:])
    assert last.mean() == pytest.approx(0.5, rel=1e-2)
    assert 0.3 < last.min() and last.max() < 0.7
    assert playout.waited == pytest.approx(4.0, rel=0.05)


@pytest.mark.parametrize("pace", [0.95, 0.8])
def test_a_scene_is_late_by_what_it_lacks_to_nine_tenths_of_real_time(pace):
    """In 20 s, to the four steps of the lookahead: 2 s at 0.8 of real time, nothing at 0.95."""
    step = 0.02
    playout = filled(TargetBuffer("linear", 4), np.arange(5) * step)
    ahead = 5
    for period in range(2000):
        while (ahead - 4) * step <= pace * period * DT:
            filled(playout, [ahead * step])
            ahead += 1
        playout.advance(DT)
    assert playout.late == pytest.approx(max(0.9 - pace, 0.0) * 20.0, abs=4 * step)


def test_without_a_reserve_the_clock_stops_at_the_newest_target_and_goes_on():
    playout = filled(TargetBuffer("linear", 0), [0.0])
    playout.advance(DT)
    assert playout.time == 0.0 and playout.waiting
    filled(playout, [0.02])
    playout.advance(DT)
    assert playout.time == DT and not playout.waiting


@pytest.mark.parametrize("pace", [0.5, 1.0, 3.0])
def test_the_speed_of_the_scene_is_measured_without_its_first_interval(pace):
    """The first step takes 30 s: it compiles."""
    playout = TargetBuffer("linear", 4)
    for index in range(8):
        sent = 30.0 * (index > 0) + index * 0.02 / pace
        playout.add(index * 0.02, np.zeros(1), sent)
    assert playout.speed_of_scene() == pytest.approx(pace)


def test_one_target_does_not_tell_the_speed_of_the_scene():
    assert filled(TargetBuffer("linear", 0), [0.0]).speed_of_scene() == float("inf")
