"""Detection of columns of recordings that are swapped or reversed, by fits to changed recordings.

The fit to a recording with wrong columns is far from the data, and so are its parameters. Changes
are screened by the cost that the model, linearised at the start and at the estimate, reaches within
bounds; the best ones are fitted.
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
from sofa_softctl.identification.fitting.estimate import Estimate
from sofa_softctl.identification.fitting.gauss_newton import SearchResult, search
from sofa_softctl.identification.fitting.reduced import reduce_by_qr
from sofa_softctl.identification.fitting.residual import StackedResidual
from sofa_softctl.identification.fitting.unknown_inputs import with_unknown_inputs
from sofa_softctl.identification.model.channel import Channel, marker_columns
from sofa_softctl.identification.model.experiment import Experiment
from sofa_softctl.identification.model.parameter import bounds, starts
from sofa_softctl.identification.model.recording import Recording

Kind = Literal["inputs", "outputs"]


@dataclass(frozen=True)
class ColumnChange:
    """Columns of a recording in another order, or with another sign."""

    name: str
    """Name such as 'swap.a.b' or 'sign.a'."""
    text: str
    """Description, as a sentence without its full stop."""
    kind: Kind
    """Group of columns."""
    columns: tuple[int, ...]
    """Index of a column whose sign is reversed, or indices whose halves are swapped."""

    def apply(self, recording: Recording) -> Recording:
        """Return the changed recording."""
        if self.kind == "inputs":
            return replace(recording, inputs=self.table(recording.inputs))
        return replace(recording, outputs=self.table(recording.outputs))

    def table(self, values: np.ndarray) -> np.ndarray:
        """Return the changed columns, shape (n_times, n_columns)."""
        changed_values = values.copy()
        if len(self.columns) == 1:
            changed_values[:, self.columns] *= -1.0
        else:
            half_count = len(self.columns) // 2
            changed_values[:, self.columns] = values[
                :, self.columns[half_count:] + self.columns[:half_count]
            ]
        return changed_values


def possible_changes_of(experiment: Experiment) -> tuple[ColumnChange, ...]:
    """Return the possible changes of an experiment's columns; swaps keep units."""
    column_changes = [*_changes_of_columns("inputs", experiment.inputs)]
    if not experiment.outputs_from_inputs:
        column_changes += _changes_of_columns("outputs", experiment.channels)
    return tuple(column_changes)


def _changes_of_columns(kind: Kind, channels: Sequence[Channel]) -> Iterator[ColumnChange]:
    for (i, first_channel), (j, second_channel) in combinations(enumerate(channels), 2):
        if first_channel.unit == second_channel.unit:
            text = f"columns {first_channel.name} and {second_channel.name} are swapped"
            yield ColumnChange(
                f"swap.{first_channel.name}.{second_channel.name}", text, kind, (i, j)
            )
    markers = marker_columns(channels)
    for (first_marker, first_columns), (second_marker, second_columns) in combinations(
        markers.items(), 2
    ):
        text = f"markers {first_marker} and {second_marker} are swapped"
        yield ColumnChange(
            f"swap.{first_marker}.{second_marker}", text, kind, (*first_columns, *second_columns)
        )
    for i, channel in enumerate(channels):
        yield ColumnChange(f"sign.{channel.name}", f"{channel.name} has the other sign", kind, (i,))


def apply_column_change(
    experiments: Sequence[Experiment], change: ColumnChange
) -> list[Experiment] | None:
    """Return the experiments of the changed recordings, or None if not possible.

    Raises:
        IdentificationError: An experiment's `with_recording` failed, or returned something else.
    """
    changed_experiments = [
        apply_to_experiment(experiment, change.apply) for experiment in experiments
    ]
    return (
        None
        if None in changed_experiments
        else [
            changed_experiment
            for changed_experiment in changed_experiments
            if changed_experiment is not None
        ]
    )


def apply_to_experiment(
    experiment: Experiment, change: Callable[[Recording], Recording]
) -> Experiment | None:
    """Return the experiment of the changed recording, or None if not possible.

    Raises:
        IdentificationError: The experiment's `with_recording` failed, or returned something else.
    """
    try:
        changed_experiment = experiment.with_recording(change)
        return None if changed_experiment is None else Experiment.checked(changed_experiment)
    except Exception as error:  # of a user's own class
        raise IdentificationError(
            f"with_recording of {type(experiment).__name__} gave no experiment "
            f"({type(error).__name__}: {str(error).rstrip('.')}). Its argument is a function, "
            "which changes a recording: return replace(self, recording=change(self.recording))."
        ) from error


EVALUATIONS_MAX = 25
"""Limit of evaluations of a search."""


def fits_of_changes(
    estimate: Estimate,
    experiments: Sequence[Experiment],
    progress: Callable[[str], None] | None = None,
) -> list[tuple[ColumnChange, SearchResult]]:
    """Fit the most likely changes of columns of all recordings, best first.

    Args:
        estimate: Estimate from the unchanged recordings.
        experiments: Experiments as they were given to the estimate.
        progress: Called with a description of each step.
    """
    possible_changes = possible_changes_of(experiments[0])
    have_same_columns = all(
        _columns(experiment) == _columns(experiments[0]) for experiment in experiments
    )
    if not have_same_columns or not estimate.free.any():
        return []
    if progress is not None:
        progress("looking for columns that are swapped or reversed")
    fits = []
    for change in _screen_changes(estimate, experiments, possible_changes)[:4]:
        end = fit_changed(estimate, apply_column_change(experiments, change))
        if end is not None:
            fits.append((change, end))
    return sorted(fits, key=lambda pair: pair[1].cost)


def _columns(experiment: Experiment) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(c.name for c in experiment.inputs), tuple(c.name for c in experiment.channels)


def _search_starts(estimate: Estimate) -> list[np.ndarray]:
    """Return the starts of searches: the start of the parameters, and the estimate."""
    begin = np.where(estimate.free, starts(estimate.parameters), estimate.rho)
    return [begin, estimate.rho]


def _screen_changes(
    estimate: Estimate, experiments: Sequence[Experiment], possible: Sequence[ColumnChange]
) -> list[ColumnChange]:
    """Return the changes with which the linearised model fits better than without, best first."""
    costs = np.full((len(possible) + 1, 2), np.inf)
    for k, rho in enumerate(_search_starts(estimate)):
        linearised = _LinearisedModel(estimate, experiments, rho)
        for i, change in enumerate((None, *possible)):
            costs[i, k] = linearised.cost(change)
    costs_min = costs.min(axis=1)
    order = [i for i in np.argsort(costs_min[1:]).tolist() if costs_min[i + 1] < costs_min[0]]
    return [possible[i] for i in order]


class _LinearisedModel:
    """Model linearised at given parameters, for comparison with changed recordings."""

    def __init__(
        self, estimate: Estimate, experiments: Sequence[Experiment], rho: np.ndarray
    ) -> None:
        self.estimate, self.experiments, self.rho = estimate, experiments, rho
        self.misfit = stack(estimate, experiments)
        try:
            self.fits = self.misfit.fits(rho)
        except SimulationError:
            self.fits = ()

    def cost(self, change: ColumnChange | None) -> float:
        """Return the smallest cost of the linearised model, infinite if it cannot be simulated."""
        fits, free = self.fits, self.estimate.free
        if not fits:
            return float("inf")
        if change is not None and change.kind == "outputs":
            fits = tuple(replace(fit, measured=change.table(fit.measured)) for fit in fits)
        elif change is not None:
            changed_experiments = apply_column_change(self.experiments, change)
            if changed_experiments is None:
                return float("inf")
            try:
                fits = stack(self.estimate, changed_experiments).fits(self.rho)
            except SimulationError:
                return float("inf")
        r, J = reduce_by_qr(fits, self.misfit.stack_residuals((), self.rho))
        scale = np.array([parameter.scale for parameter in self.estimate.parameters])
        lower, upper = bounds(self.estimate.parameters)
        change_bounds = [(side - self.rho)[free] / scale[free] for side in (lower, upper)]
        return 2.0 * float(lsq_linear((J * scale)[:, free], -r, change_bounds).cost)


def stack(estimate: Estimate, experiments: Sequence[Experiment]) -> StackedResidual:
    """Return the residuals of changed experiments, with the noise of an estimate."""
    return StackedResidual(experiments, estimate.parameters, deviations=noise_of(estimate))


def fit_changed(
    estimate: Estimate, experiments: Sequence[Experiment] | None
) -> SearchResult | None:
    """Return the best search from the start or the estimate, or None if not possible."""
    if experiments is None:
        return None
    misfit = stack(estimate, experiments)
    results = []
    for rho in _search_starts(estimate):
        try:
            results.append(search(misfit, rho, estimate.free, evaluations_max=EVALUATIONS_MAX))
        except SimulationError:
            continue
    if not results:
        return None
    best_result = min(results, key=lambda result: result.cost)
    if not any(fit.unknowns for fit in estimate.fits):
        return best_result
    joint_result = with_unknown_inputs(misfit, [best_result], estimate.free, EVALUATIONS_MAX)
    return joint_result.searches[0] if not joint_result.warnings else None
