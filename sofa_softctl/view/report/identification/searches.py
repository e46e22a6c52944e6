"""Sections on how parameters were searched: other starts, the path of steepest descent."""

from __future__ import annotations

from sofa_softctl.identification.fitting.steepest_descent import FLAT, GRADIENT
from sofa_softctl.identification.report.report import Report, minimum_of
from sofa_softctl.view.report import html
from sofa_softctl.view.report.identification.figures.descent import descent_figure, outputs_figure


def searches(report: Report) -> str:
    """Starts and ends of the searches; empty if there was one."""
    each = report.estimate.searches
    if len(each) < 2:
        return ""
    names = report.estimate.names
    heads = ["n:from", *(f"n:{name}" for name in names), "n:cost", "n:minimum", "ended"]
    rows = [
        [
            str(k + 1),
            *(
                f"{a:.3g} → <b>{b:.4g}</b>"
                for a, b in zip(one.start.tolist(), one.rho.tolist(), strict=True)
            ),
            f"{one.cost:.5g}",
            str(minimum_of(report.estimate, k) or ""),
            one.termination.name.lower().replace("_", " "),
        ]
        for k, one in enumerate(each)
    ]
    return html.section(
        "From other starts",
        html.table(heads, rows),
        "Best first. Ends with the same number are one minimum: costs, and parameters as far as "
        "the data determine them, agree within a standard deviation.",
    )


def descent(report: Report) -> str:
    """Cost, gradient and motion over iterations; empty for other methods."""
    if report.descent is None:
        return ""
    path = report.descent
    first, last = path.iterates[0], path.iterates[-1]
    note = (
        f"{path.iterations} iterations: cost {first.cost:.6g} to {last.cost:.6g}, gradient norm "
        f"{first.gradient_norm:.4g} to {last.gradient_norm:.4g} (the paper stops at {GRADIENT:g}), "
        f"relative slope {first.relative_slope:.3g} to {last.relative_slope:.3g} (we stop at "
        f"{FLAT:g})."
    )
    body = html.figure(descent_figure(path, report.estimate.fits), "Convergence.", wide=True)
    body += html.figure(
        outputs_figure(path, report.estimate.fits),
        "Predicted motion of each iteration, light to dark, and the measured one in black.",
        wide=True,
    )
    return html.section("The path of steepest descent", body, note)
