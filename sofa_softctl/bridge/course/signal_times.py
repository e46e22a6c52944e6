"""Arrival times of a device's signal: its age and its silences."""

from __future__ import annotations

SILENCE_MIN = 1.0
"""Time without a message after which a signal is silent [s]; so are ten of its intervals."""


class SignalTimes:
    """Times at which a signal arrived.

    Args:
        first: Time of the first message [s].
    """

    def __init__(self, first: float) -> None:
        self.first = self.last = first
        self.count, self.gap = 0, 0.0
        """Number of messages; the longest time between two [s]."""

    def add(self, time: float) -> None:
        """Count a message."""
        self.gap = max(self.gap, time - self.last)
        self.last, self.count = time, self.count + 1

    def silence(self, now: float) -> str:
        """Describe a long silence, or return "" if there was none."""
        allowed = max(SILENCE_MIN, 10.0 * (self.last - self.first) / max(self.count - 1, 1))
        if now - self.last > allowed:
            return f"no message for {now - self.last:.2g} s at the end"
        return f"no message for {self.gap:.2g} s once" if self.gap > allowed else ""
