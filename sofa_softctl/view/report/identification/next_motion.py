"""Section on what to record next."""

from __future__ import annotations

from html import escape

import numpy as np

from sofa_softctl.identification.report.report import Report
from sofa_softctl.view.report import html


def next_motion(report: Report) -> str:
    """Candidates by information; empty without any."""
    if not report.candidates:
        return ""
    first = report.candidates[0]
    units = {one.name: one.unit for one in report.estimate.parameters}
    heads = ["", "n:as it is", *(f"n:{one.name}" for one in report.candidates)]
    gains = [
        f"{one.gain:.2f}" if np.isfinite(one.gain) else "cannot be simulated"
        for one in report.candidates
    ]
    rows = [["<b>information added [nats]</b>", "", *gains]]
    for name, now in first.half_widths_now.items():
        widths = [f"{one.half_widths[name]:.3g}" for one in report.candidates]
        rows.append([f"± {escape(name)} {escape(units[name])}", f"{now:.3g}", *widths])
    note = (
        "Candidates by the information that recording them would add (D-optimal), with the "
        "expected half-width of the 95 % interval afterwards, noise of inputs included. Parameters "
        "that the data do not depend on have a prior of ten times their scale."
    )
    if report.trust.input_covariance.any():
        note += (
            " Samples are weighted by noise of outputs alone: with noisy inputs more data can make "
            "an estimate worse, and information is negative."
        )
    return html.section("What to record next", html.table(heads, rows), note)
