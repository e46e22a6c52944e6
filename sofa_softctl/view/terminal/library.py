"""What the command line shows of libraries of motions: tables, plots, files."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sofa_softctl._internal.atomic_file import replacing
from sofa_softctl._internal.axes import COLORS
from sofa_softctl.errors import SoftctlError
from sofa_softctl.view.plots.plan import check_suffix

Axes = Any  # matplotlib is imported when a plot is asked for


class Watch:
    """A line that tells where building is, as it is when the terminal draws it."""

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
    told = {"motions": motions, "bytes": out.stat().st_size} | vars(counts)
    if as_json:
        print(json.dumps(told, indent=2))
    elif not quiet:
        table = Table(title=escape(str(out)), title_justify="left", show_header=False)
        for name, value in {
            "motions": f"{motions}",
            "size": f"{told['bytes'] / 1e6:.0f} MB",
            "random tasks": f"{counts.plannings:,}",
            "answered by (5) / by the tangent QP": f"{counts.by_sensitivity:,} / {counts.by_qp:,}",
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
    told = {
        "problem": file.about("problem"),
        "digest": file.about("digest"),
        "version": file.about("version"),
        "motions": len(file),
        "bytes": file.path.stat().st_size,
        "parameters": [[each.name, each.lower, each.upper] for each in file.shape.parameters],
    } | counts
    if as_json:
        print(json.dumps(told, indent=2))
        return
    table = Table(title=escape(str(file.path)), title_justify="left", show_header=False)
    for name, value in told.items():
        if name == "parameters":
            for parameter, low, high in value:
                table.add_row(escape(parameter), f"{low:.4g} to {high:.4g}")
        else:
            table.add_row(name, escape(f"{value:.4g}" if isinstance(value, float) else str(value)))
    Console().print(table)


def show_answer(library: Any, answer: Any, *, as_json: bool) -> None:
    """Print how a motion was found."""
    told = {
        "status": answer.status.name,
        "correction": answer.correction.name,
        "message": answer.message,
        "nearest": answer.nearest,
        "mirrored": answer.mirrored,
        "distance": answer.distance,
        "predicted_error": answer.predicted_error,
        "seconds": answer.seconds,
        "u": answer.motion.u.tolist(),
    }
    if as_json:
        print(json.dumps(told, indent=2))
        return
    print(
        f"{answer.correction.value} Motion {answer.nearest} of {len(library)}"
        f"{', mirrored' if answer.mirrored else ''}, at a distance of {answer.distance:.3g}; "
        f"predicted error {answer.predicted_error:.2g}; {1e6 * answer.seconds:.0f} us."
    )
    if answer.message:
        print(answer.message)


def show_verification(found: Any, *, quiet: bool, as_json: bool) -> None:
    """Print how good answers are."""
    told = found.to_dict()
    if as_json:
        print(json.dumps(told, indent=2))
        return
    if quiet:
        return
    table = Table(title=f"{len(found.errors)} tasks never seen before", title_justify="left")
    for column in ("", "mean", "median", "99 %", "largest"):
        table.add_column(column, justify="right" if column else "left")
    names = {
        "errors": "error",
        "predicted": "predicted error",
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
        values = told[name] or dict.fromkeys(("mean", "median", "p99", "largest"), np.nan)
        table.add_row(title, *(f"{value:.3g}" for value in values.values()))
    console = Console()
    console.print(table)
    counts = (told["statuses"] | told["corrections"]).items()
    answered = ", ".join(f"{count} {name}" for name, count in counts)
    good = f"{told['good']:.1%} within {found.tolerance:g}"
    console.print(f"{answered}; {good}; costs {told['loss']:+.2%} over the optimum.")


def write_csv(path: Path, library: Any, answer: Any) -> None:
    """Write a motion: time, inputs (held for the interval), states."""
    motion, n = answer.motion, len(answer.motion.u)
    time = np.linspace(0.0, library.shape.horizon, n + 1)
    inputs = np.vstack((motion.u, motion.u[-1:]))
    header = ["time", *(f"u_{k}" for k in range(inputs.shape[1]))]
    header += [f"x_{k}" for k in range(motion.x.shape[1])]
    _write_rows(path, header, np.column_stack((time, inputs, motion.x)))


def export(path: Path, library: Any) -> None:
    """Write all motions of a library: .npz of arrays, or .csv of one row a motion.

    Raises:
        SoftctlError: Another suffix.
    """
    if path.suffix not in (".npz", ".csv"):
        raise SoftctlError(f"A library is exported to .npz or .csv, got '{path}'.")
    motions = [library.shape.motion(entry.v) for entry in library.entries]
    p = np.array([entry.p for entry in library.entries])
    cost = np.array([entry.cost for entry in library.entries])
    names = [each.name for each in library.shape.parameters]
    if path.suffix == ".csv":
        u = np.array([motion.u.ravel() for motion in motions])
        header = [*names, "cost", *(f"u_{k}" for k in range(u.shape[1]))]
        _write_rows(path, header, np.column_stack((p, cost, u)))
        return
    with replacing(path) as name, open(name, "wb") as file:
        np.savez(
            file,
            allow_pickle=False,
            p=p,
            cost=cost,
            u=np.array([motion.u for motion in motions]),
            x=np.array([motion.x for motion in motions]),
            z=np.array([motion.z for motion in motions]),
            parameters=np.array(names),
        )


def save_answer_plot(path: str | Path, answer: Any, nearest: Any, library: Any) -> None:
    """Write a plot of an answer and of the motion that it comes from: inputs, and states."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    check_suffix(Path(path))
    figure = Figure(figsize=(10.0, 3.8), dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    inputs, states = figure.subplots(1, 2)
    time = np.linspace(0.0, library.shape.horizon, len(answer.motion.x))
    pale = {"alpha": 0.35, "linewidth": 3.0}
    for k, color in zip(range(answer.motion.u.shape[1]), COLORS * 4, strict=False):
        inputs.stairs(nearest.motion.u[:, k], time, color=color, baseline=None, **pale)
        inputs.stairs(answer.motion.u[:, k], time, color=color, baseline=None, label=f"u_{k}")
    for k, color in zip(range(answer.motion.x.shape[1]), COLORS * 4, strict=False):
        states.plot(time, nearest.motion.x[:, k], color=color, **pale)
        states.plot(time, answer.motion.x[:, k], color=color, label=f"x_{k}")
    for axes, title in ((inputs, "Inputs"), (states, "States")):
        axes.set_title(f"{title}: nearest motion (pale), adapted", fontsize="medium")
        axes.set_xlabel("time", fontsize="small")
        axes.legend(fontsize="x-small", ncols=2)
        axes.grid(alpha=0.3)
    with replacing(Path(path)) as name:
        figure.savefig(name)


def save_coverage_plot(path: str | Path, library: Any) -> None:
    """Write a plot of where a library's motions are: each parameter against the next."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    check_suffix(Path(path))
    p = np.array([entry.p for entry in library.entries])
    parameters = library.shape.parameters
    pairs = [(k, (k + 1) % len(parameters)) for k in range(0, len(parameters), 2)]
    figure = Figure(figsize=(4.0 * len(pairs), 3.8), dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    for axes, (i, j) in zip(np.atleast_1d(figure.subplots(1, len(pairs))), pairs, strict=True):
        axes.plot(p[:, i], p[:, j], ".", color=COLORS[0], markersize=4.0)
        if library.shape.mirror is not None:
            signs = library.shape.mirror.p
            turned = (signs[i] * p[:, i], signs[j] * p[:, j])
            axes.plot(*turned, ".", color="0.7", markersize=3.0, zorder=0, label="mirrored")
            axes.legend(fontsize="x-small")
        axes.set_xlabel(parameters[i].name, fontsize="small")
        axes.set_ylabel(parameters[j].name, fontsize="small")
        axes.grid(alpha=0.3)
    figure.suptitle(f"{len(p)} motions", fontsize="medium")
    with replacing(Path(path)) as name:
        figure.savefig(name)


def save_verification_plot(path: str | Path, found: Any) -> None:
    """Write a plot of a `Verification`: errors, costs against the optima, times."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    check_suffix(Path(path))
    figure = Figure(figsize=(12.0, 3.8), dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    errors, costs, times = figure.subplots(1, 3)
    _plot_errors(errors, found)
    known = np.isfinite(found.optimal)
    costs.plot(found.optimal[known], found.costs[known], ".", color=COLORS[0], markersize=4.0)
    top = float(found.optimal[known].max(initial=1e-9))
    costs.plot([0.0, top], [0.0, top], color="0.6", linewidth=0.8, zorder=0)
    costs.set_xlabel("cost of the optimum", fontsize="small")
    costs.set_ylabel("cost of the answer", fontsize="small")
    costs.set_title("Costs", fontsize="medium")
    shown = {
        "answer": found.seconds,
        "solver, warm": found.seconds_warm,
        "solver, cold": found.seconds_optimal,
    }
    edges = np.geomspace(1e-5, 10.0, 61)
    for (label, seconds), color in zip(shown.items(), COLORS, strict=False):
        seconds = seconds[np.isfinite(seconds)]
        times.hist(np.clip(seconds, 1e-5, 10.0), edges, color=color, alpha=0.8, label=label)
    times.set_xscale("log")
    times.set_xlabel("time in s", fontsize="small")
    times.set_title("Times", fontsize="medium")
    times.legend(fontsize="x-small")
    for axes in (costs, times):
        axes.grid(alpha=0.3)
    with replacing(Path(path)) as name:
        figure.savefig(name)


def _plot_errors(axes: Axes, found: Any) -> None:
    low = max(float(found.errors.min(initial=1.0)), 1e-9)
    edges = np.geomspace(low, float(found.unrefined.max(initial=1.0)), 50)
    axes.hist(found.unrefined, edges, color="0.75", label="nearest motion")
    axes.hist(np.clip(found.errors, low, None), edges, color=COLORS[0], alpha=0.9, label="refined")
    if np.isfinite(found.tolerance):
        axes.axvline(found.tolerance, color=COLORS[1], linewidth=1.0, label="tolerance")
    axes.set_xscale("log")
    axes.set_xlabel("error", fontsize="small")
    axes.set_title("Errors of simulated motions", fontsize="medium")
    axes.legend(fontsize="x-small")
    axes.grid(alpha=0.3)


def _write_rows(path: Path, header: list[str], rows: np.ndarray) -> None:
    with replacing(path) as name, open(name, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows.tolist())
