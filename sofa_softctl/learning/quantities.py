"""Numbers with names, units and bounds: what a policy sees, and what it drives."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sofa_softctl.errors import SoftctlError


@dataclass(frozen=True, eq=False)
class Quantities:
    """Some numbers in a row."""

    names: tuple[str, ...]
    """Of each, such as 'tip[0]'."""
    units: tuple[str, ...]
    """Of each, such as 'mm'; empty: none."""
    low: np.ndarray
    """Least values, shape (n,)."""
    high: np.ndarray
    """Greatest values, shape (n,)."""

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            bound = np.array(getattr(self, name), dtype=float)
            bound.setflags(write=False)
            object.__setattr__(self, name, bound)
        shapes = {(len(self.names),), (len(self.units),), self.low.shape, self.high.shape}
        if len(shapes) > 1:
            raise ValueError(f"names, units, low and high must be as many. Got: {sorted(shapes)}")
        for name, low, high in zip(self.names, self.low, self.high, strict=True):
            if not (np.isfinite([low, high]).all() and low < high):
                raise SoftctlError(
                    f"'{name}' needs finite bounds, low below high: a policy works on the share "
                    f"between them. Got: {low} and {high}. Give low= and high=."
                )

    def __len__(self) -> int:
        return len(self.names)

    def outside(self, values: np.ndarray) -> np.ndarray:
        """Which values (..., n) are out of bounds, by more than float32 rounds them."""
        slack = 1e-6 * (self.high - self.low)
        found: np.ndarray = (values < self.low - slack) | (values > self.high + slack)
        return found

    def share(self, values: np.ndarray) -> np.ndarray:
        """Values (..., n) from -1 at the low bound to 1 at the high one."""
        found: np.ndarray = 2.0 * (values - self.low) / (self.high - self.low) - 1.0
        return found

    def at(self, share: np.ndarray) -> np.ndarray:
        """The inverse of `share`; -1 and 1 are the bounds to the last bit."""
        share = np.asarray(share, dtype=float)
        found = 0.5 * (1.0 - share) * self.low + 0.5 * (1.0 + share) * self.high
        return np.clip(found, self.low, self.high)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "names": list(self.names),
            "units": list(self.units),
            "low": self.low.tolist(),
            "high": self.high.tolist(),
        }

    @staticmethod
    def of_dict(values: dict[str, Any]) -> Quantities:
        """The inverse of `to_dict`."""
        names, units = (tuple(map(str, values[name])) for name in ("names", "units"))
        return Quantities(names, units, np.array(values["low"]), np.array(values["high"]))


@dataclass(frozen=True, eq=False)
class Interface:
    """What a policy is connected to: it fits environments and scenes with the same one."""

    observation: Quantities
    """What it sees."""
    action: Quantities
    """What it drives."""
    interval: float
    """Time from a decision to the next [time]."""

    @property
    def digest(self) -> str:
        """SHA-256 of names, units, bounds and interval."""
        text = json.dumps(self.to_dict(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "observation": self.observation.to_dict(),
            "action": self.action.to_dict(),
            "interval": self.interval,
        }

    @staticmethod
    def of_dict(values: dict[str, Any]) -> Interface:
        """The inverse of `to_dict`."""
        seen, driven = (Quantities.of_dict(values[name]) for name in ("observation", "action"))
        return Interface(seen, driven, float(values["interval"]))

    def differences(self, other: Interface) -> list[str]:
        """In sentences, what another one has otherwise; empty: nothing."""
        found = []
        for kind in ("observation", "action"):
            mine, others = getattr(self, kind), getattr(other, kind)
            if mine.names != others.names:
                found.append(_named(kind, mine.names, others.names))
            elif mine.units != others.units:
                found.append(_named(f"units of its {kind}", mine.units, others.units))
            elif not (
                np.array_equal(mine.low, others.low) and np.array_equal(mine.high, others.high)
            ):
                i = int(np.argmax((mine.low != others.low) | (mine.high != others.high)))
                found.append(
                    f"'{mine.names[i]}' from {mine.low[i]:g} to {mine.high[i]:g}, here from "
                    f"{others.low[i]:g} to {others.high[i]:g}"
                )
        if self.interval != other.interval:
            found.append(f"a decision each {self.interval:g}, here each {other.interval:g}")
        return found


def _named(kind: str, mine: Sequence[str], others: Sequence[str]) -> str:
    return f"{kind} {', '.join(mine)} ({len(mine)}), here {', '.join(others)} ({len(others)})"
