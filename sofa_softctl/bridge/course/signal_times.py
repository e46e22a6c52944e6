"""When a signal of a device came: its age, and whether it was silent for long."""

from __future__ import annotations

SILENT = 1.0
"""Time without a message after which a signal is silent [s]; so are ten of its intervals."""


class SignalTimes:
    """Times at which a signal arrived.

    Args:
        first: Of the first time [s].
    """

    def __init__(self, first: float) -> None:
        self.first = self.last = first
        self.count, self.gap = 0, 0.0
        """How often it came; the longest time between two of them [s]."""

    def add(self, time: float) -> None:
        """It arrived."""
        self.gap = max(self.gap, time - self.last)
        self.last, self.count = time, self.count + 1

    def silence(self, now: float) -> str:
        """For how long it was silent, in words; empty: it was not."""
        allowed = max(SILENT, 10.0 * (self.last - self.first) / max(self.count - 1, 1))
        if now - self.last > allowed:
            return f"no message for {now - self.last:.2g} s at the end"
        return f"no message for {self.gap:.2g} s once" if self.gap > allowed else ""
