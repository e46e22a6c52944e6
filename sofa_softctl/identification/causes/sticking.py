"""Detection of markers and sensors that stick: noise about one value, while the robot moves.

A sensor that repeats a number exactly is found in the recording itself, see `data.signal_checks`.
One whose noise goes on looks like a robot at rest: only the model says that it moves. Of each
signal, the window is searched in which the measured values are noise about their mean and residuals
are largest. If the model moves there, it is fitted to the recordings without the window.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from sofa_softctl.errors import SimulationError
from sofa_softctl.identification.causes.columns import apply_to_experiment, fit_changed, stack
from sofa_softctl.identification.data.units import quantity
from sofa_softctl.identification.fitting.estimate import Estimate
from sofa_softctl.identification.fitting.gauss_newton import SearchResult
from sofa_softctl.identification.fitting.residual import Fit
from sofa_softctl.identification.model.channel import marker_columns
from sofa_softctl.identification.model.experiment import Experiment
from sofa_softctl.identification.model.parameter import starts
from sofa_softctl.identification.model.recording import Recording


@dataclass(frozen=True)
class StickingSettings:
    """Thresholds for signals that stick."""

    samples_min: int = 10
    """Smallest number of samples of a window."""
    excess_deviations_max: float = 4.0
    """Excess of squared deviations from the mean that noise explains [standard deviations]."""
    significance_level: float = 1e-3
    """Level of significance of the residuals in all windows together."""
    end_samples: int = 5
    """Number of samples at the ends of a window whose mean is compared with the window's."""
    end_significance_level: float = 0.05
    """Level of significance of this comparison."""
    motion_min: float = 1.0
    """Smallest RMS motion of the model in a window [standard deviations of the noise]."""
    fits_max: int = 2
    """Largest number of signals without which the model is fitted."""


SETTINGS = StickingSettings()


@dataclass(frozen=True)
class StickingSignal:
    """Marker or sensor that shows noise about one value for some time."""

    signal: str
    """Name of the marker or channel."""
    experiment: int
    """Index of the experiment."""
    columns: tuple[int, ...]
    """Indices of its columns."""
    first: int
    """First sample of the window."""
    end: int
    """End of the window, behind its last sample."""
    p_value: float
    """Probability that noise leaves such residuals in any window [-]."""

    @property
    def name(self) -> str:
        """Name such as 'stuck.tip'."""
        return f"stuck.{self.signal}"

    @property
    def window(self) -> slice:
        """Samples of the window."""
        return slice(self.first, self.end)

    def apply(self, recording: Recording) -> Recording:
        """Return the recording without the window."""
        outputs = recording.outputs.copy()
        outputs[self.window, self.columns] = np.nan
        return replace(recording, outputs=outputs)

    def text(self, fit: Fit) -> str:
        """Describe it, as a sentence without its full stop.

        Args:
            fit: Fit of its experiment.
        """
        begin, finish = fit.time[self.first], fit.time[self.end - 1]
        until = " on" if self.end == len(fit.time) else f" to {finish:.4g} s"
        means = _means(fit.measured[self.window, self.columns])
        value = ", ".join(f"{mean:.4g}" for mean in means)
        value = f"({value})" if len(means) > 1 else value
        return (
            f"{'marker ' * (len(means) > 1)}{self.signal} sticks from t = {begin:.4g} s{until}, at "
            f"{quantity(value, fit.channels[self.columns[0]].unit)} with noise"
        )


def sticking_signals(estimate: Estimate, experiments: Sequence[Experiment]) -> list[StickingSignal]:
    """Return the signals that stick while the model moves, the largest residuals first.

    Args:
        estimate: Estimate from the experiments.
        experiments: Experiments as they were given to the estimate.
    """
    signals = []
    for number, (fit, experiment) in enumerate(zip(estimate.fits, experiments, strict=True)):
        if experiment.outputs_from_inputs:
            continue
        for name, columns in _signals_of(experiment).items():
            p_value, first, end = _worst_window(fit, columns)
            p_value *= len(fit.time) * len(fit.channels)
            if p_value < SETTINGS.significance_level:
                signals.append(StickingSignal(name, number, columns, first, end, p_value))
    if not signals:
        return []
    models = [[fit.outputs for fit in estimate.fits]]
    rho = np.where(estimate.free, starts(estimate.parameters), estimate.rho)
    try:
        models.append([fit.outputs for fit in stack(estimate, experiments).fits(rho)])
    except SimulationError:
        pass  # only the model at the estimate says whether it moves
    moving = [
        signal
        for signal in signals
        if max(
            _motion(estimate.fits[signal.experiment], outputs[signal.experiment], signal)
            for outputs in models
        )
        >= SETTINGS.motion_min
    ]
    return sorted(moving, key=lambda signal: signal.p_value)


def _signals_of(experiment: Experiment) -> dict[str, tuple[int, ...]]:
    """Return the columns of each marker and of each other channel."""
    markers = marker_columns(experiment.channels)
    of_markers = {column for columns in markers.values() for column in columns}
    names = [channel.name for channel in experiment.channels]
    return markers | {name: (k,) for k, name in enumerate(names) if k not in of_markers}


def fits_without_sticking(
    estimate: Estimate, experiments: Sequence[Experiment], progress: Callable[[str], None]
) -> Iterator[tuple[StickingSignal, SearchResult]]:
    """Fit the recordings without the window of each of the worst signals.

    The cost includes the expected cost of the samples that are left out.

    Args:
        estimate: Estimate from the recordings.
        experiments: Experiments as they were given to the estimate.
        progress: Called with a description of each step.

    Raises:
        IdentificationError: An experiment's `with_recording` failed, or returned something else.
    """
    signals = sticking_signals(estimate, experiments) if estimate.free.any() else []
    for signal in signals[: SETTINGS.fits_max]:
        progress(f"fitting without {signal.signal}, which seems to stick")
        changed = apply_to_experiment(experiments[signal.experiment], signal.apply)
        if changed is None:
            continue
        changed_experiments = [*experiments]
        changed_experiments[signal.experiment] = changed
        end = fit_changed(estimate, changed_experiments)
        if end is not None:
            is_measured = estimate.fits[signal.experiment].is_measured
            count = int(is_measured[signal.window, signal.columns].sum())
            yield signal, replace(end, cost=end.cost + count)


def _worst_window(fit: Fit, columns: tuple[int, ...]) -> tuple[float, int, int]:
    """Return the p-value of residuals, first sample and end of a signal's worst window."""
    measured = fit.measured[:, columns]
    y = (measured - _means(measured)) / fit.deviations[list(columns)]
    residuals = np.nan_to_num(fit.residuals[:, columns])
    values = (np.isfinite(y), np.nan_to_num(y), np.nan_to_num(y) ** 2, residuals**2)
    sums = np.stack([np.pad(np.cumsum(v, axis=0), ((1, 0), (0, 0))) for v in values])

    def is_constant(first: int, end: int) -> bool:
        count, total, squares, _ = sums[:, end] - sums[:, first]
        spread = float((squares - total**2 / np.maximum(count, 1.0)).sum())
        freedom = max(float((count - 1.0).sum()), 1.0)
        return spread <= freedom + SETTINGS.excess_deviations_max * np.sqrt(2.0 * freedom)

    ends, end = np.empty(len(y), int), 0
    for first in range(len(y)):
        while end < len(y) and is_constant(first, end + 1):
            end += 1
        ends[first] = end
    count, *_, squares = (sums[:, ends] - sums[:, :-1]).sum(axis=2)
    p_values = np.where(
        count >= SETTINGS.samples_min * len(columns), stats.chi2.sf(squares, count), 1.0
    )
    worst = int(np.lexsort((count - squares, p_values))[0])
    return float(p_values[worst]), *_trim(y, worst, int(ends[worst]))


def _trim(y: np.ndarray, first: int, end: int) -> tuple[int, int]:
    """Shorten a window at both ends until its mean explains the means of its ends.

    Args:
        y: Columns of a signal [standard deviations], shape (n_times, k).
        first: First sample.
        end: End, behind the last sample.
    """
    block = SETTINGS.end_samples
    center = _means(y[first:end])
    limit = float(stats.chi2.isf(SETTINGS.end_significance_level, y.shape[1])) / block

    def is_off(begin: int) -> bool:
        return float(((_means(y[begin : begin + block]) - center) ** 2).sum()) > limit

    while end - first > SETTINGS.samples_min and is_off(first):
        first += 1
    while end - first > SETTINGS.samples_min and is_off(end - block):
        end -= 1
    return first, end


def _means(values: np.ndarray) -> np.ndarray:
    """Return the mean of each column's measured samples, 0 without any, shape (k,)."""
    count = np.isfinite(values).sum(axis=0)
    return np.asarray(np.nansum(values, axis=0) / np.maximum(count, 1))


def _motion(fit: Fit, outputs: np.ndarray, signal: StickingSignal) -> float:
    """Return the RMS motion of the model in a window [standard deviations of the noise]."""
    moved = outputs[signal.window, signal.columns] / fit.deviations[list(signal.columns)]
    return float(np.sqrt(moved.var(axis=0).sum()))
