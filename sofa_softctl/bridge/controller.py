"""The hardware bridge in a scene: streams targets of its actuators to motors and pumps."""

from __future__ import annotations

import atexit
import os
import sys
from collections import deque
from collections.abc import Iterable
from contextlib import ExitStack
from time import monotonic
from typing import Any

import numpy as np
import Sofa
from typing_extensions import override

from sofa_softctl.base.processes import ended_by_signals
from sofa_softctl.bridge.client.client import Stream
from sofa_softctl.bridge.config.file import read_robot
from sofa_softctl.bridge.config.fit import fit
from sofa_softctl.bridge.config.robot import RobotConfig
from sofa_softctl.bridge.config.scene_actuators import actuators_of
from sofa_softctl.bridge.course.state import OVER, Sample, StreamState
from sofa_softctl.bridge.dry_run import DRY_RUN
from sofa_softctl.bridge.feedback import FeedbackData, SampleRows
from sofa_softctl.bridge.summary import BridgeSummary, draw_bridge, summarise
from sofa_softctl.bridge.targets import Targets, find_source
from sofa_softctl.errors import ConfigError, DeviceError, DeviceFailedError
from sofa_softctl.scene.control import options
from sofa_softctl.scene.control.controller import SceneController, pauses_on_error
from sofa_softctl.scene.control.report import History
from sofa_softctl.scene.control.streams import StreamRows
from sofa_softctl.scene.control.units import declared_units
from sofa_softctl.scene.graph.nodes import devices_stay_closed, nodes_of
from sofa_softctl.units import Units

SAMPLES_MAX = 20_000
"""Number of samples that wait for a recording; without one, the newest are stored."""


class HardwareBridge(SceneController):
    """Moves a real robot as the actuators of the scene move, in real time.

    The devices are opened in the first step, before anything moved. After each step the
    displacement or effort of each actuator is sent to a separate process, which enforces the
    limits of the configuration and sends commands at a fixed rate. The scene waits if it is
    faster than real time; if it is slower, so is the robot. An error of a device, a limit that
    is exceeded and an emergency stop end the run with DeviceError. The robot goes to its rest pose
    when the session ends, in any way: see `cleanup`.

    After a reset, or a return to an earlier snapshot, the robot goes to rest, and starts again;
    not after a fault or a stop, which are final: each further step raises DeviceError.
    In copies of a scene and in benchmarks it does nothing.

    Args:
        root: Root of the scene.
        config: The robot: path of its TOML file, or a `RobotConfig`.
        source: Controller of the actuators: a controller with a list `actuators` (or `lines`), such
            as InverseController, SurrogateController, LibraryController, Playback or one of yours;
            or a list of components. None: the only such controller that the scene has so far; in a
            scene without one, all its actuators.
        dry_run: Whether loopback devices replace the robot's: no motor moves.
        units: Units of the scene, such as "mm, kg, s". None: the UNITS of its file.
        kwargs: Such as `name`.

    Data:
        command: Last command, in the order of the source's actuators [as the scene has it].
        measured: Measured positions, likewise; NaN where none was measured within
            `feedback_timeout`.
        age: Age of each measured position [s]; NaN before the first.
        robot_time: The robot's clock: time of the scene that it is at [time]; NaN before it starts.
        state: State of the device process, see `StreamState`.
        NAME: Numbers of the sensor NAME of the configuration [as the scene has it]; NaN before the
            first.
        sensor_age: Age of the numbers of each sensor [s], in the order of the configuration.

    Raises:
        ConfigError: The configuration is wrong, or does not fit the scene.
        SceneError: An option is wrong, or the source drives no actuators that are known.
        DeviceError: A device cannot be opened, or failed (in a step).
    """

    def __init__(
        self,
        *args: Any,
        root: Any,
        config: str | os.PathLike[str] | RobotConfig,
        source: Any = None,
        dry_run: bool = False,
        units: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, root=root, **kwargs)
        self.dry_run = dry_run
        self.units = declared_units(root) if units is None else Units.parse(units)
        self.controller, self.components = find_source(self, source)
        self.robot = self._read(config)
        scene_actuators = actuators_of(root, self.controller)
        self.names = tuple(actuator.name for actuator in scene_actuators)
        """Names of the source's actuators."""
        self.fit = fit(self.robot, scene_actuators, self.units, self.dt.value)
        if self.units is None or self.fit.errors:
            listed = "\n".join(self.fit.errors)
            raise ConfigError(f"{self.made_at}: {type(self).__name__}: {listed}")
        self.seconds = self.units.in_si("time")
        """One unit of the scene's time [s]."""
        self.feedback = FeedbackData(
            self, self.robot, len(scene_actuators), self.fit.matches, self.units
        )
        self.recorded = self.feedback.recorded
        self.rows = SampleRows(self.robot, self.seconds)
        self.stream: Stream | None = None
        self.samples: deque[Sample] = deque(maxlen=SAMPLES_MAX)
        """Samples that no recording has fetched."""
        self.stop_asked, self.fault = False, ""
        self._open_until = ExitStack()
        self._reset_state()

    def _reset_state(self) -> None:
        self.keep(targets=None, last_time=-np.inf, failed=False, ended=None)
        self.keep(steps=0, late=0, paced=0.0)

    def _read(self, config: Any) -> RobotConfig:
        if isinstance(config, RobotConfig):
            return config
        if not isinstance(config, str | os.PathLike):
            options.raise_invalid_option(self, "config", "the path of a robot's TOML file", config)
        try:
            return read_robot(config)
        except ConfigError as error:
            raise ConfigError(f"{self.made_at}: {type(self).__name__}: {error}") from error

    @property
    def quantities(self) -> tuple[str, ...]:
        """Quantity of the commands of each of the source's actuators, such as 'length'."""
        quantity_by_index = {match.index: match.actuator.quantity for match in self.fit.matches}
        return tuple(quantity_by_index.get(index, "") for index in range(len(self.names)))

    @override
    def start_warnings(self) -> list[str]:
        return list(self.fit.warnings)

    @override
    def about(self) -> dict[str, Any]:
        return {
            "actuators": list(self.names),
            "source": _path(self.controller),
            "robot.actuators": [actuator.name for actuator in self.robot.actuators],
            "robot": self.robot.name,
            "dry_run": self.dry_run,
            "config": self.robot.path,
            "config_text": self.robot.text,
        }

    def onAnimateBeginEvent(self, event: Any) -> None:
        """Open the devices, before the first step; receive samples.

        Raises:
            DeviceError: A fault or a stop is final: in each further step, after a reset too.
        """
        if self.fault:
            raise DeviceFailedError(
                f"{self.made_at}: {self.fault} This is final: make a new session, or run again."
            )
        self._begin(event)

    @pauses_on_error
    def _begin(self, event: Any) -> None:
        del event
        if self.time.value < self.last_time:  # SOFA does not notify controllers of a reset
            self.reset()
        if self.stream is None and not devices_stay_closed(self.root):
            try:
                self._open()
            except (ConfigError, DeviceError) as error:
                self.keep(fault=str(error))
                raise
        self._receive_samples()  # other controllers read it in the step

    @pauses_on_error
    def onAnimateEndEvent(self, event: Any) -> None:
        """Send the targets of the step, wait for the robot's clock, and receive samples."""
        del event
        if self.stream is None:
            return
        time = float(self.time.value)
        try:
            self.stream.send(time * self.seconds, self.targets.read())
            late = self.stream.state is StreamState.WAITING
            self.keep(last_time=time, steps=self.steps + 1, late=self.late + late)
            self.stream.pace()
        except DeviceError as error:
            self.keep(fault=str(error))
            raise
        finally:
            self._receive_samples()

    def _open(self) -> None:
        if self.stop_asked:
            raise DeviceFailedError(f"{self.robot.name}: emergency stop before anything moved.")
        self.keep(
            stream=Stream(self.robot, dry_run=self.dry_run),
            targets=Targets(self.root, self.controller, self.components, self.fit.matches),
        )
        if self.stop_asked:
            self.stream.stop_now()
        atexit.register(self._end_with_python)
        self._open_until.callback(atexit.unregister, self._end_with_python)
        self._open_until.enter_context(ended_by_signals())

    def _receive_samples(self) -> None:
        samples = [] if self.stream is None else self.stream.poll()
        self.samples.extend(samples)
        if samples:
            self.feedback.write(samples[-1], monotonic())

    def hold(self) -> None:
        """Send nothing more: the device process holds the robot, and brings it to rest."""

    def stop_now(self) -> None:
        """Emergency stop from any thread: all devices stop where they are, and the run ends."""
        self.keep(stop_asked=True)  # before or while the devices are opened: see `_open`
        if self.stream is not None:
            self.stream.stop_now()

    def cleanup(self) -> None:
        """Return the robot to rest within its limits, stop the motors, close the devices.

        The robots of all bridges of the scene go at the same time.
        Called at the end of a session, at errors, Ctrl-C, SIGTERM and SIGHUP, and when Python ends.
        Where nothing is called, since the process is killed or hangs, the device process does so.

        Raises:
            DeviceError: A device failed during the return, unless that ended the run.
        """
        if self.stream is None:
            return
        try:
            self.keep(ended=self.stream.finish(meanwhile=self._end_others))
        except DeviceError as error:
            if not self.fault:
                self.keep(fault=str(error))
                raise
        finally:
            self._receive_samples()
            self.keep(end_state=self.stream.state, paced=self.stream.paced, stream=None)
            self._open_until.close()
            lost = self.end_state not in OVER  # nobody knows what the robot does
            if not lost and (self.fault or isinstance(sys.exception(), Exception)):
                Sofa.msg_warning(self, self._end_in_words())

    def _end_others(self) -> None:
        """Send the robots of the scene's other bridges to rest, too: they get no more targets."""
        for node in nodes_of(self.root):
            for bridge in node.objects:
                if isinstance(bridge, HardwareBridge) and bridge is not self and bridge.stream:
                    bridge.stream.begin_finish()
                    bridge._receive_samples()

    def _end_with_python(self) -> None:
        """Clean up for scripts that do not close their session."""
        self.cleanup()
        if not self.fault:
            Sofa.msg_warning(self, f"the session was not closed. {self._end_in_words()}")

    def _end_in_words(self) -> str:
        words = f"{DRY_RUN}. " if self.dry_run else ""
        return f"{words}{self.robot.name}: {self.end_state.value}"

    def reset(self) -> None:
        """Return the robot to rest; the next step starts as the first one did."""
        self.cleanup()
        self._reset_state()
        self.feedback.clear()

    def streams(self) -> Iterable[StreamRows]:
        """Return all periods of the device process, in the robot's units."""
        samples = list(self.samples)
        self.samples.clear()
        return self.rows.of(samples)

    def summary(self, history: History) -> BridgeSummary | None:
        """Return the summary, or None before the session is closed."""
        del history
        if self.ended is None:
            return None
        return summarise(
            name=self.getPathName(),
            robot=self.robot.name,
            dry_run=self.dry_run,
            state=self.end_state,
            statistics=self.ended,
            steps=self.steps,
            late=self.late,
            paced=self.paced,
            faults=[self.fault] if self.fault else [],
        )

    @override
    def plot(self, figure: Any, history: History) -> bool:
        if not np.isfinite(history["robot_time"]).any():  # its clock did not start
            return False
        words = DRY_RUN if self.dry_run else ""
        draw_bridge(figure, self.names, self.quantities, history, self.ended, title=words)
        return True


def _path(controller: Any) -> str:
    """Return a controller's path in recordings, or "" if there is no controller."""
    path = getattr(controller, "getPathName", None)
    return "" if path is None else str(path()).lstrip("/")
