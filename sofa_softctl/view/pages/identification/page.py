"""Page of an identification."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

import numpy as np

from sofa_softctl.identification.report.report import Report, minimum_of
from sofa_softctl.view.pages import html
from sofa_softctl.view.pages.identification.causes import causes, undetected_effects
from sofa_softctl.view.pages.identification.information import information
from sofa_softctl.view.pages.identification.next_motion import next_motion
from sofa_softctl.view.pages.identification.parameters import discretisation, intervals, parameters
from sofa_softctl.view.pages.identification.prediction import prediction
from sofa_softctl.view.pages.identification.residuals import residuals
from sofa_softctl.view.words import plural


def recordings(report: Report) -> str:
    """Return the section on notes of recordings, or ""."""
    rows = [
        [escape(name), "<br>".join(map(escape, notes)) or "no notes"]
        for name, notes in report.notes.items()
    ]
    return html.section("Recordings", html.table(["file", "notes"], rows)) if rows else ""


def explanation(report: Report) -> str:
    """Return the section on the meaning of the numbers."""
    del report
    return html.section(
        "How to read this",
        "<p>σ is the standard deviation of a channel's noise, as declared by the problem. "
        "Residuals of a correct model are about 1 σ, without a pattern over time. Intervals give "
        "the effect of noise on the parameters of <i>this</i> model, not its correctness; "
        "residuals and held-out data test that.</p>",
    )


def searches(report: Report) -> str:
    """Return the section on starts and ends of several searches, or ""."""
    results = report.estimate.searches
    if len(results) < 2:
        return ""
    names = report.estimate.names
    heads = ["n:from", *(f"n:{name}" for name in names), "n:cost", "n:minimum", "ended"]
    rows = [
        [
            str(k + 1),
            *(
                f"{a:.3g} → <b>{b:.4g}</b>"
                for a, b in zip(search.start.tolist(), search.rho.tolist(), strict=True)
            ),
            f"{search.cost:.5g}",
            str(minimum_of(report.estimate, k) or ""),
            search.termination.name.lower().replace("_", " "),
        ]
        for k, search in enumerate(results)
    ]
    return html.section(
        "From other starts",
        html.table(heads, rows),
        "Best first. Ends with the same number are one minimum: costs, and parameters as far as "
        "the data determine them, agree within a standard deviation.",
    )


def findings(report: Report) -> str:
    """Return the section on diagnostics, most severe first."""
    items = html.findings((diagnostic.text, diagnostic.level) for diagnostic in report.diagnostics)
    return html.section("What was found", items)


SECTIONS: tuple[Callable[[Report], str], ...] = (
    parameters,
    intervals,
    findings,
    causes,
    prediction,
    residuals,
    undetected_effects,
    discretisation,
    information,
    next_motion,
    searches,
    recordings,
    explanation,
)
"""Functions that return the page's sections as HTML, or "", in order."""


def page(report: Report) -> str:
    """Return the text of the HTML file."""
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
        f"{estimate.seconds:.2g} s": plural(estimate.evaluations, "simulation"),
    }
    method = f"{estimate.method}.{draw_summary(report)}"
    return f'<p class="soft">{escape(method)}</p>{html.tiles(tiles.items())}'


def draw_summary(report: Report) -> str:
    """Return the number of draws and their time for the tests of residuals, or ""."""
    if not report.draws:
        return ""
    cost = f"{report.draws} draws of the inputs' noise, {report.draw_seconds:.2g} s"
    return f" Residuals were tested with {cost}."


def _by_noise(report: Report) -> str:
    return "(1: noise)" if not report.draws else "(1: noise of the outputs)"
