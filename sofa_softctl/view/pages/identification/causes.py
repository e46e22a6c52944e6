"""Sections of the HTML report: causes that fit better, and what the data could not show."""

from __future__ import annotations

from html import escape

from sofa_softctl.identification.model.parameter import Parameter
from sofa_softctl.identification.report.report import Report
from sofa_softctl.view.pages import html
from sofa_softctl.view.words import plural

SHIFTED = 5
"""Most parameters whose shifts are shown."""


def causes(report: Report) -> str:
    """Causes that fit better than noise explains."""
    if not report.causes.found:
        return ""
    names = [one.name for one in _moving(report)]
    units = {one.name: one.unit for one in report.estimate.parameters}
    heads = ["cause", "n:size", "n:explains", "n:chance", *(f"n:{name}" for name in names)]
    rows = [
        [
            f"<b>{escape(one.name)}</b><br>{escape(one.what)}",
            escape(one.size),
            f"{one.explained:.0%}",
            f"{one.p_value:.1g}",
            *(
                f"{one.shifts[name]:+.3g} {escape(units[name])}<br>"
                f'<span class="soft">{one.half_widths[name]:+.2g}</span>'
                for name in names
            ),
        ]
        for one in report.causes.found
    ]
    note = (
        f"Of {plural(len(report.causes.scores), 'tested effect')}, and of columns that may be "
        "swapped or reversed where the fit is far from the data. Chance: that any fits so much "
        "better by noise alone. Explains: of the cost above that of noise. For each parameter its "
        "change if the cause is in the model, below it in half-widths of its interval."
    )
    return html.section("What explains the data better", html.table(heads, rows), note)


def hidden(report: Report) -> str:
    """Effects that would spoil parameters unseen."""
    sentences = [one.sentence for one in report.causes.hidden]
    sentences += report.causes.untested_sentences
    if not sentences:
        return ""
    items = "".join(f"<li>{escape(one)}</li>" for one in sentences)
    note = (
        "Effects that would shift a parameter by more than its interval before the tests show "
        "them, those first that could do most harm. Measure them otherwise, or record a motion "
        "that tells them from the parameters."
    )
    return html.section("What these data could not show", f"<ul>{items}</ul>", note)


def _moving(report: Report) -> list[Parameter]:
    """Parameters that causes change most."""
    found = report.causes.found

    def most(one: Parameter) -> float:
        return -max(abs(cause.half_widths.get(one.name, 0.0)) for cause in found)

    fitted = [one for one in report.estimate.parameters if one.name in found[0].half_widths]
    return sorted(fitted, key=most)[:SHIFTED]
