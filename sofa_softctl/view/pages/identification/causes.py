"""Sections of the HTML report: causes that fit better, and what the data could not show."""

from __future__ import annotations

from html import escape

from sofa_softctl.identification.model.parameter import Parameter
from sofa_softctl.identification.report.report import Report
from sofa_softctl.view.pages import html
from sofa_softctl.view.words import plural


def causes(report: Report) -> str:
    """Return the section on causes that fit better than noise explains, or ""."""
    if not report.causes.found:
        return ""
    names = [p.name for p in _most_shifted(report)]
    units = {p.name: p.unit for p in report.estimate.parameters}
    heads = ["cause", "n:size", "n:explains", "n:chance", *(f"n:{name}" for name in names)]
    rows = [
        [
            f"<b>{escape(cause.name)}</b><br>{escape(cause.what)}",
            escape(cause.size),
            f"{cause.explained:.0%}",
            f"{cause.p_value:.1g}",
            *(
                f"{cause.shifts[name]:+.3g} {escape(units[name])}<br>"
                f'<span class="soft">{cause.half_widths[name]:+.2g}</span>'
                for name in names
            ),
        ]
        for cause in report.causes.found
    ]
    note = (
        f"Of {plural(len(report.causes.scores), 'tested effect')}, and of columns that may be "
        "swapped or reversed if the fit is far from the data. Chance: that any fits so much "
        "better by noise alone. Explains: of the cost above that of noise. For each parameter its "
        "change if the cause is in the model, below it in half-widths of its interval."
    )
    return html.section("What explains the data better", html.table(heads, rows), note)


def undetected_effects(report: Report) -> str:
    """Return the section on effects that could shift parameters undetected, or ""."""
    sentences = [effect.sentence for effect in report.causes.hidden]
    sentences += report.causes.untested_sentences
    if not sentences:
        return ""
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
    note = (
        "Effects that could shift a parameter by more than its interval without being detected, "
        "most harmful first. Measure them otherwise, or record a motion that distinguishes them "
        "from the parameters."
    )
    return html.section("What these data could not show", f"<ul>{items}</ul>", note)


def _most_shifted(report: Report) -> list[Parameter]:
    """Return up to five parameters that causes change most."""
    causes = report.causes.found

    def rank(p: Parameter) -> float:
        return -max(abs(cause.half_widths.get(p.name, 0.0)) for cause in causes)

    fitted = [p for p in report.estimate.parameters if p.name in causes[0].half_widths]
    return sorted(fitted, key=rank)[:5]
