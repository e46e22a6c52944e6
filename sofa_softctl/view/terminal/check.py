"""Checks of scenes on the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress

from sofa_softctl.view.terminal.table import Table, make_console

_LINES_MAX = 40
"""Maximum number of lines of a list."""


def with_progress(checks: Iterable[Any], count: int, *, quiet: bool) -> Iterator[Any]:
    """Yield checks with a progress bar if there are several."""
    with Progress(disable=quiet or count < 2, transient=True) as progress:
        task = progress.add_task("Checking", total=count)
        for check in checks:
            yield check
            progress.advance(task)


def show_check(check: Any) -> None:
    """Print all about one scene: its ending, contents, missing features and warnings."""
    console = make_console(soft_wrap=True, highlight=False)
    console.print(f"{escape(check.path)}: {_verdict(check)}", style="bold")
    table = Table.grid(padding=(0, 2))
    for label, text in _rows(check):
        table.add_row(label, escape(text))
    console.print(table, soft_wrap=False)
    if check.lacks:
        table = Table("lacking")
        for head in ("name", "first asked for at", "belongs to"):
            table.add_column(head)
        for lack in check.lacks[:_LINES_MAX]:
            location = lack.where.removeprefix(f"{Path(check.path).parent}/")
            table.add_row(lack.kind, escape(lack.name), escape(location), escape(lack.needs))
        console.print(table)
        _more(console, check.lacks)
    reasons = [lack.text for lack in check.lacks if lack.stops]
    warnings = [text for text in check.warnings if not any(reason in text for reason in reasons)]
    for text in warnings[:_LINES_MAX]:
        console.print(f"[yellow]warning:[/] {escape(text)}")
    _more(console, warnings)


def _more(console: Console, entries: Sequence[Any]) -> None:
    if len(entries) > _LINES_MAX:
        console.print(f"... and {len(entries) - _LINES_MAX} more: --json has all.")


def _verdict(check: Any) -> str:
    if check.runs:
        return "runs here" + (", with warnings" if check.warnings else "")
    return "does not run here"


def _rows(check: Any) -> Iterator[tuple[str, str]]:
    if check.error:
        yield "ended with", check.error
        if check.where and check.where not in check.error:
            yield "at", check.where
    yield "steps done", str(check.steps)
    yield "units", check.units or "not declared (UNITS = 'mm, kg, s' in the scene file)"
    if check.time_step:
        yield "dt", f"{check.time_step:g}"
    yield "states", f"{check.states}, with {check.dofs} degrees of freedom that are not mapped"
    if check.solvers:
        yield "solvers", ", ".join(check.solvers)
    if check.rows:
        rows = ", ".join(f"{owner} {count}" for owner, count in check.rows.items())
        yield "constraint rows", f"{sum(check.rows.values())}: {rows}"


def show_checks(checks: Sequence[Any], *, quiet: bool) -> None:
    """Print a line for each scene, and the number of scenes that run."""
    console = make_console(soft_wrap=True, highlight=False)
    if not quiet:
        folder = _folder(checks)
        table = Table("scene", "runs", "states", "what stops it")
        for check in checks:
            path = str(Path(check.path).relative_to(folder)) if folder else check.path
            runs = "[green]yes[/]" if check.runs else "[red]no[/]"
            table.add_row(escape(path), runs, str(check.states or ""), escape(_stop_reason(check)))
        console.print(table)
    running = [check for check in checks if check.runs]
    moving = sum(check.moves for check in running)
    console.print(
        f"{len(running)} of {len(checks)} scenes run; {moving} of them have a mechanical state."
    )


def _folder(checks: Sequence[Any]) -> Path | None:
    parents = [set(Path(check.path).parents) for check in checks]
    common = set.intersection(*parents) if parents else set()
    return max(common, key=lambda path: len(path.parts), default=None)


def _stop_reason(check: Any) -> str:
    if check.runs:
        return ""
    counts = Counter(lack.name for lack in check.lacks if lack.stops)
    if counts:
        return ", ".join(counts)
    return " ".join(str(check.error).split())


def show_rank(ranks: Sequence[Any]) -> None:
    """Print the missing features, most needed first."""
    console = make_console(soft_wrap=True, highlight=False)
    table = Table("lacking", "name", "belongs to", "scenes", "only this")
    for rank in ranks[:_LINES_MAX]:
        only_this = str(rank.alone or "")
        table.add_row(rank.kind, escape(rank.name), escape(rank.needs), str(rank.scenes), only_this)
    console.print(table)
    _more(console, ranks)
