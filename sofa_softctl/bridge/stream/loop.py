"""The loop of the device process: once a period, look, decide, write, report.

Limits hold from one command to the next. On the wire a command that was late may be followed after
half a period, so that for this one period the motors may be asked for twice the rate; after what
is later still, deadlines are left out, and the robot's clock waits meanwhile.
"""

from __future__ import annotations

import math
import select
from time import monotonic

import numpy as np

from sofa_softctl.bridge.config.robot import RobotConfig
from sofa_softctl.bridge.course.lag import Lag
from sofa_softctl.bridge.course.state import OVER, Histogram, Sample, Statistics, StreamState
from sofa_softctl.bridge.link import messages
from sofa_softctl.bridge.link.link import MessageSocket
from sofa_softctl.bridge.link.log import print_stderr
from sofa_softctl.bridge.stream.fleet import DeviceSet
from sofa_softctl.bridge.stream.realtime import EMERGENCY_STOP, Signals
from sofa_softctl.bridge.stream.supervisor import FEEDBACK_WAIT_MAX, MOVING, Supervisor
from sofa_softctl.bridge.stream.watch import StopConditions
from sofa_softctl.errors import DeviceError, DeviceTimeoutError

UNREAD_SAMPLES_MAX = 50_000
"""Samples that may wait for a scene that does not read; further ones are lost."""


class Loop:
    """Runs until the scene finishes or ends, or a signal asks for it, and the robot is at rest.

    Args:
        robot: The robot's configuration.
        devices: The robot's devices, open.
        link: Socket to the scene's process.
        signals: Signals to this process.
        watch: Conditions on files and clocks.
    """

    def __init__(
        self,
        robot: RobotConfig,
        devices: DeviceSet,
        link: MessageSocket,
        signals: Signals,
        watch: StopConditions,
    ) -> None:
        self.robot, self.devices, self.link = robot, devices, link
        self.signals, self.watch = signals, watch
        self.supervisor = Supervisor(robot, devices.tolerance())
        self.period = 1.0 / robot.stream.rate
        self.periods = self.missed = self.lost = 0
        self.jitter, self.latency = Histogram(), Histogram()
        self.lag = Lag(robot.actuators)
        self._unwritten: list[float] = []
        """Send times of targets that no command could contain yet [s]."""
        self._ending = self._scene_ended = False
        self._reported = ""
        self._silent: list[str] = []
        """Sensors that were silent when the devices were stopped."""
        self._effortless: list[str] | None = None
        """Notes on devices without efforts that are limited; None if not known yet."""

    def run(self) -> None:
        """Run until the robot is at rest and its devices are stopped."""
        deadline = monotonic() + self.period
        while not (self._ending and self.devices.stopped):
            self._wait(deadline)
            start = monotonic()
            moving = self.supervisor.state in MOVING
            self._one_period(start)
            steps = steps_to_next(deadline, start, monotonic(), self.period)
            if moving:
                self.periods += 1
                self.missed += steps - 1
                self.jitter.add(abs(start - deadline))
            deadline += steps * self.period

    def _wait(self, deadline: float) -> None:
        """Wait for the next period; act on an emergency stop immediately."""
        while (left := deadline - monotonic()) > 0.0:
            sources: list[MessageSocket | Signals] = [self.signals]
            if not self.link.closed:
                sources.append(self.link)
            if select.select(sources, [], [], left)[0]:
                self._handle_messages()
                self._stop_devices()

    def _one_period(self, now: float) -> None:
        self._handle_messages()
        self._check_files_and_clocks(now)
        if not self.devices.stopped:
            self._read(now)
        command = self.supervisor.step(now, self.devices.positions())
        if command is not None:
            command = self._write(command)
        self._report_missing_efforts()
        self._stop_devices()
        self._report(now, command)

    def _handle_messages(self) -> None:
        """Act on messages and signals."""
        supervisor = self.supervisor
        for message in self.link.receive():
            kind, now = message[:1], monotonic()
            if kind == messages.TARGET:
                sent, time, values = messages.read_target(message)
                supervisor.receive(now, sent, time, values)
                self._unwritten.append(sent)
            elif kind == messages.ALIVE:
                supervisor.reset_scene_timeout(now)
            elif kind == messages.STOP:
                supervisor.stop(f"emergency stop: {messages.read_pickle(message)}")
            elif kind == messages.FINISH:
                self._ending = True
                supervisor.finish(rest=messages.read_finish(message))
        for received in self.signals.take_received():
            if received is EMERGENCY_STOP:
                supervisor.stop(f"emergency stop: signal {received.name}")
            else:
                self._ending = True
                supervisor.finish(f"the device process got {received.name}")
        if not self._scene_ended and (self.link.closed or self.watch.has_scene_process_ended()):
            self._scene_ended = True
            if not self._ending:
                self._ending = True
                supervisor.fault("the process of the scene ended without finishing the stream")
                print_stderr(
                    f"{supervisor.reason}; robot '{self.robot.name}': {supervisor.state.name}."
                )

    def _check_files_and_clocks(self, now: float) -> None:
        """Check files and clocks."""
        name, took = self.devices.slowest_of_period()
        gap = self.watch.gap(now)
        if gap and took > 0.5 * gap:
            self.supervisor.stop(
                f"device '{name}' held up the loop for {took:.3g} s", DeviceTimeoutError
            )
        elif gap:
            self.supervisor.stop(
                f"a period took {gap:.3g} s (clock_jump = {self.robot.safety.clock_jump:g} s): "
                "the device process was paused, or the computer was asleep or overloaded"
            )
        if reason := self.watch.stop_file():
            self.supervisor.stop(reason)
        reason = self.watch.dead_man(now)
        if reason and (self.supervisor.state in MOVING or self.supervisor.buffer.ready):
            self.supervisor.fault(reason, stay=True)

    def _read(self, now: float) -> None:
        try:
            self.devices.read()
        except DeviceError as error:
            self.supervisor.stop(str(error), type(error))
        else:
            if self.supervisor.state in MOVING and (reason := self.devices.effort_excess()):
                self.supervisor.fault(reason)

    def _write(self, command: np.ndarray) -> np.ndarray | None:
        """Send a command; return None if that failed."""
        try:
            self.devices.write(command)
        except DeviceError as error:
            self.supervisor.stop(str(error), type(error))
            return None
        now = monotonic()
        if self.supervisor.state in (StreamState.STREAMING, StreamState.WAITING):
            self.lag.add(self.supervisor.target, command)
            for sent in self._unwritten:
                self.latency.add(now - sent)
        self._unwritten.clear()
        return command

    def _report_missing_efforts(self) -> None:
        """Report once, after the soft start, limits of efforts that have no effect."""
        playing = self.supervisor.state in (StreamState.STREAMING, StreamState.WAITING)
        if self._effortless is None and playing and self.periods * self.period > FEEDBACK_WAIT_MAX:
            self._effortless = self.devices.missing_effort_notes()
            for note in self._effortless:
                print_stderr(note)

    def _stop_devices(self) -> None:
        if self.supervisor.state in OVER and not self.devices.stopped:
            self._silent = self.devices.silent_sensors()
            for problem in self.devices.stop():
                self.supervisor.note(problem)
                print_stderr(problem)
            self._report_reason()

    def _report(self, now: float, command: np.ndarray | None) -> None:
        supervisor = self.supervisor
        self._report_reason()
        if len(self.link) > UNREAD_SAMPLES_MAX:
            self.lost += 1
            self.link.flush()
            return
        no_command = np.full(len(self.robot.actuators), np.nan)
        sample = Sample(
            time=supervisor.buffer.time,
            clock=now,
            state=supervisor.state,
            target=supervisor.target,
            command=no_command if command is None else command,
            measured=self.devices.positions(),
            effort=self.devices.efforts(),
            sensors=self.devices.sensors(),
            age=self.devices.ages(),
            sensor_age=self.devices.sensor_ages(),
        )
        self.link.send(messages.pack_sample(sample))

    def _report_reason(self) -> None:
        supervisor = self.supervisor
        if supervisor.reason != self._reported:
            self._reported = supervisor.reason
            content = (supervisor.state, supervisor.reason, supervisor.error.__name__)
            self.link.send(messages.pack_pickle(messages.REASON, content))

    def statistics(self, notes: tuple[str, ...]) -> Statistics:
        """Return statistics of the stream, after the notes from its opening."""
        measuring = self.devices.measured_by_devices()
        silent = [name for name in self.supervisor.assumed if name in measuring]
        assumed = (
            f"{', '.join(silent)} did not say where "
            f"{'it was' if len(silent) == 1 else 'they were'}: the soft start began at the rest "
            "pose."
        )
        lost = f"{self.lost} samples were lost: the scene did not read them in time."
        round_trip = self.devices.round_trip()
        return Statistics(
            periods=self.periods,
            missed=self.missed,
            jitter=self.jitter.percentiles(),
            latency=self.latency.percentiles(),
            round_trip=round_trip.percentiles(),
            jitter_histogram=(self.jitter.counts, self.jitter.edges),
            latency_histogram=(self.latency.counts, self.latency.edges),
            waited=self.supervisor.buffer.waited,
            notes=(
                *notes,
                *([assumed] if silent else []),
                *self.lag.notes(),
                *self.devices.notes(),
                *self._silent,
                *(self._effortless or []),
                *([lost] if self.lost else []),
            ),
        )


def steps_to_next(deadline: float, start: float, now: float, period: float) -> int:
    """Return the number of periods from a deadline to the next feasible one.

    Two periods never begin less than half a period apart, so that what was late is not hurried; a
    deadline that passed by less than half a period is still kept.

    Args:
        deadline: Deadline of the current period [s].
        start: Start of that period [s].
        now: End of its work [s].
        period: Period [s].
    """
    earliest = max(start + 0.5 * period, now - 0.5 * period)
    return max(1, math.ceil((earliest - deadline) / period))
