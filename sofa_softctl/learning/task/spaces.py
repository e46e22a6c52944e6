"""Spaces of Gymnasium with names, units and bounds, and options of `reset`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sofa_softctl.errors import SoftctlError
from sofa_softctl.learning.task.quantities import Quantities

try:
    import gymnasium
except ImportError as error:  # pragma: no cover - where it is not installed
    from sofa_softctl.base.extras import install_command

    raise SoftctlError(
        f"Environments need the extra [learning]: {install_command('learning')}."
    ) from error

__all__ = ["gymnasium"]


class QuantityBox(gymnasium.spaces.Box):
    """A `gymnasium.spaces.Box` of float32 whose entries have names, units and bounds.

    Args:
        quantities: Quantities of the entries.
        scaled: Whether values run from -1 at the lower bound over 0 at the idle value to 1 at the
            upper bound, as most learning algorithms expect, instead of being in units.
    """

    def __init__(self, quantities: Quantities, *, scaled: bool = True) -> None:
        self.quantities, self.scaled = quantities, scaled
        ones = np.ones(len(quantities), np.float32)
        low, high = (-ones, ones) if scaled else (quantities.low, quantities.high)
        super().__init__(low.astype(np.float32), high.astype(np.float32), dtype=np.float32)

    def of_units(self, values: np.ndarray) -> np.ndarray:
        """Return values (..., n) in units as a member of the space: float32, within bounds."""
        q = self.quantities
        clipped = np.clip(values, q.low, q.high)
        clipped = q.share(clipped) if self.scaled else clipped
        return np.clip(clipped, self.low, self.high).astype(np.float32)

    def in_units(self, member: np.ndarray) -> np.ndarray:
        """Return a member (..., n) of the space in units; values out of bounds stay outside."""
        member, q = np.asarray(member, dtype=float), self.quantities
        if not self.scaled:
            return member
        excess = member - np.clip(member, -1.0, 1.0)
        values: np.ndarray = q.at(member) + 0.5 * excess * (q.high - q.low)
        return values

    def __repr__(self) -> str:
        q = self.quantities
        entries = zip(q.names, q.low, q.high, q.units, strict=True)
        inside = ", ".join(f"{n}: {a:g} to {b:g} {u}".rstrip() for n, a, b, u in entries)
        return f"QuantityBox({inside}{', scaled' if self.scaled else ''})"


def goal_of(options: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the entries of the goal in options `{"goal": {...}}`, or {}.

    Raises:
        ValueError: An option is unknown, or the goal is not a dictionary.
    """
    remaining = dict(options or {})
    goal = remaining.pop("goal", None) or {}
    if remaining or not isinstance(goal, Mapping):
        raise ValueError(
            f'reset takes options={{"goal": {{name: numbers}}}} alone. Got: {dict(options or {})!r}'
        )
    return dict(goal)
