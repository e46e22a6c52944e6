"""A simulated device: commands come back as its positions."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic

from typing_extensions import override

from sofa_softctl.bridge.device import Capabilities, ChannelSetup, Command, Device, Feedback
from sofa_softctl.errors import DeviceFailedError


class LoopbackDevice(Device):
    """Simulated device that reports each command as reached; nothing moves.

    Args:
        name: Name of its table in the configuration file.
        unit: Unit of its values.
        resolution: Smallest change of a value [unit]; 0: none.
    """

    shared = True

    def __init__(self, name: str, *, unit: str = "", resolution: float = 0.0) -> None:
        super().__init__(name)
        self.unit, self.resolution = unit, resolution
        self._channels: list[int] = []
        self._waiting: Feedback | None = None

    @override
    def open(self, channels: Sequence[ChannelSetup]) -> Capabilities:
        self._channels = [channel.number for channel in channels]
        self._waiting = None
        return Capabilities(
            description="loopback, in this process",
            unit=self.unit,
            resolution=self.resolution,
            range=(-float("inf"), float("inf")),
            rate_max=float("inf"),
            watchdog=None,
            acknowledges=True,
            moves=False,
            measures=False,
            measures_effort=False,
        )

    @override
    def write(self, command: Command) -> None:
        if not self._channels:
            raise DeviceFailedError(f"device '{self.name}': it is not open.")
        values = command.values
        if self.resolution:
            values = (values / self.resolution).round() * self.resolution
        positions = dict(zip(self._channels, values.tolist(), strict=True))
        self._waiting = Feedback(monotonic(), positions, acknowledged=command.sequence)

    @override
    def read(self) -> Feedback | None:
        feedback, self._waiting = self._waiting, None
        return feedback

    def stop(self) -> None:
        """Ignore the call: nothing moves."""

    @override
    def close(self) -> None:
        self._channels, self._waiting = [], None
