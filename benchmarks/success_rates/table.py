"""Tables of success rates, and of failures."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.success_rates.study import Robustness

CAPTION = (
    "Errors: median over the runs (largest). position: of the mean of the controlled points [mm]. "
    "angle: of the rotation about any axis that best takes the goals onto the points [degree]; "
    "plane: its part in the plane of the motion. point: of the farthest point [mm].\n"
    "Steps: of all runs. lost: runs at whose end the controlled body is out of reach of all "
    "contacts. gap: (objective - bound) / objective, median of the runs' medians (largest of all "
    "steps); inf: no bound was computed.\n"
    "QP: CPU time of building, solving and checking [ms], median of the runs' medians, then of all "
    "steps together. look-ahead: mean over all steps [ms]. step: all of it, CPU time [ms]."
)


def show_robust(found: Sequence[Robustness]) -> None:
    """Print a column for each robot, and below it every run that failed."""
    if not found:
        return
    console = Console()
    table = Table("")
    for one in found:
        table.add_column(one.robot, justify="right")
    columns = [_column(one) for one in found]
    for section in zip(*columns, strict=True):
        table.add_section()
        for name in section[0]:
            table.add_row(name, *(rows[name] for rows in section))
    console.print(table)
    for line in (CAPTION, *(f"{one.robot}: {one.claim}." for one in found)):
        console.print(escape(line), highlight=False, soft_wrap=True)
    for one in found:
        for parameters, seed, reason in one.failures:
            text = f"{one.robot} {parameters} rest shape {seed}: {reason}"
            console.print(f"[yellow]failed:[/] {escape(text)}", highlight=False, soft_wrap=True)


def _column(one: Robustness) -> list[dict[str, str]]:
    """Column of one robot, in sections."""
    rate = f"{one.reached} ({one.reached / max(one.runs, 1):.0%})"
    return [
        {"runs": f"{one.runs}", "reached": rate},
        {name: _both(value, one.worst[name]) for name, value in one.median.items()},
        {name.lower().replace("_", " "): f"{count:,}" for name, count in one.steps.items()}
        | {"lost": f"{one.lost}", "gap": _both(one.gap_median, one.gap_worst)}
        | {"contacts": _short(one.contacts)},
        {
            "QP median": _short(one.qp_median),
            "QP p99.9": _short(one.qp_p999),
            "QP worst": _short(one.qp_worst),
            "look-ahead": _short(one.lookahead),
            "step": _short(one.step_median),
        },
    ]


def _both(median: float, worst: float) -> str:
    return "" if math.isnan(median) else f"{median:.2g} ({worst:.2g})"


def _short(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.3g}"
