"""Tables of planning: the paper's values beside measured ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

PLANNING = (
    ("largest tension of the range", "u_max", ""),
    ("degrees of freedom", "dofs", "dofs"),
    ("an equilibrium f [s]", "f", "f"),
    ("a step g without a grid [s]", "g", "g"),
    ("an iteration without [s]", "iteration", "iteration"),
    ("equilibria without, from the same start", "evaluations", ""),
    ("equilibria without, from rest", "evaluations_from_rest", "evaluations"),
)
"""Rows of the table on planning: name, of `PlanningRow`, of the paper."""
PLANNING_ON_GRIDS = (
    ("equilibria", "evaluations", "evaluations_grid"),
    ("times fewer", "fewer", ""),
    ("time of the plan [s]", "seconds", ""),
    ("times faster", "faster", "speedup"),
    ("a step [s]", "g", "g_grid"),
    ("an iteration [s]", "iteration", "iteration_grid"),
    ("relative error of a step", "error", "error"),
    ("of its displacement", "error_of_displacement", ""),
    ("of its velocities", "error_of_velocity", ""),
    ("tensions apart by", "apart", ""),
)
"""Rows for each kind of grid: name, of `GridRow`, of the paper."""
PLANNING_REPLAYED = (
    ("off the plan by [mm]", "first"),
    ("off the radius by [mm]", "radius"),
    ("off the plan, corrected [mm]", "corrected"),
    ("corrections", "corrections"),
)
"""Rows on the replay of the default plan: name, of `Replayed`."""


def show_planning(found: Sequence[Any], paper: Any) -> None:
    """Print the first row of Table I of the paper on planning beside what was measured.

    Args:
        found: A `PlanningRow` for each radius and case; those of one radius make a column, of
            median and range.
        paper: The paper's row.
    """
    table = Table(
        title="Jia, Pan, Manocha 2019, Table I, deformation arm: the paper / measured here",
        caption="sparse: the default grid; cells: the paper's; split cells: only where the map is "
        "off. Fewer and faster: than without a grid, from the same start.",
        title_justify="left",
        caption_justify="left",
    )
    columns: dict[float, list[Any]] = {}
    for row in found:
        columns.setdefault(row.radius, []).append(row)
    table.add_column("radius of the circle [mm]")
    for name in ("paper", *(f"{radius:g}" for radius in columns)):
        table.add_column(name, justify="right")

    def add(name: str, theirs: str, value: Callable[[Any], float]) -> None:
        ranges = (median_and_range(sorted(map(value, rows))) for rows in columns.values())
        table.add_row(escape(name), _number(getattr(paper, theirs, None)), *ranges)

    for name, key, theirs in PLANNING:
        add(name, theirs, attrgetter(key))
    for kind, called in {"sparse": "sparse", "cells": "cells", "adaptive": "split cells"}.items():
        for name, key, theirs in PLANNING_ON_GRIDS:
            add(f"{called}: {name}", theirs, _of_grid(kind, key))
    for name, key in PLANNING_REPLAYED:
        add(f"full robot: {name}", "", attrgetter(f"replayed.{key}"))
    statuses = (dict.fromkeys(row.replayed.status for row in rows) for rows in columns.values())
    table.add_row("status", "", *map(", ".join, statuses))
    Console().print(table)


def _of_grid(kind: str, key: str) -> Callable[[Any], float]:
    """Value of a `PlanningRow` on one kind of grid."""
    return lambda row: float(getattr(row.grids[kind], key))


def show_projection(found: Any) -> None:
    """Print a `Projection`: what each approximation costs, and how the arm swings when let go."""
    console = Console()
    table = Table(
        title="The tip under projected dynamics: largest error over the size of the motion",
        caption="full: the scene's steps, linearised; balanced: steps of the whole robot in "
        "balance; projected: with the exact map; grid: with the grid.",
        title_justify="left",
        caption_justify="left",
    )
    for column in ("", "let go", "along the plan"):
        table.add_column(column, justify="left" if not column else "right")
    columns = [each.to_dict() for each in (found.release, found.ramp)]
    table.add_row("size of the motion in mm", *(f"{each['size']:.1f}" for each in columns))
    for name, (one, other) in {
        "linearisation": ("full", "balanced"),
        "modelling": ("balanced", "projected"),
        "interpolation": ("projected", "grid"),
        "total": ("full", "grid"),
    }.items():
        errors = (f"{each['error'][name]:.2g}" for each in columns)
        table.add_row(f"{name}: {one} to {other}", *errors)
    console.print(table)

    swings = Table(
        title="Let go: swings a second as they are seen, less what implicit Euler slows them by, "
        "and how they fade",
        caption="decay: logarithm of the energy over that a swing later. growth: largest growth of "
        "the energy in a step, over that at the start.",
        title_justify="left",
        caption_justify="left",
    )
    for column in ("", "seen [Hz]", "natural [Hz]", "decay", "decay, half the step", "growth"):
        swings.add_column(column, justify="left" if not column else "right")
    for name, motion in found.release.motions.items():
        seen, half = motion.swing(), found.halved.get(name)
        row = (f"{seen.frequency:.2f}", f"{seen.natural:.2f}", f"{seen.decay:.2f}")
        fades = "" if half is None else f"{half.swing().decay:.2f}"
        swings.add_row(name, *row, fades, f"{motion.growth:.1g}")
    console.print(swings)


def show_convergence(rows: Any) -> None:
    """Print rows of `measure_convergence`: in brackets by what factor a level is better."""
    from benchmarks.planning.convergence import ERRORS, observed_order

    table = Table(
        title="Jia, Pan, Manocha 2019, Lemma IV.1: plans of the planar arm come to the exact one",
        caption="Largest difference of tensions, over the force, and of coordinates; of the "
        "reward, relative; of positions along the exact plan, in mm.",
        title_justify="left",
        caption_justify="left",
        show_footer=True,
    )
    table.add_column("spacing", "order", justify="right")
    table.add_column("equilibria", justify="right")
    table.add_column("s", justify="right")
    for name in ERRORS:
        table.add_column(name, f"{observed_order(rows, name):.1f}", justify="right")
    before = None
    for row in rows:
        if row.level is None:
            table.add_row("exact", str(row.equilibria), f"{row.seconds:.1f}")
            continue
        errors = [f"{getattr(row, name):.1e}" for name in ERRORS]
        if before is not None:
            better = (getattr(before, name) / getattr(row, name) for name in ERRORS)
            errors = [f"{one} ({by:.0f})" for one, by in zip(errors, better, strict=True)]
        table.add_row(f"{row.spacing:g}", str(row.equilibria), f"{row.seconds:.1f}", *errors)
        before = row
    Console().print(table)


def median_and_range(values: list[float]) -> str:
    """Median of sorted values and their range; a dash for none."""
    if not values:
        return "-"
    form = ".2g" if values[-1] < 100.0 else ",.0f"
    low, middle, high = (f"{values[k]:{form}}" for k in (0, len(values) // 2, -1))
    return middle if low == high else f"{middle} ({low}-{high})"


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}"
