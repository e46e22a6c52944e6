"""Tables of plans and of stored equilibria."""

from __future__ import annotations

from typing import Any, NamedTuple

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sofa_softctl.units import symbol


class Watch:
    """Live progress line of planning.

    So equilibria are counted between iterations too, where most of the time goes.
    """

    def __init__(self, ready: Any) -> None:
        self.ready = ready
        self.steps: list[Any] = []
        self.text = ""

    def say(self, text: str) -> None:
        """Show a text in place of the iterations."""
        self.text = text

    def __rich__(self) -> str:
        return self.text or str(self.ready.progress_text(self.steps))


def show_plan(found: Any) -> None:
    """Print what came out of planning for a scene."""
    console, data = Console(), found.to_dict()
    table = Table(
        title=f"Plan for {escape(data['scene'])}, {escape(data['task'])}: {data['status']}",
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
        "largest distance from a goal": f"{data['miss']:.3g} {symbol(found.units, 'length')}",
        **_replay_rows(found),
        "out of balance by, over the force": f"{data['defect']:.1e}",
        "degrees of freedom": f"{data['dofs']}",
        "equilibria solved": equilibria,
        "iterations": f"{data['iterations']}",
        "time": f"{data['seconds']:.1f} s" + (f", {exact:.1f} s of it equilibria" if exact else ""),
    }
    if data["coordinates"] is not None:
        rows["reduced basis"] = f"{data['coordinates']} coordinates, {data['lost']:.0e} left out"
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
    if data["message"]:
        console.print(data["message"], highlight=False)


def _replay_rows(found: Any) -> dict[str, str]:
    """What the replay on the full robot measured."""
    if found.report is None:
        return {"replayed on the full robot": "no, as the plan must not be executed"}
    rows = {}
    for each in found.report.criteria:
        unit = symbol(found.units, each.quantity) if each.quantity else ""
        name, _, numbers = each.text(unit).rpartition(": ")
        rows[f"full robot, {name}"] = numbers if each.passed else f"{numbers}: NOT ACCEPTED"
    if found.flutter > 1.0 and found.robot.line_stiffness:
        limit = "steps have the lines' stiffness; without, they are stable up to 1"
        rows["flutter number"] = f"{found.flutter:.2g}: {limit}"
    if found.corrections:
        count = "once" if found.corrections == 1 else f"{found.corrections} times"
        rows["corrected"] = f"{count}, for what the full robot missed"
    if found.exact_corrections:
        count = found.exact_corrections
        steps = f"{count} Gauss-Newton step{'s' if count > 1 else ''} on the full robot"
        rows["tensions corrected"] = f"{steps}, {found.exact_seconds:.1f} s"
    if found.delay:
        seconds = f"{found.delay * found.robot.dt:.3g} {symbol(found.units, 'time')}"
        rows["begins after"] = f"{seconds}, when the robot hangs at rest"
    return rows


class StoredRow(NamedTuple):
    """Row of one model in a store."""

    model: str
    equilibria: int
    by_level: dict[int, int]
    branching: int
    failed: int
    damaged: int
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
        damaged=found.damaged,
        created=found.created.strftime("%Y-%m-%d %H:%M") if found.created else "unknown",
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
    for column in ("by level", "several", "without answer", "damaged", "since"):
        table.add_column(column)
    for row in map(stored_row, found):
        levels = ", ".join(f"{level}: {count}" for level, count in row.by_level.items())
        since = f"{row.created}, version {row.version}"
        counts = (row.branching, row.failed, row.damaged)
        table.add_row(row.model, f"{row.equilibria}", levels, *map(str, counts), since)
    Console().print(table)
