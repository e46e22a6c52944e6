"""Tables of inverse control: the papers' values beside measured ones."""

from __future__ import annotations

import math
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table


def show_table_2(rows: list[Any], strategies: dict[str, dict[str, float]]) -> None:
    """Print Table II of the paper beside what was measured, errors, and strategies if any."""
    console = Console()
    for table in (_times_table(rows), _errors_table(rows)):
        console.print(table)
    if not strategies:
        return
    gaps = Table(
        title="Strategies from a cold start, beside the exact one: (objective - best) / best",
        title_justify="left",
    )
    for column in ("strategy", "problems", "as good", "90 %", "99 %", "largest", "lost", "ms"):
        gaps.add_column(column, justify="left" if column == "strategy" else "right")
    for name, found in strategies.items():
        gaps.add_row(
            name,
            f"{found['count']:.0f}",
            f"{found['best']:.0%}",
            *(f"{found[key]:.1e}" for key in ("p90", "p99", "largest")),
            f"{found['lost']:.1%}",
            f"{1e3 * found['time']:.2f}",
        )
    console.print(gaps)


def _times_table(rows: list[Any]) -> Table:
    table = Table(
        title="Coevoet, Escande, Duriez 2019, Table II: the paper, and measured here",
        caption=escape(
            "rows: contact variables, three a contact, in the mean. CPU times [ms]: W: rows and "
            "compliances, mean. QPs: building, solving, checking: mean (as the paper), median, "
            "99 %, worst. step: all of it, median. coulomb: contacts stick or slide, the default; "
            "sticking: as in the paper."
        ),
        title_justify="left",
        caption_justify="left",
    )
    for column in ("robot", "contacts"):
        table.add_column(column, no_wrap=True)
    for column in ("rows", "DOFs", "W", "QPs", "median", "p99", "worst", "step"):
        table.add_column(column, justify="right")
    shown = None
    for row in rows:
        paper = row.paper
        if paper is not shown:
            table.add_section()
            numbers = f"{paper.contacts:g}", paper.dofs, f"{paper.ms_w:.1f}", f"{paper.ms_qp:.1f}"
            table.add_row(paper.robot, "paper", *numbers)
            shown = paper
        times = row.ms_w, row.ms_qp, row.qp_median, row.qp_p99, row.qp_worst, row.ms_step
        counts = f"{row.contacts:.0f}", f"{row.dofs}"
        table.add_row("", row.mode, *counts, *(f"{ms:.1f}" for ms in times))
    return table


def _errors_table(rows: list[Any]) -> Table:
    table = Table(
        title="Errors over the whole motion",
        caption=escape(
            "position: of the mean of the controlled points [mm]. angle: of the rotation about any "
            "axis that best takes the goals onto the points [degree]; in plane: only its part in "
            "the plane of the motion, as in the paper's Table I (cup: 1.34 mm and 2.21 degrees in "
            "the mean). point: of the farthest point [mm]. law: largest distance of a contact from "
            "its law."
        ),
        title_justify="left",
        caption_justify="left",
    )
    shown = ("position mean", "position worst", "angle mean", "angle worst", "point worst")
    columns = (
        "robot, contacts",
        *(name.replace(" ", "\n") for name in shown),
        "angle mean\nin plane",
        "law",
    )
    for column in columns:
        table.add_column(column, justify="left" if column == columns[0] else "right")
    for row in rows:
        values = (*(row.errors[name] for name in shown), row.angle_in_plane)
        texts = ("" if math.isnan(value) else f"{value:.2f}" for value in values)
        table.add_row(f"{row.paper.robot}, {row.mode}", *texts, f"{row.law_error:.0e}")
    return table


def show_transfer(rows: list[Any], paper: Any) -> None:
    """Print what another plant makes of the cup's commands, by mode and weight."""
    table = Table(
        title="The cup's commands on another plant, against their simulation: mean (deviation)",
        caption=escape(
            "position: of the mean of the points [mm]. angle: about any axis [degree]; in plane: "
            "its part in the plane of the motion, as in the paper."
        ),
        title_justify="left",
        caption_justify="left",
    )
    for column in ("contacts", "energy weight", "position", "angle", "in plane"):
        table.add_column(column, justify="left" if column == "contacts" else "right")
    table.add_row("the paper", "", _spread(paper.position), "", _spread(paper.angle))
    for row in rows:
        spreads = map(_spread, (row.position, row.angle, row.plane))
        table.add_row(row.mode, f"{row.energy:g}", *spreads)
    Console().print(table)


def _spread(value: tuple[float, float]) -> str:
    return f"{value[0]:.2f} ({value[1]:.2f})"
