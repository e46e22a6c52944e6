"""All devices of a robot, as the loop of the device process sees them."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Thread
from time import monotonic

import numpy as np

from sofa_softctl.bridge.config.robot import RobotConfig, SensorConfig
from sofa_softctl.bridge.course.checks import TOLERANCE, check_capabilities, effort_note
from sofa_softctl.bridge.course.signal_times import SignalTimes
from sofa_softctl.bridge.course.state import Histogram
from sofa_softctl.bridge.device import Capabilities, Device
from sofa_softctl.bridge.stream.device_lock import DeviceLock, lock_device
from sofa_softctl.bridge.stream.port import STOPS_WITHIN, Port
from sofa_softctl.errors import ConfigError, SoftctlError


class Fleet:
    """The devices, opened, written to and read from in the order of the configuration.

    Args:
        robot: The robot's configuration.
        devices: Each device by its name, not open yet.
    """

    def __init__(self, robot: RobotConfig, devices: Mapping[str, Device]) -> None:
        self._robot = robot
        self.stopped = False
        """Whether all devices were stopped: nothing is written to them or read any more."""
        self._locks: list[DeviceLock] = []
        self.ports = []
        for name, device in devices.items():
            places = np.array(
                [index for index, each in enumerate(robot.actuators) if each.device == name], int
            )
            own = [robot.actuators[place] for place in places]
            self.ports.append(Port(device, own, places, 1.0 / robot.stream.rate, robot.safety))
        self._by_name = {port.name: port for port in self.ports}

    def open(self) -> dict[str, Capabilities]:
        """Open all devices; where one cannot be used, those before it are closed again.

        Raises:
            DeviceError: One cannot be opened.
            ConfigError: One does not fit the configuration.
        """
        try:
            for config, port in zip(self._robot.devices, self.ports, strict=True):
                if port.channels:
                    self._locks.append(lock_device(config, port.device, self._robot.name))
                for place in port.places:
                    actuator = self._robot.actuators[place]
                    known = port.device.quantities
                    if known and actuator.quantity not in known:
                        raise ConfigError(
                            f"actuator '{actuator.name}' is commanded in {actuator.quantity}, but "
                            f"device '{port.name}' takes {' or '.join(known)}."
                        )
                found = port.open()
                check_capabilities(port.name, found, port.channels, self._robot.stream.rate)
        except BaseException:
            self.close()
            raise
        return {port.name: port.capabilities for port in self.ports}

    def lock_notes(self) -> list[str]:
        """Devices that another run could move, too."""
        return [lock.note for lock in self._locks if lock.note]

    def tolerance(self) -> np.ndarray:
        """Half a device's resolution, or what rounding needs [actuators' units], shape (n,)."""
        found = np.zeros(len(self._robot.actuators))
        for port in self.ports:
            for place in port.places:
                actuator = self._robot.actuators[place]
                low, high = actuator.position_min, actuator.position_max
                slope = actuator.map.slope_range(low, high)[1]
                half = 0.5 * port.capabilities.resolution / slope
                found[place] = max(half, TOLERANCE * (high - low))
        return found

    def read(self) -> None:
        """Take in what all devices say.

        Raises:
            DeviceError: One failed, stopped by itself, or is silent for too long.
        """
        for port in self.ports:
            port.read()

    def write(self, command: np.ndarray) -> None:
        """Send a command of all actuators [actuators' units], shape (n,).

        Raises:
            DeviceError: One failed; those behind it have not got the command.
        """
        for port in self.ports:
            port.write(command)

    def stop(self) -> list[str]:
        """Stop all devices at the same time, each in a thread; what could not be, in words."""
        self.stopped = True
        problems: list[str] = []

        def stop(port: Port) -> None:
            try:
                port.stop()
            except SoftctlError as error:
                problems.append(str(error))

        threads = []
        for port in self.ports:
            thread = Thread(target=stop, args=(port,), daemon=True)
            try:
                thread.start()
                threads.append((thread, port))
            except RuntimeError:  # the system has no more threads
                stop(port)
        deadline = monotonic() + STOPS_WITHIN
        for thread, port in threads:
            thread.join(max(deadline - monotonic(), 0.0))
            if thread.is_alive():
                port.hangs = True
                problems.append(
                    f"device '{port.name}': stop() did not return within {STOPS_WITHIN:g} s"
                )
        return problems

    def close(self) -> list[str]:
        """Close all devices but those that hang, which end with the process; problems, in words."""
        problems = []
        for port in self.ports:
            try:
                if not port.hangs:
                    port.close()
            except SoftctlError as error:
                problems.append(str(error))
        while self._locks:
            self._locks.pop().release()
        return problems

    def measured(self) -> np.ndarray:
        """Measured positions, NaN where there is none [actuators' units], shape (n,)."""
        return self._gathered("positions")

    def measured_by_devices(self) -> list[str]:
        """Actuators whose devices say that they measure positions."""
        measuring = [port.name for port in self.ports if port.capabilities.measures]
        return [one.name for one in self._robot.actuators if one.device in measuring]

    def efforts(self) -> np.ndarray:
        """Measured efforts, NaN where there is none [devices' units], shape (n,)."""
        return self._gathered("efforts")

    def _gathered(self, what: str) -> np.ndarray:
        found = np.full(len(self._robot.actuators), np.nan)
        for port in self.ports:
            found[port.places] = getattr(port, what)
        return found

    def without_effort(self) -> list[str]:
        """Devices from which no effort came of actuators with `effort_max`; but for known ones."""
        found = []
        for port in self.ports:
            if port.capabilities.measures_effort is not False:
                silent = port.places[np.isnan(port.efforts)]
                found += effort_note(port.name, [self._robot.actuators[place] for place in silent])
        return found

    def excess(self) -> str:
        """Which effort is too great; empty: none."""
        for actuator, effort in zip(self._robot.actuators, self.efforts(), strict=True):
            if abs(effort) > actuator.effort_max:  # False for NaN
                return (
                    f"the effort of '{actuator.name}' is {effort:.6g}, more than effort_max = "
                    f"{actuator.effort_max:g}"
                )
        return ""

    def sensors(self) -> np.ndarray:
        """Numbers of all sensors one after another, NaN before the first [sensors' units]."""
        found = [np.empty(0)]
        for sensor in self._robot.sensors:
            numbers = np.full(sensor.size, np.nan)
            said = self._by_name[sensor.device].signals.get(sensor.signal)
            if said is not None:
                said = said[: sensor.size]
                numbers[: said.size] = sensor.map.from_device(said)
            found.append(numbers)
        return np.concatenate(found)

    def silent_sensors(self) -> list[str]:
        """Sensors that said nothing, or were silent for long, in sentences."""
        now, found = monotonic(), []
        for sensor in self._robot.sensors:
            times = self._signal_times(sensor)
            if times is None:
                silence = (
                    f"no message came with the signal '{sensor.signal}' of device '{sensor.device}'"
                )
            else:
                silence = times.silence(now)
            if silence:
                found.append(f"sensor '{sensor.name}': {silence}.")
        return found

    def ages(self) -> np.ndarray:
        """Age of each device's feedback, NaN before the first [s], shape (n_devices,)."""
        return monotonic() - np.array([port.heard for port in self.ports])

    def sensor_ages(self) -> np.ndarray:
        """Age of each sensor's numbers, NaN before the first [s], shape (n_sensors,)."""
        times = [self._signal_times(sensor) for sensor in self._robot.sensors]
        return monotonic() - np.array([np.nan if each is None else each.last for each in times])

    def _signal_times(self, sensor: SensorConfig) -> SignalTimes | None:
        return self._by_name[sensor.device].signal_times.get(sensor.signal)

    def slowest_of_period(self) -> tuple[str, float]:
        """Name of the device whose calls took longest since the last question, and how long [s]."""
        slowest = max(self.ports, key=lambda port: port.last_calls, default=None)
        if slowest is None:
            return "", 0.0
        found = slowest.name, slowest.last_calls
        for port in self.ports:
            port.last_calls = 0.0
        return found

    def round_trip(self) -> Histogram:
        """Of all devices that acknowledge."""
        found = Histogram()
        for port in self.ports:
            found.merge(port.round_trip)
        return found

    def notes(self) -> list[str]:
        """Devices that held up the loop, and lines that damage what they carry."""
        slow = [
            f"device '{port.name}' is slow: {port.slow_calls} of its calls took longer than half a "
            f"period, the longest {1e3 * port.slowest:.3g} ms. The contract asks it not to wait."
            for port in self.ports
            if port.slow_calls
        ]
        return slow + [
            f"device '{port.name}': {port.dropped} messages on its line were dropped: damaged, "
            "late or repeated. Look at its cable or network."
            for port in self.ports
            if port.dropped
        ]
