"""SofaRuntime.Timer: time of named steps [ms]; and the clock of a step's phases.

A timer that is enabled and started records the steps within it: steps of a script (`stepBegin`,
`stepEnd`) and the phases of Sofa.Simulation.animate.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

Records = dict[str, Any]
"""'start_time', 'end_time', 'total_time' [ms], and the inner steps by name; a list of these for a
step that was repeated."""

_enabled: set[str] = set()
_intervals: dict[str, int] = {}
running: dict[str, _Timer] = {}
"""Timers that record at present."""
_finished: dict[str, Records] = {}


class _Timer:
    """Running timer: its records, and the open steps."""

    def __init__(self) -> None:
        self.start = perf_counter()
        self.records: Records = {"start_time": 0.0}
        self.open: list[tuple[str, Records]] = [("", self.records)]

    def milliseconds(self) -> float:
        return 1e3 * (perf_counter() - self.start)

    def begin(self, name: str) -> None:
        step: Records = {"start_time": self.milliseconds()}
        _, around = self.open[-1]
        if name not in around:
            around[name] = step
        elif isinstance(around[name], list):
            around[name].append(step)
        else:
            around[name] = [around[name], step]
        self.open.append((name, step))

    def end(self) -> None:
        _, step = self.open.pop()
        step["end_time"] = self.milliseconds()
        step["total_time"] = step["end_time"] - step["start_time"]


def setEnabled(name: str, enabled: bool) -> None:
    """Enable or disable a timer."""
    (_enabled.add if enabled else _enabled.discard)(name)


def isEnabled(name: str) -> bool:
    """Return True if a timer is enabled."""
    return name in _enabled


def setInterval(name: str, interval: int) -> None:
    """Store the interval after which SOFA prints a timer; nothing is printed here."""
    _intervals[name] = interval


def getInterval(name: str) -> int:
    """Return the interval of `setInterval`."""
    return _intervals.get(name, 0)


def setOutputType(name: str, kind: str) -> None:
    """Have no effect: nothing is printed here; `getRecords` returns all."""


def begin(name: str) -> None:
    """Start a timer, if it is enabled."""
    if name in _enabled:
        running[name] = _Timer()


def end(name: str) -> None:
    """Stop a timer."""
    timer = running.pop(name, None)
    if timer is not None:
        while timer.open:
            timer.end()
        _finished[name] = timer.records


def stepBegin(name: str) -> None:
    """Start a step of the running timers."""
    for timer in running.values():
        timer.begin(name)


def stepEnd(name: str) -> None:
    """Stop a step of the running timers."""
    for timer in running.values():
        if timer.open[-1][0] == name:
            timer.end()


@contextmanager
def record_steps(*names: str) -> Iterator[None]:
    """Record nested steps in the running timers inside the block, by SOFA's names."""
    for name in names:
        stepBegin(name)
    yield
    for name in reversed(names):
        stepEnd(name)


def set_value(name: str, value: float) -> None:
    """Record a number in the running step: 'CG iterations', 'nb_iterations'."""
    for timer in running.values():
        timer.open[-1][1][name] = float(value)


def getRecords(name: str) -> Records:
    """Return the records of a timer until now or its end; empty if it was never started."""
    records = running[name].records if name in running else _finished.get(name, {})
    return copy.deepcopy(records)


def clear() -> None:
    """Remove all timers."""
    for table in (_enabled, _intervals, running, _finished):
        table.clear()


def phase_ended(name: str, seconds: float) -> None:
    """Record a phase of the step that has ended; called by an animation loop."""
    for timer in running.values():
        timer.begin(name)
        step = timer.open[-1][1]
        step["start_time"] = max(step["start_time"] - 1e3 * seconds, 0.0)
        timer.end()


class Clock:
    """Clock that adds up the seconds of each phase; `lap` ends the present phase."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.steps = 0
        self.now = perf_counter
        """Function that returns the time [s]; `time.process_time` counts CPU time instead."""
        self._last = self.now()

    def start(self) -> None:
        """Begin a step."""
        self.steps += 1
        self._last = self.now()

    def lap(self, phase: str) -> None:
        """End a phase."""
        now = self.now()
        self.seconds[phase] = self.seconds.get(phase, 0.0) + now - self._last
        if running:
            phase_ended(phase, now - self._last)
        self._last = now

    def clear(self) -> None:
        """Forget all phases."""
        self.seconds.clear()
        self.steps = 0
