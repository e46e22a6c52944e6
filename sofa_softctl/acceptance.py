"""Acceptance test of a motion: numbers measured in a simulation, compared with their limits.

Plans and libraries call a result solved only if it has passed such a test, on a simulation other
than the one it was computed with.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Criterion:
    """A measured number and its limit."""

    name: str
    """Measured quantity, such as 'distance from the planned path'."""
    value: float
    """Measured number; NaN if it could not be measured, which is not accepted."""
    limit: float
    """Largest accepted number."""
    quantity: str = "length"
    """Physical quantity, such as 'length', or "" for a number without unit."""

    @property
    def passed(self) -> bool:
        """True if the number is within its limit."""
        return self.value <= self.limit

    def text(self, unit: str = "") -> str:
        """Return a line for reports, with a word for the unit."""
        unit = f" {unit}" if unit else ""
        measured = "could not be measured" if math.isnan(self.value) else f"{self.value:.3g}{unit}"
        return f"{self.name}: {measured}, {self.limit:.3g}{unit} allowed"


@dataclass(frozen=True)
class AcceptanceReport:
    """Result of an acceptance test."""

    simulator: str
    """Name of the simulator."""
    criteria: tuple[Criterion, ...]
    """Measured numbers with their limits."""
    failure: str = ""
    """Reason for a simulation that ended early, or ""."""
    seconds: float = 0.0
    """Computing time [s]."""

    @property
    def passed(self) -> bool:
        """True if the motion was simulated to its end, within all limits."""
        return not self.failure and all(criterion.passed for criterion in self.criteria)

    @property
    def worst(self) -> float:
        """Largest ratio of a number to its limit [-]; infinite if a number was not measured."""
        if self.failure:
            return math.inf
        return max((_limit_ratio(criterion) for criterion in self.criteria), default=0.0)

    @property
    def reason(self) -> str:
        """Sentence on the exceeded limits, or "" if the motion is accepted."""
        if self.failure:
            return f"The simulation did not reach its end: {self.failure}"
        failed = [criterion.text() for criterion in self.criteria if not criterion.passed]
        return f"Not accepted: {'; '.join(failed)}." if failed else ""

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict; non-finite numbers become None."""
        return {
            "passed": self.passed,
            "simulator": self.simulator,
            "criteria": [
                {
                    "name": criterion.name,
                    "value": _finite(criterion.value),
                    "limit": _finite(criterion.limit),
                    "quantity": criterion.quantity,
                }
                for criterion in self.criteria
            ],
            "failure": self.failure,
            "seconds": self.seconds,
        }

    def to_json(self) -> str:
        """Return the report as JSON, for `from_json`."""
        return json.dumps(self.to_dict())

    @classmethod
    def from_json(cls, text: str) -> AcceptanceReport:
        """Read a report from the text of `to_json`.

        Raises:
            ValueError: The text is not a report.
        """
        try:
            data = json.loads(text)
            criteria = tuple(
                Criterion(
                    str(criterion["name"]),
                    _number(criterion["value"], math.nan),
                    _number(criterion["limit"], math.inf),
                    str(criterion["quantity"]),
                )
                for criterion in data["criteria"]
            )
            report = cls(
                str(data["simulator"]), criteria, str(data["failure"]), float(data["seconds"])
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"this is not a report of an acceptance test ({error!r})") from error
        return report


def _limit_ratio(criterion: Criterion) -> float:
    if math.isnan(criterion.value):
        return math.inf
    if criterion.limit > 0.0:
        return criterion.value / criterion.limit
    return 0.0 if criterion.passed else math.inf


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _number(value: Any, otherwise: float) -> float:
    return otherwise if value is None else float(value)
