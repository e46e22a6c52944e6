"""Table of the shares of intervals that hold the truth."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table


def show_coverage(found: Any) -> None:
    """Print a list of `Coverage`."""
    data = [each.to_dict() for each in found]
    table = Table(
        title=f"How often 95 % intervals hold the truth, {data[0]['repetitions']} estimates each",
        caption="Widened: by the error of the discretisation."
        if any("held_widened" in each for each in data)
        else None,
        title_justify="left",
        caption_justify="left",
    )
    columns = ["case", "parameter", "held", "truth", "mean", "half-width"]
    if table.caption:
        columns += ["held, widened", "half-width, widened"]
    for column in columns:
        left = column in ("case", "parameter")
        table.add_column(column, justify="left" if left else "right")
    for each in data:
        for name, held in each["held"].items():
            mean = f"{each['mean'][name]:.4g} ± {each['error_of_mean'][name]:.2g}"
            truth, width = (f"{each[what][name]:.4g}" for what in ("truth", "half_width"))
            cells = [each["case"], name, f"{held:.1%}", truth, mean, width]
            if "held_widened" in each:
                wide = each["held_widened"][name], each["half_width_widened"][name]
                cells += [f"{wide[0]:.1%}", f"{wide[1]:.4g}"]
            table.add_row(*cells)
    console = Console()
    console.print(table)
    unsolved = {one["case"]: one["repetitions"] - one["solved"] for one in data}
    for case, count in unsolved.items():
        if count:
            console.print(f"{case}: {count} searches did not converge; they are counted.")
    for one in data:
        if one.get("widened", one["repetitions"]) < one["repetitions"]:
            count = one["repetitions"] - one["widened"]
            console.print(
                f"{one['case']}: of {count} the error of the discretisation was not found; widened "
                "intervals of these count as not held."
            )
