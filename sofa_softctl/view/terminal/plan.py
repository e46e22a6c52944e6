"""Tables of plans and of stored equilibria."""

from __future__ import annotations

from typing import Any, NamedTuple

from rich.console import Console
from rich.markup import escape
from rich.table import Table


class Watch:
    """Live progress line of planning.

    So equilibria are counted between iterations too, where most of the time goes.
    """

    def __init__(self, ready: Any) -> None:
        self.ready = ready
        self.steps: list[Any] = []

    def __rich__(self) -> str:
        return str(self.ready.progress_text(self.steps))


def show_plan(found: Any) -> None:
    """Print what came out of planning for a scene."""
    console, data = Console(), found.to_dict()
    table = Table(
        title=f"Plan for {escape(data['scene'])}, {escape(data['task'])}: {found.plan.status.name}",
        title_justify="left",
        show_header=False,
    )
    equilibria, exact = f"{data['evaluations']}", data["seconds_exact"]
    if data["corners"] is None:
        equilibria += " (no grid)"
    elif data["corners"]:
        levels = ", ".join(f"{n} on level {level}" for level, n in data["corners"].items())
        equilibria += f" ({levels})"
    if data["from_store"]:
        equilibria += f", {data['from_store']} from the store"
    rows = {
        "largest distance from a goal": f"{data['miss']:.3g}",
        "out of balance by, over the force": f"{data['defect']:.1e}",
        "degrees of freedom": f"{data['dofs']}",
        "equilibria solved": equilibria,
        "iterations": f"{data['iterations']}",
        "time": f"{data['seconds']:.1f} s" + (f", {exact:.1f} s of it equilibria" if exact else ""),
    }
    if data["map_error"] is not None:
        rows["map's error, estimated"] = f"{data['map_error']:.1e}"
    if data["branching"]:
        rows["several shapes"] = f"at {data['branching']} corners, kept apart"
    if data["refused"]:
        rows["cells without use"] = f"{data['refused']}: the robot buckles, folds or snaps there"
    if found.estimate is not None:
        rows["expected"] = str(found.estimate)
    for name, value in rows.items():
        table.add_row(name, value)
    console.print(table)
    if found.plan.message:
        console.print(found.plan.message, highlight=False)


class StoredRow(NamedTuple):
    """Row of one model in a store."""

    model: str
    equilibria: int
    by_level: dict[int, int]
    branching: int
    failed: int
    created: str
    version: str


def stored_row(found: Any) -> StoredRow:
    """Row of a `StoreInfo`."""
    return StoredRow(
        model=found.model[:12],
        equilibria=sum(found.samples.values()),
        by_level=found.samples,
        branching=found.branching,
        failed=found.failed,
        created=found.created.strftime("%Y-%m-%d %H:%M"),
        version=found.version,
    )


def show_stores(found: list[Any]) -> None:
    """Print what a store holds, a line for each model."""
    size = f", {found[0].size / 1e6:.1f} MB" if found else ""
    name = escape(str(found[0].path)) if found else "The store"
    models = "1 model" if len(found) == 1 else f"{len(found)} models"
    table = Table(title=f"{name}: {models}{size}", title_justify="left")
    table.add_column("model", no_wrap=True)
    table.add_column("equilibria", justify="right", no_wrap=True)
    for column in ("by level", "several", "without answer", "since"):
        table.add_column(column)
    for row in map(stored_row, found):
        levels = ", ".join(f"{level}: {count}" for level, count in row.by_level.items())
        since = f"{row.created}, version {row.version}"
        counts = (f"{row.equilibria}", levels, f"{row.branching}", f"{row.failed}")
        table.add_row(row.model, *counts, since)
    Console().print(table)
