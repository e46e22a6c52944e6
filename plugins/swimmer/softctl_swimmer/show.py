"""Rows of the study as a table in the terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from softctl_swimmer.planning.sizes import GridRow, SkinRow
from softctl_swimmer.planning.table import PaperRow, Row

if TYPE_CHECKING:
    from softctl_swimmer.learning.starts import Ways

LINES: tuple[tuple[str, str, Callable[[Row], Any]], ...] = (
    ("vertices", "vertices", lambda row: row.vertices),
    ("solutions of the flow for the map", "corners", lambda row: row.corners),
    ("a solution f [s]", "f", lambda row: row.f),
    ("with slopes [s]", "", lambda row: row.f_slopes),
    ("iterations", "", lambda row: row.iterations),
    ("map [s]", "", lambda row: row.map_seconds),
    ("plan on it [s]", "", lambda row: row.plan_seconds),
    ("solutions, the paper's loop", "", lambda row: row.asked),
    ("  times as many", "fewer", lambda row: row.fewer),
    ("  times as long", "faster", lambda row: row.faster),
    ("solutions with slopes, an honest loop", "", lambda row: row.kept),
    ("  times as many", "", lambda row: row.honestly_fewer),
    ("  times as long", "", lambda row: row.honestly_faster),
    ("relative error of a step", "error", lambda row: row.error),
    ("  of its displacement", "", lambda row: row.error_of_displacement),
    ("progress of the first wave", "", lambda row: row.start),
    ("  of the plan", "", lambda row: row.progress),
    ("  of its angles on the flow", "", lambda row: row.exact),
    ("largest torque there, of the limit", "", lambda row: row.torque),
    ("status", "", lambda row: row.status),
    ("random gaits, mean", "", lambda row: row.random[0]),
    ("  best", "", lambda row: row.random[1]),
    ("best sine wave", "", lambda row: row.sine),
)
"""Label, field of the paper's row, and value."""


def show_table(rows: Sequence[Row], paper: PaperRow) -> None:
    """Print rows beside the paper's."""
    _show_beside(
        paper,
        rows,
        LINES,
        heads=[f"{row.body}\n{row.objective}" for row in rows],
        title="Jia, Pan, Manocha 2019, Table I, swimmer: the paper / planned here",
        caption="Without the map: counted, times measured solutions, not run. Progress in m, of a "
        "turn in rad.",
    )


LEARNING_LINES: tuple[tuple[str, str, Callable[[Any], Any]], ...] = (
    ("solutions of the flow for the map", "corners", lambda row: row.corners),
    ("a solution with slopes [s]", "", lambda row: row.f_slopes),
    ("map [s]", "", lambda row: row.map_seconds),
    ("training on it [s]", "", lambda row: row.train_seconds),
    ("calls of g", "", lambda row: row.calls),
    ("times as many solutions without", "fewer", lambda row: row.fewer),
    ("times as long without", "faster", lambda row: row.faster),
    ("relative error of a step", "error", lambda row: row.error),
    ("return from disturbed starts [cm]", "", lambda row: row.mean),
    ("  its standard deviation", "", lambda row: row.deviation),
    ("return of the first of them", "", lambda row: row.mapped),
    ("  on the flow", "", lambda row: row.exact),
)
"""Label, field of the paper's row, and value."""


def show_learning(rows: Sequence[Any]) -> None:
    """Print trainings beside the paper's."""
    from softctl_swimmer.learning.row import PaperRow

    _show_beside(
        PaperRow(),
        rows,
        LEARNING_LINES,
        heads=[f"{row.body}\nseed {row.seed}" for row in rows],
        title="Jia, Pan, Manocha 2019, Table I, learning to swim: the paper / learned here",
        caption="Without the map: one solution for each call of g, counted and not run.",
    )


def show_starts(distances: Sequence[Ways]) -> None:
    """Print distances from disturbed starts, a column for each disturbance."""
    table = Table(title="Way from disturbed starts [cm], mean ± deviation", title_justify="left")
    table.add_column("")
    factors = list(dict.fromkeys(distance.disturbance for distance in distances))
    for factor in factors:
        table.add_column(escape(f"disturbed {factor:g} times"), justify="right")
    for name in dict.fromkeys(distance.name for distance in distances):
        by_factor = {
            distance.disturbance: distance for distance in distances if distance.name == name
        }
        cells = [by_factor[factor] for factor in factors]
        table.add_row(
            escape(name),
            *(
                f"{distance.mean:.1f} ± {distance.deviation:.1f}"
                + (f", {distance.lost:.0%} lost" * bool(distance.lost))
                for distance in cells
            ),
        )
    Console().print(table)


def _show_beside(
    paper: Any,
    rows: Sequence[Any],
    lines: Sequence[tuple[str, str, Callable[[Any], Any]]],
    *,
    heads: Sequence[str],
    title: str,
    caption: str,
) -> None:
    """Print a table with the paper's row as its first column."""
    table = Table(title=title, caption=caption, title_justify="left", caption_justify="left")
    table.add_column("")
    for name in ("paper", *heads):
        table.add_column(name, justify="right")
    for label, field_name, value in lines:
        paper_value = _text(getattr(paper, field_name)) if field_name else ""
        table.add_row(escape(label), paper_value, *(_text(value(row)) for row in rows))
    Console().print(table)


def show_sizes(skins: Sequence[SkinRow], grids: Sequence[GridRow]) -> None:
    """Print the cost of larger swimmers."""
    table = Table(title="A solution of the flow", title_justify="left")
    heads = ("links", "vertices", "operator [s]", "factors [s]", "f [s]", "with slopes [s]", "MB")
    for head in (*heads, "error of M"):
        table.add_column(escape(head), justify="right")
    for row in skins:
        table.add_row(*(_text(value) for value in asdict(row).values()))
    Console().print(table)
    table = Table(title="Solutions of a map, 0.3 rad apart", title_justify="left")
    for head in ("hinges", "spline over the box", "cells of a wave"):
        table.add_column(head, justify="right")
    for grid in grids:
        table.add_row(*(_text(value) for value in asdict(grid).values()))
    Console().print(table)


def _text(value: float | str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, float) and np.isnan(value):
        return ""
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}"
