"""Tables of plans and of stored equilibria."""

from __future__ import annotations

from typing import Any, NamedTuple

from rich.markup import escape

from sofa_softctl.units import symbol
from sofa_softctl.view.terminal.table import Table, make_console


class Watch:
    """Live progress line of planning, which also counts equilibria within iterations."""

    def __init__(self, ready: Any) -> None:
        self.ready = ready
        self.steps: list[Any] = []
        self.text = ""

    def show_text(self, text: str) -> None:
        """Show a text instead of the iterations."""
        self.text = text

    def __str__(self) -> str:
        return self.text or str(self.ready.progress_text(self.steps))


def show_plan(result: Any) -> None:
    """Print the plan of a scene."""
    console, data = make_console(), result.to_dict()
    table = Table(
        title=f"Plan for {escape(data['scene'])}, {escape(data['task'])}: {data['status']}",
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
        "largest distance from a goal": f"{data['miss']:.3g} {symbol(result.units, 'length')}",
        **_replay_rows(result),
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
    if result.estimate is not None:
        rows["expected"] = str(result.estimate)
    for name, value in rows.items():
        table.add_row(name, value)
    console.print(table)
    if data["message"]:
        console.print(data["message"], highlight=False)


def _replay_rows(result: Any) -> dict[str, str]:
    """Return the results of the replay on the full robot."""
    if result.report is None:
        return {"replayed on the full robot": "no, as the plan must not be executed"}
    rows = {}
    for criterion in result.report.criteria:
        unit = symbol(result.units, criterion.quantity) if criterion.quantity else ""
        name, _, numbers = criterion.text(unit).rpartition(": ")
        rows[f"full robot, {name}"] = numbers if criterion.passed else f"{numbers}: NOT ACCEPTED"
    if result.flutter > 1.0 and result.robot.line_stiffness:
        limit = "steps have the lines' stiffness; without, they are stable up to 1"
        rows["flutter number"] = f"{result.flutter:.2g}: {limit}"
    if result.corrections:
        count = "once" if result.corrections == 1 else f"{result.corrections} times"
        rows["corrected"] = f"{count}, for what the full robot missed"
    if result.exact_corrections:
        count = result.exact_corrections
        steps = f"{count} Gauss-Newton step{'s' if count > 1 else ''} on the full robot"
        rows["tensions corrected"] = f"{steps}, {result.exact_seconds:.1f} s"
    if result.delay:
        seconds = f"{result.delay * result.robot.dt:.3g} {symbol(result.units, 'time')}"
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


def stored_row(info: Any) -> StoredRow:
    """Return the row of a `StoreInfo`."""
    return StoredRow(
        model=info.model[:12],
        equilibria=sum(info.samples.values()),
        by_level=info.samples,
        branching=info.branching,
        failed=info.failed,
        damaged=info.damaged,
        created=info.created.strftime("%Y-%m-%d %H:%M") if info.created else "unknown",
        version=info.version,
    )


def show_stores(infos: list[Any]) -> None:
    """Print the contents of a store, with a line per model."""
    size = f", {infos[0].size / 1e6:.1f} MB" if infos else ""
    name = escape(str(infos[0].path)) if infos else "The store"
    model_count = "1 model" if len(infos) == 1 else f"{len(infos)} models"
    table = Table(title=f"{name}: {model_count}{size}")
    table.add_column("model")
    table.add_column("equilibria", justify="right")
    for column in ("by level", "several", "without answer", "damaged", "since"):
        table.add_column(column)
    for row in map(stored_row, infos):
        levels = ", ".join(f"{level}: {count}" for level, count in row.by_level.items())
        since = f"{row.created}, version {row.version}"
        counts = (row.branching, row.failed, row.damaged)
        table.add_row(row.model, f"{row.equilibria}", levels, *map(str, counts), since)
    make_console().print(table)
