"""Term of a force field in the residual of a time step, with its derivatives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
from typing_extensions import override


class StepTerm(ABC):
    """Term of a force field in the residual of a linearly implicit time step.

    The step solves r = 0 for w, the velocity at its end. A field with forces f(x) and the stiffness
    K(x) of its `add_product`, which may differ from -df/dx, has

        r(x) = h f(x) - h (h + beta) K(x) w.

    Derivatives are at constant w. All vectors belong to the field's state of n nodes.
    """

    stiffness_shape: tuple[int, ...] = (0,)
    """Shape of the stiffnesses by which r can be differentiated, none by default."""

    @abstractmethod
    def at(self, x: np.ndarray, w: np.ndarray, h: float, beta: float) -> None:
        """Set the step; the field's last `add_force` was at its start.

        Args:
            x: Positions at the start [length], shape (n, 3).
            w: Velocities at the end [length/time], shape (n, 3).
            h: Time step [time].
            beta: The integrator's rayleighStiffness [time].
        """

    @abstractmethod
    def add_by_positions(self, dx: np.ndarray, out: np.ndarray) -> None:
        """Add dr/dx dx to out, both of shape (p, n, 3), for p directions."""

    @abstractmethod
    def add_transposed(self, y: np.ndarray, out: np.ndarray, by_stiffness: np.ndarray) -> None:
        """Add (dr/dx)^T y to out, shapes (n, 3), and d(y . r)/d(stiffness) to by_stiffness."""

    def add_by_stiffness(self, change: np.ndarray, out: np.ndarray) -> None:
        """Add dr for a change of the stiffnesses to out, shapes `stiffness_shape` and (n, 3).

        Raises:
            NotImplementedError: It has no stiffnesses, as by default.
        """
        raise NotImplementedError(f"{type(self).__name__} has no derivative by stiffnesses.")


class ConstantStiffnessTerm(StepTerm):
    """Term of forces with a constant, symmetric stiffness K = -df/dx: dr = -h K dx.

    Args:
        add_product: The force field's add_product: out += factor K v.
    """

    def __init__(self, add_product: Callable[[np.ndarray, np.ndarray, float], None]) -> None:
        self.add_product = add_product

    @override
    def at(self, x: np.ndarray, w: np.ndarray, h: float, beta: float) -> None:
        del x, w, beta  # K is constant
        self.h = h

    @override
    def add_by_positions(self, dx: np.ndarray, out: np.ndarray) -> None:
        for direction, change in zip(dx, out, strict=True):
            self.add_product(change, direction, -self.h)

    @override
    def add_transposed(self, y: np.ndarray, out: np.ndarray, by_stiffness: np.ndarray) -> None:
        del by_stiffness  # there are none
        self.add_product(out, y, -self.h)
