"""What the command line shows of identifications: progress, tables, files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sofa_softctl.identification.report import Report
from sofa_softctl.view.files import check_writable, replacing
from sofa_softctl.view.identification_page import interval_text, known, number, page

COLORS = {"good": "green", "look": "yellow", "bad": "bold red"}
MARKS = {"good": "ok", "look": "! ", "bad": "no"}
PAGE, NUMBERS = "report.html", "estimate.json"


def check_folder(folder: Path) -> None:
    """SoftctlError when a report cannot be written there: before the work, not after it."""
    check_writable(folder / PAGE)


def write(folder: Path, report: Report) -> None:
    """Write report.html and estimate.json; each appears when it is complete."""
    texts = {PAGE: page(report), NUMBERS: json.dumps(report.to_dict(), indent=2, allow_nan=False)}
    for name, text in texts.items():
        write_text(folder / name, text)


def write_text(path: Path, text: str) -> None:
    """Write a file that appears when it is complete."""
    with replacing(path) as name:
        name.write_text(text, encoding="utf-8")


def search_progress(tell: Callable[[str], None], starts: int) -> Callable[[int, int, float], None]:
    """A function that tells where a search is."""

    def progress(number: int, evaluation: int, cost: float) -> None:
        which = f"start {number + 1} of {starts}, " if starts > 1 else ""
        tell(f"{which}simulation {evaluation}: cost {cost:.5g}")

    return progress


def descent_progress(tell: Callable[[str], None]) -> Callable[[int, float, float], None]:
    """A function that tells where a descent is."""

    def progress(iteration: int, cost: float, gradient: float) -> None:
        tell(f"iteration {iteration}: cost {cost:.6g}, gradient norm {gradient:.3g}")

    return progress


def show(report: Report, folder: Path | None, *, quiet: bool, as_json: bool) -> None:
    """Print what was found."""
    if as_json:
        print(json.dumps(report.to_dict(), indent=2, allow_nan=False))
        return
    if quiet:
        return
    console = Console()
    console.print(_parameters(report))
    if report.candidates:
        console.print(_candidates(report))
    grid = Table.grid(padding=(0, 1))
    for one in report.findings:
        grid.add_row(f"[{COLORS[one.level]}]{MARKS[one.level]}[/]", escape(one.text))
    console.print(grid, highlight=False)
    if folder is not None:
        print(f"Report: {folder / PAGE}")


def _parameters(report: Report) -> Table:
    estimate, trust = report.estimate, report.trust
    kind = "Student's t" if trust.distribution == "Student-t" else "normal"
    table = Table(
        title=f"{escape(report.problem)}: {estimate.data:,} measured numbers, left of them "
        f"{report.rms:.2f} deviations",
        caption=f"Intervals: {kind}, if the model is right. {estimate.method}, "
        f"{estimate.evaluations} simulations, {estimate.seconds:.2g} s.",
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("parameter")
    for column in ("value", "95 % interval", "of it by inputs", "start"):
        table.add_column(column, justify="right")
    for i, one in enumerate(estimate.parameters):
        value, low, high = float(estimate.rho[i]), float(trust.low[i]), float(trust.high[i])
        held = one.name in estimate.held
        kept = "fixed" if one.name in estimate.fixed else "not seen"
        share = trust.input_covariance[i, i] / max(trust.covariance[i, i], 1e-300)
        table.add_row(
            escape(one.name),
            escape(f"{number(value, high - low)} {one.unit}".strip()),
            kept if held else interval_text(low, high, value, one.start),
            f"{100.0 * share:.0f} %" if share > 0.0 and known(low, high, value, one.start) else "",
            f"{one.start:.4g}",
        )
    return table


def _candidates(report: Report) -> Table:
    table = Table(
        title="What to record next, the most informative first",
        caption="Information in nats; half of the 95 % interval expected afterwards.",
        title_justify="left",
        caption_justify="left",
    )
    names = list(report.candidates[0].half_widths)
    table.add_column("motion")
    for column in ("information", *(f"± {name}" for name in names)):
        table.add_column(escape(column), justify="right")
    now = report.candidates[0].half_widths_now.values()
    table.add_row("(as it is)", "", *(f"{width:.3g}" for width in now))
    for one in report.candidates:
        widths = (f"{width:.3g}" for width in one.half_widths.values())
        table.add_row(escape(one.name), f"{one.gain:.2f}", *widths)
    return table
