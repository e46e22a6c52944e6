"""How many motions and tasks a library will take, from how it has grown so far."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from sofa_softctl.library.building.stopping import tasks_wanted
from sofa_softctl.library.ocp.shooting import Program

QUANTILES = (0.1, 0.5, 0.9)
"""Given of each number."""
SLOPES = (0.5, 5.0)
"""Least and largest b."""
SMALL, SHORT = 32, 60.0
"""Number of motions, and time [s], at which an estimate ends."""
FAR = 20_000
"""Number of motions beyond which nothing is said."""


class Forecast(NamedTuple):
    """Expected numbers at the end: 10 %, 50 % and 90 % quantiles, shape (3,)."""

    motions: np.ndarray
    """Motions, at most `FAR`."""
    tasks: np.ndarray
    """Random tasks from now on."""


def forecast(grown: Sequence[int], failure_rate: float) -> Forecast:
    """Forecast of a library.

    With k motions a task is unknown with probability min(1, a k^-b); a and b are weighted by
    their likelihood, and the end comes where enough tasks in a row are known.

    Args:
        grown: Number of tasks that were asked with 1, 2, ... motions; all but the last ended by a
            new motion.
        failure_rate: Share of failures at which building ends [-].
    """
    tasks = np.asarray(grown, float)
    now, sizes = len(tasks), np.arange(1, len(tasks) + 1)
    later = np.unique(np.geomspace(now, FAR, 200).astype(int))
    wanted = np.array([tasks_wanted(failure_rate, int(k)) for k in later], float)
    rates, slopes = np.meshgrid(np.geomspace(1e-4, 0.98, 40), np.linspace(*SLOPES, 31))
    weights, motions, remaining = [], [], []
    for rate, slope in zip(rates.ravel(), slopes.ravel(), strict=True):
        share = np.clip(rate * (sizes / now) ** -slope, 1e-9, 1.0 - 1e-9)
        rows = (tasks - 1.0) * np.log1p(-share) + np.log(share)
        rows[-1] = tasks[-1] * np.log1p(-share[-1])
        weights.append(rows.sum())
        share = np.clip(rate * (later / now) ** -slope, 1e-9, 1.0 - 1e-9)
        goes_on = -np.expm1(wanted * np.log1p(-share))  # a new motion comes within the tasks wanted
        steps = np.diff(later, append=FAR + 1)
        left = np.cumsum(steps * np.log(np.maximum(goes_on, 1e-300)))  # log of reaching the next
        end = int(np.searchsorted(-left, np.log(2.0)))
        motions.append(later[min(end, len(later) - 1)])
        count = np.minimum(1.0 / share, wanted)
        remaining.append((count * steps)[:end].sum() + wanted[min(end, len(later) - 1)])
    weight = np.exp(np.array(weights) - np.max(weights))
    return Forecast(
        _quantiles(np.array(motions, float), weight), _quantiles(np.array(remaining), weight)
    )


def _quantiles(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weighted `QUANTILES`."""
    order = np.argsort(values)
    share = np.cumsum(weights[order])
    at = np.searchsorted(share, np.array(QUANTILES) * share[-1])
    return values[order][at]


class Estimate(NamedTuple):
    """What a library will take."""

    motions: np.ndarray
    """Motions at the end: 10 %, 50 % and 90 % quantiles, shape (3,)."""
    seconds: np.ndarray
    """Time [s], shape (3,)."""
    size: int
    """Of a motion in the file [bytes]."""
    tried: int
    """Motions from which this is forecast."""
    infeasible: float
    """Share of tasks without a motion [-]."""


def estimated(program: Program, *, most: int = FAR, **options: Any) -> Estimate:
    """Build a small library that is not kept, and forecast from it.

    Args:
        program: Program of the problem.
        most: Maximum number of motions.
        options: Of the `Builder`.

    Raises:
        LibraryError: No task has a motion.
    """
    from sofa_softctl.library.building.build import Builder
    from sofa_softctl.library.motions.storage import LibraryFile

    with TemporaryDirectory() as folder:
        path = Path(folder) / "small.library"
        with LibraryFile.create(path, program.model) as file:
            builder = Builder(program, file, most=min(most, SMALL), **options)
            begin = perf_counter()
            while not builder.done and perf_counter() < begin + SHORT:
                builder.keep(builder.round())
            seconds = perf_counter() - begin
        size = path.stat().st_size
    builder.check_any()
    counts, motions = builder.counts, len(builder.library)
    if builder.done and (motions < SMALL or motions >= most):
        found = Forecast(np.full(3, float(motions)), np.zeros(3))
    else:
        found = forecast(builder.grown[1:], options["failure_rate"])
    each = seconds / max(counts.plannings, 1)
    return Estimate(
        motions=np.minimum(found.motions, most),
        seconds=seconds + each * found.tasks,
        size=size // max(motions, 1),
        tried=motions,
        infeasible=(counts.infeasible + builder.presumed.unsolved) / max(counts.plannings, 1),
    )
