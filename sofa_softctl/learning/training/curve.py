"""Learning curves: what episodes brought, iteration by iteration."""

from __future__ import annotations

import csv
import io
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from sofa_softctl.base.files import replacing
from sofa_softctl.errors import PolicyError


@dataclass(frozen=True)
class CurvePoint:
    """One iteration."""

    steps: int
    """Decisions so far."""
    episodes: int
    """Episodes that ended in it."""
    mean: float
    """Their mean return; NaN without any."""
    deviation: float
    """Standard deviation of their returns."""
    length: float
    """Their mean number of decisions."""
    success: float
    """Share of them that were done; NaN where there is no such thing."""
    lost: float
    """Share of them in which the robot was lost."""
    seconds: float
    """Time of the training so far [s]."""


def save_curve(path: Path, points: list[CurvePoint]) -> None:
    """Write a CSV file."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([field.name for field in fields(CurvePoint)])
    writer.writerows(astuple(point) for point in points)
    with replacing(path, PolicyError) as name:
        name.write_text(text.getvalue())
