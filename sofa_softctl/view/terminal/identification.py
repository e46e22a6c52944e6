"""Tables of an identification on the terminal."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sofa_softctl.base.files import replace_atomically
from sofa_softctl.identification.data.units import quantity
from sofa_softctl.identification.design.design import Design
from sofa_softctl.identification.design.motion_file import motion_text
from sofa_softctl.identification.fitting.estimate import Estimate
from sofa_softctl.identification.model.parameter import Parameter
from sofa_softctl.identification.model.problem import Problem
from sofa_softctl.identification.report.report import Report, minimum_of
from sofa_softctl.view.pages.identification.next_motion import short_names
from sofa_softctl.view.pages.identification.page import drawn, page
from sofa_softctl.view.pages.identification.parameters import more_intervals
from sofa_softctl.view.words import interval_text, is_informative, number, plural

COLORS = {"good": "green", "look": "yellow", "bad": "bold red"}
MARKS = {"good": "ok", "look": "! ", "bad": "no"}
CANDIDATES, SEARCHES, CAUSES = 4, 8, 5
"""Most rows that are shown; the page has all."""
MOST = 4
"""Parameters that are named before an estimate is judged."""
NAME = 24
"""Least width of the column of names, where one is as long: a terminal of 80 columns has that."""
MARK = "\u2717"
"""Before each number of an estimate that is not to be trusted."""
PAGE, NUMBERS = "report.html", "estimate.json"


def write(folder: Path, report: Report) -> None:
    """Write report.html and estimate.json; each appears when it is complete."""
    texts = {PAGE: page(report), NUMBERS: json.dumps(report.to_dict(), indent=2, allow_nan=False)}
    for name, text in texts.items():
        write_text(folder / name, text)


def write_text(path: Path, text: str) -> None:
    """Write a file that appears when it is complete."""
    with replace_atomically(path) as name:
        name.write_text(text, encoding="utf-8")


def search_progress(
    update: Callable[[str], None], starts: int, *, parallel: bool = False
) -> Callable[[int, int, float], None]:
    """Progress callback of searches; calls `update` with its text.

    Args:
        update: Shows the text.
        starts: Number of searches.
        parallel: Whether the callback is called at the end of each search.
    """
    costs: list[float] = []

    def progress(number: int, evaluation: int, cost: float) -> None:
        which = f"start {number + 1} of {starts}, " if starts > 1 else ""
        update(f"{which}simulation {evaluation}: cost {cost:.5g}")

    def ended(number: int, evaluations: int, cost: float) -> None:
        if len(costs) == starts:  # noise is estimated afterwards, by one search
            update(f"estimating noise, simulation {evaluations}: cost {cost:.5g}")
            return
        costs.append(cost)
        best = f": best cost {min(costs):.5g}" if np.isfinite(min(costs)) else ""
        update(f"{len(costs)} of {starts} starts done{best}")

    if not parallel:
        return progress
    update(f"0 of {starts} starts done")
    return ended


def design_progress(update: Callable[[str], None]) -> Callable[[int, int, float], None]:
    """Progress callback of a design; calls `update` with its text."""

    def progress(number: int, evaluations: int, best: float) -> None:
        found = f": best {best:.3g} nats" if np.isfinite(best) else ""
        update(f"designing, motion {number} of {evaluations}{found}")

    return progress


def found_so_far(estimate: Estimate) -> str:
    """What a search found, before it is judged; at most four parameters."""
    values = zip(estimate.parameters, estimate.rho, strict=True)
    names = [f"{one.name} = {quantity(f'{value:.4g}', one.unit)}" for one, value in values]
    rest = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    rms = np.sqrt(estimate.cost / max(estimate.data, 1))
    return (
        f"The search ended, not judged yet, at {', '.join(names[:MOST])}{rest}: RMS residual "
        f"{rms:.3g} deviations."
    )


def write_motion(
    path: Path, problem: Problem, design: Design, parameters: Sequence[Parameter]
) -> None:
    """Write the CSV file of a designed motion."""
    units = {one.name: one.unit for one in parameters}
    write_text(path, motion_text(problem, design, units))


def show(report: Report, folder: Path | None, *, quiet: bool, as_json: bool) -> None:
    """Print the estimate, its diagnostics and the path of the report."""
    if as_json:
        print(json.dumps(report.to_dict(), indent=2, allow_nan=False))
        return
    if quiet:
        return
    console = Console()
    verdict = report.verdict
    console.print(f"[{COLORS[verdict.level]}]{escape(verdict.text)}[/]", highlight=False)
    console.print(_parameters(report))
    if len(report.estimate.searches) > 1:
        console.print(_searches(report))
    if report.causes.found:
        console.print(_causes(report))
    if report.candidates:
        console.print(candidates_table(report))
    grid = Table.grid(padding=(0, 1))
    for one in report.diagnostics:
        grid.add_row(f"[{COLORS[one.level]}]{MARKS[one.level]}[/]", escape(one.text))
    console.print(grid, highlight=False)
    if report.causes.hidden:
        console.print("What these data could not show:")
        for unseen in report.causes.hidden:
            console.print(f"   {escape(unseen.sentence)}", highlight=False)
    for sentence in report.causes.untested_sentences:
        console.print(escape(sentence), highlight=False)
    if report.design is not None:
        print(f"Motion to command: {report.design.candidate.name}")
    if folder is not None:
        print(f"Report: {folder / PAGE}")


def _parameters(report: Report) -> Table:
    """The table of parameters; each number that is not to be trusted is marked as such."""
    estimate, trust = report.estimate, report.trust
    mark = f"{MARK} " if report.distrust else ""
    kind = "Student's t" if trust.distribution == "Student-t" else "normal"
    table = Table(
        title=("Not to be trusted. " if mark else "")
        + f"{escape(report.problem)}: {estimate.data:,} measured samples, RMS residual "
        f"{report.rms:.2f} deviations",
        caption=f"Intervals: {kind}, for a correct model. {estimate.method}, "
        f"{plural(estimate.evaluations, 'simulation')}, {estimate.seconds:.2g} s.{drawn(report)}"
        + (f"\n{MARK}: not to be trusted, for the reason above." if mark else ""),
        title_justify="left",
        caption_justify="left",
        border_style=COLORS["bad"] if mark else None,
    )
    longest = max((len(one.name) for one in estimate.parameters), default=0)
    table.add_column("parameter", min_width=min(longest, NAME), overflow="fold")
    others = more_intervals(report)
    titles = ("value", "95 % interval", *(title for title, _ in others), "of it by inputs", "start")
    for column in titles:
        table.add_column(column, justify="right")
    for i, one in enumerate(estimate.parameters):
        value, low, high = float(estimate.rho[i]), float(trust.low[i]), float(trust.high[i])
        held = one.name in estimate.held
        kept = "fixed" if one.name in estimate.fixed else "not identifiable"
        share = trust.input_covariance[i, i] / max(trust.covariance[i, i], 1e-300)
        table.add_row(
            escape(one.name),
            mark + escape(quantity(number(value, high - low), one.unit)),
            kept if held else mark + interval_text(low, high, value, one.start),
            *(mark * bool(cells[i]) + cells[i] for _, cells in others),
            f"{100.0 * share:.0f} %"
            if share > 0.0 and is_informative(low, high, value, one.start)
            else "",
            f"{one.start:.4g}",
        )
    return table


def _causes(report: Report) -> Table:
    """Likeliest causes of what the model does not predict."""
    tests = plural(len(report.causes.scores), "effect")
    table = Table(
        title="What explains the data better, best first",
        caption=f"Of {tests} tested. Chance: that any fits so much better by noise alone.",
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("cause", overflow="fold")
    for column in ("size", "explains", "chance"):
        table.add_column(column, justify="right")
    table.add_column("with it", overflow="fold")
    for one in report.causes.found[:CAUSES]:
        explained = f"{one.explained:.0%}"
        shift = escape(one.largest_shift)
        table.add_row(escape(one.name), escape(one.size), explained, f"{one.p_value:.1g}", shift)
    return table


def candidates_table(report: Report) -> Table:
    """Parameters in rows, the best motions in columns."""
    shown = report.candidates[:CANDIDATES]
    left = [one.name for one in report.candidates[CANDIDATES:]]
    table = Table(
        title="What to record next, most informative first",
        caption="Rows: expected half-width of the 95 % interval afterwards, with noise of inputs."
        + (f" Less informative: {escape(', '.join(left))}." if left else ""),
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("", no_wrap=True)
    for name in ("as it is", *short_names([one.name for one in shown])):
        table.add_column(escape(name), justify="right", overflow="fold")
    gains = (f"{one.gain:.2f}" if np.isfinite(one.gain) else "fails" for one in shown)
    table.add_row("information [nats]", "", *gains, end_section=True)
    units = {one.name: one.unit for one in report.estimate.parameters}
    for name, now in shown[0].half_widths_now.items():
        widths = (one.half_widths[name] for one in shown)
        table.add_row(
            escape(f"± {name} {f'[{units[name]}]' if units[name] else ''}".strip()),
            f"{now:.3g}",
            *(f"{width:.3g}" for width in widths),
        )
    return table


def _searches(report: Report) -> Table:
    """Minima at which searches ended, then ends that are none."""
    estimate, minima = report.estimate, report.estimate.minima
    others = [one for i, one in enumerate(estimate.searches) if minimum_of(estimate, i) is None]
    ends = [(one.cost, str(one.count), "", one.rho) for one in minima]
    ends += [(one.cost, "1", _ending(one.termination.name), one.rho) for one in others]
    table = Table(
        title="From other starts, best first",
        caption=f"Of {len(estimate.searches)} searches."
        + (f" {len(ends) - SEARCHES} more ends." if len(ends) > SEARCHES else ""),
        title_justify="left",
        caption_justify="left",
    )
    for column in ("cost", "searches", "ended at", "with"):
        left = column in ("ended at", "with")
        table.add_column(column, justify="left" if left else "right", overflow="fold")
    kept = estimate.held
    for k, (cost, count, ending, rho) in enumerate(ends[:SEARCHES], start=1):
        values = ", ".join(
            f"{name} {value:.4g}"
            for name, value in zip(estimate.names, rho.tolist(), strict=True)
            if name not in kept
        )
        table.add_row(f"{cost:.5g}", count, ending or f"minimum {k}", escape(values))
    return table


def _ending(termination: str) -> str:
    return termination.lower().replace("_", " ")
