"""Cost of larger swimmers: of the exact operator by vertices, of the grid by joints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
from scipy.linalg import lu_factor

from sofa_softctl.surrogate import Grid
from softctl_swimmer.body import fish
from softctl_swimmer.flow.equation import equation
from softctl_swimmer.flow.potential import Flow
from softctl_swimmer.motion.inertia import FlowInertia, IsolatedInertia
from softctl_swimmer.planning.entries import MassEntries
from softctl_swimmer.planning.gaits import wave
from softctl_swimmer.planning.study import DT, INSTANTS, REACH, SPACING

SKINS = ((4, 42), (4, 98), (4, 200), (4, 353), (4, 800), (5, 353), (7, 353))
"""Numbers of links, and of vertices of each link."""
JOINT_COUNTS = (3, 4, 6)
"""Numbers of hinges for grids."""
REPEAT_COUNT = 3
"""Number of timed solutions, of which the median is taken."""


@dataclass(frozen=True)
class SkinRow:
    """A solution of the flow at one size."""

    links: int
    vertices: int
    """Number of vertices of all links."""
    assembly: float
    """Time of the operator [s]."""
    factors: float
    """Time of its LU factors [s]."""
    f: float
    """Time of a mass matrix, these two included [s]."""
    f_slopes: float
    """Time of a mass matrix with its slopes by the angles [s]."""
    megabytes: float
    """Memory of the operator [MB]."""
    error: float
    """Largest relative difference of the mass matrix from the finest skin's with the same number of
    links [-]; NaN for the finest."""


@dataclass(frozen=True)
class GridRow:
    """Number of solutions for maps of the mass matrix."""

    joints: int
    box: int
    """Corners of a spline over the whole box."""
    wave: int
    """Corners of the cells of a `Grid` that one wave of 4 s passes."""


def measure_skins(
    sizes: Sequence[tuple[int, int]] = SKINS, progress: Callable[[str], None] | None = None
) -> list[SkinRow]:
    """Time solutions of the flow, at one bent pose.

    Args:
        sizes: Numbers of links and of vertices of each.
        progress: Called with a line of text before each size.
    """
    masses, rows = {}, []
    for links, vertices in sizes:
        if progress is not None:
            progress(f"{links} links of {vertices} vertices")
        flow = Flow.from_swimmer(fish(links), vertices)
        inertia = FlowInertia(flow)
        bent = 0.5 * np.sin(1.0 + np.arange(links - 1.0))
        poses = flow.swimmer.poses(bent)
        masses[links, vertices] = inertia.mass(bent)  # compiles
        system = equation(flow.skins, flow.blocks, *poses)
        rows.append(
            SkinRow(
                links=links,
                vertices=flow.vertex_count,
                assembly=_median(lambda f=flow, p=poses: equation(f.skins, f.blocks, *p)),
                factors=_median(lambda H=system.H: lu_factor(H, check_finite=False)),
                f=_median(lambda i=inertia, q=bent: i.mass(q)),
                f_slopes=_median(lambda i=inertia, q=bent: i.at(q)),
                megabytes=system.H.nbytes / 1e6,
                error=np.nan,
            )
        )
    return [_with_error(row, size, masses) for row, size in zip(rows, sizes, strict=True)]


def measure_grids(joints: Sequence[int] = JOINT_COUNTS) -> list[GridRow]:
    """Count grid points of maps of the mass matrix, for links without interaction.

    Args:
        joints: Numbers of hinges.
    """
    rows = []
    for n in joints:
        exact = MassEntries(IsolatedInertia(fish(n + 1)))
        grid = Grid(
            exact, SPACING * np.ones(n), lower=-REACH * np.ones(n), upper=REACH * np.ones(n)
        )
        swing = wave(
            DT * np.arange(INSTANTS), amplitude=np.full(n, 0.7), phase=np.arange(n), frequency=0.5
        )
        grid.at(swing)
        box = (round(2.0 * REACH / SPACING) + 1) ** n
        rows.append(GridRow(n, box, grid.counts.evaluations))
    return rows


def _with_error(
    row: SkinRow, size: tuple[int, int], masses: dict[tuple[int, int], np.ndarray]
) -> SkinRow:
    finest = max(vertices for links, vertices in masses if links == size[0])
    if size[1] == finest:
        return row
    M, best = masses[size], masses[size[0], finest]
    error = float(np.abs(M - best).max() / np.abs(best).max())
    return replace(row, error=error)


def _median(work: Callable[[], object]) -> float:
    times = []
    for _ in range(REPEAT_COUNT):
        began = perf_counter()
        work()
        times.append(perf_counter() - began)
    return float(np.median(times))
