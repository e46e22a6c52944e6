"""Table of the paper's experiment on identification, beside what was measured."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

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
