import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rig import robot_of, wave

from sofa_softctl.bridge.course.state import StreamState as S
from sofa_softctl.bridge.stream.supervisor import MOVING, PLAYING, Supervisor

STEP = 0.02
"""Of the scene [s]."""
UNKNOWN = np.full(2, np.nan)


class Run:
    """A supervisor with a clock of its own; it sends a target every fourth period."""

    def __init__(self, measured=UNKNOWN, safety=None, first_feedback_timeout=0.0, **options):
        self.robot = robot_of("", safety={"command_timeout": 0.3, **(safety or {})}, **options)
        self.supervisor = Supervisor(self.robot, np.full(2, 0.005))
        self.supervisor.first_feedback_timeout = first_feedback_timeout
        self.now, self.measured = 100.0, np.asarray(measured, dtype=float)
        self.commands, self.states, self.sent = [], [], 0

    def send(self, target=None, time=None):
        target = wave(self.sent) if target is None else np.asarray(target, dtype=float)
        time = self.sent * STEP if time is None else time
        self.supervisor.receive(self.now, self.now, time, target)
        self.sent += 1

    def step(self, count=1, *, sending=False):
        for _ in range(count):
            if sending and len(self.states) % 4 == 0:
                self.send()
            command = self.supervisor.step(self.now, self.measured)
            self.states.append(self.supervisor.state)
            if command is not None:
                self.commands.append(command)
            self.now += self.supervisor.dt
        return self

    def course(self):
        """States, without repetitions."""
        return [s for i, s in enumerate(self.states) if i == 0 or s is not self.states[i - 1]]

    def assert_safe(self):
        one, dt = self.robot.actuators[0], self.supervisor.dt
        commands = np.array(self.commands)
        assert commands.min() >= 0.0 and commands.max() <= 60.0
        speed = np.diff(commands, axis=0, prepend=commands[:1]) / dt
        change = np.diff(speed, axis=0, prepend=0.0 * speed[:1]) / dt
        assert np.abs(speed).max() <= one.rate * (1.0 + 1e-9)
        assert np.abs(change).max() <= one.acceleration * (1.0 + 1e-6)
        return commands


def test_the_usual_course():
    run = Run().step(3)
    run.step(200, sending=True)
    run.supervisor.finish()
    run.step(100)
    usual = [S.READY, S.SOFT_START, S.STREAMING, S.RETURNING, S.RESTED]
    assert run.course() == usual and run.supervisor.reason == ""
    commands = run.assert_safe()
    np.testing.assert_allclose(commands[-1], 0.0, atol=1e-12)
    assert commands.max() > 29.0


def test_targets_within_the_limits_are_sent_unchanged():
    run = Run(stream={"rate": 50.0, "interpolation": "hold"})
    played, sent = [], []
    for _ in range(150):
        run.send()
        command = run.supervisor.step(run.now, UNKNOWN)
        if command is not None and run.supervisor.state is S.STREAMING:
            played.append(run.supervisor.buffer.time)
            sent.append(command)
        run.now += run.supervisor.dt
    expected = [wave(time / STEP) for time in played]
    assert len(played) > 100
    np.testing.assert_allclose(sent, expected, atol=1e-9)


@pytest.mark.parametrize("measured", [UNKNOWN, [12.0, 3.0], [12.0, math.nan]])
def test_the_soft_start_begins_where_the_robot_is_and_takes_its_time(measured):
    run = Run(measured, actuator={"soft_start": 0.4})
    for _ in range(3):
        run.send([25.0, 8.0])
    for _ in range(9):
        run.supervisor.reset_scene_timeout(run.now)
        run.step(10)
    softly = run.states.count(S.SOFT_START) * run.supervisor.dt
    assert softly == pytest.approx(0.4, abs=2.0 * run.supervisor.dt)
    commands = run.assert_safe()
    start = np.where(np.isfinite(measured), measured, 0.0)
    np.testing.assert_array_equal(commands[0], start)
    np.testing.assert_allclose(commands[80], [25.0, 8.0], atol=1e-9)


def test_devices_that_measure_are_waited_for_before_the_first_command():
    """They answer some periods after they were opened: a light scene is ready before."""
    run = Run(first_feedback_timeout=0.3)
    for _ in range(4):
        run.send()
    run.step(20)
    assert run.states == [S.READY] * 20
    run.measured = np.array([30.0, 20.0])
    run.step(5)
    assert run.commands[0].tolist() == [30.0, 20.0] and run.supervisor.assumed == []


def test_devices_that_measure_nothing_are_not_waited_for_for_ever():
    run = Run(first_feedback_timeout=0.3, safety={"command_timeout": 10.0})
    for _ in range(4):
        run.send()
    run.step(70)  # 0.35 s
    assert run.states.count(S.READY) in (60, 61)
    assert run.commands[0].tolist() == [0.0, 0.0] and len(run.supervisor.assumed) == 2


def test_a_robot_a_little_outside_its_range_is_moved_into_it():
    run = Run([12.0, 60.5]).step(40, sending=True)
    assert run.commands[0].tolist() == [12.0, 60.0] and run.supervisor.reason == ""


def test_a_robot_outside_its_range_is_not_moved():
    run = Run([12.0, 61.0]).step(2)
    for _ in range(3):
        run.send()
    run.step(5)
    assert run.course() == [S.READY, S.STOPPED] and not run.commands
    assert "'cable1' is measured at 61 mm, outside its range from 0 to 60" in (
        run.supervisor.reason
    )


BAD = {
    "is nan": [3.0, math.nan],
    "is inf": [math.inf, 3.0],
    "below the least position, 0": [0.0, -0.006],
    "above the greatest position, 60": [60.006, 30.0],
    "by more than jump = 20": [50.0, 0.0],
    "has 3 values; expected 2": [0.0, 0.0, 0.0],
}


@pytest.mark.parametrize("said", BAD)
def test_a_bad_target_is_never_used_the_robot_holds_and_goes_to_rest(said):
    run = Run().step(120, sending=True)
    assert run.supervisor.state is S.STREAMING
    run.send(BAD[said])
    run.step(200, sending=True)  # what comes later is not looked at
    assert said in run.supervisor.reason
    assert run.course()[-3:] == [S.HOLDING, S.RETURNING, S.RESTED]
    assert np.abs(run.assert_safe()[-1]).max() < 1e-12
    held = run.states.count(S.HOLDING) * run.supervisor.dt
    assert held >= run.robot.safety.hold


@pytest.mark.parametrize(
    ("time", "said"),
    [(0.1, "times must increase"), (math.nan, "the time nan"), (math.inf, "the time inf")],
)
def test_targets_whose_times_do_not_increase_are_refused(time, said):
    run = Run().step(100, sending=True)
    run.send(time=time)
    run.step()
    assert run.supervisor.state is S.HOLDING and said in run.supervisor.reason


def test_half_a_resolution_outside_the_range_is_tolerated_and_not_sent():
    run = Run()
    for _ in range(6):
        run.send([-0.004, 0.0])
    run.step(30)
    assert run.supervisor.reason == "" and run.assert_safe().min() == 0.0


def test_a_scene_that_falls_silent_is_a_fault_unless_it_shows_that_it_lives():
    run = Run().step(120, sending=True).step(50)
    run.supervisor.reset_scene_timeout(run.now)
    run.step(20)  # 0.35 s after the last target, 0.1 s after the sign of life: it waits
    assert "no target came from the scene for 0.3 s" in run.supervisor.reason
    run = Run().step(120, sending=True).step(54)
    assert run.supervisor.state is S.WAITING
    run.step(8)
    assert "nothing came from the scene for 0.3 s" in run.supervisor.reason
    assert run.supervisor.state is S.HOLDING


def test_a_scene_owes_no_target_during_a_soft_start_that_is_longer_than_the_timeout():
    run = Run(actuator={"soft_start": 0.5})
    for _ in range(4):
        run.send()
    while run.supervisor.state is not S.WAITING:  # the scene lives, and waits for the robot
        run.supervisor.reset_scene_timeout(run.now)
        run.step()
    assert run.now > 100.0 + 0.3 + 4 * STEP and run.step(10).supervisor.reason == ""


def test_a_scene_with_many_targets_ahead_that_falls_silent_is_a_fault_too():
    run = Run()
    for _ in range(100):
        run.send()
    run.step(80)
    assert run.course()[-1] in (S.HOLDING, S.RETURNING)
    assert "nothing came" in run.supervisor.reason


def test_a_slow_scene_is_refused_before_anything_moves():
    run = Run(stream={"slow_scene": "refuse", "lookahead": 4})
    for _ in range(6):
        run.send()
        run.step(8)  # 0.04 s for a step of 0.02 s
    assert run.course() == [S.READY, S.STOPPED] and not run.commands
    assert "runs at 50% of real time" in run.supervisor.reason


def test_a_scene_that_becomes_slow_is_refused_on_the_way():
    run = Run(stream={"slow_scene": "refuse"}).step(120, sending=True)
    assert run.supervisor.reason == ""
    for _ in range(10):
        run.step(8)
        run.send()
    assert "fell behind real time" in run.supervisor.reason and run.states[-1] is not S.STREAMING


def test_a_slow_scene_is_waited_for():
    run = Run().step(120, sending=True)
    for _ in range(30):
        run.step(8)
        run.send()
    assert run.supervisor.state is S.WAITING and run.supervisor.reason == ""
    assert run.supervisor.buffer.waited == pytest.approx(0.6, abs=0.1)
    run.assert_safe()


def test_a_fault_that_stays_ends_where_the_robot_is():
    run = Run().step(150, sending=True)
    run.supervisor.fault("the switch was released", stay=True)
    run.step(60)
    assert run.course()[-2:] == [S.HOLDING, S.STOPPED]
    assert run.assert_safe()[-1].min() > 1.0


def test_a_fault_that_stays_brakes_before_it_stops():
    run = Run(safety={"hold": 0.0}).step(150, sending=True)
    run.supervisor.fault("the switch was released", stay=True)
    run.step(20)
    speed = np.diff(run.assert_safe()[-3:], axis=0)
    assert run.states[-1] is S.STOPPED and speed[-1].tolist() == [0.0, 0.0] != speed[0].tolist()


def test_a_return_to_rest_is_interrupted_by_the_dead_man_switch():
    run = Run().step(200, sending=True)
    run.supervisor.finish()
    run.step(8)
    assert run.supervisor.state is S.RETURNING
    run.supervisor.fault("the switch was released", stay=True)
    run.step(60)
    assert run.course()[-3:] == [S.RETURNING, S.HOLDING, S.STOPPED]
    assert run.assert_safe()[-1].min() > 1.0


def test_an_emergency_stop_ends_the_commands_at_once_and_for_ever():
    for periods in (0, 4, 120):
        run = Run().step(periods, sending=True)
        sent = len(run.commands)
        run.supervisor.stop("pressed")
        run.step(20, sending=True)
        run.supervisor.finish()
        run.supervisor.fault("something else")
        run.step(20, sending=True)
        assert run.states[-1] is S.STOPPED and len(run.commands) == sent
        assert run.supervisor.reason == "pressed"


def test_the_first_reason_stays_first():
    run = Run().step(120, sending=True)
    run.send([math.nan, 0.0])
    run.step(2)
    run.supervisor.stop("the plug was pulled")
    assert run.supervisor.reason.startswith("the target of 'cable0' is nan")
    assert run.supervisor.reason.endswith("; then the plug was pulled")


def test_a_finish_ends_a_hold_and_keeps_its_reason():
    run = Run(safety={"hold": 60.0}).step(200, sending=True)
    run.supervisor.fault("a dead sensor")
    run.step(40)
    assert run.supervisor.state is S.HOLDING
    run.supervisor.finish("the scene ended")
    run.step(300)
    assert run.course()[-3:] == [S.STREAMING, S.HOLDING, S.RETURNING]
    assert run.commands[-1] == pytest.approx(np.zeros(2), abs=1e-9)
    assert run.supervisor.reason == "a dead sensor"
    run.assert_safe()


def test_a_finish_before_the_first_command_moves_nothing():
    run = Run().step(5)
    run.supervisor.finish()
    assert run.step(5).course()[-1] is S.STOPPED and not run.commands


def test_a_scene_far_ahead_of_the_clock_is_a_fault():
    run = Run()
    for _ in range(10_001):
        run.send(np.zeros(2))
    run.step(2)
    assert "is ahead of the robot's clock" in run.supervisor.reason


EVENTS = st.sampled_from(["good"] * 6 + ["jump"] * 4 + ["hear", "wait"])
ENDS = st.sampled_from(["nan", "over", "fault", "stay", "finish", "stop", "wait"])


@pytest.mark.real_time
@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(EVENTS, st.integers(0, 12), st.floats(0.0, 1.0)), min_size=10, max_size=60),
    st.lists(st.tuples(ENDS, st.integers(0, 30), st.floats(0.0, 1.0)), max_size=5),
    st.sampled_from([UNKNOWN, np.array([0.0, 60.0]), np.array([33.0, math.nan])]),
    st.sampled_from(["linear", "hold"]),
    st.integers(0, 4),
)
def test_whatever_happens_in_whatever_order_commands_keep_the_limits(
    events, ends, measured, interpolation, lookahead
):
    """After the first fault no target is played any more, and the robot ends at rest or stopped."""
    run = Run(measured, stream={"interpolation": interpolation, "lookahead": lookahead})
    targets = {
        "good": lambda share: wave(run.sent) * share,
        "jump": lambda share: np.full(2, 19.0 * share),
        "nan": lambda share: np.array([math.nan, share]),
        "over": lambda share: np.array([61.0, share]),
    }
    for event, periods, share in events + ends:
        faulty = run.supervisor.reason != ""
        if event in targets:
            run.send(targets[event](share))
        elif event in ("fault", "stay"):
            run.supervisor.fault("made up", stay=event == "stay")
        elif event == "finish":
            run.supervisor.finish()
        elif event == "stop":
            run.supervisor.stop("pressed")
        elif event == "hear":
            run.supervisor.reset_scene_timeout(run.now)
        run.step(periods)
        assert not (faulty and run.supervisor.state in PLAYING)
    run.supervisor.finish()
    run.step(400)
    assert run.supervisor.state not in MOVING
    if run.commands:
        commands = run.assert_safe()
        if run.supervisor.state is S.RESTED:
            assert np.abs(commands[-1]).max() < 1e-9
