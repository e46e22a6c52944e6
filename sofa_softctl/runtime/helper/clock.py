"""Time of a step by phase."""

from __future__ import annotations

from time import perf_counter

from sofa_softctl.runtime.helper import timer


class Clock:
    """Adds up the seconds of each phase; `lap` ends the phase that ran until now."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.steps = 0
        self.now = perf_counter
        """What gives the time [s]; `time.process_time` counts CPU time instead."""
        self._last = self.now()

    def start(self) -> None:
        """Begin a step."""
        self.steps += 1
        self._last = self.now()

    def lap(self, phase: str) -> None:
        """End a phase."""
        now = self.now()
        self.seconds[phase] = self.seconds.get(phase, 0.0) + now - self._last
        if timer.running:
            timer.phase(phase, now - self._last)
        self._last = now

    def clear(self) -> None:
        """Forget all phases."""
        self.seconds.clear()
        self.steps = 0
