"""Table of the energy study of the library paper."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from sofa_softctl.library.problems.elastic_arm import STIFFNESS

NAMES = {
    "rigid": "rigid (R)",
    "variable": "variable stiffness (VS)",
    "constant": "constant, the paper's (CS)",
    "beside": "variable, from where CS starts",
    "own": "constant, mean of ours",
}
"""Label of each actuation."""


def show_energy(found: Any) -> None:
    """Print an `Energy` beside the paper's numbers."""
    data = found.to_dict()
    table = Table(
        title=f"Mean cost of picking and placing {data['objects']} objects \\[(N m)²]",
        caption="Over motions found with R, VS and CS. At limit: motions in which a motor is as "
        "fast as it may be. Time: to solve one. Source: Marcucci et al., section 2.",
        title_justify="left",
        caption_justify="left",
    )
    for column in ("", "paper", "here", "saves: paper", "here", "failed", "at limit", "time"):
        table.add_column(column, justify="right" if column else "left")
    for name, row in data["actuation"].items():
        table.add_row(
            NAMES[name],
            *(_number(row["paper"]), _number(row["cost"])),
            *(_share(row["paper_saved"]), _share(row["saved"])),
            f"{row['failures']}",
            f"{row['at_speed_limit']:.0%}",
            f"{row['seconds_each']:.2f} s",
        )
    console = Console()
    console.print(table)
    best = {
        "VS": data["stiffness"]["variable"],
        "from where CS starts": data["stiffness"]["beside"],
        "the paper's": STIFFNESS,
    }
    means = "; ".join(f"{name} {k[0]:.3f}, {k[1]:.3f}" for name, k in best.items())
    console.print(f"Mean of the best stiffness [N m/rad]: {means}.", highlight=False, markup=False)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"
