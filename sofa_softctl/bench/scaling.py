"""Cases of `softctl bench scaling`: a beam whose mesh, rows or contacts grow; exponents of cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sofa_softctl.bench import beam
from sofa_softctl.bench.speed import Case, CaseResult, Timing, measure

DOFS, ROWS, CONTACTS = "degrees of freedom", "constraint rows", "contacts"
"""Names of the series."""
CELLS = (2, 3, 4, 6, 8, 12, 18)
"""Cells across the beam: 297 to 98,553 degrees of freedom."""
ROW_COUNTS = (4, 10, 30, 100, 300, 1000)
CONTACT_COUNTS = (0, 3, 10, 30, 100, 300)
CELLS_OF_ROWS = 8
"""Cells across the beam whose rows and contacts grow."""
SOFA_STEP_MAX = 1000.0
"""Larger cases of a series run without SOFA if its step takes longer than this [ms]."""


@dataclass(frozen=True)
class Limits:
    """Sizes up to which cases are measured."""

    dofs: int = 100_000
    """Largest number of degrees of freedom."""
    rows: int = 1000
    """Largest number of cables, a constraint row each."""
    contacts: int = 300
    """Largest number of contacts, three constraint rows each."""


def scaling_cases(limits: Limits) -> list[Case]:
    """Return the cases of the three series, each from its smallest case on."""
    cells = [count for count in CELLS if beam.dof_count(count) <= limits.dofs]
    rows_cells = min(CELLS_OF_ROWS, max(cells, default=CELLS[0]))
    contacts_max = min(limits.contacts, beam.contact_count_max(rows_cells))
    scene = Path(beam.__file__)
    beams = [
        Case(f"beam, {beam.dof_count(n):,} DOFs", scene, {"cells": n}, DOFS, beam.dof_count(n))
        for n in cells
    ]
    rows = [
        Case(f"{n:,} cables", scene, {"cells": rows_cells, "rows": n}, ROWS, n)
        for n in ROW_COUNTS
        if n <= limits.rows
    ]
    contacts = [
        Case(f"{n} contacts", scene, {"cells": rows_cells, "contacts": n}, CONTACTS, n)
        for n in CONTACT_COUNTS
        if n <= contacts_max
    ]
    return [*beams, *rows, *contacts]


def measure_cases(
    cases: Sequence[Case],
    *,
    steps: int,
    seconds: float,
    with_sofa: bool,
    cpu: bool = False,
    prepare: Callable[[], None] | None = None,
) -> Iterator[CaseResult]:
    """Measure cases one after another; see `measure`.

    A series continues without SOFA after a case in which a step of SOFA took `SOFA_STEP_MAX`.
    """
    slow = set()
    for case in cases:
        in_sofa = with_sofa and case.series not in slow
        speed = measure(
            case, steps=steps, seconds=seconds, with_sofa=in_sofa, cpu=cpu, prepare=prepare
        )
        if speed.sofa is not None and speed.sofa.ms_median > SOFA_STEP_MAX and case.size:
            slow.add(case.series)
        yield speed


@dataclass(frozen=True)
class Slope:
    """Exponent p of a cost that grows like size^p, by least squares over logarithms."""

    series: str
    """Series of the cases."""
    backend: str
    """'embedded' or 'sofa'."""
    size_min: float
    """Smallest size that counts."""
    size_max: float
    """Largest size that counts."""
    exponent: float
    """The exponent p [-]."""


FITS = {DOFS: (3000, 100_000), ROWS: (4, 300), CONTACTS: (0, 300)}
"""Sizes over which exponents are fitted: where the work, not Python or caches, decides."""


def slopes(speeds: Sequence[CaseResult]) -> list[Slope]:
    """Return the exponents of the series with two cases or more in their range.

    The cost of degrees of freedom is the median time of a step; that of rows and contacts the time
    beyond the smallest case of the series, which has the same mesh.
    """
    fits = []
    for series, (low, high) in FITS.items():
        for backend in ("embedded", "sofa"):
            sizes, ms = costs_of(speeds, series, backend)
            counts = (sizes >= low) & (sizes <= high) & (ms > 0.0)
            sizes, ms = sizes[counts], ms[counts]
            if len(sizes) > 1:
                exponent = float(np.polyfit(np.log(sizes), np.log(ms), 1)[0])
                fits.append(Slope(series, backend, float(sizes[0]), float(sizes[-1]), exponent))
    return fits


def costs_of(
    speeds: Sequence[CaseResult], series: str, backend: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return sizes and the cost whose exponent is fitted [ms], shape (n,) each; see `slopes`."""
    sizes, ms = times_of(speeds, series, backend)
    if series == DOFS or not len(sizes):
        return sizes, ms
    return sizes[1:] - sizes[0], ms[1:] - ms[0]


def times_of(
    speeds: Sequence[CaseResult], series: str, backend: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return sizes and median times of a step [ms] of a series, ascending, shape (n,) each."""
    cases = sorted((speed for speed in speeds if speed.series == series), key=lambda s: s.size)
    timings: list[Timing | None] = [getattr(speed, backend) for speed in cases]
    pairs = [(s.size, t.ms_median) for s, t in zip(cases, timings, strict=True) if t is not None]
    sizes, ms = np.array(pairs, dtype=float).reshape(-1, 2).T
    return sizes, ms
