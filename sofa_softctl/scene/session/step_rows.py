"""Rows of a session: outputs of its controllers and wall time after every step, for summaries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sofa_softctl.scene.control.access import reader
from sofa_softctl.scene.control.report import History
from sofa_softctl.scene.session.displacement import Displacements

HISTORY_STEPS_MAX = 10_000
"""Steps that a session keeps unless told otherwise, some 20 MB with one inverse controller."""


class Columns(NamedTuple):
    """Outputs of a controller."""

    controller: Any
    """The controller."""
    readers: dict[str, Callable[[], Any]]
    """Functions that return the present value of each output, by its name."""


class Row(NamedTuple):
    """Step of a session."""

    time: float
    """Simulated time at its end [time]."""
    seconds: float
    """Wall time [s]."""
    columns: list[Columns]
    """Outputs that were read, one list for all rows until controllers are added."""
    values: list[list[np.ndarray]]
    """Values of the outputs of each of `columns`."""


def columns_of(controllers: list[Any]) -> list[Columns]:
    """Return the outputs of those controllers that have a summary."""
    return [
        Columns(item, {name: reader(data) for name, data in item.outputs.items()})
        for item in controllers
        if _has_outputs(item)
    ]


def read_row(time: float, seconds: float, columns: list[Columns]) -> Row:
    """Read the outputs after a step, in about 1 us per output."""
    values = [[np.array(read()) for read in item.readers.values()] for item in columns]
    return Row(time, seconds, columns, values)


class StepRows:
    """Rows of a session's steps from now on.

    Args:
        session: The session.
        count_max: Number of rows above which all are dropped, so that memory stays bounded; None
            for no limit.
    """

    def __init__(self, session: Any, count_max: int | None = None) -> None:
        self._session, self.count_max = session, count_max
        self.restart()

    def restart(self) -> None:
        """Drop all rows; displacements count from the present positions."""
        self.rows: list[Row] = []
        self.has_overflowed = self.count_max == 0
        self._phases_of_first: dict[str, float] = {}
        self._displacements = None if self.has_overflowed else Displacements(self._session)

    def add(self, row: Row) -> None:
        """Add a row, or drop all of them if there are too many."""
        self.rows.append(row)
        if len(self.rows) == 1:
            self._phases_of_first = self._session.phases()
        if self.count_max is not None and len(self.rows) > self.count_max:
            self.rows, self.has_overflowed = [], True

    def drop_after(self, time: float) -> None:
        """Drop the rows of steps that end later."""
        while self.rows and self.rows[-1].time > time:
            self.rows.pop()

    def seconds(self) -> np.ndarray:
        """Return the wall time of each step [s], shape (n,)."""
        return np.array([row.seconds for row in self.rows])

    def displacements(self) -> dict[str, Any]:
        """Return the displacement of each body and tip up to now, by the path of its state."""
        return {} if self._displacements is None else self._displacements.by_path()

    def phases(self) -> dict[str, float]:
        """Return the mean wall time of each phase of a step [ms], without the first of several."""
        first = self._phases_of_first if len(self.rows) > 1 else {}
        count = max(len(self.rows) - 1, 1)
        return {
            name: 1e3 * (value - first.get(name, 0.0)) / count
            for name, value in self._session.phases().items()
        }

    def histories(self) -> list[tuple[Any, History]]:
        """Return each controller with the history of its outputs."""
        if not self.rows:
            return []
        return [(item.controller, self._history(item.controller)) for item in self.rows[-1].columns]

    def _history(self, controller: Any) -> History:
        """Return the outputs of a controller since it is there."""
        times, values = [], dict[str, list[np.ndarray]]()
        for row in self.rows:
            for item, outputs in zip(row.columns, row.values, strict=True):
                if item.controller is controller:
                    times.append(row.time)
                    for name, value in zip(item.readers, outputs, strict=True):
                        values.setdefault(name, []).append(value)
        return History(np.array(times), values, self._session.units)


def _has_outputs(controller: Any) -> bool:
    """Return True for a SceneController, without the import of SOFA that its class needs."""
    outputs, summary = (getattr(controller, name, None) for name in ("outputs", "summary"))
    return isinstance(outputs, dict) and callable(summary)
