"""Section on identifiability, with figures of correlations and of the noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import numpy as np

from sofa_softctl.base.axes import Axes, Figure
from sofa_softctl.base.colors import GRAY, PALETTE
from sofa_softctl.identification.model.parameter import Parameter
from sofa_softctl.identification.report.report import Report
from sofa_softctl.identification.uncertainty.identifiability import Identifiability
from sofa_softctl.view.pages import html
from sofa_softctl.view.pages.identification.style import BESIDE, BLUE, INK_ON_COLOR, axis_label
from sofa_softctl.view.pages.svg import svg
from sofa_softctl.view.words import is_informative


def correlation_figure(trust: Identifiability, parameters: Sequence[Parameter]) -> str:
    """Return a figure of the parameters' correlations, and the ellipse of the closest pair."""
    is_finite = np.isfinite(np.diag(trust.correlation))
    names = [name for name, is_there in zip(trust.names, is_finite, strict=True) if is_there]
    C = trust.correlation[np.ix_(is_finite, is_finite)]

    def draw(figure: Figure) -> None:
        matrix, plane = figure.subplots(1, 2, gridspec_kw={"width_ratios": (1.0, 1.3)})
        matrix.imshow(C, cmap="RdBu_r", vmin=-1.4, vmax=1.4)
        if len(C) <= 12:
            for (i, j), value in np.ndenumerate(C):
                ink = "white" if abs(value) > 0.85 else INK_ON_COLOR
                text = "1" if i == j else f"{value:+.{1 if len(C) > 6 else 2}f}"
                matrix.text(j, i, text, ha="center", va="center", fontsize=7.5, color=ink)
        matrix.set_xticks(range(len(C)), names, rotation=30, ha="right")
        matrix.set_yticks(range(len(C)), names)
        matrix.set_title("correlation of errors", fontsize=8.5, color=GRAY)
        matrix.grid(False)
        matrix.tick_params(length=0)
        _ellipses(plane, trust, [axis_label(p) for p in parameters], np.flatnonzero(is_finite), C)

    alt = (
        f"Correlation of the errors of {', '.join(names)}; 95 % region of the most correlated pair."
    )
    return svg(9.2, max(2.9, 0.9 + 0.32 * len(names)), draw, alt)


def noise_share_figure(trust: Identifiability, rho: np.ndarray) -> str:
    """Return a figure of each parameter's deviation by noise of outputs and of inputs."""
    is_shown = np.isfinite(trust.deviations) & (rho != 0.0)
    names = [name for name, is_there in zip(trust.names, is_shown, strict=True) if is_there]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        size = 100.0 / np.abs(rho[is_shown])
        rows = np.arange(len(names))
        parts = {
            "output noise": (np.sqrt(np.diag(trust.output_covariance))[is_shown], BLUE),
            "input noise": (np.sqrt(np.diag(trust.input_covariance))[is_shown], PALETTE[1]),
            "both": (trust.deviations[is_shown], GRAY),
        }
        for k, (label, (values, color)) in enumerate(parts.items()):
            axes.barh(rows + 0.26 * (k - 1), values * size, 0.22, color=color, label=label)
        axes.set_yticks(rows, names)
        axes.invert_yaxis()
        axes.set_xlabel("standard deviation [% of the value]")
        axes.grid(False, axis="y")
        axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, borderaxespad=0.1)

    alt = f"Standard deviation of {', '.join(names)} by noise of outputs, of inputs, and by both."
    return svg(9.2, 0.9 + 0.42 * len(names), draw, alt)


def _ellipses(
    axes: Axes, trust: Identifiability, labels: Sequence[str], index: np.ndarray, C: np.ndarray
) -> None:
    """Plot 95 % regions of the most correlated pair: for output noise, and for all noise."""
    from scipy import stats

    off = np.abs(C - np.diag(np.diag(C)))
    i, j = (int(index[k]) for k in np.unravel_index(off.argmax(), off.shape))
    turn = np.linspace(0.0, 2.0 * math.pi, 181)
    circle = np.array([np.cos(turn), np.sin(turn)]) * math.sqrt(stats.chi2.ppf(0.95, 2))
    middle = np.array([[(trust.low[k] + trust.high[k]) / 2.0] for k in (i, j)])
    kinds = [("output noise", trust.output_covariance, BLUE, "--")]
    if trust.input_covariance.any():
        kinds.append(("with input noise", trust.covariance, PALETTE[1], "-"))
    for label, covariance, color, line in kinds:
        part = covariance[np.ix_((i, j), (i, j))]
        values, vectors = np.linalg.eigh(part)
        x, y = middle + vectors @ (np.sqrt(np.maximum(values, 0.0))[:, None] * circle)
        axes.fill(x, y, color=color, alpha=0.12)
        axes.plot(x, y, line, color=color, linewidth=1.2, label=label)
    axes.plot(*middle, "+", color=GRAY)
    axes.set_xlabel(labels[i])
    axes.set_ylabel(labels[j])
    axes.set_title("95 % region of the most correlated pair", fontsize=8.5, color=GRAY)
    axes.legend(**BESIDE)


def information(report: Report) -> str:
    """Return the section on directions, correlation and origins of noise, or ""."""
    estimate, trust = report.estimate, report.trust
    body = ""
    if trust.directions:
        rows = [
            [
                escape(d.name if len(d.large) > 1 else d.large[0][0]),
                escape(d.known) if min(d.deviation, d.with_priors) < 10.0 else "–",
                "by its prior" if d.by_priors else _identifiable(d.deviation),
            ]
            for d in trust.directions
        ]
        body += html.table(
            ["direction, relative to each value", "n:known within", "identifiable"], rows
        )
    free = np.isfinite(np.diag(trust.correlation))
    if free.sum() > 1 and _has_interval(report).any():
        body += html.figure(correlation_figure(trust, estimate.parameters), "", wide=True)
    if trust.input_covariance.any() and _has_interval(report).any():
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


def _has_interval(report: Report) -> np.ndarray:
    """Return True for each parameter with an informative interval, shape (n_rho,)."""
    trust = report.trust
    starts = [p.start for p in report.estimate.parameters]
    rows = zip(trust.low, trust.high, report.estimate.rho, starts, strict=True)
    return np.array([is_informative(*map(float, row)) for row in rows])


def _identifiable(deviation: float) -> str:
    if deviation > 1.0:
        return '<b style="color: var(--bad)">no</b>'
    return '<b style="color: var(--look)">weakly</b>' if deviation > 0.1 else "yes"
