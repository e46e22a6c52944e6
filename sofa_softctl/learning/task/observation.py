"""What a policy sees of a scene."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sofa_softctl.errors import DivergedError, SceneError
from sofa_softctl.learning.task.episode import Episode, asking
from sofa_softctl.learning.task.quantities import Quantities
from sofa_softctl.units import Units, symbol


@dataclass(frozen=True)
class Observation:
    """Some numbers of a scene, with bounds.

    Values beyond the bounds are brought back to them.
    """

    name: str
    """In messages and in policy files."""
    read: str | Callable[[Episode], ArrayLike]
    """Path of a Data, such as '/trunk/tip/dofs.position', or a function of the episode."""
    low: ArrayLike
    """Least value, one for all numbers or one each [unit]."""
    high: ArrayLike
    """Greatest value."""
    unit: str = ""
    """A quantity, such as 'length' or 'force', whose unit is the scene's; or a unit's symbol."""


class Observer:
    """Reads the observations of a scene.

    Args:
        observations: What is read, in this order.
        episode: The scene; the sizes are those of its present state.
        units: Of the scene.

    Raises:
        SceneError: There is no such Data, or names repeat themselves.
        SoftctlError: Bounds are missing or do not fit.
    """

    def __init__(
        self, observations: Sequence[Observation], episode: Episode, units: Units | None
    ) -> None:
        self._observations, self._episode = tuple(observations), episode
        names = [one.name for one in self._observations]
        if not names or len(set(names)) < len(names):
            raise SceneError(f"Observations need names of their own, one at least. Got: {names}")
        self._sizes: list[int] = []
        self.quantities = self._described(units)

    def __call__(self) -> np.ndarray:
        """The numbers now, shape (n,).

        Raises:
            DivergedError: One of them is not finite.
        """
        each = [self._read(one) for one in self._observations]
        for one, value, size in zip(self._observations, each, self._sizes, strict=True):
            if len(value) != size:
                raise SceneError(
                    f"The observation '{one.name}' has {len(value)} numbers, at first {size}."
                )
        found = np.concatenate(each)
        if not np.isfinite(found).all():
            name = self.quantities.names[int(np.argmin(np.isfinite(found)))]
            raise DivergedError(f"The observation '{name}' is not finite.")
        return found

    def _read(self, one: Observation) -> np.ndarray:
        with asking(f"observation '{one.name}'", self._episode):
            read = one.read
            value = self._episode.read(read) if isinstance(read, str) else read(self._episode)
            if value is None:
                raise ValueError("it returned None, and no numbers")
            return np.asarray(value, dtype=float).ravel()

    def _described(self, units: Units | None) -> Quantities:
        names: list[str] = []
        symbols: list[str] = []
        bounds: list[np.ndarray] = []
        for one in self._observations:
            size = len(self._read(one))
            if not size:
                raise SceneError(f"The observation '{one.name}' has no numbers.")
            self._sizes.append(size)
            names += [one.name] if size == 1 else [f"{one.name}[{i}]" for i in range(size)]
            symbols += [symbol(units, one.unit)] * size
            try:
                each = [np.ravel(bound) for bound in (one.low, one.high)]
                bounds.append(np.array([np.broadcast_to(b, size) for b in each], dtype=float))
            except ValueError as error:
                raise SceneError(
                    f"The observation '{one.name}' has {size} numbers; low and high must be one "
                    f"number or as many. Got: {one.low!r} and {one.high!r}"
                ) from error
        low, high = np.concatenate(bounds, axis=1)
        return Quantities(tuple(names), tuple(symbols), low, high)
