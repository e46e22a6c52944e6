"""Table of the energy study of the library paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from scenes.elastic_arm.problem import STIFFNESS

NAMES = {
    "rigid": "rigid (R)",
    "variable": "variable stiffness (VS)",
    "constant": "constant, the paper's (CS)",
    "beside": "variable, from where CS starts",
    "own": "constant, mean of ours",
}
"""Label of each actuation."""
KEYS = (
    *(("paper", "{:.3f}"), ("cost", "{:.3f}"), ("paper_saved", "{:.1%}"), ("saved", "{:.1%}")),
    *(("failures", "{}"), ("at_speed_limit", "{:.0%}"), ("seconds_each", "{:.2f} s")),
)
"""Column of a row, and its format."""


def show_energy(found: Any) -> None:
    """Print an `EnergyStudy` beside the paper's numbers: least to largest over the seeds."""
    seeds = found.to_dict()["seeds"]
    spread = f", least to largest of {len(seeds)} seeds" if len(seeds) > 1 else ""
    table = Table(
        title=f"Mean cost of picking and placing {seeds[0]['objects']} objects \\[(N m)²]{spread}",
        caption="Over motions found with R, VS and CS. At limit: motions in which a motor is as "
        "fast as it may be. Time: to solve one. Source: Marcucci et al., section 2.",
        title_justify="left",
        caption_justify="left",
    )
    for column in ("", "paper", "here", "saves: paper", "here", "failed", "at limit", "time"):
        table.add_column(column, justify="right" if column else "left")
    for name in seeds[0]["actuation"]:
        rows = [each["actuation"][name] for each in seeds]
        table.add_row(NAMES[name], *(_range([row[key] for row in rows], how) for key, how in KEYS))
    console = Console()
    console.print(table)
    best = {
        "VS": [each["stiffness"]["variable"] for each in seeds],
        "from where CS starts": [each["stiffness"]["beside"] for each in seeds],
        "the paper's": [STIFFNESS],
    }
    means = (
        f"{name} {', '.join(_range(k, '{:.3f}') for k in zip(*springs, strict=True))}"
        for name, springs in best.items()
    )
    text = f"Mean of the best stiffness [N m/rad]: {'; '.join(means)}."
    console.print(text, highlight=False, markup=False)


def _range(values: Sequence[float | None], how: str) -> str:
    """Least to largest of the known ones, or one number where both look the same."""
    known = [each for each in values if each is not None]
    return " to ".join(dict.fromkeys(how.format(each(known)) for each in (min, max) if known))
