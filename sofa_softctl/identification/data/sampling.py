"""Sample times: gaps, jitter and the sample rate of the model."""

from __future__ import annotations

import numpy as np

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.data.units import nearest

GAP = 5
"""Longest gap of an input that is interpolated linearly, in samples."""
RATE_OFF = 2e-3
"""Largest relative difference between the sample rate and that of the model."""
RATE_NEAR = 0.05
"""The same where intervals are so uneven that samples cannot be counted."""
RAGGED = 0.05
"""Share of uneven intervals from which on they cannot."""
JITTER = 0.3
"""Largest jitter of a sample, relative to the time step."""
NOTED = 0.01
"""Jitter above which there is a note."""
USUAL = 1e-5, 1.0
"""Time steps between which the unit of time is not doubted, where the model has no rate [s]."""
STEPS_A_SAMPLE = 100
"""Largest number of a model's steps for each sample, on average."""


def regular(
    time: np.ndarray, values: np.ndarray, *, rate: float | None, where: str
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Evenly numbered samples, with rows of NaN where rows are missing.

    Args:
        time: Increasing [s], shape (n,).
        values: Columns, shape (n, n_columns).
        rate: Sample rate that a model needs [Hz]; None: any.
        where: File, for messages.

    Returns:
        Times (m,), values (m, n_columns), m >= n, and notes. With a `rate`, times are those of the
        model's steps, counted from the first.

    Raises:
        IdentificationError: The rate is another one, or samples are too uneven.
    """
    steps = np.diff(time)
    step = float(np.median(steps))
    counts = np.maximum(np.rint(steps / step), 1.0).astype(int)
    numbers = np.concatenate(([0], np.cumsum(counts)))
    notes = []
    if rate is not None:
        _check_rate(time, numbers, 1.0 / step, rate, where)
    elif not USUAL[0] <= step <= USUAL[1]:
        notes = [f"samples are {step:.4g} s apart: is the unit of the time column right?"]
    jitter = np.abs(steps / step - counts)
    phase = time - numbers * (step if rate is None else 1.0 / rate)
    # Drift of a clock moves stamps, and not intervals; jitter of two stamps adds up in an interval.
    stamp = np.abs(phase - np.sort(phase)[len(phase) // 2]) / step
    uneven = (jitter > JITTER) & (np.maximum(stamp[1:], stamp[:-1]) > JITTER)
    if uneven.any():
        k = int(np.where(uneven, jitter, 0.0).argmax())
        text = (
            f"samples are uneven: {steps[k]:.4g} s after t = {time[k]:g} s, {step:.4g} s elsewhere"
        )
        if rate is not None:
            raise IdentificationError(
                f"{where}: {text}. The model steps at {rate:g} Hz: resample the recording, or "
                "record the device's times, not those at which the computer got its numbers."
            )
        return time, values.copy(), [*notes, f"{text}; the times of the file are kept"]
    at = numbers
    grid = time[0] + np.arange(at[-1] + 1) * step if rate is None else None
    filled = np.full((at[-1] + 1, values.shape[1]), np.nan)
    filled[at] = values
    notes += _gaps(time, counts)
    if grid is None:
        grid = time[0] + np.arange(at[-1] + 1) / rate  # type: ignore[operator]
        moved = float(np.abs(grid[at] - time).max())
        if moved > NOTED * step:
            notes.append(
                f"times moved by up to {moved:.2g} s ({100.0 * moved / step:.0f} % of a step), to "
                "the model's steps"
            )
    else:
        grid = np.interp(np.arange(at[-1] + 1), at, time)
        if (off := float(jitter.max())) > NOTED:
            notes.append(
                f"samples come up to {100.0 * off:.0f} % of {step:.4g} s early or late; the times "
                "of the file are kept"
            )
    return grid, filled, notes


def bridge(
    column: np.ndarray, time: np.ndarray, name: str, where: str
) -> tuple[np.ndarray, list[str]]:
    """An input with short gaps interpolated, and notes on them.

    Raises:
        IdentificationError: A gap is longer than `GAP` samples, or at the start or end.
    """
    missing = np.isnan(column)
    if not missing.any():
        return column, []
    edges = np.flatnonzero(np.diff(np.concatenate(([0], missing, [0]))))
    for first, end in edges.reshape(-1, 2):
        open_ = first == 0 or end == len(column)
        if open_ or end - first > GAP:
            raise IdentificationError(
                f"{where}: the input '{name}' is missing from t = {time[first]:g} to "
                f"{time[end - 1]:g} s, {end - first} samples"
                f"{' at an end of the recording' if open_ else ''}. Up to {GAP} in a row, between "
                "others, are interpolated. Cut the recording there, or fill in the commanded input."
            )
    filled = column.copy()
    filled[missing] = np.interp(time[missing], time[~missing], column[~missing])
    count = int(missing.sum())
    return filled, [f"{name}: {count} missing sample{'s' * (count > 1)} interpolated"]


def fit_step(time: np.ndarray, numbers: np.ndarray) -> tuple[float, float]:
    """Time between samples, as the slope of time over the samples' numbers.

    The median of the intervals scatters by the jitter of single stamps, the slope by that over the
    number of samples.

    Returns:
        The step [s], and its relative standard deviation.
    """
    centred = numbers - numbers.mean()
    square = float(centred @ centred)
    step = float(centred @ (time - time.mean())) / square
    off = time - time.mean() - step * centred
    return step, float(np.sqrt(off @ off / max(len(time) - 2, 1) / square)) / step


def _check_rate(
    time: np.ndarray, numbers: np.ndarray, usual: float, rate: float, where: str
) -> None:
    """Refuse another rate; `usual`: that of most intervals [Hz], which uneven ones do not move."""
    step, scatter = fit_step(time, numbers)
    measured_rate = 1.0 / step
    is_other = abs(measured_rate / rate - 1.0) > max(RATE_OFF, 3.0 * scatter)
    ragged = np.abs(np.diff(time) * usual - np.diff(numbers)) > JITTER  # so that counts are wrong
    near = RATE_OFF if ragged.mean() < RAGGED else RATE_NEAR
    if not is_other or abs(usual / rate - 1.0) <= near:
        return
    unit = nearest(rate / measured_rate, "s")
    hint = (
        f" Is its time in {unit}?"
        if unit
        else f" Resample it, or give the problem a step of {1.0 / measured_rate:.4g} s."
    )
    raise IdentificationError(
        f"{where}: is sampled at {measured_rate:.5g} Hz; the model steps at {rate:g} Hz.{hint}"
    )


def _gaps(time: np.ndarray, counts: np.ndarray) -> list[str]:
    gaps = np.flatnonzero(counts > 1)
    if not len(gaps):
        return []
    longest = gaps[counts[gaps].argmax()]
    count, several = int((counts[gaps] - 1).sum()), len(gaps) > 1
    rows = "1 row is" if count == 1 else f"{count} rows are"
    where = f" in {len(gaps)} gaps, the longest" if several else ","
    return [f"{rows} missing{where} from t = {time[longest]:g} to {time[longest + 1]:g} s"]


def check_steps(name: str, time: np.ndarray, dt: float) -> None:
    """Refuse recordings that take many more steps of a model than they have samples.

    Args:
        name: Name of the recording.
        time: Times of the samples [s], shape (n,).
        dt: Step of the model [s].

    Raises:
        IdentificationError: They do: their times may be in another unit.
    """
    duration = float(time[-1] - time[0])
    steps = duration / dt
    if steps <= STEPS_A_SAMPLE * len(time):
        return
    raise IdentificationError(
        f"{name}: its {len(time)} samples last {duration:,.6g} s, which are {steps:,.0f} steps of "
        f"{dt:g} s. Expected at most {STEPS_A_SAMPLE} steps a sample. Are its times in ms? Give "
        "the unit in the header, as in 'time [ms]'. If the times are right, take a larger dt of "
        "the model, or write rows between, with empty cells for what was not measured."
    )
