"""Result of verifying a library."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Verification:
    """Answers to tasks, compared with the optima."""

    statuses: dict[str, int]
    """Number of answers of each status."""
    corrections: dict[str, int]
    """Number of executed answers by how the nearest motion was adapted."""
    executed: np.ndarray
    """Whether each answer may be executed; all are where none is simulated."""
    errors: np.ndarray
    """Simulated error of each answer [of the problem]."""
    unrefined: np.ndarray
    """Error of the nearest motion as it is."""
    costs: np.ndarray
    """Cost of each answer."""
    optimal: np.ndarray
    """Cost of the optimum; NaN where none was found."""
    defects: np.ndarray
    """Largest violation of an equation of the program by the answer."""
    stationarity: np.ndarray
    """Largest violation of (3a) by the answer, with the best multipliers, over the largest slope of
    the cost [-]."""
    seconds: np.ndarray
    """Computing time of each answer, search included [s]."""
    seconds_plain: np.ndarray
    """Time of the paper's answers to the same tasks, without simulation [s]."""
    seconds_optimal: np.ndarray
    """Time of the solver from its own guess [s]."""
    seconds_warm: np.ndarray
    """Time of the solver from the nearest motion and its multipliers [s]."""
    tolerance: float
    """Tolerance of the error."""
    infeasible: int
    """Tasks without a solution, which do not count above."""
    restarts: int
    """Times that the chain of tasks began anew, see `verify`."""
    error_unit: str = ""
    """Unit of errors and tolerance."""
    cost_unit: str = ""
    """Unit of costs."""

    @property
    def loss(self) -> float:
        """Mean cost of executed answers over that of the optima, less one [-]; NaN without any."""
        known = np.isfinite(self.optimal) & self.executed
        if not known.any():
            return float("nan")
        return float(self.costs[known].mean() / self.optimal[known].mean() - 1.0)

    def to_dict(self) -> dict[str, Any]:
        """For JSON: distributions by mean, median, 99th percentile and largest."""
        values: dict[str, Any] = {
            "statuses": self.statuses,
            "corrections": self.corrections,
            "loss": self.loss,
        }
        for name, value in asdict(self).items():
            if isinstance(value, np.ndarray) and value.dtype == float:
                values[name] = _distribution(value)
        values["good"] = float((self.errors <= self.tolerance).mean())
        for name in ("tolerance", "infeasible", "restarts"):
            values[name] = getattr(self, name)
        return values


def _distribution(values: np.ndarray) -> dict[str, float] | None:
    known = values[np.isfinite(values)]
    if not len(known):
        return None
    low, high = np.percentile(known, [50, 99])
    return {
        "mean": float(known.mean()),
        "median": float(low),
        "p99": float(high),
        "largest": float(known.max()),
    }
