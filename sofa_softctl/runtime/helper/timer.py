"""SofaRuntime.Timer: time of named steps [ms]; and the clock of a step's phases.

A timer that is enabled and begun records the steps within it: those of a script (`stepBegin`,
`stepEnd`) and the phases of Sofa.Simulation.animate.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

Records = dict[str, Any]
"""'start_time', 'end_time', 'total_time' [ms], and the steps within by name; a list of such for a
step that came several times."""

_enabled: set[str] = set()
_intervals: dict[str, int] = {}
running: dict[str, _Timer] = {}
"""Timers that were begun and record."""
_finished: dict[str, Records] = {}


class _Timer:
    """A timer that was begun: its records, and the steps that are not ended."""

    def __init__(self) -> None:
        self.start = perf_counter()
        self.records: Records = {"start_time": 0.0}
        self.open: list[tuple[str, Records]] = [("", self.records)]

    def now(self) -> float:
        return 1e3 * (perf_counter() - self.start)

    def begin(self, name: str) -> None:
        step: Records = {"start_time": self.now()}
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
        step["end_time"] = self.now()
        step["total_time"] = step["end_time"] - step["start_time"]


def setEnabled(name: str, enabled: bool) -> None:
    """Let a timer record, or not."""
    (_enabled.add if enabled else _enabled.discard)(name)


def isEnabled(name: str) -> bool:
    """Whether a timer records."""
    return name in _enabled


def setInterval(name: str, interval: int) -> None:
    """Accepted: SOFA prints a timer every so many times; nothing is printed here."""
    _intervals[name] = interval


def getInterval(name: str) -> int:
    """As set by `setInterval`."""
    return _intervals.get(name, 0)


def setOutputType(name: str, kind: str) -> None:
    """Accepted: nothing is printed here; `getRecords` gives all."""


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
    """Start a step of the timers that run."""
    for timer in running.values():
        timer.begin(name)


def stepEnd(name: str) -> None:
    """Stop a step of the timers that run."""
    for timer in running.values():
        if timer.open[-1][0] == name:
            timer.end()


@contextmanager
def within(*names: str) -> Iterator[None]:
    """Steps within each other of the timers that run, by SOFA's names of what is done."""
    for name in names:
        stepBegin(name)
    yield
    for name in reversed(names):
        stepEnd(name)


def set_value(name: str, value: float) -> None:
    """Note a number in the step that runs: 'CG iterations', 'nb_iterations'."""
    for timer in running.values():
        timer.open[-1][1][name] = float(value)


def getRecords(name: str) -> Records:
    """Records of a timer so far, or until it was stopped; empty when it was never begun."""
    records = running[name].records if name in running else _finished.get(name, {})
    return copy.deepcopy(records)


def clear() -> None:
    """Forget all timers."""
    for table in (_enabled, _intervals, running, _finished):
        table.clear()


def phase_ended(name: str, seconds: float) -> None:
    """Called by an animation loop: a phase of the step ended, which took that long."""
    for timer in running.values():
        timer.begin(name)
        step = timer.open[-1][1]
        step["start_time"] = max(step["start_time"] - 1e3 * seconds, 0.0)
        timer.end()


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
        if running:
            phase_ended(phase, now - self._last)
        self._last = now

    def clear(self) -> None:
        """Forget all phases."""
        self.seconds.clear()
        self.steps = 0
