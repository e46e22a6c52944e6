"""What is printed of a study: tables of its rows, and a run in full."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sofa_softctl.batch.execution.estimate import Estimate
from sofa_softctl.batch.running import Repetition
from sofa_softctl.batch.study.row import OK
from sofa_softctl.batch.table.results import Results
from sofa_softctl.view.words import format_value

WORST = 5
"""Runs that are listed as the worst."""
REASONS = 8
"""Reasons of failure that are listed."""


def show_estimate(found: Estimate, workers: int) -> None:
    """Print what the missing runs cost."""
    console = Console()
    there = f", {found.runs - found.missing} of them done" if found.missing < found.runs else ""
    console.print(f"{found.runs:,} runs{there}. {workers} at a time.", highlight=False)
    if found.tried:
        console.print(
            f"{found.tried} were tried: {found.seconds:.3g} s a run, {found.failed} failed.\n"
            f"All: about {duration(found.total)}, {size(found.disk)} on disk.",
            highlight=False,
        )


def show_results(found: Results, *, worst: str = "") -> None:
    """Print counts, measures, the worst runs and reasons of failure.

    Args:
        found: The study.
        worst: Column by which runs are the worst; empty: the first measure.
    """
    console = Console()
    done = len(found.rows)
    missing = f", {found.runs - done:,} not done yet" if done < found.runs else ""
    counts = ", ".join(f"{count:,} {kind}" for kind, count in found.counts().items())
    _line(console, f"{found.name}: {done:,} of {found.runs:,} runs{missing}. {counts}")
    measures = found.number_columns
    if done and measures:
        console.print(_measures(found, measures))
    for name in found.idle_parameters():
        _line(console, f"Runs that differ in '{name}' alone are equal: no measure shows it.")
    column = worst or next(iter(measures), "")
    if done and column:
        console.print(_worst(found, column))
    reasons = found.reasons()
    for status, line, runs in reasons[:REASONS]:
        such = ", ".join(map(str, runs[:6])) + (", ..." if len(runs) > 6 else "")
        _line(console, f"[yellow]{status}[/] {len(runs)} ({such}): {escape(line)}", markup=True)
    if len(reasons) > REASONS:
        _line(console, f"and {len(reasons) - REASONS} more reasons: softctl batch show --failures")
    for text in found.damaged:
        _line(console, f"Warning: {text}")


def _measures(found: Results, measures: Sequence[str]) -> Table:
    table = Table("measure", title_justify="left")
    for name in ("runs", "min", "median", "max"):
        table.add_column(name, justify="right")
    for name in measures:
        values = found.numbers(name)
        values = values[np.isfinite(values)]
        shown = [values.min(), np.median(values), values.max()] if values.size else [np.nan] * 3
        table.add_row(escape(name), str(values.size), *(f"{value:.4g}" for value in shown))
    return table


def _worst(found: Results, column: str) -> Table:
    """Runs with the greatest values of a column."""
    values = found.numbers(column)
    order = [int(k) for k in np.argsort(-np.nan_to_num(values, nan=-np.inf), kind="stable")]
    places = [k for k in order if np.isfinite(values[k])][:WORST]
    rows = found.pick(np.array(places))
    table = Table(title=f"greatest {escape(column)}", title_justify="left")
    movies = [found.path / "movies" / f"{row['run']}.gif" for row in rows]
    filmed = any(path.exists() for path in movies)
    for name in ("index", "run", "result", column, *found.parameters, *["movie"] * filmed):
        left = name in ("run", "result", "movie")
        table.add_column(escape(name), justify="left" if left else "right")
    for place, row, movie in zip(places, rows, movies, strict=True):
        told = row["status"] if row["status"] != OK or not row["verdict"] else row["verdict"]
        shown = [values[place], *(row[name] for name in found.parameters)]
        shown += [f"movies/{movie.name}" if movie.exists() else ""] * filmed
        table.add_row(
            str(row["index"]), row["run"], told, *(escape(format_value(v)) for v in shown)
        )
    return table


def show_worst(found: Results, column: str = "") -> None:
    """Print the runs with the greatest values of a column, with their movies; empty: the first."""
    column = column or next(iter(found.number_columns), "")
    if column in found.number_columns:
        Console().print(_worst(found, column))


def show_failures(found: Results) -> None:
    """Print every run that failed, with its parameters and the reason."""
    console = Console()
    for row in found.pick(np.flatnonzero(found.failed)):
        values = ", ".join(f"{name}={format_value(row[name])}" for name in found.parameters)
        told = row["status"] if row["status"] != OK else row["verdict"]
        text = f"{row['index']} {row['run']} {told} {values}: {row['reason'] or ''}"
        _line(console, text.rstrip(": "))


def show_row(row: Mapping[str, Any]) -> None:
    """Print a row, a column a line; the traceback last."""
    console = Console()
    for name, value in row.items():
        if value not in (None, "") and name not in ("traceback", "output"):
            _line(console, f"{name}: {format_value(value)}")
    for name in ("output", "traceback"):
        if row.get(name):
            _line(console, f"{name}:\n{row[name].rstrip()}")


def show_differences(done: Repetition) -> None:
    """Print whether a run that was done again gave the same row, and what changed since if not."""
    console = Console()
    if not done.differing:
        _line(console, "The same as before, bit for bit.")
        return
    _line(console, "[yellow]Not the same as before:[/]", markup=True)
    for name in done.differing:
        before, now = (_exact(row.get(name)) for row in (done.before, done.row))
        _line(console, f"{name}: {before} before, {now} now")
    for change in done.changes:
        _line(console, f"Since then: {change}.")


def _exact(value: Any) -> str:
    text = repr(value).partition("\\n")[0]
    return text if len(text) <= 100 else f"{text[:97]}..."


def duration(seconds: float) -> str:
    """A time in a unit that suits it."""
    for length, name in ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if seconds >= 2.0 * length:
            return f"{seconds / length:.2g} {name}"
    return f"{seconds:.2g} s"


def size(count: float) -> str:
    """A number of bytes in a unit that suits it."""
    for scale, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= scale:
            return f"{count / scale:.2g} {name}"
    return f"{count:.0f} bytes"


def _line(console: Console, text: str, *, markup: bool = False) -> None:
    console.print(text, markup=markup, highlight=False, soft_wrap=True)
