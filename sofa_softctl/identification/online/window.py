"""Sliding window over the samples of a run, with the arrival cost of earlier ones.

The module also connects signals and parameters with Data or functions of a scene, and runs window
estimates in a background process.
"""

from __future__ import annotations

import pickle
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.signal import savgol_filter

from sofa_softctl.base.executors.workers import workers
from sofa_softctl.base.suggestions import did_you_mean
from sofa_softctl.errors import SceneError
from sofa_softctl.identification.data.table import TIME, Table
from sofa_softctl.identification.model.problem import Problem
from sofa_softctl.identification.online.arrival_cost import ArrivalCost, LinearisedWindow
from sofa_softctl.identification.online.refinement import (
    WindowEstimate,
    WindowTask,
    refine_parameters,
)

Signal = Callable[[], float] | tuple[Any, int] | Any
"""A function, a Data and the index of a number in it, or a Data of one number."""
Target = Callable[[float], None] | Any
"""A function, or a Data of one number."""


def readers(signals: Mapping[str, Signal], names: Sequence[str]) -> list[Callable[[], float]]:
    """Functions that read the signals of these names, in this order.

    Raises:
        SceneError: One is missing, or its name is unknown.
    """
    check_names(signals, names, "'signals'")
    missing = [name for name in names if name not in signals]
    if missing:
        raise SceneError(f"'signals' lacks {', '.join(missing)}.")
    return [_reader(signals[name]) for name in names]


def writers(
    targets: Mapping[str, Target], names: Sequence[str]
) -> dict[str, Callable[[float], None]]:
    """Functions that write parameters.

    Raises:
        SceneError: The name of a parameter is unknown.
    """
    check_names(targets, names, "'targets'")
    return {name: _writer(target) for name, target in targets.items()}


def check_names(names: Collection[str], valid_names: Sequence[str], label: str) -> None:
    """Raise SceneError if a name is unknown."""
    for name in names:
        if name not in valid_names:
            raise SceneError(
                f"{label} names '{name}'.{did_you_mean(name, tuple(valid_names))} The problem has: "
                f"{', '.join(valid_names) or 'none'}."
            )


def _reader(signal: Signal) -> Callable[[], float]:
    if callable(signal):
        return signal
    data, place = signal if isinstance(signal, tuple) else (signal, 0)
    return lambda: float(np.ravel(data.value)[place])


def _writer(target: Target) -> Callable[[float], None]:
    if callable(target):
        return target

    def write(value: float) -> None:
        target.value = [value] if np.ndim(target.value) else value

    return write


class Background:
    """One worker process, started with the first task.

    Raises:
        SceneError: The problem cannot be sent to the process.
    """

    def __init__(self, problem: Problem) -> None:
        try:
            pickle.dumps(problem)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise SceneError(
                f"problem '{problem.name}' cannot be sent to another process ({error}). Give "
                "functions by their file, or leave 'background' out."
            ) from error
        self._open = ExitStack()
        self._executor: Executor | None = None
        weakref.finalize(self, self._open.close)

    def submit(self, task: WindowTask) -> Future[WindowEstimate]:
        """Start a refinement, in a new process if the last one ended."""
        return self._start_executor().submit(refine_parameters, task)

    def _start_executor(self) -> Executor:
        if self._executor is None:
            self._executor = self._open.enter_context(workers(1))
        assert self._executor is not None
        return self._executor

    def close(self) -> None:
        """End the process; the next task starts another."""
        self._open.close()
        self._executor = None


@dataclass
class SlidingWindow:
    """Samples of the window, their last linearisation, and the arrival cost."""

    length: float | None
    """Smallest length [s], or None to begin at the first sample."""
    slack: float
    """Largest additional length, to begin at a quiescent time [s]."""
    calm: Sequence[int]
    """Columns of signals that measure motion; () means no additional length."""
    half_life: float
    """Half-life of the weight of earlier samples [s]; 0 ignores them."""
    memory: ArrivalCost
    """Information of earlier samples."""
    samples: list[list[float]] = field(default_factory=list)
    """Time and signals of each sample."""
    rows: LinearisedWindow | None = None
    """Linearised samples of the last fit that are still in the window."""
    inflation: np.ndarray | None = None
    """`LinearisedWindow.inflation` of the last fit."""
    misfit: float = 1.0
    """`WindowTask.misfit` of the next fit [-]."""
    changed: float | None = None
    """Time before which the robot has changed [s], or None."""
    left: float | None = None
    """Begin of the window at its last slide [s]."""

    def copy(self) -> SlidingWindow:
        """Return a copy with a separate list of samples; other fields are never modified."""
        return replace(self, samples=list(self.samples))

    def slide(self, end_time: float) -> None:
        """Move earlier samples to the arrival cost, so that the window ends now."""
        if self.length is None or end_time - self.length <= self.samples[0][0]:
            return
        begin = end_time - self.length
        if self.calm:
            samples = np.array(self.samples)
            values = samples[:, 1:][:, list(self.calm)]
            begin = quietest_time(samples[:, 0], values, begin - self.slack, begin)
        begin -= 1e-9  # rounding of times
        self.samples = [row for row in self.samples if row[0] >= begin]
        if self.half_life > 0.0 and self.rows is not None:
            age = 0.0 if self.left is None else begin - self.left
            self.memory = self.memory.discount(
                0.5 ** (age / self.half_life)
            ) + self.rows.cost_before(begin)
            self.rows, self.left = self.rows.since(begin), begin

    def table(self, units: Mapping[str, str]) -> Table:
        """Return the samples as a table; `units` of the signals by name, in their order."""
        columns = np.array(self.samples).T
        named = dict(zip((TIME, *units), columns, strict=True))
        lines = tuple(f"t = {time:g} s" for time in columns[0])
        return Table(f"window until {columns[0, -1]:g} s", named, {TIME: "s", **units}, lines)

    def store_linearisation(self, result: WindowEstimate) -> None:
        """Store the linearisation of a fit."""
        assert result.rows is not None
        self.rows, self.inflation = result.rows, result.rows.inflation
        if result.forgets:  # samples up to here may be of the robot before its change
            self.memory, self.changed = ArrivalCost.none(len(result.rho)), result.end
        else:
            self.misfit = max(1.0, result.misfit)
        if self.changed is not None:
            self.rows = self.rows.since(self.changed)

    def is_mixed(self, result: WindowEstimate) -> bool:
        """Return True if the window of a fit may hold samples from before a change of the robot."""
        return self.changed is not None and result.begin < self.changed


def quietest_time(time: np.ndarray, values: np.ndarray, earliest: float, latest: float) -> float:
    """Find the time of the slowest change of signals, for the begin of a window.

    Args:
        time: Evenly spaced times of the samples [s], shape (n,).
        values: Signals of one unit, shape (n, m).
        earliest: First candidate [s].
        latest: Last candidate [s].

    Returns:
        Time of a sample [s], of the first candidate if there are too few samples.
    """
    candidates = np.flatnonzero((time >= earliest - 1e-9) & (time <= latest + 1e-9))
    width = round(0.4 / (time[1] - time[0])) // 2 * 2 + 1
    if not len(candidates) or width < 3 or width > len(time):
        return float(time[candidates[0]]) if len(candidates) else float(time[0])
    rate = savgol_filter(values, width, 2, deriv=1, axis=0)
    return float(time[candidates[np.argmin((rate[candidates] ** 2).sum(axis=1))]])
