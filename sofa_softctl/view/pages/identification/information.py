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
from sofa_softctl.view.pages.identification.style import BESIDE, BLUE, INK_ON_COLOR, labelled
from sofa_softctl.view.pages.svg import svg
from sofa_softctl.view.words import is_informative


def correlation_figure(trust: Identifiability, parameters: Sequence[Parameter]) -> str:
    """Correlation of the parameters, and the ellipse of the most correlated pair."""
    there = np.isfinite(np.diag(trust.correlation))
    names = [name for name, is_there in zip(trust.names, there, strict=True) if is_there]
    C = trust.correlation[np.ix_(there, there)]

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
        _ellipses(plane, trust, [labelled(one) for one in parameters], np.flatnonzero(there), C)

    alt = f"Correlation of the errors of {', '.join(names)}; 95 % region of the most alike pair."
    return svg(9.2, max(2.9, 0.9 + 0.32 * len(names)), draw, alt)


def noise_share_figure(trust: Identifiability, rho: np.ndarray) -> str:
    """Deviation of each parameter, from noise of outputs and of inputs."""
    there = np.isfinite(trust.deviations) & (rho != 0.0)
    names = [name for name, is_there in zip(trust.names, there, strict=True) if is_there]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        size = 100.0 / np.abs(rho[there])
        rows = np.arange(len(names))
        parts = {
            "output noise": (np.sqrt(np.diag(trust.output_covariance))[there], BLUE),
            "input noise": (np.sqrt(np.diag(trust.input_covariance))[there], PALETTE[1]),
            "both": (trust.deviations[there], GRAY),
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
    axes: Axes, trust: Identifiability, labels: Sequence[str], at: np.ndarray, C: np.ndarray
) -> None:
    """95 % region of the most correlated pair: of output noise, and of both."""
    from scipy import stats

    off = np.abs(C - np.diag(np.diag(C)))
    i, j = (int(at[k]) for k in np.unravel_index(off.argmax(), off.shape))
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
    axes.set_title("95 % region of the pair most alike", fontsize=8.5, color=GRAY)
    axes.legend(**BESIDE)


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
    return np.array([is_informative(*map(float, row)) for row in rows])


def _identifiable(deviation: float) -> str:
    if deviation > 1.0:
        return '<b style="color: var(--bad)">no</b>'
    return '<b style="color: var(--look)">weakly</b>' if deviation > 0.1 else "yes"
