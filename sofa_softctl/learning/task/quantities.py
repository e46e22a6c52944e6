"""Numbers with names, units and bounds: observations and actions of policies."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sofa_softctl.errors import SoftctlError


@dataclass(frozen=True, eq=False)
class Quantities:
    """Numbers in a row."""

    names: tuple[str, ...]
    """Name of each number, such as 'tip[0]'."""
    units: tuple[str, ...]
    """Unit of each number, such as 'mm', or ""."""
    low: np.ndarray
    """Least values, shape (n,)."""
    high: np.ndarray
    """Greatest values, shape (n,)."""
    idle: np.ndarray = field(default_factory=lambda: np.zeros(0))
    """Values of the share 0, shape (n,); by default the means of the bounds."""

    def __post_init__(self) -> None:
        if not np.size(self.idle):
            object.__setattr__(self, "idle", _middle(self.low, self.high))
        for name in ("low", "high", "idle"):
            bound = np.array(getattr(self, name), dtype=float)
            bound.setflags(write=False)
            object.__setattr__(self, name, bound)
        shapes = {(len(self.names),), (len(self.units),)}
        shapes |= {self.low.shape, self.high.shape, self.idle.shape}
        if len(shapes) > 1:
            raise ValueError(
                f"names, units, low, high and idle must be as many. Got: {sorted(shapes)}"
            )
        for name, low, high in zip(self.names, self.low, self.high, strict=True):
            if not (np.isfinite([low, high]).all() and low < high):
                raise SoftctlError(
                    f"'{name}' needs finite bounds, low below high: a policy works on the share "
                    f"between them. Got: {low} and {high}. Give low= and high=."
                )
        for name, low, idle, high in zip(self.names, self.low, self.idle, self.high, strict=True):
            if not low <= idle <= high:
                raise SoftctlError(
                    f"'{name}' idles at {idle:g}; expected a value from {low:g} to {high:g}."
                )

    def __len__(self) -> int:
        return len(self.names)

    def is_outside(self, values: np.ndarray) -> np.ndarray:
        """Return True for values (..., n) out of bounds by more than float32 rounding."""
        slack = 1e-6 * (self.high - self.low)
        is_outside: np.ndarray = (values < self.low - slack) | (values > self.high + slack)
        return is_outside

    def share(self, values: np.ndarray) -> np.ndarray:
        """Return the shares of values (..., n): -1 at the low bound, 0 at `idle`, 1 at the high.

        Shares are linear below and above `idle`. If that is a bound, shares beyond it are 0.
        """
        offset = np.asarray(values, dtype=float) - self.idle
        span = np.where(offset < 0.0, self.idle - self.low, self.high - self.idle)
        shares: np.ndarray = offset / np.where(span > 0.0, span, 1.0)
        return shares

    def at(self, share: np.ndarray) -> np.ndarray:
        """Return the values of shares; -1 and 1 give exactly the bounds."""
        share = np.clip(np.asarray(share, dtype=float), -1.0, 1.0)
        bound, size = np.where(share < 0.0, self.low, self.high), np.abs(share)
        values: np.ndarray = (1.0 - size) * self.idle + size * bound
        return np.clip(values, self.low, self.high)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        data = {
            "names": list(self.names),
            "units": list(self.units),
            "low": self.low.tolist(),
            "high": self.high.tolist(),
        }
        halfway = np.array_equal(self.idle, _middle(self.low, self.high))
        return data if halfway else data | {"idle": self.idle.tolist()}

    @staticmethod
    def of_dict(values: dict[str, Any]) -> Quantities:
        """Return the object of a dict from `to_dict`."""
        names, units = (tuple(map(str, values[name])) for name in ("names", "units"))
        low, high, idle = (np.array(values.get(name, [])) for name in ("low", "high", "idle"))
        return Quantities(names, units, low, high, idle)


@dataclass(frozen=True, eq=False)
class Interface:
    """Inputs and outputs of a policy, and of an environment or scene that it fits."""

    observation: Quantities
    """Observations of the policy."""
    action: Quantities
    """Actions of the policy."""
    interval: float
    """Time from a decision to the next [time]."""

    @property
    def digest(self) -> str:
        """SHA-256 of names, units, bounds and interval."""
        text = json.dumps(self.to_dict(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        return {
            "observation": self.observation.to_dict(),
            "action": self.action.to_dict(),
            "interval": self.interval,
        }

    @staticmethod
    def of_dict(values: dict[str, Any]) -> Interface:
        """Return the object of a dict from `to_dict`."""
        observation, action = (
            Quantities.of_dict(values[name]) for name in ("observation", "action")
        )
        return Interface(observation, action, float(values["interval"]))

    def differences(self, expected: Interface) -> list[str]:
        """Return texts on differences from another interface, or []."""
        texts = []
        for kind in ("observation", "action"):
            mine, local = getattr(self, kind), getattr(expected, kind)
            if mine.names != local.names:
                texts.append(_difference(kind, mine.names, local.names))
            elif mine.units != local.units:
                texts.append(_difference(f"units of its {kind}", mine.units, local.units))
            elif not (
                np.array_equal(mine.low, local.low) and np.array_equal(mine.high, local.high)
            ):
                i = int(np.argmax((mine.low != local.low) | (mine.high != local.high)))
                texts.append(
                    f"'{mine.names[i]}' from {mine.low[i]:g} to {mine.high[i]:g}, here from "
                    f"{local.low[i]:g} to {local.high[i]:g}"
                )
            elif not np.array_equal(mine.idle, local.idle):
                i = int(np.argmax(mine.idle != local.idle))
                texts.append(
                    f"'{mine.names[i]}' that idles at {mine.idle[i]:g}, here at {local.idle[i]:g}"
                )
        if self.interval != expected.interval:
            texts.append(f"a decision each {self.interval:g}, here each {expected.interval:g}")
        return texts


def _middle(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    middle: np.ndarray = 0.5 * np.asarray(low, dtype=float) + 0.5 * np.asarray(high, dtype=float)
    return middle


def _difference(kind: str, mine: Sequence[str], local: Sequence[str]) -> str:
    return f"{kind} {', '.join(mine)} ({len(mine)}), here {', '.join(local)} ({len(local)})"
