"""HTML report of an identification, in one file: results first."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

import numpy as np

from sofa_softctl.identification.report.report import Report
from sofa_softctl.view.report import html
from sofa_softctl.view.report.identification.causes import causes, hidden
from sofa_softctl.view.report.identification.discretisation import discretisation, intervals
from sofa_softctl.view.report.identification.information import information
from sofa_softctl.view.report.identification.next_motion import next_motion
from sofa_softctl.view.report.identification.parameters import parameters
from sofa_softctl.view.report.identification.prediction import prediction
from sofa_softctl.view.report.identification.recordings import reading, recordings
from sofa_softctl.view.report.identification.residuals import residuals
from sofa_softctl.view.report.identification.searches import searches
from sofa_softctl.view.terminal.numbers import counted


def findings(report: Report) -> str:
    """All diagnostics, most severe first."""
    items = html.findings((one.text, one.level) for one in report.diagnostics)
    return html.section("What was found", items)


SECTIONS: tuple[Callable[[Report], str], ...] = (
    parameters,
    intervals,
    findings,
    causes,
    prediction,
    residuals,
    hidden,
    discretisation,
    information,
    next_motion,
    searches,
    recordings,
    reading,
)
"""Sections of the page, in its order; each returns HTML, or nothing where it has nothing to say."""


def page(report: Report) -> str:
    """The text of the HTML file."""
    verdict = html.findings([(report.verdict.text, report.verdict.level)])
    sections = [section(report) for section in SECTIONS]
    return html.page(f"Identification of {report.problem}", verdict + _tiles(report), sections)


def _tiles(report: Report) -> str:
    estimate = report.estimate
    held_out = report.rms_held_out
    tiles = {
        f"{estimate.data:,}": f"measured samples, {len(estimate.fits)} recording"
        + ("s" if len(estimate.fits) > 1 else ""),
        f"{report.rms:.2f} σ": "RMS residual of the fitted data " + _by_noise(report),
        f"{held_out:.2f} σ" if np.isfinite(held_out) else "–": "RMS residual of held-out data",
        f"{estimate.seconds:.2g} s": counted(estimate.evaluations, "simulation"),
    }
    method = f"{estimate.method}.{drawn(report)}"
    return f'<p class="soft">{escape(method)}</p>{html.tiles(tiles.items())}'


def drawn(report: Report) -> str:
    """Draws and time to test residuals where inputs have noise; empty: none."""
    if not report.draws:
        return ""
    cost = f"{report.draws} draws of the inputs' noise, {report.draw_seconds:.2g} s"
    return f" Residuals were tested with {cost}."


def _by_noise(report: Report) -> str:
    return "(1: noise)" if not report.draws else "(1: noise of the outputs)"
