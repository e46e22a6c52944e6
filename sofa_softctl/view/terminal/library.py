"""Tables of libraries of motions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table


class Watch:
    """Live progress line of a build."""

    def __init__(self, builder: Any) -> None:
        self.builder = builder

    def __rich__(self) -> str:
        counts, motions = self.builder.counts, len(self.builder.library)
        rate = counts.plannings / max(counts.seconds, 1e-9)
        recent = self.builder.recent
        known = sum(recent) / max(len(recent), 1)
        minutes = self.builder.remaining() / max(rate, 1e-9) / 60.0
        end = f", at most {minutes:.0f} min more" if minutes < 600.0 else ""
        return (
            f"{motions} motions, {counts.plannings} tasks ({rate:.0f}/s), {known:.1%} known, "
            f"{counts.run} of {self.builder.successes} in a row{end}"
        )


def show_estimate(seconds: float, size: int, *, workers: int, as_json: bool) -> None:
    """Print what motions cost."""
    if as_json:
        print(json.dumps({"seconds": seconds, "bytes": size}, indent=2))
        return
    thousand = 1000.0 * seconds / max(workers, 1) / 60.0
    print(
        f"A motion takes {seconds:.2g} s and {size / 1e3:.0f} kB, a thousand {thousand:.0f} min "
        f"and {size / 1e3:.0f} MB. How many it takes shows as it is built: the paper took 578, "
        "after 47,315 tasks of a millisecond or two."
    )


def show_built(builder: Any, out: Path, *, quiet: bool, as_json: bool) -> None:
    """Print what building came to."""
    counts, motions = builder.counts, len(builder.library)
    data = {"motions": motions, "bytes": out.stat().st_size} | vars(counts)
    if as_json:
        print(json.dumps(data, indent=2))
    elif not quiet:
        table = Table(title=escape(str(out)), title_justify="left", show_header=False)
        for name, value in {
            "motions": f"{motions}",
            "size": f"{data['bytes'] / 1e6:.0f} MB",
            "random tasks": f"{counts.plannings:,}",
            "answered by (5) / by the tangent QP": f"{counts.by_sensitivity:,} / {counts.by_qp:,}",
            "answered after further steps": f"{counts.by_steps:,}",
            "without a solution / degenerate": f"{counts.infeasible} / {counts.degenerate}",
            "in a row without a new motion": f"{counts.run}",
            "time": f"{counts.seconds:.0f} s",
        }.items():
            table.add_row(name, value)
        Console().print(table)
        if builder.full:
            print(
                "It ended at the largest number of motions, not because tasks are known: allow "
                "more (--motions), or less accuracy."
            )


def show_info(file: Any, *, as_json: bool) -> None:
    """Print what a library's file holds."""
    state = file.about("state")
    counts = {} if state is None else state["counts"]
    data = {
        "problem": file.about("problem"),
        "digest": file.about("digest"),
        "version": file.about("version"),
        "motions": len(file),
        "bytes": file.path.stat().st_size,
        "parameters": [[each.name, each.lower, each.upper] for each in file.model.parameters],
    } | counts
    if as_json:
        print(json.dumps(data, indent=2))
        return
    table = Table(title=escape(str(file.path)), title_justify="left", show_header=False)
    for name, value in data.items():
        if name == "parameters":
            for parameter, low, high in value:
                table.add_row(escape(parameter), f"{low:.4g} to {high:.4g}")
        else:
            table.add_row(name, escape(f"{value:.4g}" if isinstance(value, float) else str(value)))
    Console().print(table)


def show_answer(library: Any, answer: Any, *, as_json: bool) -> None:
    """Print how a motion was found."""
    data = {
        "status": answer.status.name,
        "correction": answer.correction.name,
        "message": answer.message,
        "nearest": answer.nearest,
        "mirrored": answer.mirrored,
        "distance": answer.distance,
        "steps": answer.steps,
        "error": answer.error if np.isfinite(answer.error) else None,
        "cost": answer.cost if np.isfinite(answer.cost) else None,
        "report": None if answer.report is None else answer.report.to_dict(),
        "seconds": answer.seconds,
        "u": answer.motion.u.tolist(),
    }
    if as_json:
        print(json.dumps(data, indent=2))
        return
    print(
        f"{answer.correction.value} Motion {answer.nearest} of {len(library)}"
        f"{', mirrored' if answer.mirrored else ''}, at a distance of {answer.distance:.3g}; "
        f"simulated error {answer.error:.2g}; {1e6 * answer.seconds:.0f} us."
    )
    if answer.message:
        print(answer.message)


def show_verification(found: Any, *, quiet: bool, as_json: bool) -> None:
    """Print how good answers are."""
    data = found.to_dict()
    if as_json:
        print(json.dumps(data, indent=2))
        return
    if quiet:
        return
    table = Table(title=f"{len(found.errors)} tasks never seen before", title_justify="left")
    for column in ("", "mean", "median", "99 %", "largest"):
        table.add_column(column, justify="right" if column else "left")
    names = {
        "errors": "error",
        "unrefined": "error without refinement",
        "costs": "cost",
        "optimal": "cost of the optimum",
        "defects": "violation of equations",
        "stationarity": "violation of stationarity",
        "seconds": "time of an answer in s",
        "seconds_plain": "the same as in the paper, in a row",
        "seconds_optimal": "time of the solver, cold, in s",
        "seconds_warm": "time of the solver, warm, in s",
    }
    for name, title in names.items():
        values = data[name] or dict.fromkeys(("mean", "median", "p99", "largest"), np.nan)
        table.add_row(title, *(f"{value:.3g}" for value in values.values()))
    console = Console()
    console.print(table)
    counts = (data["statuses"] | data["corrections"]).items()
    answered = ", ".join(f"{count} {name}" for name, count in counts)
    good = f"{data['good']:.1%} within {found.tolerance:g}"
    console.print(f"{answered}; {good}; costs {data['loss']:+.2%} over the optimum.")
    if found.infeasible:
        console.print(
            f"Beside them, {found.infeasible} tasks without a solution; the chain of tasks began "
            f"anew {found.restarts} times."
        )
