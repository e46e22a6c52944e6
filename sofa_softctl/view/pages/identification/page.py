"""Page of an identification."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

import numpy as np

from sofa_softctl.identification.report.report import Report, minimum_of
from sofa_softctl.view.pages import html
from sofa_softctl.view.pages.identification.causes import causes, hidden
from sofa_softctl.view.pages.identification.information import information
from sofa_softctl.view.pages.identification.next_motion import next_motion
from sofa_softctl.view.pages.identification.parameters import discretisation, intervals, parameters
from sofa_softctl.view.pages.identification.prediction import prediction
from sofa_softctl.view.pages.identification.residuals import residuals
from sofa_softctl.view.words import plural


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
        f"{estimate.seconds:.2g} s": plural(estimate.evaluations, "simulation"),
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
