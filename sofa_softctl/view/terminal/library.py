"""Tables of libraries of motions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from rich.markup import escape

from sofa_softctl.library.building.forecast import forecast
from sofa_softctl.library.building.stopping import PredictedInfeasible, Window, failure_bound
from sofa_softctl.view.terminal.table import Table, make_console


class Watch:
    """Live progress line of a build."""

    def __init__(self, builder: Any) -> None:
        self.builder = builder
        self._at = self._tasks = 0

    def __str__(self) -> str:
        builder = self.builder
        counts, motions = builder.counts, len(builder.library)
        rate = counts.plannings / max(counts.seconds, 1e-9)
        text = (
            f"{motions} motions, {counts.plannings} tasks ({rate:.0f}/s), at most "
            f"{builder.bound:.1%} fail (wanted: {builder.failure_rate:.1%})"
        )
        if motions < 32:  # too few for a forecast
            return text
        if motions != self._at or counts.plannings > 2 * self._tasks:
            self._at, self._tasks = motions, counts.plannings
            self._ends = forecast(builder.grown[1:], builder.failure_rate)
        low, _, high = self._ends.motions
        minutes = self._ends.tasks[1] / max(rate, 1e-9) / 60.0
        return f"{text}; {low:.0f} to {high:.0f} motions expected, {minutes:.0f} min more"


def show_estimate(estimate: Any, *, as_json: bool) -> None:
    """Print the expected size and time of a library."""
    low, middle, high = estimate.motions
    if as_json:
        data = {
            "motions": estimate.motions.tolist(),
            "seconds": estimate.seconds.tolist(),
            "bytes": estimate.size,
            "tried": estimate.tried,
            "infeasible": estimate.infeasible,
        }
        print(json.dumps(data, indent=2))
        return
    print(
        f"From {estimate.tried} motions: {low:.0f} to {high:.0f} motions are expected, probably "
        f"some {middle:.0f}, of {estimate.size / 1e3:.0f} kB each, in "
        f"{_duration(estimate.seconds)} on workers like these. {estimate.infeasible:.1%} of tasks "
        "have no motion."
    )


def _duration(seconds: np.ndarray) -> str:
    """Return the span of three times in s or min."""
    low, _, high = seconds
    if high < 120.0:
        return f"{low:.0f} to {high:.0f} s"
    return f"{low / 60.0:.0f} to {high / 60.0:.0f} min"


def show_built(builder: Any, out: Path, *, quiet: bool, as_json: bool) -> None:
    """Print the result of a build."""
    counts, motions = builder.counts, len(builder.library)
    data = {"motions": motions, "bytes": out.stat().st_size, "bound": builder.bound}
    data |= {"full": builder.full, "hopeless": builder.hopeless}
    data |= vars(counts)
    if as_json:
        print(json.dumps(data, indent=2))
    elif not quiet:
        table = Table(title=escape(str(out)), show_header=False)
        for name, value in {
            "motions": f"{motions}",
            "size": f"{data['bytes'] / 1e6:.1f} MB",
            "random tasks": f"{counts.plannings:,}",
            "answered by (5) / by the tangent QP": f"{counts.by_sensitivity:,} / {counts.by_qp:,}",
            "after second-order corrections / further steps": (
                f"{counts.by_shifts:,} / {counts.by_steps:,}"
            ),
            "without a motion / presumably": f"{counts.infeasible} / {builder.presumed.unsolved}",
            "degenerate / unfit / solver gave up": (
                f"{counts.degenerate} / {counts.unfit} / {counts.not_converged}"
            ),
            "of all tasks fail, at 95 % confidence": f"at most {builder.bound:.2%}",
            "time": f"{counts.seconds:.0f} s",
        }.items():
            table.add_row(name, value)
        make_console().print(table)
        if builder.full:
            print(
                "It ended at the largest number of motions, not because tasks are known: allow "
                "more (--motions), or less accuracy."
            )
        elif builder.hopeless:
            print(
                f"It ended since at least {builder.window.least:.1%} of tasks have no motion that "
                f"a library can keep ({builder.reasons}): no number of motions answers them. Check "
                "the problem there, or allow a larger --failure-rate."
            )


def _bound(file: Any, state: Any) -> float:
    """Return an upper bound of the fraction of tasks that a library fails."""
    window, presumed = Window(**state["window"]), PredictedInfeasible(**state["presumed"])
    tasks = state["counts"]["plannings"]
    return failure_bound(window, presumed, tasks=tasks, motions=len(file))


def show_info(file: Any, *, as_json: bool) -> None:
    """Print the contents of a library's file."""
    state = file.about("state")
    built = {} if state is None else state["asked"] | state["counts"]
    counts = {} if state is None else built | {"bound": _bound(file, state)}
    data = {
        "problem": file.about("problem"),
        "digest": file.about("digest"),
        "version": file.about("version"),
        "motions": len(file),
        "bytes": file.path.stat().st_size,
        "parameters": [[p.name, p.lower, p.upper] for p in file.model.parameters],
    } | counts
    if as_json:
        print(json.dumps(data, indent=2))
        return
    table = Table(title=escape(str(file.path)), show_header=False)
    for name, value in data.items():
        if name == "parameters":
            for parameter, low, high in value:
                table.add_row(escape(parameter), f"{low:.4g} to {high:.4g}")
        else:
            table.add_row(name, escape(f"{value:.4g}" if isinstance(value, float) else str(value)))
    make_console().print(table)


def show_answer(library: Any, answer: Any, *, as_json: bool) -> None:
    """Print the answer to a query."""
    bound = answer.cost_bound
    data = {
        "status": answer.status.name,
        "correction": answer.correction.name,
        "message": answer.message,
        "nearest": answer.nearest,
        "mirrored": answer.mirrored,
        "distance": answer.distance,
        "shifts": answer.shifts,
        "steps": answer.steps,
        "outside": answer.outside,
        "beyond": list(answer.beyond),
        "expected_error": answer.expected_error if np.isfinite(answer.expected_error) else None,
        "error": answer.error if np.isfinite(answer.error) else None,
        "cost": answer.cost if np.isfinite(answer.cost) else None,
        "is_cheap": answer.is_cheap,
        "cost_lower_bound": bound.lower if np.isfinite(bound.lower) else None,
        "cost_bound_unknown": bound.reason,
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
    print(_cost_line(answer, library.model.cost_unit))
    if answer.message:
        print(answer.message)


def _cost_line(answer: Any, unit: str) -> str:
    """Return what an answer costs, and how far above the optimum that is at most."""
    unit, bound = f" {unit}" if unit else "", answer.cost_bound
    if np.isfinite(bound.lower):
        excess = max(answer.cost - bound.lower, 0.0)
        relative = f" ({excess / bound.lower:.2%})" if bound.lower > excess else ""
        text = f"at most {excess:.2g}{unit}{relative} above the optimum."
        return f"Cost {answer.cost:.4g}{unit}, {text}"
    return f"Cost {answer.cost:.4g}{unit}; how far above the optimum is unknown: {bound.reason}."


def show_verification(result: Any, *, quiet: bool, as_json: bool) -> None:
    """Print the accuracy of answers."""
    data = result.to_dict()
    if as_json:
        print(json.dumps(data, indent=2))
        return
    if quiet:
        return
    table = Table(title=f"{len(result.errors)} tasks never seen before")
    for column in ("", "mean", "median", "99 %", "largest"):
        table.add_column(column, justify="right" if column else "left")
    names = {
        "errors": "error",
        "unrefined": "error without refinement",
        "costs": "cost",
        "optimal": "cost of the optimum",
        "excess": "cost over the optimum, less 1",
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
    console = make_console()
    console.print(table)
    counts = (data["statuses"] | data["corrections"]).items()
    answered = ", ".join(f"{count} {name}" for name, count in counts)
    good = f"{data['good']:.1%} within {result.tolerance:g}"
    console.print(f"{answered}; {good}; costs {data['loss']:+.2%} over the optimum.")
    if result.infeasible:
        console.print(
            f"Beside them, {result.infeasible} tasks without a solution; the chain of tasks began "
            f"anew {result.restarts} times."
        )
