"""Tables of a study's rows, and single runs, on the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape

from sofa_softctl.batch.execution.estimate import Estimate
from sofa_softctl.batch.running import Repetition
from sofa_softctl.batch.study.row import OK
from sofa_softctl.batch.table.results import Results
from sofa_softctl.view.terminal.table import Table, make_console
from sofa_softctl.view.words import duration, format_value

WORST_MAX, REASONS_MAX = 5, 8
"""Maximum number of listed worst runs, and of listed reasons of failure."""


def show_estimate(estimate: Estimate, workers: int) -> None:
    """Print the cost of the missing runs."""
    console = make_console()
    done_count = estimate.runs - estimate.missing
    done_text = f", {done_count} of them done" if done_count > 0 else ""
    console.print(f"{estimate.runs:,} runs{done_text}. {workers} at a time.", highlight=False)
    if estimate.tried:
        console.print(
            f"{estimate.tried} were tried: {estimate.seconds:.3g} s a run, "
            f"{estimate.failed} failed.\n{_movies_text(estimate)}"
            f"All: about {duration(estimate.total)}, {size(estimate.disk)} on disk.",
            highlight=False,
        )


def _movies_text(estimate: Estimate) -> str:
    if not estimate.movies:
        return ""
    return f"About {estimate.movies} movies of failures, {estimate.movie_seconds:.3g} s each.\n"


def show_results(study: Results, *, worst: str = "") -> None:
    """Print counts, measures, the worst runs and reasons of failure.

    Args:
        study: Results of the study.
        worst: Column whose greatest values mark the worst runs, or "" for the first measure.
    """
    console = make_console()
    row_count = len(study.rows)
    missing = f", {study.runs - row_count:,} not done yet" if row_count < study.runs else ""
    counts = ", ".join(f"{count:,} {kind}" for kind, count in study.counts().items())
    _line(console, f"{study.name}: {row_count:,} of {study.runs:,} runs{missing}. {counts}")
    measures = study.number_columns
    if row_count and measures:
        console.print(_measures(study, measures))
    for name in study.idle_parameters():
        _line(console, f"Runs that differ only in '{name}' are equal: no measure shows it.")
    column = worst or next(iter(measures), "")
    if row_count and column:
        console.print(_worst(study, column))
    reasons = study.reasons()
    for status, line, runs in reasons[:REASONS_MAX]:
        examples = ", ".join(map(str, runs[:6])) + (", ..." if len(runs) > 6 else "")
        _line(console, f"[yellow]{status}[/] {len(runs)} ({examples}): {escape(line)}", markup=True)
    if len(reasons) > REASONS_MAX:
        _line(
            console, f"and {len(reasons) - REASONS_MAX} more reasons: softctl batch show --failures"
        )
    for text in study.damaged:
        _line(console, f"Warning: {text}")


def _measures(study: Results, measures: Sequence[str]) -> Table:
    table = Table("measure")
    for name in ("runs", "min", "median", "max"):
        table.add_column(name, justify="right")
    for name in measures:
        values = study.numbers(name)
        values = values[np.isfinite(values)]
        shown = [values.min(), np.median(values), values.max()] if values.size else [np.nan] * 3
        table.add_row(escape(name), str(values.size), *(f"{value:.4g}" for value in shown))
    return table


def _worst(study: Results, column: str) -> Table:
    """Return a table of the runs with the greatest values of a column."""
    values = study.numbers(column)
    order = [int(k) for k in np.argsort(-np.nan_to_num(values, nan=-np.inf), kind="stable")]
    indices = [k for k in order if np.isfinite(values[k])][:WORST_MAX]
    rows = study.pick(np.array(indices))
    table = Table(title=f"greatest {escape(column)}")
    movies = [study.path / "movies" / f"{row['run']}.gif" for row in rows]
    has_movies = any(path.exists() for path in movies)
    for name in ("index", "run", "result", column, *study.parameters, *["movie"] * has_movies):
        is_text = name in ("run", "result", "movie")
        table.add_column(escape(name), justify="left" if is_text else "right")
    for index, row, movie in zip(indices, rows, movies, strict=True):
        ending = row["status"] if row["status"] != OK or not row["verdict"] else row["verdict"]
        shown = [values[index], *(row[name] for name in study.parameters)]
        shown += [f"movies/{movie.name}" if movie.exists() else ""] * has_movies
        texts = (escape(format_value(value)) for value in shown)
        table.add_row(str(row["index"]), row["run"], ending, *texts)
    return table


def show_worst(study: Results, column: str = "") -> None:
    """Print the runs with the greatest values of a column, by default the first."""
    column = column or next(iter(study.number_columns), "")
    if column in study.number_columns:
        make_console().print(_worst(study, column))


def show_failures(study: Results) -> None:
    """Print every run that failed, with its parameters and the reason."""
    console = make_console()
    for row in study.pick(np.flatnonzero(study.failed)):
        values = ", ".join(f"{name}={format_value(row[name])}" for name in study.parameters)
        ending = row["status"] if row["status"] != OK else row["verdict"]
        text = f"{row['index']} {row['run']} {ending} {values}: {row['reason'] or ''}"
        _line(console, text.rstrip(": "))


def show_row(row: Mapping[str, Any]) -> None:
    """Print a row with a line per column; the traceback last."""
    console = make_console()
    for name, value in row.items():
        if value not in (None, "") and name not in ("traceback", "output"):
            _line(console, f"{name}: {format_value(value)}")
    for name in ("output", "traceback"):
        if row.get(name):
            _line(console, f"{name}:\n{row[name].rstrip()}")


def show_differences(repetition: Repetition) -> None:
    """Print the differences between a run and its repetition, and possible causes."""
    console = make_console()
    if not repetition.differing:
        _line(console, "The same as before, bit for bit.")
        return
    _line(console, "[yellow]Not the same as before:[/]", markup=True)
    for name in repetition.differing:
        old, new = (_exact(row.get(name)) for row in (repetition.before, repetition.row))
        _line(console, f"{name}: {old} before, {new} now")
    for change in repetition.changes:
        _line(console, f"Since then: {change}.")


def _exact(value: Any) -> str:
    text = repr(value).partition("\\n")[0]
    return text if len(text) <= 100 else f"{text[:97]}..."


def size(count: float) -> str:
    """Return a number of bytes in a suitable unit."""
    for scale, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= scale:
            return f"{count / scale:.2g} {name}"
    return f"{count:.0f} bytes"


def _line(console: Console, text: str, *, markup: bool = False) -> None:
    console.print(text, markup=markup, highlight=False, soft_wrap=True)
