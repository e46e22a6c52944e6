"""Section on identifiability: what the data can tell."""

from __future__ import annotations

from html import escape

import numpy as np

from sofa_softctl.identification.report.report import Report
from sofa_softctl.view.report import html
from sofa_softctl.view.report.identification.figures.information import (
    correlation_figure,
    noise_share_figure,
)
from sofa_softctl.view.terminal.numbers import known


def information(report: Report) -> str:
    """Directions, correlation, and whose noise it is; empty if nothing was fitted."""
    estimate, trust = report.estimate, report.trust
    body = ""
    if trust.directions:
        rows = [
            [
                escape(one.name if len(one.large) > 1 else one.large[0][0]),
                escape(one.known) if min(one.deviation, one.with_priors) < 10.0 else "–",
                "by its prior" if one.by_priors else _identifiable(one.deviation),
            ]
            for one in trust.directions
        ]
        body += html.table(
            ["direction, relative to each value", "n:known within", "identifiable"], rows
        )
    free = np.isfinite(np.diag(trust.correlation))
    if free.sum() > 1 and _known(report).any():
        body += html.figure(correlation_figure(trust, estimate.parameters), "", wide=True)
    if trust.input_covariance.any() and _known(report).any():
        body += html.figure(
            noise_share_figure(trust, estimate.rho),
            "Noise of recorded inputs enters through the model; its share is shown separately.",
            wide=True,
        )
    note = (
        "Each direction is a joint change of the parameters, relative to their values, with its "
        "standard deviation from noise of outputs; parameters that start at 0 count in their "
        "units. The least identifiable comes first: where its deviation is large, only the other "
        "combinations are known."
    )
    return html.section("What the data can tell", body, note) if body else ""


def _known(report: Report) -> np.ndarray:
    """Mask of parameters with an informative interval, shape (n_rho,)."""
    trust = report.trust
    starts = [one.start for one in report.estimate.parameters]
    rows = zip(trust.low, trust.high, report.estimate.rho, starts, strict=True)
    return np.array([known(*map(float, row)) for row in rows])


def _identifiable(deviation: float) -> str:
    if deviation > 1.0:
        return '<b style="color: var(--bad)">no</b>'
    return '<b style="color: var(--look)">weakly</b>' if deviation > 0.1 else "yes"
