"""Sections on the recordings, and on how to read a report."""

from __future__ import annotations

from html import escape

from sofa_softctl.identification.report.report import Report
from sofa_softctl.view.report import html


def recordings(report: Report) -> str:
    """Notes on each recording; empty without any."""
    rows = [
        [escape(name), "<br>".join(map(escape, notes)) or "no notes"]
        for name, notes in report.notes.items()
    ]
    return html.section("Recordings", html.table(["file", "notes"], rows)) if rows else ""


def reading(report: Report) -> str:
    """What the numbers of the page mean."""
    del report
    return html.section(
        "How to read this",
        "<p>σ is the standard deviation of a channel's noise, as declared by the problem. "
        "Residuals of a correct model are about 1 σ, without a pattern over time. Intervals give "
        "the effect of noise on the parameters of <i>this</i> model, not its correctness; "
        "residuals and held-out data test that.</p>",
    )
