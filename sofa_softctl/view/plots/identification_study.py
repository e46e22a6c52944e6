"""The paper's experiment on identification beside what was measured: table, Figures 4 and 5."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from sofa_softctl._internal import colors
from sofa_softctl._internal.axes import Axes, frame, legend_above, scale_positive
from sofa_softctl.view.plots.figure import new_figure

PAPER_ROWS: dict[int, dict[str, str]] = {
    12: {
        "J at the start [m²]": "2.135",
        "J at the end [m²]": "1.107",
        "|DJ| at the end": "0.001138",
        "iterations": "75",
        "time": "219 min",
        "kappa_theta [N m/rad]": "4.453",
        "kappa_psi [N m/rad]": "0.970",
    },
    6: {"J at the end [m²]": "1.546", "time": "61 min"},
}
"""Source: Caldwell, Coleman, Correll 2014, section IV-E."""


def show_study(study: Any) -> None:
    """Print a `Study` of identification: a table for each model, then what holds for both."""
    console = Console()
    data = study.to_dict()
    spread = f" Least to largest of {len(data['recordings'])} recordings."
    for models in zip(*data["recordings"], strict=True):
        links, coordinates = models[0]["links"], models[0]["coordinates"]
        paper = PAPER_ROWS[links]
        table = Table(
            title=f"A loop of {links} links, {coordinates} coordinates with the arm's",
            caption="±: standard deviations." + (spread if len(models) > 1 else ""),
            title_justify="left",
            caption_justify="left",
        )
        table.add_column("", no_wrap=True)
        for column in ("paper's descent", "ours", "Gauss-Newton", "with unknown inputs"):
            table.add_column(column, justify="right")
        for label, form, *reads in ROWS:
            of = zip(METHODS, reads, strict=True)
            cells = [_cell(form, [_read(model[name], key) for model in models]) for name, key in of]
            table.add_row(label, paper.get(label, ""), *cells)
        console.print(table)
        step = _cell("{:.2f}", [1e3 * model["state_seconds"] for model in models])
        gradient = _cell("{:.2f}", [model["gradient_seconds"] for model in models])
        console.print(
            f"A simulated step: {step} ms. A gradient of all of them: {gradient} s.\n",
            highlight=False,
        )
    truth = ", ".join(f"{k:g}" for k in data["truth"])
    console.print(
        "J: summed squared errors of the hand's place. The paper's recording is not public; ours "
        "is simulated with 24 links, friction, noise and another motion, so costs differ.\n"
        f"It was recorded with kappa {truth} N m/rad. From a perfect recording both come back to "
        f"{data['recovered']:.1g}.\n"
        f"An adjoint sweep with 100 parameters takes {data['adjoint_ratio']:.2f} times as long as "
        "with 2.\nSource: Caldwell, Coleman, Correll 2014, section IV.",
        highlight=False,
    )


METHODS = ("descent", "gauss_newton", "unknown_inputs")
"""Keys of the methods in the dict of a model."""
ROWS = (
    ("J at the start [m²]", "{:.4g}", "cost_before", "", ""),
    ("J at the end [m²]", "{:.4g}", "cost_after", "cost_after", "cost_after"),
    ("|DJ| at the end", "{:.4g}", "gradient_norm", "", ""),
    ("relative slope at the end", "{:.4g}", "relative_slope", "", ""),
    ("iterations", "{:d}", "iterations", "", ""),
    ("  to the paper's |DJ|", "{:d}", "iterations_of_the_paper", "", ""),
    ("simulations", "{:d}", "simulations", "evaluations", "evaluations"),
    ("time", "{:.1f} s", "seconds", "seconds", "seconds"),
    ("kappa_theta [N m/rad]", "{:.3f}", *3 * (("rho", 0),)),
    ("  ± outputs' noise", "{:.3f}", "", *2 * (("deviation_outputs", 0),)),
    ("  ± inputs' noise", "{:.3f}", "", *2 * (("deviation_inputs", 0),)),
    ("kappa_psi [N m/rad]", "{:.3f}", *3 * (("rho", 1),)),
    ("  ± outputs' noise", "{:.3f}", "", *2 * (("deviation_outputs", 1),)),
    ("  ± inputs' noise", "{:.3f}", "", *2 * (("deviation_inputs", 1),)),
)
"""A label, the format of a number, and its key in the dict of each method: a name, or that of a
list and the place in it."""


def _read(method: Any, key: Any) -> Any:
    return method[key[0]][key[1]] if isinstance(key, tuple) else method.get(key)


def _cell(form: str, values: Any) -> str:
    """A number of several recordings: least to largest."""
    if any(one is None for one in values):
        return ""
    low, high = form.format(min(values)), form.format(max(values))
    return low if low == high else f"{low} to {high}"


def show_coverage(found: Any) -> None:
    """Print a list of `bench.papers.coverage.Coverage`."""
    data = [each.to_dict() for each in found]
    table = Table(
        title=f"How often 95 % intervals hold the truth, {data[0]['repetitions']} estimates each",
        caption="Widened: by the error of the discretisation."
        if any("held_widened" in each for each in data)
        else None,
        title_justify="left",
        caption_justify="left",
    )
    columns = ["case", "parameter", "held", "truth", "mean", "half-width"]
    if table.caption:
        columns += ["held, widened", "half-width, widened"]
    for column in columns:
        left = column in ("case", "parameter")
        table.add_column(column, justify="left" if left else "right")
    for each in data:
        for name, held in each["held"].items():
            mean = f"{each['mean'][name]:.4g} ± {each['error_of_mean'][name]:.2g}"
            truth, width = (f"{each[what][name]:.4g}" for what in ("truth", "half_width"))
            cells = [each["case"], name, f"{held:.1%}", truth, mean, width]
            if "held_widened" in each:
                wide = each["held_widened"][name], each["half_width_widened"][name]
                cells += [f"{wide[0]:.1%}", f"{wide[1]:.4g}"]
            table.add_row(*cells)
    console = Console()
    console.print(table)
    unsolved = {one["case"]: one["repetitions"] - one["solved"] for one in data}
    for case, count in unsolved.items():
        if count:
            console.print(f"{case}: {count} searches did not converge; they are counted.")
    for one in data:
        if one.get("widened", one["repetitions"]) < one["repetitions"]:
            count = one["repetitions"] - one["widened"]
            console.print(
                f"{one['case']}: of {count} the error of the discretisation was not found; widened "
                "intervals of these count as not held."
            )


def show_causes(found: Any) -> None:
    """Print a `bench.papers.causes.Study`."""
    data = found.to_dict()
    table = Table(title="What models leave out, and what reports name", title_justify="left")
    table.add_column("wrong models")
    heads = list(data["wrong"])
    for column in heads:
        table.add_column(column, justify="right")
    groups = ("wrong", "wrong, detectable", "wrong, not detectable")
    for name in groups:
        end = name == groups[-1]
        table.add_row(name, *(str(data[name][one]) for one in heads), end_section=end)
    for name, counts in data["causes"].items():
        table.add_row(name, *(str(counts[one]) for one in heads))
    console = Console()
    console.print(table)
    right = data["right"]
    console.print(
        f"Of {right['runs']} models that are right, {right['not to be trusted']} are called not to "
        f"be trusted. An estimate takes {data['seconds']:.2g} s, causes "
        f"{data['report_seconds']:.2g} s more."
    )


def save_study_plot(path: str | Path, study: Any) -> None:
    """Write a plot (.png, .svg or .pdf): costs over iterations, and the hand's path.

    Raises:
        SoftctlError: a suffix that cannot be written.
    """
    best = study.fits[0]
    with new_figure(path, (11.0, 9.5)) as figure:
        panels = figure.subplots(2, 2, height_ratios=(1.0, 1.5))
        _plot_costs(panels[0, 0], study.fits)
        _plot_parameters(panels[0, 1], study)
        for axes, across in zip(panels[1], (1, 0), strict=True):
            _plot_path(axes, best, across, 2)
        panels[1, 0].set_title(f"Path of the hand, {best.links} links", loc="left")


def _plot_costs(axes: Axes, fits: Any) -> None:
    for fit, color in zip(fits, colors.PALETTE, strict=False):
        path = fit.descent.iterates
        costs = [each.cost for each in path]
        axes.plot(costs, "o-", color=color, ms=4, lw=1.3, label=f"{fit.links} links")
        axes.axhline(fit.newton.cost, color=color, ls=":", lw=1.0)
    scale_positive(axes, np.array([each.cost for fit in fits for each in fit.descent.iterates]))
    axes.set_xlabel("iteration of steepest descent")
    axes.set_ylabel("J [m²]")
    axes.set_title("Costs; dotted: where Gauss-Newton ends", loc="left")
    legend_above(axes)


def _plot_parameters(axes: Axes, study: Any) -> None:
    for fit, color in zip(study.fits, colors.PALETTE, strict=False):
        path = np.array([each.rho for each in fit.descent.iterates])
        axes.plot(*path.T, "o-", color=color, ms=4, label=f"{fit.links} links")
        for one, mark, name in (
            (fit.newton, "s", "Gauss-Newton, 95 %"),
            (fit.unknown, "D", "with unknown inputs"),
        ):
            low, high, at = one.trust.low, one.trust.high, one.found.rho
            axes.errorbar(
                *at,
                xerr=[[at[0] - low[0]], [high[0] - at[0]]],
                yerr=[[at[1] - low[1]], [high[1] - at[1]]],
                color=color,
                capsize=3,
                fmt=mark,
                ms=5,
                label=name if fit is study.fits[0] else None,
            )
    axes.plot(*study.to_dict()["truth"], "k*", ms=11, label="recorded (24 links)")
    axes.set_xlabel("kappa_theta [N m/rad]")
    axes.set_ylabel("kappa_psi [N m/rad]")
    legend_above(axes, columns=2)


def _plot_path(axes: Axes, fit: Any, across: int, up: int) -> None:
    """The paper's Fig. 5: simulated paths from light to dark over what was measured."""
    iterates = fit.descent.iterates
    axes.plot(
        1e3 * fit.measured[:, across],
        1e3 * fit.measured[:, up],
        "-",
        color="0.75",
        lw=0.6,
        label="measured",
    )
    for k, each in enumerate(iterates):
        share = k / max(1, len(iterates) - 1)
        color = (1.0 - 0.3 * share, 0.85 - 0.5 * share, 0.35 * (1.0 - share))
        label = {0: "simulated, at the start", len(iterates) - 1: "at the end"}.get(k)
        y = 1e3 * each.outputs[0]
        axes.plot(y[:, across], y[:, up], "-", color=color, lw=1.2, label=label)
    axes.set_xlabel(f"{'xyz'[across]} [mm]")
    axes.set_ylabel(f"{'xyz'[up]} [mm]")
    frame(axes, 1e3 * fit.measured[:, [across, up]])
    if across == 0:
        legend_above(axes)
