"""Forecast of the entries and tasks that a library will need, from its growth so far.

With k entries a task is unknown with probability min(1, a k^-b). All a and b of a grid are weighted
by their likelihood, and building ends after enough known tasks in a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from sofa_softctl.library.building.stopping import tasks_wanted
from sofa_softctl.library.ocp.shooting import Program


@dataclass(frozen=True)
class ForecastSettings:
    """Numbers of the forecast of a build."""

    quantiles: tuple[float, float, float] = (0.1, 0.5, 0.9)
    """Quantiles of each forecast number [-]."""
    exponent_range: tuple[float, float] = (0.5, 5.0)
    """Smallest and largest exponent b of the probability of unknown tasks [-]."""
    sample_entries_max: int = 32
    """Number of entries at which a sample library ends."""
    sample_time_max: float = 60.0
    """Time after which a sample library ends [s]."""
    entries_max: int = 20_000
    """Number of entries beyond which nothing is forecast."""


SETTINGS = ForecastSettings()


class Forecast(NamedTuple):
    """Expected final numbers: 10 %, 50 % and 90 % quantiles, shape (3,)."""

    motions: np.ndarray
    """Number of entries, at most `entries_max`."""
    tasks: np.ndarray
    """Number of further random tasks."""


def forecast(tasks_by_size: Sequence[int], failure_rate: float) -> Forecast:
    """Forecast the end of a build.

    Args:
        tasks_by_size: Number of tasks queried while the library had 1, 2, ... entries; all but the
            last ended with a new entry.
        failure_rate: Fraction of failures at which building ends [-].
    """
    tasks = np.asarray(tasks_by_size, float)
    size, past_sizes = len(tasks), np.arange(1, len(tasks) + 1)
    future_sizes = np.unique(np.geomspace(size, SETTINGS.entries_max, 200).astype(int))
    tasks_needed = np.array([tasks_wanted(failure_rate, int(k)) for k in future_sizes], float)
    rates, slopes = np.meshgrid(
        np.geomspace(1e-4, 0.98, 40), np.linspace(*SETTINGS.exponent_range, 31)
    )
    weights, motions, remaining = [], [], []
    for rate, slope in zip(rates.ravel(), slopes.ravel(), strict=True):
        probability = np.clip(rate * (past_sizes / size) ** -slope, 1e-9, 1.0 - 1e-9)
        rows = (tasks - 1.0) * np.log1p(-probability) + np.log(probability)
        rows[-1] = tasks[-1] * np.log1p(-probability[-1])
        weights.append(rows.sum())
        probability = np.clip(rate * (future_sizes / size) ** -slope, 1e-9, 1.0 - 1e-9)
        # a new motion comes within the tasks wanted
        growth_probability = -np.expm1(tasks_needed * np.log1p(-probability))
        steps = np.diff(future_sizes, append=SETTINGS.entries_max + 1)
        # log of reaching the next
        log_reached = np.cumsum(steps * np.log(np.maximum(growth_probability, 1e-300)))
        end = int(np.searchsorted(-log_reached, np.log(2.0)))
        motions.append(future_sizes[min(end, len(future_sizes) - 1)])
        count = np.minimum(1.0 / probability, tasks_needed)
        remaining.append(
            (count * steps)[:end].sum() + tasks_needed[min(end, len(future_sizes) - 1)]
        )
    weight = np.exp(np.array(weights) - np.max(weights))
    return Forecast(
        _quantiles(np.array(motions, float), weight), _quantiles(np.array(remaining), weight)
    )


def _quantiles(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the weighted quantiles."""
    order = np.argsort(values)
    cumulative = np.cumsum(weights[order])
    index = np.searchsorted(cumulative, np.array(SETTINGS.quantiles) * cumulative[-1])
    return values[order][index]


class BuildForecast(NamedTuple):
    """Forecast of the size and time of a library."""

    motions: np.ndarray
    """Final number of entries: 10 %, 50 % and 90 % quantiles, shape (3,)."""
    seconds: np.ndarray
    """Time of building, the same quantiles [s], shape (3,)."""
    size: int
    """Size of an entry in the file [bytes]."""
    tried: int
    """Number of entries that the forecast is based on."""
    infeasible: float
    """Fraction of infeasible tasks [-]."""


def forecast_build(
    program: Program, *, most: int = SETTINGS.entries_max, **options: Any
) -> BuildForecast:
    """Build a small temporary library, and forecast from it.

    Args:
        program: Program of the problem.
        most: Maximum number of entries.
        options: Options of the `Builder`.

    Raises:
        LibraryError: No task is feasible.
    """
    from sofa_softctl.library.building.build import Builder
    from sofa_softctl.library.motions.storage import LibraryFile

    with TemporaryDirectory() as folder:
        path = Path(folder) / "small.library"
        with LibraryFile.create(path, program.model) as file:
            builder = Builder(program, file, most=min(most, SETTINGS.sample_entries_max), **options)
            begin = perf_counter()
            while not builder.done and perf_counter() < begin + SETTINGS.sample_time_max:
                builder.keep(builder.round())
            seconds = perf_counter() - begin
        size = path.stat().st_size
    builder.check_any()
    counts, motions = builder.counts, len(builder.library)
    if builder.done and (motions < SETTINGS.sample_entries_max or motions >= most):
        expected = Forecast(np.full(3, float(motions)), np.zeros(3))
    else:
        expected = forecast(builder.grown[1:], options["failure_rate"])
    seconds_per_task = seconds / max(counts.plannings, 1)
    return BuildForecast(
        motions=np.minimum(expected.motions, most),
        seconds=seconds + seconds_per_task * expected.tasks,
        size=size // max(motions, 1),
        tried=motions,
        infeasible=(counts.infeasible + builder.presumed.unsolved) / max(counts.plannings, 1),
    )
