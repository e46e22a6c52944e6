"""A device that keeps a record of whatever reaches it, and fails in a chosen way; also a plugin."""

import time
from pathlib import Path

import numpy as np

from sofa_softctl import hookimpl
from sofa_softctl.bridge.device import Capabilities, Device, Feedback
from sofa_softctl.errors import DeviceFailedError, DeviceOpenError


@hookimpl
def softctl_register_devices(register):
    register("wire", WireDevice)


class WireDevice(Device):
    """Writes a line for each call that could move something: what, when, and the values.

    `fault` begins with the write of number `after`: 'write' or 'read' raises, 'bug' raises what is
    no DeviceError, 'block' waits 2 s in a write, 'slow' 7 ms in each; 'deaf'
    acknowledges nothing more, 'blind' measures no 'tip' any more, 'stopped' says that it was
    stopped, 'strain' measures effort 9, 'numb' NaN.
    'open' refuses to open. `slow_takes`, `stop_takes`: of each write from then on, and of `stop`
    [s]. `start`: where it is before the first command.
    """

    def __init__(
        self,
        name: str,
        *,
        record: str,
        fault: str = "",
        after: int = 0,
        start: float = float("nan"),
        resolution: float = 0.0,
        watchdog: float = 0.0,
        rate_max: float = float("inf"),
        label: str = "",
        stop_takes: float = 0.0,
        slow_takes: float = 0.0,
    ) -> None:
        del label  # several devices write one record: it says that they are not the same
        super().__init__(name)
        self.record, self.fault, self.after, self.start = record, fault, after, start
        self.stop_takes, self.slow_takes = stop_takes, slow_takes
        self.resolution, self.watchdog, self.rate_max = resolution, watchdog, rate_max

    def note(self, *words):
        with Path(self.record).open("a") as file:
            print(self.name, *words, file=file)

    def open(self, channels):
        if self.fault == "open":
            raise DeviceOpenError("the port is busy")
        self.note("open", time.monotonic())
        self.channels, self.written, self.waiting = channels, 0, None
        if np.isfinite(self.start):
            self.waiting = Feedback(time.monotonic(), {c.number: self.start for c in channels})
        return Capabilities(
            description="a recorder",
            unit="count",
            resolution=self.resolution,
            range=(-1e6, 1e6),
            rate_max=self.rate_max,
            watchdog=self.watchdog or None,
            acknowledges=True,
        )

    def write(self, command):
        values = [value.hex() for value in command.values.tolist()]
        self.note("write", time.monotonic(), command.sequence, *values)
        self.written += 1
        fault = self.fault if self.written > self.after else ""
        if fault == "write":
            raise DeviceFailedError("the plug was pulled")
        if fault == "bug":
            raise KeyError("oops")
        if self.written > self.after:
            time.sleep(self.slow_takes)
        if fault == "slow":
            time.sleep(0.007)
        if fault == "block" and self.written == self.after + 1:
            time.sleep(2.0)
        if fault == "deaf":
            return
        numbers = [channel.number for channel in self.channels]
        self.waiting = Feedback(
            time.monotonic(),
            dict(zip(numbers, command.values.tolist(), strict=True)),
            dict.fromkeys(numbers, {"strain": 9.0, "numb": float("nan")}.get(fault, 1.0)),
            {} if fault == "blind" else {"tip": command.values[:1] * 2.0},
            acknowledged=command.sequence % 65536,
            stopped="its button \ud800 was pressed" if fault == "stopped" else "",
        )

    def read(self):
        if self.fault == "read" and self.written > self.after:
            raise DeviceFailedError("the line is gone")
        found, self.waiting = self.waiting, None
        return found

    def stop(self):
        self.note("stop", time.monotonic())
        time.sleep(self.stop_takes)

    def close(self):
        self.note("close", time.monotonic())
