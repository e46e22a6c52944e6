"""The device process as the scene's process sees it, and its start."""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Self

import numpy as np

from sofa_softctl import errors
from sofa_softctl.bridge.config.robot import RobotConfig
from sofa_softctl.bridge.course.checks import check_robot
from sofa_softctl.bridge.course.move import move_duration
from sofa_softctl.bridge.course.state import Sample, Statistics, StreamState
from sofa_softctl.bridge.device import Capabilities
from sofa_softctl.bridge.link import messages
from sofa_softctl.bridge.link.homes import device_import_path
from sofa_softctl.bridge.link.link import MessageSocket
from sofa_softctl.bridge.stream.port import OPEN_TIMEOUT, STOP_TIMEOUT
from sofa_softctl.bridge.stream.realtime import EMERGENCY_STOP
from sofa_softctl.errors import (
    ConfigError,
    DeviceError,
    DeviceFailedError,
    DeviceOpenError,
    DeviceTimeoutError,
    DeviceUnavailableError,
)

ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def launch(robot: RobotConfig, dry_run: bool) -> tuple[subprocess.Popen[bytes], MessageSocket]:
    """Start the process and give it the configuration; it opens the devices then.

    It has a separate session, so that keys of the terminal (Ctrl-C, Ctrl-Z) and the end of the
    terminal reach only the scene. It inherits nothing else from the scene: no `__main__` is
    imported again.

    Raises:
        ConfigError: A device is not known, or cannot be imported in another process.
        DeviceUnavailableError: No Python was found.
    """
    homes = (
        {}
        if dry_run
        else {device.type: device_import_path(device.type) for device in robot.devices}
    )
    try:
        setup = pickle.dumps(homes) + pickle.dumps((robot, dry_run))
    except Exception as error:  # pickle raises whatever an object's own methods raise
        raise ConfigError(
            f"the configuration '{robot.path}' cannot be sent to the device process: {error}"
        ) from error
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    module = "sofa_softctl.bridge.stream.process"
    try:
        with theirs:
            process = subprocess.Popen(
                [python(), "-P", "-m", module, str(theirs.fileno()), str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=_errors(),  # what a device prints must not mix with what the command prints
                stderr=_errors(),
                pass_fds=[theirs.fileno()],
                start_new_session=True,
                env=_environment(os.environ),
            )
    except OSError as error:
        ours.close()
        raise DeviceUnavailableError(f"the device process cannot be started: {error}") from error
    except BaseException:
        ours.close()
        raise
    assert process.stdin is not None
    try:
        with process.stdin as stdin:
            stdin.write(setup)
    except BrokenPipeError:
        pass  # it ended already; whoever waits for its first message finds out
    return process, MessageSocket(ours)


def _errors() -> int:
    """Return the standard error output, if it is open."""
    try:
        os.fstat(2)
    except OSError:
        return subprocess.DEVNULL
    return 2


def python() -> str:
    """Return the Python of this process; under runSofa, `sys.executable` is another program.

    Raises:
        DeviceUnavailableError: None was found.
    """
    for candidate in _candidates():
        if (
            candidate
            and Path(candidate).name.startswith("python")
            and os.access(candidate, os.X_OK)
        ):
            return candidate
    raise DeviceUnavailableError(
        f"no Python was found in '{sys.prefix}' to run the device process with."
    )


def _candidates() -> Iterator[str | None]:
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    yield sys.executable
    for prefix in (sys.prefix, sys.exec_prefix, sys.base_prefix):
        yield from (f"{prefix}/bin/{name}" for name in (version, "python3"))
    yield shutil.which(version)


def _environment(ours: Mapping[str, str]) -> dict[str, str]:
    """Return this process's environment, with its import path and one thread for short vectors."""
    paths = os.pathsep.join(path or os.getcwd() for path in sys.path)
    return {**ours, "PYTHONPATH": paths, **dict.fromkeys(ONE_THREAD, "1")}


SILENCE_MAX = 1.0
"""Silence of the device process, which reports every period, after which it hangs [s]."""
WAIT_MAX = 0.1
"""Longest wait of `finish` between two calls of `meanwhile` [s]."""
UNREAD_TARGETS_MAX = 10_000
"""Number of unread targets above which the device process hangs."""


class Stream:
    """Starts the device process of a robot, sends it targets, and reads what it did.

    A context manager that finishes it. The process opens the devices, enforces all limits just
    before the wire, and brings the robot to rest by itself when targets stop coming or this
    process ends, in whatever way. The robot's clock starts when `lookahead` + 1 targets were sent;
    a scene keeps to it with `pace`. A scene that neither sends nor polls for `command_timeout` is
    taken to hang.

    Args:
        robot: The robot's configuration.
        dry_run: Whether loopback devices replace all devices: nothing moves.

    Raises:
        DeviceError: A device cannot be opened.
        ConfigError: Capabilities of an opened device do not fit the configuration.
    """

    def __init__(self, robot: RobotConfig, *, dry_run: bool = False) -> None:
        check_robot(robot)
        self.robot, self.dry_run = robot, dry_run
        self.capabilities: dict[str, Capabilities] = {}
        """Capabilities of each device, by name."""
        self.notes: tuple[str, ...] = ()
        """Notes for users before anything moves."""
        self.state = StreamState.OPENING
        """State when `poll` was last called."""
        self.reason = ""
        """Reason why the robot is held, returning, rested or stopped, or ""."""
        self.time = float("nan")
        """The robot's clock when `poll` was last called; NaN before the first target [s]."""
        self.paced = 0.0
        """Time for which `pace` has waited [s]."""
        self._error: type[DeviceError] = DeviceFailedError
        self._samples: list[Sample] = []
        self._sent: list[float] = []
        """Times of the targets that the robot's clock has not passed [s]."""
        self.statistics: Statistics | None = None
        """Result of `finish`, even if it raises; None if the process has not ended in order."""
        self._failure: DeviceError | None = None
        self._raised = ""
        """The `reason` that was raised last."""
        self._opening: tuple[str | None, str] | None = None
        self._finishing = self._finished = self._asked = False
        self._process, self._link = launch(robot, dry_run)
        self._heard = self._alive = monotonic()
        try:
            self._open()
        except BaseException:
            self._close()
            raise

    def send(self, time: float, target: np.ndarray) -> None:
        """Send the target of one step. Does not wait.

        Args:
            time: Time of the scene at which it holds [s], later than the last one's.
            target: One value an actuator, in the order of `robot.actuators` [actuators' units].
                What is wrong with it (NaN, out of range, a jump) is found by the device process.

        Raises:
            DeviceError: The device process ended, or stopped the robot; the message has `reason`.
        """
        self._receive()
        self._check()
        self._alive = monotonic()
        self._sent.append(time)
        self._link.send(messages.pack_target(self._alive, time, target))
        if len(self._link) > UNREAD_TARGETS_MAX:
            raise self._store_failure(
                DeviceTimeoutError(
                    f"the device process reads nothing: {UNREAD_TARGETS_MAX} targets wait for it"
                )
            )

    def poll(self) -> list[Sample]:
        """Return the samples since the last call, oldest first. Does not wait."""
        self._receive()
        now = monotonic()
        if now - self._alive > 0.25 * self.robot.safety.command_timeout:
            self._alive = now
            self._link.send(messages.ALIVE)
        self._link.flush()
        samples, self._samples = self._samples, []
        return samples

    @property
    def ahead(self) -> int:
        """Number of targets that the robot's clock had not reached when last polled."""
        return len(self._sent)

    def pace(self) -> None:
        """Wait until the robot's clock is at most `lookahead` targets behind.

        Called after each `send`, it keeps a fast scene in real time. It returns immediately for
        slower scenes, and before the clock starts; samples wait for `poll`.

        Raises:
            DeviceError: As for `send`.
        """
        samples: list[Sample] = []
        start = monotonic()
        try:
            while True:
                samples += self.poll()
                self._check()
                if len(self._sent) <= self.robot.stream.lookahead:
                    return
                self._link.wait(0.25 * self.robot.safety.command_timeout)
        finally:
            self.paced += monotonic() - start
            self._samples = samples + self._samples

    def stop(self, reason: str) -> None:
        """Stop all devices immediately (emergency stop)."""
        if not self._finished:
            self.reason = self.reason or f"emergency stop: {reason}"
            self._asked = True
        self._link.send(messages.pack_pickle(messages.STOP, reason))

    def stop_now(self) -> None:
        """Stop all devices by a signal to the device process: from any thread, without waiting."""
        if self._process.poll() is None:
            self._process.send_signal(EMERGENCY_STOP)

    def begin_finish(self, rest: np.ndarray | None = None) -> None:
        """Send the robot to its rest pose, before `finish`. Does not wait.

        Args:
            rest: Another rest pose than the configured one [actuators' units], shape (n,).
        """
        if not self._finishing:
            self._link.send(messages.pack_finish(rest))
            self._finishing = True

    def finish(
        self, rest: np.ndarray | None = None, *, meanwhile: Callable[[], object] | None = None
    ) -> Statistics:
        """Finish: move the robot to its rest pose, close the devices, end the process.

        Takes as long as the limits need to reach the rest pose, in periods of the device process:
        one that is slow takes longer. If it falls silent, or takes far more periods, it is asked
        for an emergency stop, and then killed. After a fault or a stop it ends at once. Targets
        that were not played are dropped. A second call gives the same. Samples remain for `poll`.

        Args:
            rest: Another rest pose than the configured one [actuators' units], shape (n,).
            meanwhile: Called repeatedly while it waits.

        Raises:
            DeviceError: The process did not end in order, or a device failed, or the robot was
                held or stopped, and that was not raised before.
        """
        if not self._finished:
            self.begin_finish(rest)
            try:
                self._await_end(meanwhile or (lambda: None))
            except Exception:  # of `meanwhile`
                self.stop_now()
                self._close()
                raise
            self._close()
            if self.statistics is None and self._failure is None:
                self._failure = self._explain_end()
            elif self.reason != self._raised and not self._asked and self._failure is None:
                self._failure = self._error(f"{self.robot.name}: {self.reason}.")
        if self._failure is not None:
            raise self._failure
        assert self.statistics is not None
        return self.statistics

    def _open(self) -> None:
        deadline = monotonic() + (OPEN_TIMEOUT + STOP_TIMEOUT) * max(len(self.robot.devices), 1)
        while self.state is StreamState.OPENING:
            if self._opening is not None:
                name, text = self._opening
                kind = getattr(errors, name) if name else DeviceOpenError
                raise kind(text)
            if self._link.closed:
                raise self._explain_end()
            if monotonic() > deadline:
                raise DeviceTimeoutError(f"the devices of '{self.robot.name}' did not open in time")
            self._link.wait(0.5)
            self._receive()

    def _receive(self) -> None:
        """Act on all messages."""
        received = [] if self._link.closed else self._link.receive()
        if received:
            self._heard = monotonic()
        for message in received:
            kind = message[:1]
            if kind == messages.SAMPLE:
                sample = messages.read_sample(message)
                self._samples.append(sample)
                self.state, self.time = sample.state, sample.time
            elif kind == messages.REASON:
                self.state, self.reason, name = messages.read_pickle(message)
                self._error = getattr(errors, name)
            elif kind == messages.OPENED:
                self.capabilities, self.notes = messages.read_pickle(message)
                self.state = StreamState.READY
            elif kind == messages.ERROR:
                self._opening = messages.read_pickle(message)
            elif kind == messages.STATISTICS:
                self.state, self.statistics = messages.read_pickle(message)
        self._sent = [time for time in self._sent if not time <= self.time]

    def _check(self) -> None:
        """Raise an error if targets cannot be used."""
        if self._failure is not None:
            raise self._failure
        if self.reason:
            self._raised = self.reason
            raise self._store_failure(self._error(f"{self.robot.name}: {self.reason}."))
        if self._finishing:
            raise DeviceFailedError(f"{self.robot.name}: the stream is finished.")
        if self._link.closed:
            raise self._store_failure(self._explain_end())
        if self._is_silent:
            self._receive()  # perhaps it was this process that paused: then there are messages
            if not self._is_silent or self._link.closed:
                return self._check()
            raise self._store_failure(
                DeviceTimeoutError(
                    f"{self.robot.name}: the device process has said nothing for "
                    f"{monotonic() - self._heard:.2g} s: it is paused, or a device hangs."
                )
            )

    @property
    def _is_silent(self) -> bool:
        """Return True if the process has been silent for too long."""
        return monotonic() - self._heard > SILENCE_MAX + 2.0 / self.robot.stream.rate

    def _store_failure(self, error: DeviceError) -> DeviceError:
        if self.statistics is None and self._link.closed:
            self._failure = error
        return error

    def _explain_end(self) -> DeviceFailedError:
        """Return an error on how the device process ended, and on the state of the robot."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(STOP_TIMEOUT)
        status = self._process.returncode
        how = "closed its end of the link" if status is None else f"ended with status {status}"
        if status is not None and status < 0:
            how = f"was killed by {signal.Signals(-status).name}"
        opening = self.state is StreamState.OPENING
        when = "" if opening else f" while the robot was {self.state.name}"
        unguarded = [
            n for n, device in self.capabilities.items() if device.moves and not device.watchdog
        ]
        keep = "".join(
            f" The watchdog of {name} stops it {device.watchdog:g} s after the last command."
            for name, device in self.capabilities.items()
            if device.moves and device.watchdog
        )
        if unguarded:
            names = ", ".join(unguarded)
            keep += f" Without a watchdog, {names} may keep the last command: switch off."
        return DeviceFailedError(f"{self.robot.name}: the device process {how}{when}.{keep}")

    def _periods_to_end_max(self) -> float:
        """Return twice the number of periods to hold, brake, return and hold."""
        actuators = self.robot.actuators
        span = np.array([a.position_max - a.position_min for a in actuators])
        rate = np.array([a.rate for a in actuators])
        acceleration = np.array([a.acceleration for a in actuators])
        with np.errstate(over="ignore"):  # infinitely many are right for limits near 0
            brake = float((rate / acceleration).max(initial=0.0))
            back = brake + move_duration(span, rate, acceleration) + 2.0 * self.robot.safety.hold
        return 2.0 * back * self.robot.stream.rate + 10.0

    def _silence_max(self) -> float:
        """Return the longest silence of a process that ends, in any state of its devices [s]."""
        calls = len(self.robot.devices) * 2.0 * (self.robot.safety.clock_jump + STOP_TIMEOUT)
        return calls + 2.0 / self.robot.stream.rate + 2.0

    def _await_end(self, meanwhile: Callable[[], object]) -> None:
        """Wait for the end of the process, as long as it reports."""
        left, silence = self._periods_to_end_max(), self._silence_max()
        self._heard = monotonic()
        while not self._link.closed:
            meanwhile()
            count = len(self._samples)
            self._link.wait(min(WAIT_MAX, self._heard + silence - monotonic()))
            self._receive()
            left -= len(self._samples) - count
            silent = monotonic() - self._heard
            if silent > silence:
                self._force_end(f"has said nothing for {silent:.1f} s", silence)
            elif left < 0.0:
                self._force_end("does not come to an end", silence)

    def _force_end(self, symptom: str, seconds: float) -> None:
        """Ask for an emergency stop, then kill the process if it does not end."""
        self.stop_now()
        deadline = monotonic() + seconds
        while not self._link.closed and (left := deadline - monotonic()) > 0.0:
            self._link.wait(left)
            self._receive()
        ended = self._link.closed
        if not ended:
            self._process.kill()
            self._link.closed = True
        self._failure = DeviceTimeoutError(
            f"{self.robot.name}: the device process {symptom}: it was asked for an emergency stop, "
            + (
                "and stopped the devices."
                if ended and self.state is StreamState.STOPPED
                else "and was killed: it was paused, or a device hangs. Switch the robot off."
            )
        )

    def _close(self) -> None:
        """Close the link, and kill the process if it does not end by itself."""
        self._finishing = self._finished = True
        self._link.close()
        try:
            self._process.wait(2.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            self.finish()
        except DeviceError:
            if not isinstance(error, DeviceError):  # otherwise it was raised before
                raise
