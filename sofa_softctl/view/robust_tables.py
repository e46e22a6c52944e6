"""Success rates of the robots, and what failed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sofa_softctl.bench.robust import Robustness


def show_robust(found: Sequence[Robustness]) -> None:
    """Print errors, solves and times of each robot, then every run that failed."""
    if not found:
        return
    console = Console()
    console.print(
        _table(
            "Runs that succeeded, and errors: median over the runs (largest)",
            "position: of the mean of the controlled points [mm]. angle: of the rotation about any "
            "axis that best takes the goals onto the points [degree]. point: of the farthest point "
            "[mm].\n" + "\n".join(f"{one.robot}: {one.claim}" for one in found),
            ("robot", "runs", "reached", *(name.replace(" ", "\n") for name in found[0].median)),
            ([one.robot, f"{one.runs}", _rate(one), *_errors(one)] for one in found),
        )
    )
    console.print(
        _table(
            "How the steps of all runs were solved",
            "lost: runs at whose end the controlled body is out of reach of all contacts. gap: "
            "(objective - bound) / objective, median of the runs' medians (largest of all steps); "
            "inf: no bound was computed.",
            ("robot", *(name.lower().replace("_", "\n") for name in found[0].steps), "lost", "gap"),
            (
                [
                    one.robot,
                    *(f"{count:,}" for count in one.steps.values()),
                    f"{one.lost}",
                    f"{_short(one.gap_median)} ({_short(one.gap_worst)})",
                ]
                for one in found
            ),
        )
    )
    console.print(
        _table(
            "CPU time of a step [ms]",
            "QP: building, solving and checking the step's QPs: median of the runs' medians, and "
            "p99.9 and the largest of all steps together. look-ahead: mean over all steps.",
            ("robot", "contacts", "QP", "QP p99.9", "QP worst", "look-ahead", "whole step"),
            ([one.robot, *map(_short, _times(one))] for one in found),
        )
    )
    for one in found:
        for parameters, seed, reason in one.failures:
            text = f"{one.robot} {parameters} rest shape {seed}: {reason}"
            console.print(f"[yellow]failed:[/] {escape(text)}", highlight=False, soft_wrap=True)


def _table(
    title: str, caption: str, columns: Iterable[str], rows: Iterable[Iterable[str]]
) -> Table:
    table = Table(
        title=escape(title),
        caption=escape(caption),
        title_justify="left",
        caption_justify="left",
    )
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left")
    for row in rows:
        table.add_row(*row)
    return table


def _rate(one: Robustness) -> str:
    return f"{one.reached} ({one.reached / max(one.runs, 1):.0%})"


def _errors(one: Robustness) -> list[str]:
    return [
        "" if math.isnan(value) else f"{value:.2g}\n({one.worst[name]:.2g})"
        for name, value in one.median.items()
    ]


def _times(one: Robustness) -> tuple[float, ...]:
    qp = one.qp_median, one.qp_p999, one.qp_worst
    return one.contacts, *qp, one.lookahead, one.step_median


def _short(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.3g}"
