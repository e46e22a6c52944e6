"""What a controller reports of a run: history, tables, markers in a movie.

Every `SceneController` may have a `summary`, a `plot` and `markers`: those of this package have
them like anybody's.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from sofa_softctl.status import Verdict
from sofa_softctl.units import Units


@dataclass(frozen=True)
class History:
    """Outputs of a controller after every step of a run."""

    time: np.ndarray
    """Time after each step [time], shape (n,)."""
    values: dict[str, list[np.ndarray]]
    """Value of each output after each step, by its name; texts are arrays without a dimension."""
    units: Units | None = None
    """Units of the scene."""

    def __getitem__(self, name: str) -> np.ndarray:
        """An output over time, shape (n, ...); it must have had one shape in all steps."""
        return np.array(self.values[name])


@dataclass(frozen=True)
class Table:
    """A table of texts."""

    title: str
    columns: tuple[str, ...]
    """Heads; the first column is a name, columns of numbers follow."""
    rows: Sequence[tuple[str, ...]]
    caption: str = ""
    """What stands below it."""
    texts: tuple[int, ...] = (0,)
    """Columns of words, which begin at the left."""


class Line(NamedTuple):
    """A sentence below the tables."""

    text: str
    level: Literal["plain", "good", "doubt"] = "plain"
    """Whether it is as it should be, or to be looked at."""


@dataclass(frozen=True)
class Report:
    """Tables and lines that the command line prints of a controller after a run."""

    tables: list[Table] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)


class Summary(ABC):
    """What a controller reports of a run: derive a dataclass from it; its fields go into JSON."""

    @property
    def verdict(self) -> Verdict | None:
        """Whether the controller reached its goals; None where it has none to judge by."""
        return None

    @abstractmethod
    def report(self, units: dict[str, str]) -> Report:
        """Report for the command line; `units` has the unit of each quantity."""


class Markers(NamedTuple):
    """Markers of a controller in a movie, after a step."""

    goals: np.ndarray
    """Where effectors shall be [length], shape (n, 3)."""
    tips: np.ndarray
    """Where they are [length], shape (n, 3), or (0, 3) where that is not known."""
    points: np.ndarray
    """Where forces act [length], shape (m, 3); m may change from step to step."""
    forces: np.ndarray
    """The forces [force], shape (m, 3)."""
