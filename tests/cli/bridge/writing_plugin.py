"""A plugin with a device that writes down every command, and may measure where it is."""

from time import monotonic

from sofa_softctl import hookimpl
from sofa_softctl.bridge import Capabilities, Device, Feedback
from sofa_softctl.errors import DeviceOpenError


class Writer(Device):
    """Writes the time and the values of each command to a file.

    Args:
        name: Of its table.
        file: Where it writes.
        at: Where its only channel is when it is opened; an empty list: it does not say.
        low: Least value that it takes.
        strict: Whether `open` refuses limits below it, as a board does.
    """

    def __init__(
        self, name: str, *, file: str, at: list[float] = (), low: float = -1e9, strict: bool = False
    ):
        super().__init__(name)
        self.path, self.at, self.low, self.file = file, at, low, None
        self.strict = strict

    def open(self, channels):
        for channel in channels:
            if self.strict and channel.low < self.low:
                raise DeviceOpenError(f"{channel.name}: {channel.low} is below {self.low}.")
        self.file = open(self.path, "a")
        self.numbers = [channel.number for channel in channels]
        self.now = dict(zip(self.numbers, self.at, strict=False))
        self.say("open")
        return Capabilities(
            description="a file",
            unit="step",
            resolution=2.0,
            range=(self.low, 1e9),
            rate_max=float("inf"),
            watchdog=None,
            acknowledges=False,
            notes=("It moves nothing.",),
        )

    def say(self, *words):
        print(monotonic(), *words, file=self.file, flush=True)

    def write(self, command):
        self.say(*command.values)
        if self.now:
            self.now = dict(zip(self.numbers, command.values.tolist(), strict=True))

    def read(self):
        return Feedback(monotonic(), dict(self.now)) if self.now else None

    def stop(self):
        if self.file is not None:
            self.say("stop")

    def close(self):
        if self.file is not None:
            self.file.close()
        self.file = None


@hookimpl
def softctl_register_devices(register):
    register("writer", Writer)
