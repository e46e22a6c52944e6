"""Recordings changed as if columns were swapped or had the other sign."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.channel import Channel, marker_columns
from sofa_softctl.identification.data.recording import Recording
from sofa_softctl.identification.experiment import Experiment

Kind = Literal["inputs", "outputs"]


@dataclass(frozen=True)
class Change:
    """Columns of a recording in another order, or with another sign."""

    name: str
    """Such as 'swap.a.b' or 'sign.a'."""
    text: str
    """As a sentence without its end."""
    kind: Kind
    """Which columns."""
    columns: tuple[int, ...]
    """One, whose sign is reversed; or several, the first half swapped with the second."""

    def of(self, recording: Recording) -> Recording:
        """The changed recording."""
        if self.kind == "inputs":
            return replace(recording, inputs=self.table(recording.inputs))
        return replace(recording, outputs=self.table(recording.outputs))

    def table(self, values: np.ndarray) -> np.ndarray:
        """The columns as they are after it, shape (n_times, n_columns)."""
        found = values.copy()
        if len(self.columns) == 1:
            found[:, self.columns] *= -1.0
        else:
            half = len(self.columns) // 2
            found[:, self.columns] = values[:, self.columns[half:] + self.columns[:half]]
        return found


def changes(experiment: Experiment) -> tuple[Change, ...]:
    """Changes of columns that an experiment could have; a swap is of columns of the same unit."""
    found = [*_of("inputs", experiment.inputs)]
    if not experiment.outputs_from_inputs:
        found += _of("outputs", experiment.channels)
    return tuple(found)


def _of(kind: Kind, channels: Sequence[Channel]) -> Iterator[Change]:
    for (i, one), (j, other) in combinations(enumerate(channels), 2):
        if one.unit == other.unit:
            text = f"columns {one.name} and {other.name} are swapped"
            yield Change(f"swap.{one.name}.{other.name}", text, kind, (i, j))
    markers = marker_columns(channels)
    for (name, here), (second, there) in combinations(markers.items(), 2):
        text = f"markers {name} and {second} are swapped"
        yield Change(f"swap.{name}.{second}", text, kind, (*here, *there))
    for i, one in enumerate(channels):
        yield Change(f"sign.{one.name}", f"{one.name} has the other sign", kind, (i,))


def changed(experiments: Sequence[Experiment], change: Change) -> list[Experiment] | None:
    """The experiments of the changed recordings; None: not possible.

    Raises:
        IdentificationError: An experiment's `with_recording` failed, or gave none.
    """
    found = [_changed(one, change) for one in experiments]
    return None if None in found else [one for one in found if one is not None]


def _changed(one: Experiment, change: Change) -> Experiment | None:
    try:
        found = one.with_recording(change.of)
        return None if found is None else Experiment.checked(found)
    except Exception as error:  # of a user's own class
        raise IdentificationError(
            f"with_recording of {type(one).__name__} gave no experiment "
            f"({type(error).__name__}: {str(error).rstrip('.')}). Its argument is a function, "
            "which changes a recording: return replace(self, recording=change(self.recording))."
        ) from error
