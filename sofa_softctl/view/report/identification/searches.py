"""Section on how parameters were searched from other starts."""

from __future__ import annotations

from sofa_softctl.identification.report.report import Report, minimum_of
from sofa_softctl.view.report import html


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
