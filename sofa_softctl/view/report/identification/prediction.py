"""Section on measured and predicted motion, held out and fitted."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

import numpy as np

from sofa_softctl.identification.fitting.residual import Fit
from sofa_softctl.identification.report.report import Report
from sofa_softctl.view.report import html
from sofa_softctl.view.report.identification.figures.prediction import fit_figure
from sofa_softctl.view.terminal.numbers import counted

CHANNELS, OPEN = 12, 6
"""Most channels that are drawn, and of these not folded; the tables have all."""


def prediction(report: Report) -> str:
    """Measured and predicted outputs of the channels that tell most, held-out ones first."""
    pairs = [(fit, "") for fit in report.estimate.fits]
    pairs += [(one.fit, "held out: ") for one in report.validations]
    columns = [
        (fit, k, kind)
        for fit, kind in pairs
        for k in range(len(fit.channels))
        if fit.there[:, k].any()
    ]
    wrong = [not one.right for one in (*report.residuals, *report.held_out) if one.count]
    missed = [float(np.nanmean(fit.residuals[:, k] ** 2)) for fit, k, _ in columns]
    moved = [float(np.nanstd(fit.measured[:, k]) / fit.deviations[k]) for fit, k, _ in columns]
    shown = most_telling(missed, moved, wrong)
    figures = [_fit(*columns[n]) for n in shown]
    body = "".join(figures[:OPEN])
    if figures[OPEN:]:
        body += html.folded(f"{len(figures) - OPEN} more channels", "".join(figures[OPEN:]))
    left = len(columns) - len(shown)
    note = "Channels that noise does not explain, largest residuals first, and those that move most"
    note += f"; {counted(left, 'more')} not drawn." if left else "."
    return html.section("Measured and predicted", body, note if left or len(shown) > OPEN else "")


def most_telling(
    missed: Sequence[float], moved: Sequence[float], wrong: Sequence[bool]
) -> list[int]:
    """Channels to draw: in turns, wrong ones by residual, and all by motion.

    Args:
        missed: Mean square residual of each.
        moved: Motion of each, in deviations.
        wrong: Whether noise does not explain the residuals.
    """
    everything = range(len(missed))
    by_miss = sorted((n for n in everything if wrong[n]), key=lambda n: -missed[n])
    by_motion = sorted(everything, key=lambda n: -moved[n])
    turns = [n for pair in zip_longest(by_miss, by_motion) for n in pair if n is not None]
    return list(dict.fromkeys(turns))[:CHANNELS]


def _fit(fit: Fit, k: int, kind: str) -> str:
    return html.figure(fit_figure(fit, k), f"{kind}{fit.name}, {fit.channels[k].name}", wide=True)
