"""Tables of an identification on the terminal."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from rich.markup import escape

from sofa_softctl.base.files import replace_atomically
from sofa_softctl.identification.causes import effort
from sofa_softctl.identification.data.units import quantity
from sofa_softctl.identification.design.design import Design
from sofa_softctl.identification.design.motion_file import motion_text
from sofa_softctl.identification.fitting.estimate import Estimate
from sofa_softctl.identification.fitting.gauss_newton import SearchResult
from sofa_softctl.identification.model.parameter import Parameter
from sofa_softctl.identification.model.problem import Problem
from sofa_softctl.identification.report.report import Report, minimum_of
from sofa_softctl.view.pages.identification.next_motion import short_names
from sofa_softctl.view.pages.identification.page import draw_summary, page
from sofa_softctl.view.pages.identification.parameters import further_intervals
from sofa_softctl.view.terminal.table import Table, make_console
from sofa_softctl.view.words import duration, interval_text, is_informative, number, plural

COLORS = {"good": "green", "look": "yellow", "bad": "bold red"}
MARKS = {"good": "ok", "look": "! ", "bad": "no"}
CANDIDATES_MAX, SEARCHES_MAX, CAUSES_MAX = 4, 8, 5
"""Maximum numbers of rows; the page has all."""
MARK = "\u2717"
"""Mark of each number of an estimate that is not to be trusted."""
PAGE, NUMBERS = "report.html", "estimate.json"


def write(folder: Path, report: Report) -> None:
    """Write report.html and estimate.json, which appear when complete."""
    texts = {PAGE: page(report), NUMBERS: json.dumps(report.to_dict(), indent=2, allow_nan=False)}
    for name, text in texts.items():
        write_text(folder / name, text)


def write_text(path: Path, text: str) -> None:
    """Write a file that appears when complete."""
    with replace_atomically(path) as name:
        name.write_text(text, encoding="utf-8")


def search_progress(
    update: Callable[[str], None], starts: int, *, parallel: bool = False
) -> Callable[[int, int, float], None]:
    """Return a progress callback of searches, which calls `update` with a text.

    Args:
        update: Shows a text.
        starts: Number of searches.
        parallel: Whether the callback is called at the end of each search.
    """
    costs: list[float] = []

    def progress(number: int, evaluation: int, cost: float) -> None:
        label = f"start {number + 1} of {starts}, " if starts > 1 else ""
        update(f"{label}simulation {evaluation}: cost {cost:.5g}")

    def end_search(number: int, evaluations: int, cost: float) -> None:
        if len(costs) == starts:  # noise is estimated afterwards, by one search
            update(f"estimating noise, simulation {evaluations}: cost {cost:.5g}")
            return
        costs.append(cost)
        best = f": best cost {min(costs):.5g}" if np.isfinite(min(costs)) else ""
        update(f"{len(costs)} of {starts} starts done{best}")

    if not parallel:
        return progress
    update(f"0 of {starts} starts done")
    return end_search


def design_progress(update: Callable[[str], None]) -> Callable[[int, int, float], None]:
    """Return a progress callback of a design, which calls `update` with a text."""

    def progress(number: int, evaluations: int, best: float) -> None:
        best_text = f": best {best:.3g} nats" if np.isfinite(best) else ""
        update(f"designing, motion {number} of {evaluations}{best_text}")

    return progress


def estimate_text(estimate: Estimate) -> str:
    """Return the result of a search before its diagnostics, with at most four parameters."""
    values = zip(estimate.parameters, estimate.rho, strict=True)
    names = [f"{p.name} = {quantity(f'{value:.4g}', p.unit)}" for p, value in values]
    remark = f" and {len(names) - 4} more" if len(names) > 4 else ""
    rms = np.sqrt(estimate.cost / max(estimate.data, 1))
    return (
        f"The search ended, not judged yet, at {', '.join(names[:4])}{remark}: RMS residual "
        f"{rms:.3g} deviations."
    )


def remaining_text(seconds: float, causes: bool | None) -> str:
    """Return a text on the time of what follows an estimate.

    Args:
        seconds: Expected time of the search for causes [s].
        causes: Whether they are searched for; None: if it takes less than a minute.
    """
    text = "Ctrl-C leaves out what follows."
    if causes is False:
        return text
    expected = f"about {duration(max(seconds, 1.0))}"
    if causes is None and seconds > effort.SETTINGS.time_max:
        return f"{text} A search for causes would take {expected}: --causes makes it."
    return f"{text} The search for causes takes {expected}."


def write_motion(
    path: Path, problem: Problem, design: Design, parameters: Sequence[Parameter]
) -> None:
    """Write the CSV file of a designed motion."""
    units = {p.name: p.unit for p in parameters}
    write_text(path, motion_text(problem, design, units))


def show(report: Report, folder: Path | None, *, quiet: bool, as_json: bool) -> None:
    """Print the estimate, its diagnostics and the path of the report."""
    if as_json:
        print(json.dumps(report.to_dict(), indent=2, allow_nan=False))
        return
    if quiet:
        return
    console = make_console()
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
    for diagnostic in report.diagnostics:
        level = diagnostic.level
        grid.add_row(f"[{COLORS[level]}]{MARKS[level]}[/]", escape(diagnostic.text))
    console.print(grid, highlight=False)
    if report.causes.hidden:
        console.print("What these data could not show:")
        for effect in report.causes.hidden:
            console.print(f"   {escape(effect.sentence)}", highlight=False)
    for sentence in report.causes.untested_sentences:
        console.print(escape(sentence), highlight=False)
    if report.design is not None:
        print(f"Motion to command: {report.design.candidate.name}")
    if folder is not None:
        print(f"Report: {folder / PAGE}")


def _parameters(report: Report) -> Table:
    """Return the table of parameters; marks numbers that are not to be trusted."""
    estimate, trust = report.estimate, report.trust
    mark = f"{MARK} " if report.distrust else ""
    kind = "Student's t" if trust.distribution == "Student-t" else "normal"
    table = Table(
        title=("Not to be trusted. " if mark else "")
        + f"{escape(report.problem)}: {estimate.data:,} measured samples, RMS residual "
        f"{report.rms:.2f} deviations",
        caption=f"Intervals: {kind}, for a correct model. {estimate.method}, "
        f"{plural(estimate.evaluations, 'simulation')}, {estimate.seconds:.2g} s."
        + draw_summary(report)
        + (f"\n{MARK}: not to be trusted, for the reason above." if mark else ""),
        border_style=COLORS["bad"] if mark else None,
    )
    longest = max((len(p.name) for p in estimate.parameters), default=0)
    table.add_column("parameter", min_width=min(longest, 24))
    intervals = further_intervals(report)
    titles = [title for title, _ in intervals]
    for column in ("value", "95 % interval", *titles, "of it by inputs", "start"):
        table.add_column(column, justify="right")
    for i, p in enumerate(estimate.parameters):
        value, low, high = float(estimate.rho[i]), float(trust.low[i]), float(trust.high[i])
        is_held = p.name in estimate.held
        reason = "fixed" if p.name in estimate.fixed else "not identifiable"
        fraction = trust.input_covariance[i, i] / max(trust.covariance[i, i], 1e-300)
        by_inputs = f"{100.0 * fraction:.0f} %" if fraction > 0.0 else ""
        table.add_row(
            escape(p.name),
            mark + escape(quantity(number(value, high - low), p.unit)),
            reason if is_held else mark + interval_text(low, high, value, p.start),
            *(mark * bool(cells[i]) + cells[i] for _, cells in intervals),
            by_inputs if is_informative(low, high, value, p.start) else "",
            f"{p.start:.4g}",
        )
    return table


def _causes(report: Report) -> Table:
    """Return the table of the likeliest causes of deviations from the model."""
    tests = plural(len(report.causes.scores), "effect")
    table = Table(
        title="What explains the data better, best first",
        caption=f"Of {tests} tested. Chance: that any fits so much better by noise alone.",
    )
    table.add_column("cause")
    for column in ("size", "explains", "chance"):
        table.add_column(column, justify="right")
    table.add_column("with it")
    for cause in report.causes.found[:CAUSES_MAX]:
        explained = f"{cause.explained:.0%}"
        shift = escape(cause.largest_shift)
        chance = f"{cause.p_value:.1g}"
        table.add_row(escape(cause.name), escape(cause.size), explained, chance, shift)
    return table


def candidates_table(report: Report) -> Table:
    """Return a table with parameters in rows and the best motions in columns."""
    shown = report.candidates[:CANDIDATES_MAX]
    remaining = [motion.name for motion in report.candidates[CANDIDATES_MAX:]]
    table = Table(
        title="What to record next, most informative first",
        caption="Rows: expected half-width of the 95 % interval afterwards, with noise of inputs."
        + (f" Less informative: {escape(', '.join(remaining))}." if remaining else ""),
    )
    table.add_column("")
    for name in ("as it is", *short_names([motion.name for motion in shown])):
        table.add_column(escape(name), justify="right")
    gains = (f"{motion.gain:.2f}" if np.isfinite(motion.gain) else "fails" for motion in shown)
    table.add_row("information [nats]", "", *gains, end_section=True)
    units = {p.name: p.unit for p in report.estimate.parameters}
    for name, now in shown[0].half_widths_now.items():
        widths = (motion.half_widths[name] for motion in shown)
        table.add_row(
            escape(f"± {name} {f'[{units[name]}]' if units[name] else ''}".strip()),
            f"{now:.3g}",
            *(f"{width:.3g}" for width in widths),
        )
    return table


def _searches(report: Report) -> Table:
    """Return the table of minima where searches ended, then of other ends."""
    estimate, minima = report.estimate, report.estimate.minima
    failures = [s for i, s in enumerate(estimate.searches) if minimum_of(estimate, i) is None]
    ends = [(minimum.cost, str(minimum.count), "", minimum.rho) for minimum in minima]
    ends += [(s.cost, "1", _termination_text(s), s.rho) for s in failures]
    table = Table(
        title="From other starts, best first",
        caption=f"Of {len(estimate.searches)} searches."
        + (f" {len(ends) - SEARCHES_MAX} more ends." if len(ends) > SEARCHES_MAX else ""),
    )
    for column in ("cost", "searches", "ended at", "with"):
        is_text = column in ("ended at", "with")
        table.add_column(column, justify="left" if is_text else "right")
    held = estimate.held
    for k, (cost, count, ending, rho) in enumerate(ends[:SEARCHES_MAX], start=1):
        values = ", ".join(
            f"{name} {value:.4g}"
            for name, value in zip(estimate.names, rho.tolist(), strict=True)
            if name not in held
        )
        table.add_row(f"{cost:.5g}", count, ending or f"minimum {k}", escape(values))
    return table


def _termination_text(search: SearchResult) -> str:
    return search.termination.name.lower().replace("_", " ")
