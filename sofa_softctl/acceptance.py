"""Acceptance test of a motion: what was measured when it was simulated, against what is allowed.

Plans and libraries call an answer solved only when it has passed one: on a simulation that is not
the one it was computed with.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Criterion:
    """One measured number, and the largest that is accepted."""

    name: str
    """What was measured, such as 'distance from the planned path'."""
    value: float
    """The measured number; NaN: it could not be measured, which is not accepted."""
    limit: float
    """The largest accepted number."""
    quantity: str = "length"
    """Its physical quantity, such as 'length'; empty: a number without unit."""

    @property
    def passed(self) -> bool:
        """Whether it is accepted."""
        return self.value <= self.limit

    def text(self, unit: str = "") -> str:
        """As text; `unit`: word for its unit."""
        unit = f" {unit}" if unit else ""
        measured = "could not be measured" if math.isnan(self.value) else f"{self.value:.3g}{unit}"
        return f"{self.name}: {measured}, {self.limit:.3g}{unit} allowed"


@dataclass(frozen=True)
class AcceptanceReport:
    """Result of an acceptance test."""

    simulator: str
    """What simulated the motion."""
    criteria: tuple[Criterion, ...]
    """What was measured."""
    failure: str = ""
    """Why the simulation did not reach the end; empty: it did."""
    seconds: float = 0.0
    """Computing time [s]."""

    @property
    def passed(self) -> bool:
        """Whether the motion is accepted: it was simulated to its end, within all limits."""
        return not self.failure and all(each.passed for each in self.criteria)

    @property
    def worst(self) -> float:
        """Largest share of a limit that was used [-]; infinite where one was not measured."""
        if self.failure:
            return math.inf
        return max((_share(each) for each in self.criteria), default=0.0)

    @property
    def reason(self) -> str:
        """What is not accepted, in a sentence; empty if all is."""
        if self.failure:
            return f"The simulation did not reach its end: {self.failure}"
        failed = [each.text() for each in self.criteria if not each.passed]
        return f"Not accepted: {'; '.join(failed)}." if failed else ""

    def to_dict(self) -> dict[str, Any]:
        """For JSON; numbers that are not finite are None."""
        return {
            "passed": self.passed,
            "simulator": self.simulator,
            "criteria": [
                {
                    "name": each.name,
                    "value": _finite(each.value),
                    "limit": _finite(each.limit),
                    "quantity": each.quantity,
                }
                for each in self.criteria
            ],
            "failure": self.failure,
            "seconds": self.seconds,
        }

    def to_json(self) -> str:
        """As JSON, for `from_json`."""
        return json.dumps(self.to_dict())

    @classmethod
    def from_json(cls, text: str) -> AcceptanceReport:
        """Report from `to_json`.

        Raises:
            ValueError: the text is none.
        """
        try:
            data = json.loads(text)
            criteria = tuple(
                Criterion(
                    str(each["name"]),
                    _number(each["value"], math.nan),
                    _number(each["limit"], math.inf),
                    str(each["quantity"]),
                )
                for each in data["criteria"]
            )
            found = cls(
                str(data["simulator"]), criteria, str(data["failure"]), float(data["seconds"])
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"this is no report of an acceptance test ({error!r})") from error
        return found


def _share(criterion: Criterion) -> float:
    if math.isnan(criterion.value):
        return math.inf
    if criterion.limit > 0.0:
        return criterion.value / criterion.limit
    return 0.0 if criterion.passed else math.inf


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _number(value: Any, otherwise: float) -> float:
    return otherwise if value is None else float(value)
