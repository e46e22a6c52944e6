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
from sofa_softctl.bridge.link.link import Link
from sofa_softctl.bridge.link.log import say
from sofa_softctl.bridge.stream.fleet import Fleet
from sofa_softctl.bridge.stream.realtime import EMERGENCY_STOP, Signals
from sofa_softctl.bridge.stream.supervisor import MOVING, SAYS_WITHIN, Supervisor
from sofa_softctl.bridge.stream.watch import Watch
from sofa_softctl.errors import DeviceError, DeviceTimeoutError

UNREAD = 50_000
"""Samples that may wait for a scene that does not read; further ones are lost."""


class Loop:
    """Runs until the scene finishes or ends, or a signal asks for it, and the robot is at rest.

    Args:
        robot: The robot's configuration.
        fleet: Its devices, open.
        link: To the scene's process.
        signals: Of this process.
        watch: For files and clocks.
    """

    def __init__(
        self, robot: RobotConfig, fleet: Fleet, link: Link, signals: Signals, watch: Watch
    ) -> None:
        self.robot, self.fleet, self.link = robot, fleet, link
        self.signals, self.watch = signals, watch
        self.supervisor = Supervisor(robot, fleet.tolerance())
        self.period = 1.0 / robot.stream.rate
        self.periods = self.missed = self.lost = 0
        self.jitter, self.latency = Histogram(), Histogram()
        self.lag = Lag(robot.actuators)
        self._unwritten: list[float] = []
        """When the targets were sent that no command could contain yet [s]."""
        self._ending = self._orphaned = False
        self._reported = ""
        self._silent: list[str] = []
        """Sensors that were silent when the devices were stopped."""
        self._effortless: list[str] | None = None
        """Devices without efforts that were to be bounded; None: not known yet."""

    def run(self) -> None:
        """See the class."""
        deadline = monotonic() + self.period
        while not (self._ending and self.fleet.stopped):
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
        """Wait for the next period; an emergency stop does not wait for it."""
        while (left := deadline - monotonic()) > 0.0:
            sources: list[Link | Signals] = [self.signals]
            if not self.link.closed:
                sources.append(self.link)
            if select.select(sources, [], [], left)[0]:
                self._attend()
                self._stop_devices()

    def _one_period(self, now: float) -> None:
        self._attend()
        self._look(now)
        if not self.fleet.stopped:
            self._read(now)
        command = self.supervisor.step(now, self.fleet.measured())
        if command is not None:
            command = self._write(command)
        self._look_for_efforts()
        self._stop_devices()
        self._report(now, command)

    def _attend(self) -> None:
        """Act on messages and signals."""
        supervisor = self.supervisor
        for message in self.link.receive():
            kind, now = message[:1], monotonic()
            if kind == messages.TARGET:
                sent, time, values = messages.read_target(message)
                supervisor.receive(now, sent, time, values)
                self._unwritten.append(sent)
            elif kind == messages.ALIVE:
                supervisor.hear(now)
            elif kind == messages.STOP:
                supervisor.stop(f"emergency stop: {messages.read_pickled(message)}")
            elif kind == messages.FINISH:
                self._ending = True
                supervisor.finish(rest=messages.read_finish(message))
        for received in self.signals.take():
            if received is EMERGENCY_STOP:
                supervisor.stop(f"emergency stop: signal {received.name}")
            else:
                self._ending = True
                supervisor.finish(f"the device process got {received.name}")
        if not self._orphaned and (self.link.closed or self.watch.orphaned()):
            self._orphaned = True
            if not self._ending:
                self._ending = True
                supervisor.fault("the process of the scene ended without finishing the stream")
                say(f"{supervisor.reason}; robot '{self.robot.name}': {supervisor.state.name}.")

    def _look(self, now: float) -> None:
        """Watch files and clocks."""
        name, took = self.fleet.slowest_of_period()
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
        if why := self.watch.stop_file():
            self.supervisor.stop(why)
        why = self.watch.dead_man(now)
        if why and (self.supervisor.state in MOVING or self.supervisor.playout.ready):
            self.supervisor.fault(why, stay=True)

    def _read(self, now: float) -> None:
        try:
            self.fleet.read()
        except DeviceError as error:
            self.supervisor.stop(str(error), type(error))
        else:
            if self.supervisor.state in MOVING and (why := self.fleet.excess()):
                self.supervisor.fault(why)

    def _write(self, command: np.ndarray) -> np.ndarray | None:
        """Send; None: it failed."""
        try:
            self.fleet.write(command)
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

    def _look_for_efforts(self) -> None:
        """Say once, after the soft start, where a bound of efforts does nothing."""
        playing = self.supervisor.state in (StreamState.STREAMING, StreamState.WAITING)
        if self._effortless is None and playing and self.periods * self.period > SAYS_WITHIN:
            self._effortless = self.fleet.without_effort()
            for note in self._effortless:
                say(note)

    def _stop_devices(self) -> None:
        if self.supervisor.state in OVER and not self.fleet.stopped:
            self._silent = self.fleet.silent_sensors()
            for problem in self.fleet.stop():
                self.supervisor.note(problem)
                say(problem)
            self._report_reason()

    def _report(self, now: float, command: np.ndarray | None) -> None:
        supervisor = self.supervisor
        self._report_reason()
        if len(self.link) > UNREAD:
            self.lost += 1
            self.link.flush()
            return
        nothing = np.full(len(self.robot.actuators), np.nan)
        found = Sample(
            time=supervisor.playout.time,
            clock=now,
            state=supervisor.state,
            target=supervisor.target,
            command=nothing if command is None else command,
            measured=self.fleet.measured(),
            effort=self.fleet.efforts(),
            sensors=self.fleet.sensors(),
            age=self.fleet.ages(),
            sensor_age=self.fleet.sensor_ages(),
        )
        self.link.send(messages.sample(found))

    def _report_reason(self) -> None:
        supervisor = self.supervisor
        if supervisor.reason != self._reported:
            self._reported = supervisor.reason
            content = (supervisor.state, supervisor.reason, supervisor.error.__name__)
            self.link.send(messages.pickled(messages.REASON, content))

    def statistics(self, notes: tuple[str, ...]) -> Statistics:
        """How regular it was; `notes`: what was known before."""
        measuring = self.fleet.measured_by_devices()
        silent = [name for name in self.supervisor.assumed if name in measuring]
        assumed = (
            f"{', '.join(silent)} did not say where "
            f"{'it was' if len(silent) == 1 else 'they were'}: the soft start began at the rest "
            "pose."
        )
        lost = f"{self.lost} samples were lost: the scene did not read them in time."
        round_trip = self.fleet.round_trip()
        return Statistics(
            periods=self.periods,
            missed=self.missed,
            jitter=self.jitter.percentiles(),
            latency=self.latency.percentiles(),
            round_trip=round_trip.percentiles(),
            jitter_histogram=(self.jitter.counts, self.jitter.edges),
            latency_histogram=(self.latency.counts, self.latency.edges),
            waited=self.supervisor.playout.waited,
            notes=(
                *notes,
                *([assumed] if silent else []),
                *self.lag.notes(),
                *self.fleet.notes(),
                *self._silent,
                *(self._effortless or []),
                *([lost] if self.lost else []),
            ),
        )


def steps_to_next(deadline: float, start: float, now: float, period: float) -> int:
    """Periods from one deadline to the next that is kept; those between are left out.

    Two periods never begin less than half a period apart, so that what was late is not hurried; a
    deadline that passed by less than half a period is still kept.

    Args:
        deadline: Of the period that began last [s].
        start: When that one began [s].
        now: When its work was done [s].
        period: [s].
    """
    earliest = max(start + 0.5 * period, now - 0.5 * period)
    return max(1, math.ceil((earliest - deadline) / period))
