"""Table of the library paper's method beside ours."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

Text = Callable[[float], str]


def show_library_table(found: Any) -> None:
    """Print a `LibraryTable`: least to largest over the seeds, beside the paper's figures."""
    from benchmarks.libraries.measure import PAPER, WAYS

    count = len(found.measured)
    unit, length = _length(found.error_unit)
    table = Table(
        title=f"Libraries of motions: {found.tasks:,} fresh tasks, least to largest of {count} "
        "seeds",
        caption=escape(
            f"The paper's method: Algorithm 1 until 1,000 tasks in a row are within "
            f"{length(found.tolerance)} {unit}; answers are executed without a test. Ours: SOLVED "
            f"answers. IPOPT, compiled: the first {found.compared} of these tasks; warm: from the "
            "nearest motion and its multipliers. Cost: of answers within the tolerance. The "
            "paper: errors of 200 tasks; its tangent QP takes 46 ms, IPOPT 853 ms. Source: "
            "Marcucci et al., sections 2 and 5.1."
        ),
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("")
    for name in ("the paper", *WAYS.values()):
        table.add_column(name, justify="right")
    for name, title, text in _lines(unit, length):
        cells = [_text(getattr(PAPER, name), text)]
        for way in WAYS:
            low, high = (_text(value, text) for value in found.range(way, name))
            cells.append(low if low == high else f"{low} to {high}")
        table.add_row(escape(title), *cells)
    Console().print(table)


def _lines(unit: str, length: Text) -> list[tuple[str, str, Text]]:
    """Field of `LibraryRow`, title and format of each row."""
    return [
        ("motions", "motions", _count),
        ("plannings", "random tasks", _count),
        ("executed", "fresh tasks with an answer to execute", _share),
        ("above", "of these, above the tolerance", _share),
        ("mean", f"error, mean [{unit}]", length),
        ("largest", f"error, largest [{unit}]", length),
        ("nearest_mean", f"nearest motion as it is, mean [{unit}]", length),
        ("nearest_largest", f"nearest motion as it is, largest [{unit}]", length),
        ("linear", "linear correction first", _share),
        ("loss", "cost over the optimum", _share),
        ("median", "time, median [ms]", _ms),
        ("p90", "time, 90 % [ms]", _ms),
        ("p99", "time, 99 % [ms]", _ms),
    ]


def _length(unit: str) -> tuple[str, Text]:
    """Unit of errors that is shown, and their text: metres in millimetres."""
    if unit == "m":
        return "mm", lambda value: f"{1e3 * value:.1f}"
    return unit or "-", lambda value: f"{value:.3g}"


def _text(value: float, text: Text) -> str:
    return "" if math.isnan(value) else text(value)


def _count(value: float) -> str:
    return f"{value:,.0f}"


def _share(value: float) -> str:
    return f"{value:.1%}"


def _ms(value: float) -> str:
    return f"{1e3 * value:.3g}"
