"""Tables of the contact mode search study."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.table import Table

_COLUMNS: dict[str, Callable[[dict[str, float]], str]] = {
    "problems": lambda f: f"{f['problems']:.0f}",
    "loss median": lambda f: f"{f['loss median']:.1e}",
    "p99": lambda f: f"{f['loss p99']:.1e}",
    "worst": lambda f: f"{f['loss worst']:.1e}",
    "best": lambda f: f"{f['best']:.0f} of {f['compared']:.0f}",
    "optimal/beaten": lambda f: (
        f"{f['called optimal']:.0f}/{f['beaten though called optimal']:.0f}"
    ),
    "false contr.": lambda f: f"{f['false contradictions']:.0f}",
    "unreported": lambda f: f"{f['unreported violations']:.0f}",
    "excess > 1 %": lambda f: f"{f['excess above 1 %']:.0f} of {f['contradictions']:.0f}",
    "ms median, p99": lambda f: f"{f['CPU median [ms]']:.1f}, {f['CPU p99 [ms]']:.1f}",
}


def show_search(found: dict[str, dict[str, Any]], seed: int, contacts: int) -> None:
    """Print a table for each strategy of `summary`."""
    console = Console()
    for strategy, kinds in found.items():
        every = kinds["all"]
        table = Table(
            title=f"Search '{strategy}' on random problems with up to {contacts} contacts, "
            f"seed {seed}",
            caption="Loss: (objective - best) / best, of answers within all limits; best: loss of "
            "at most 1e-4. Optimal/beaten: answers called optimal, and those beaten by more than "
            "0.1 %. False contr.: no answer within all limits though one exists. Unreported: an "
            "exceeded limit or broken contact law that is not named. Excess: violation over the "
            "least one, where limits contradict each other. CPU time. "
            f"Best answers proven: {every['proven']:.0f} of {every['problems']:.0f}; the search "
            f"had better ones in {every['better than the reference']:.0f}.",
            title_justify="left",
            caption_justify="left",
        )
        table.add_column("kind", no_wrap=True)
        for column in _COLUMNS:
            table.add_column(column, justify="right")
        for kind, figures in kinds.items():
            if kind == "all":
                table.add_section()
            table.add_row(kind, *(text(figures) for text in _COLUMNS.values()))
        console.print(table)
