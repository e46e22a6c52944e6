"""Observations of a scene for a policy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sofa_softctl.errors import DivergedError, SceneError
from sofa_softctl.learning.task.episode import Episode, annotate_errors
from sofa_softctl.learning.task.quantities import Quantities
from sofa_softctl.units import Units, symbol


@dataclass(frozen=True)
class Observation:
    """Numbers of a scene with bounds, to which values are clipped."""

    name: str
    """Name in messages and in policy files."""
    read: str | Callable[[Episode], ArrayLike]
    """Path of a Data, such as '/trunk/tip/dofs.position', or a function of the episode."""
    low: ArrayLike
    """Least value, for all numbers or for each [unit]."""
    high: ArrayLike
    """Greatest value."""
    unit: str = ""
    """A quantity, such as 'length' or 'force', whose unit is the scene's; or a unit's symbol."""


class Observer:
    """Reader of the observations of a scene.

    Args:
        observations: Observations to read, in this order.
        episode: Episode of the scene; sizes are read from its present state.
        units: Units of the scene.

    Raises:
        SceneError: A Data is missing, or names are repeated.
        SoftctlError: Bounds are missing or do not fit.
    """

    def __init__(
        self, observations: Sequence[Observation], episode: Episode, units: Units | None
    ) -> None:
        self._observations, self._episode = tuple(observations), episode
        names = [observation.name for observation in self._observations]
        if not names or len(set(names)) < len(names):
            raise SceneError(f"Observations need names of their own, one at least. Got: {names}")
        self._sizes: list[int] = []
        self.quantities = self._find_quantities(units)

    def __call__(self) -> np.ndarray:
        """Return the present numbers, shape (n,).

        Raises:
            DivergedError: A number is not finite.
        """
        values = [self._read(observation) for observation in self._observations]
        for observation, value, size in zip(self._observations, values, self._sizes, strict=True):
            if len(value) != size:
                raise SceneError(
                    f"The observation '{observation.name}' has {len(value)} numbers, at "
                    f"first {size}."
                )
        numbers = np.concatenate(values)
        if not np.isfinite(numbers).all():
            name = self.quantities.names[int(np.argmin(np.isfinite(numbers)))]
            raise DivergedError(f"The observation '{name}' is not finite.")
        return numbers

    def _read(self, observation: Observation) -> np.ndarray:
        with annotate_errors(f"observation '{observation.name}'", self._episode):
            read = observation.read
            value = self._episode.read(read) if isinstance(read, str) else read(self._episode)
            if value is None:
                raise ValueError("it returned None, and no numbers")
            return np.asarray(value, dtype=float).ravel()

    def _find_quantities(self, units: Units | None) -> Quantities:
        names: list[str] = []
        symbols: list[str] = []
        bounds: list[np.ndarray] = []
        for observation in self._observations:
            size = len(self._read(observation))
            if not size:
                raise SceneError(f"The observation '{observation.name}' has no numbers.")
            self._sizes.append(size)
            names += (
                [observation.name]
                if size == 1
                else [f"{observation.name}[{i}]" for i in range(size)]
            )
            symbols += [symbol(units, observation.unit)] * size
            try:
                limits = [np.ravel(bound) for bound in (observation.low, observation.high)]
                bounds.append(np.array([np.broadcast_to(b, size) for b in limits], dtype=float))
            except ValueError as error:
                raise SceneError(
                    f"The observation '{observation.name}' has {size} numbers; low and high must "
                    f"be one number or as many. Got: {observation.low!r} and {observation.high!r}"
                ) from error
        low, high = np.concatenate(bounds, axis=1)
        return Quantities(tuple(names), tuple(symbols), low, high)
