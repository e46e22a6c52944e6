"""All devices of a robot, for the loop of the device process."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Thread
from time import monotonic

import numpy as np

from sofa_softctl.bridge.config.robot import RobotConfig, SensorConfig
from sofa_softctl.bridge.course.checks import LIMIT_TOLERANCE, check_capabilities, effort_note
from sofa_softctl.bridge.course.signal_times import SignalTimes
from sofa_softctl.bridge.course.state import Histogram
from sofa_softctl.bridge.device import Capabilities, Device
from sofa_softctl.bridge.stream.device_lock import DeviceLock, lock_device
from sofa_softctl.bridge.stream.port import STOP_TIMEOUT, DevicePort
from sofa_softctl.errors import ConfigError, SoftctlError


class DeviceSet:
    """The devices, opened, written to and read from in the order of the configuration.

    Args:
        robot: The robot's configuration.
        devices: Devices by name, not open yet.
    """

    def __init__(self, robot: RobotConfig, devices: Mapping[str, Device]) -> None:
        self._robot = robot
        self.stopped = False
        """Whether all devices were stopped: then nothing is written or read."""
        self._locks: list[DeviceLock] = []
        self.ports = []
        for name, device in devices.items():
            indices = np.array(
                [i for i, a in enumerate(robot.actuators) if a.device == name],
                int,
            )
            actuators = [robot.actuators[place] for place in indices]
            self.ports.append(
                DevicePort(device, actuators, indices, 1.0 / robot.stream.rate, robot.safety)
            )
        self._by_name = {port.name: port for port in self.ports}

    def open(self) -> dict[str, Capabilities]:
        """Open all devices; if one cannot be used, close those before it again.

        Raises:
            DeviceError: One cannot be opened.
            ConfigError: One does not fit the configuration.
        """
        try:
            for config, port in zip(self._robot.devices, self.ports, strict=True):
                if port.channels:
                    self._locks.append(lock_device(config, port.device, self._robot.name))
                for index in port.indices:
                    actuator = self._robot.actuators[index]
                    quantities = port.device.quantities
                    if quantities and actuator.quantity not in quantities:
                        raise ConfigError(
                            f"actuator '{actuator.name}' is commanded in {actuator.quantity}, but "
                            f"device '{port.name}' takes {' or '.join(quantities)}."
                        )
                capabilities = port.open()
                check_capabilities(port.name, capabilities, port.channels, self._robot.stream.rate)
        except BaseException:
            self.close()
            raise
        return {port.name: port.capabilities for port in self.ports}

    def lock_notes(self) -> list[str]:
        """Return notes on devices that another run could move, too."""
        return [lock.note for lock in self._locks if lock.note]

    def tolerance(self) -> np.ndarray:
        """Return half of devices' resolutions, or rounding [actuators' units], shape (n,)."""
        tolerances = np.zeros(len(self._robot.actuators))
        for port in self.ports:
            for index in port.indices:
                actuator = self._robot.actuators[index]
                low, high = actuator.position_min, actuator.position_max
                slope = actuator.map.slope_range(low, high)[1]
                half_step = 0.5 * port.capabilities.resolution / slope
                tolerances[index] = max(half_step, LIMIT_TOLERANCE * (high - low))
        return tolerances

    def read(self) -> None:
        """Store the newest feedback of all devices.

        Raises:
            DeviceError: A device failed, stopped by itself, or is silent for too long.
        """
        for port in self.ports:
            port.read()

    def write(self, command: np.ndarray) -> None:
        """Send a command of all actuators [actuators' units], shape (n,).

        Raises:
            DeviceError: A device failed; later ones have not got the command.
        """
        for port in self.ports:
            port.write(command)

    def stop(self) -> list[str]:
        """Stop all devices simultaneously, each in a thread; return problems, in words."""
        self.stopped = True
        problems: list[str] = []

        def stop(port: DevicePort) -> None:
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
        deadline = monotonic() + STOP_TIMEOUT
        for thread, port in threads:
            thread.join(max(deadline - monotonic(), 0.0))
            if thread.is_alive():
                port.hangs = True
                problems.append(
                    f"device '{port.name}': stop() did not return within {STOP_TIMEOUT:g} s"
                )
        return problems

    def close(self) -> list[str]:
        """Close all devices except those that hang; return problems, in words."""
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

    def positions(self) -> np.ndarray:
        """Return measured positions, NaN if not measured [actuators' units], shape (n,)."""
        return self._concatenate("positions")

    def measured_by_devices(self) -> list[str]:
        """Return the names of actuators whose devices measure positions."""
        measuring = [port.name for port in self.ports if port.capabilities.measures]
        return [actuator.name for actuator in self._robot.actuators if actuator.device in measuring]

    def efforts(self) -> np.ndarray:
        """Return measured efforts, NaN if not measured [devices' units], shape (n,)."""
        return self._concatenate("efforts")

    def _concatenate(self, name: str) -> np.ndarray:
        values = np.full(len(self._robot.actuators), np.nan)
        for port in self.ports:
            values[port.indices] = getattr(port, name)
        return values

    def missing_effort_notes(self) -> list[str]:
        """Return notes on unknown devices that give no effort of actuators with `effort_max`."""
        notes = []
        for port in self.ports:
            if port.capabilities.measures_effort is not False:
                silent = port.indices[np.isnan(port.efforts)]
                notes += effort_note(port.name, [self._robot.actuators[index] for index in silent])
        return notes

    def effort_excess(self) -> str:
        """Describe an effort that is too great, or return ""."""
        for actuator, effort in zip(self._robot.actuators, self.efforts(), strict=True):
            if abs(effort) > actuator.effort_max:  # False for NaN
                return (
                    f"the effort of '{actuator.name}' is {effort:.6g}, more than effort_max = "
                    f"{actuator.effort_max:g}"
                )
        return ""

    def sensors(self) -> np.ndarray:
        """Return concatenated numbers of all sensors, NaN before the first [sensors' units]."""
        arrays = [np.empty(0)]
        for sensor in self._robot.sensors:
            numbers = np.full(sensor.size, np.nan)
            signal = self._by_name[sensor.device].signals.get(sensor.signal)
            if signal is not None:
                signal = signal[: sensor.size]
                numbers[: signal.size] = sensor.map.from_device(signal)
            arrays.append(numbers)
        return np.concatenate(arrays)

    def silent_sensors(self) -> list[str]:
        """Return a sentence per sensor without messages, or silent for long."""
        now, sentences = monotonic(), []
        for sensor in self._robot.sensors:
            times = self._signal_times(sensor)
            if times is None:
                silence = (
                    f"no message came with the signal '{sensor.signal}' of device '{sensor.device}'"
                )
            else:
                silence = times.silence(now)
            if silence:
                sentences.append(f"sensor '{sensor.name}': {silence}.")
        return sentences

    def ages(self) -> np.ndarray:
        """Return the age of devices' feedback, NaN before the first [s], shape (n_devices,)."""
        return monotonic() - np.array([port.heard for port in self.ports])

    def sensor_ages(self) -> np.ndarray:
        """Return the age of each sensor's numbers, NaN before the first [s], shape (n_sensors,)."""
        times = [self._signal_times(sensor) for sensor in self._robot.sensors]
        return monotonic() - np.array([np.nan if t is None else t.last for t in times])

    def _signal_times(self, sensor: SensorConfig) -> SignalTimes | None:
        return self._by_name[sensor.device].signal_times.get(sensor.signal)

    def slowest_of_period(self) -> tuple[str, float]:
        """Return the device with the longest calls since the last query, and their time [s]."""
        slowest = max(self.ports, key=lambda port: port.last_calls, default=None)
        if slowest is None:
            return "", 0.0
        result = slowest.name, slowest.last_calls
        for port in self.ports:
            port.last_calls = 0.0
        return result

    def round_trip(self) -> Histogram:
        """Return the round trips of all devices that acknowledge."""
        histogram = Histogram()
        for port in self.ports:
            histogram.merge(port.round_trip)
        return histogram

    def notes(self) -> list[str]:
        """Return notes on slow devices, and on lines that damage messages."""
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
