"""Recordings changed as if columns were swapped or had the other sign.

Fits to recordings whose columns are taken as swapped, or as of the other sign.

Such a fit is far from the data, and so are its parameters. Changes are screened by the cost that
the model, linearised at the start and at the estimate, reaches within bounds; the best are fitted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np
from scipy.optimize import lsq_linear

from sofa_softctl.errors import IdentificationError, SimulationError
from sofa_softctl.identification.causes.extended import noise_of
from sofa_softctl.identification.data.recording import Recording
from sofa_softctl.identification.fitting.estimate import Estimate
from sofa_softctl.identification.fitting.gauss_newton import SearchResult, search
from sofa_softctl.identification.fitting.reduced import reduced
from sofa_softctl.identification.fitting.residual import StackedResidual
from sofa_softctl.identification.fitting.unknown_inputs import with_unknown_inputs
from sofa_softctl.identification.model.channel import Channel, marker_columns
from sofa_softctl.identification.model.experiment import Experiment
from sofa_softctl.identification.model.parameter import bounds, starts

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


FITTED = 4
"""So many changes are fitted."""
MOST = 25
"""Limit of evaluations of a search."""


def fits_of_changes(
    estimate: Estimate,
    experiments: Sequence[Experiment],
    progress: Callable[[str], None] | None = None,
) -> list[tuple[Change, SearchResult]]:
    """The likeliest changes of columns of all recordings, with fits to the changed ones.

    Args:
        estimate: Of the recordings as they are.
        experiments: Those of the estimate, as they were given.
        progress: Called with what is done.
    """
    possible = changes(experiments[0])
    alike = all(_columns(one) == _columns(experiments[0]) for one in experiments)
    if not alike or not estimate.free.any():
        return []
    if progress is not None:
        progress("looking for columns that are swapped or reversed")
    found = []
    for change in _screened(estimate, experiments, possible)[:FITTED]:
        end = _fitted(estimate, changed(experiments, change))
        if end is not None:
            found.append((change, end))
    return sorted(found, key=lambda pair: pair[1].cost)


def _columns(one: Experiment) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(c.name for c in one.inputs), tuple(c.name for c in one.channels)


def _places(estimate: Estimate) -> list[np.ndarray]:
    """Where searches begin: at the given start and at the estimate."""
    begin = np.where(estimate.free, starts(estimate.parameters), estimate.rho)
    return [begin, estimate.rho]


def _screened(
    estimate: Estimate, experiments: Sequence[Experiment], possible: Sequence[Change]
) -> list[Change]:
    """Changes with which the linearised model fits better than without, best first."""
    costs = np.full((len(possible) + 1, 2), np.inf)
    for k, rho in enumerate(_places(estimate)):
        whole = _Linearised(estimate, experiments, rho)
        for i, change in enumerate((None, *possible)):
            costs[i, k] = whole.cost(change)
    least = costs.min(axis=1)
    order = [i for i in np.argsort(least[1:]).tolist() if least[i + 1] < least[0]]
    return [possible[i] for i in order]


class _Linearised:
    """The model, linearised at one place, beside changed recordings."""

    def __init__(
        self, estimate: Estimate, experiments: Sequence[Experiment], rho: np.ndarray
    ) -> None:
        self.estimate, self.experiments, self.rho = estimate, experiments, rho
        self.misfit = self._misfit(experiments)
        try:
            self.fits = self.misfit.fits(rho)
        except SimulationError:
            self.fits = ()

    def cost(self, change: Change | None) -> float:
        """The least cost of the linearised model; infinite: it cannot be simulated."""
        fits, free = self.fits, self.estimate.free
        if not fits:
            return float("inf")
        if change is not None and change.kind == "outputs":
            fits = tuple(replace(fit, measured=change.table(fit.measured)) for fit in fits)
        elif change is not None:
            other = changed(self.experiments, change)
            if other is None:
                return float("inf")
            try:
                fits = self._misfit(other).fits(self.rho)
            except SimulationError:
                return float("inf")
        r, J = reduced(fits, self.misfit.stacked((), self.rho))
        scale = np.array([one.scale for one in self.estimate.parameters])
        lower, upper = bounds(self.estimate.parameters)
        room = [(side - self.rho)[free] / scale[free] for side in (lower, upper)]
        return 2.0 * float(lsq_linear((J * scale)[:, free], -r, room).cost)

    def _misfit(self, experiments: Sequence[Experiment]) -> StackedResidual:
        return StackedResidual(
            experiments, self.estimate.parameters, deviations=noise_of(self.estimate)
        )


def _fitted(estimate: Estimate, experiments: Sequence[Experiment] | None) -> SearchResult | None:
    """The best of the searches from either place; None: not possible."""
    if experiments is None:
        return None
    misfit = StackedResidual(experiments, estimate.parameters, deviations=noise_of(estimate))
    ends = []
    for rho in _places(estimate):
        try:
            ends.append(search(misfit, rho, estimate.free, most=MOST))
        except SimulationError:
            continue
    if not ends:
        return None
    best = min(ends, key=lambda one: one.cost)
    if not any(fit.unknowns for fit in estimate.fits):
        return best
    found = with_unknown_inputs(misfit, [best], estimate.free, MOST)
    return found.searches[0] if not found.warnings else None
