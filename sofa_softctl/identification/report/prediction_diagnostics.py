"""Diagnostics on how many held-out samples are inside prediction bands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sofa_softctl.identification.report.diagnostic import Diagnostic, Level, listed
from sofa_softctl.identification.uncertainty.coverage import DOUBT, Coverage

if TYPE_CHECKING:
    from sofa_softctl.identification.report.report import Report

FAR = 0.02
"""Shares that are off by less are not reported, however unlikely [-]."""
LOW = 0.7
"""A smaller share inside: the estimate is not to be trusted [-]."""


def inside(report: Report) -> str:
    """How many held-out samples are inside the 95 % band; empty without any."""
    total = report.predictions.coverage
    if total is None:
        return ""
    return f"{_percent(total)} of {total.samples:,} held-out samples are inside the 95 % band."


def on_bands(report: Report) -> list[Diagnostic]:
    """Too few or too many held-out samples inside, in all or of a channel."""
    total, bands = report.predictions.coverage, report.predictions.held_out
    if total is None or not all(one.complete for one in bands):
        return []
    several = len(bands) > 1
    channels = [
        (f"{band.experiment}: {name}" if several else name, one)
        for band, each in zip(bands, report.predictions.by_channel, strict=True)
        for name, one in zip(band.channels, each, strict=True)
    ]
    doubt = DOUBT / max(len(channels), 1)
    few = [(name, one) for name, one in channels if _few(one, doubt)]
    if few or _few(total, DOUBT):
        return [_too_few(total, few if len(channels) > 1 else [])]
    if total.high < DOUBT and total.share > total.expected + FAR:
        text = (
            f"{_percent(total)} of the held-out samples are inside the 95 % band, "
            f"{100.0 * total.expected:.0f} % expected: noise is smaller than declared, bands and "
            "intervals are too wide."
        )
        return [Diagnostic("look", text)]
    return []


def _too_few(total: Coverage, few: list[tuple[str, Coverage]]) -> Diagnostic:
    least = min(total.share, *(one.share for _, one in few), 1.0)
    level: Level = "bad" if least < LOW else "look"
    text = f"Only {_percent(total)} of the held-out samples are inside the 95 % band"
    if few:
        text += f" ({listed([f'{_percent(one)} of {name}' for name, one in few])})"
    expected = f"{100.0 * total.expected:.0f} % would be of a correct model"
    return Diagnostic(level, f"{text}; {expected}: intervals and bands are too narrow.")


def _few(one: Coverage, doubt: float) -> bool:
    return one.low < doubt and one.share < one.expected - FAR


def _percent(one: Coverage) -> str:
    """Such as '94 %'; '99.6 %' where it is not all."""
    share = 100.0 * one.share
    return f"{share:.1f} %" if 99.5 <= share < 100.0 else f"{share:.0f} %"
