"""Data type of the mass of rigid bodies: mass, volume and inertia in one text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.core.data import reading
from sofa_softctl.runtime.core.data.types import DataType


@dataclass(frozen=True)
class RigidMass:
    """Mass and inertia of a rigid body about its centre."""

    mass: float = 1.0
    """Mass [mass]."""
    volume: float = 1.0
    """Volume [length^3], not used."""
    inertia: tuple[float, ...] = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
    """Inertia matrix by rows, divided by the mass [length^2]."""

    @staticmethod
    def of(text: str) -> RigidMass:
        """Read numbers: the mass, or mass, volume and the nine of the inertia matrix.

        Raises:
            ValueError: there are neither 1 nor 11 numbers.
        """
        numbers = [float(token) for token in re.split(r"[\s,\[\]]+", text) if token]
        if len(numbers) == 1:
            return RigidMass(numbers[0])
        if len(numbers) != 11:
            raise ValueError(f"{len(numbers)} numbers")
        return RigidMass(numbers[0], numbers[1], tuple(numbers[2:]))

    def __str__(self) -> str:
        rows = np.reshape(self.inertia, (3, 3)).tolist()
        matrix = ",".join(" ".join(_short(value) for value in row) for row in rows)
        return f"{_short(self.mass)} {_short(self.volume)} [{matrix}]"

    def moment(self) -> np.ndarray:
        """Return the inertia matrix times mass [mass length^2], shape (3, 3)."""
        return self.mass * np.reshape(self.inertia, (3, 3))


class RigidMassData(DataType):
    """A RigidMass; scripts see SOFA's text 'mass volume [inertia matrix]'."""

    @override
    def convert(self, value: Any, owner: Any) -> str:
        if not isinstance(value, str):
            value = reading.text(value)  # nested to any depth
        return str(RigidMass.of(value))

    @override
    def expectation(self, owner: Any) -> str:
        return "takes a mass, or mass, volume and the nine numbers of the inertia matrix"

    @override
    def sofa_name(self, owner: Any) -> str:
        return "RigidMass3d"


class NodeMass(RigidMassData):
    """The mass of a node: one number, for bodies a RigidMass."""

    @override
    def convert(self, value: Any, owner: Any) -> Any:
        rigid = RigidMass.of(super().convert(value, owner))
        plain = RigidMass(rigid.mass)
        return rigid.mass if rigid == plain else str(rigid)

    @override
    def expectation(self, owner: Any) -> str:
        return "takes one number, for bodies also mass, volume and nine numbers of inertia"

    @override
    def sofa_name(self, owner: Any) -> str:
        return "d"


def _short(value: float) -> str:
    return repr(float(value)).removesuffix(".0")
