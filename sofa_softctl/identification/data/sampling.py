"""Sample times: gaps, jitter and the sample rate of the model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.data.units import nearest_unit


@dataclass(frozen=True)
class SamplingSettings:
    """Tolerances for sample times."""

    gap_samples_max: int = 5
    """Longest gap of an input that is interpolated linearly [samples]."""
    rate_tolerance: float = 2e-3
    """Largest relative difference between the sample rates of recording and model [-]."""
    uneven_rate_tolerance: float = 0.05
    """Largest relative difference if intervals are too uneven for counting samples [-]."""
    uneven_fraction_max: float = 0.05
    """Fraction of uneven intervals above which samples cannot be counted [-]."""
    jitter_max: float = 0.3
    """Largest jitter of a sample, relative to the time step [-]."""
    reported_jitter_min: float = 0.01
    """Jitter above which the recording gets a note, relative to the time step [-]."""
    plausible_steps: tuple[float, float] = (1e-5, 1.0)
    """Smallest and largest plausible time step of a recording for a model without a rate [s]."""
    steps_per_sample_max: int = 100
    """Largest number of steps of a model for each sample, on average."""


SETTINGS = SamplingSettings()


def place_regularly(
    time: np.ndarray, values: np.ndarray, *, rate: float | None, location: str
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Return evenly numbered samples, with rows of NaN for missing rows.

    Args:
        time: Increasing [s], shape (n,).
        values: Columns, shape (n, n_columns).
        rate: Sample rate that a model needs [Hz]; None allows any.
        location: File, for messages.

    Returns:
        Times (m,), values (m, n_columns), m >= n, and notes. With a `rate`, times are the model's
        time steps, counted from the first sample.

    Raises:
        IdentificationError: The rate differs from `rate`, or samples are too uneven.
    """
    steps = np.diff(time)
    step = float(np.median(steps))
    counts = np.maximum(np.rint(steps / step), 1.0).astype(int)
    index = np.concatenate(([0], np.cumsum(counts)))
    notes = []
    if rate is not None:
        _check_rate(time, index, 1.0 / step, rate, location)
    elif not SETTINGS.plausible_steps[0] <= step <= SETTINGS.plausible_steps[1]:
        notes = [f"samples are {step:.4g} s apart: is the unit of the time column right?"]
    jitter = np.abs(steps / step - counts)
    phase = time - index * (step if rate is None else 1.0 / rate)
    # Drift of a clock moves stamps, and not intervals; jitter of two stamps adds up in an interval.
    stamp = np.abs(phase - np.sort(phase)[len(phase) // 2]) / step
    is_uneven = (jitter > SETTINGS.jitter_max) & (
        np.maximum(stamp[1:], stamp[:-1]) > SETTINGS.jitter_max
    )
    if is_uneven.any():
        k = int(np.where(is_uneven, jitter, 0.0).argmax())
        message = (
            f"samples are uneven: {steps[k]:.4g} s after t = {time[k]:g} s, {step:.4g} s elsewhere"
        )
        if rate is not None:
            raise IdentificationError(
                f"{location}: {message}. The model steps at {rate:g} Hz: resample the recording, "
                "or "
                "record the device's times, not those at which the computer got its numbers."
            )
        return time, values.copy(), [*notes, f"{message}; the times of the file are kept"]
    position = index
    grid = time[0] + np.arange(position[-1] + 1) * step if rate is None else None
    filled = np.full((position[-1] + 1, values.shape[1]), np.nan)
    filled[position] = values
    notes += _gap_notes(time, counts)
    if grid is None:
        grid = time[0] + np.arange(position[-1] + 1) / rate  # type: ignore[operator]
        shift_max = float(np.abs(grid[position] - time).max())
        if shift_max > SETTINGS.reported_jitter_min * step:
            notes.append(
                f"times moved by up to {shift_max:.2g} s ({100.0 * shift_max / step:.0f} % of a "
                "step), to "
                "the model's steps"
            )
    else:
        grid = np.interp(np.arange(position[-1] + 1), position, time)
        if (jitter_max := float(jitter.max())) > SETTINGS.reported_jitter_min:
            notes.append(
                f"samples come up to {100.0 * jitter_max:.0f} % of {step:.4g} s early or late; "
                "the times "
                "of the file are kept"
            )
    return grid, filled, notes


def fill_gaps(
    column: np.ndarray, time: np.ndarray, name: str, location: str
) -> tuple[np.ndarray, list[str]]:
    """Return an input with short gaps interpolated, and notes on them.

    Raises:
        IdentificationError: A gap is longer than `gap_samples_max`, or at the start or end.
    """
    missing = np.isnan(column)
    if not missing.any():
        return column, []
    edges = np.flatnonzero(np.diff(np.concatenate(([0], missing, [0]))))
    for first, end in edges.reshape(-1, 2):
        open_ = first == 0 or end == len(column)
        if open_ or end - first > SETTINGS.gap_samples_max:
            raise IdentificationError(
                f"{location}: the input '{name}' is missing from t = {time[first]:g} to "
                f"{time[end - 1]:g} s, {end - first} samples"
                f"{' at an end of the recording' if open_ else ''}. Up to "
                f"{SETTINGS.gap_samples_max} in a row, between "
                "others, are interpolated. Cut the recording there, or fill in the commanded input."
            )
    filled = column.copy()
    filled[missing] = np.interp(time[missing], time[~missing], column[~missing])
    count = int(missing.sum())
    return filled, [f"{name}: {count} missing sample{'s' * (count > 1)} interpolated"]


def fit_step(time: np.ndarray, numbers: np.ndarray) -> tuple[float, float]:
    """Return the time between samples, as the slope of time over the samples' numbers.

    The median of the intervals scatters by the jitter of single stamps, the slope by the jitter
    divided by the number of samples.

    Returns:
        The step [s], and the relative standard deviation of the step [-].
    """
    centred = numbers - numbers.mean()
    square = float(centred @ centred)
    step = float(centred @ (time - time.mean())) / square
    off = time - time.mean() - step * centred
    return step, float(np.sqrt(off @ off / max(len(time) - 2, 1) / square)) / step


def _check_rate(
    time: np.ndarray, numbers: np.ndarray, median_rate: float, rate: float, location: str
) -> None:
    """Refuse another rate; `median_rate` [Hz] is insensitive to uneven intervals."""
    step, scatter = fit_step(time, numbers)
    measured_rate = 1.0 / step
    is_other_rate = abs(measured_rate / rate - 1.0) > max(SETTINGS.rate_tolerance, 3.0 * scatter)
    is_uneven = (
        np.abs(np.diff(time) * median_rate - np.diff(numbers)) > SETTINGS.jitter_max
    )  # so that counts are wrong
    tolerance = (
        SETTINGS.rate_tolerance
        if is_uneven.mean() < SETTINGS.uneven_fraction_max
        else SETTINGS.uneven_rate_tolerance
    )
    if not is_other_rate or abs(median_rate / rate - 1.0) <= tolerance:
        return
    unit = nearest_unit(rate / measured_rate, "s")
    hint = (
        f" Is its time in {unit}?"
        if unit
        else f" Resample it, or give the problem a step of {1.0 / measured_rate:.4g} s."
    )
    raise IdentificationError(
        f"{location}: is sampled at {measured_rate:.5g} Hz; the model steps at {rate:g} Hz.{hint}"
    )


def _gap_notes(time: np.ndarray, counts: np.ndarray) -> list[str]:
    gaps = np.flatnonzero(counts > 1)
    if not len(gaps):
        return []
    longest = gaps[counts[gaps].argmax()]
    count, several = int((counts[gaps] - 1).sum()), len(gaps) > 1
    rows = "1 row is" if count == 1 else f"{count} rows are"
    place = f" in {len(gaps)} gaps, the longest" if several else ","
    return [f"{rows} missing{place} from t = {time[longest]:g} to {time[longest + 1]:g} s"]


def check_steps(name: str, time: np.ndarray, dt: float) -> None:
    """Refuse recordings whose times need many more steps of a model than there are samples.

    Args:
        name: Name of the recording.
        time: Times of the samples [s], shape (n,).
        dt: Step of the model [s].

    Raises:
        IdentificationError: Too many steps per sample: the times may be in another unit.
    """
    duration = float(time[-1] - time[0])
    steps = duration / dt
    if steps <= SETTINGS.steps_per_sample_max * len(time):
        return
    raise IdentificationError(
        f"{name}: its {len(time)} samples last {duration:,.6g} s, which are {steps:,.0f} steps of "
        f"{dt:g} s. Expected at most {SETTINGS.steps_per_sample_max} steps a sample. Are its "
        "times in ms? Give "
        "the unit in the header, as in 'time [ms]'. If the times are right, take a larger dt of "
        "the model, or write rows between, with empty cells for what was not measured."
    )
