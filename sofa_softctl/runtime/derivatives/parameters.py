"""Parameters of a time step: moduli, Poisson's ratio, damping, mass.

Each gives its derivative of r = M v + h f + H^T lam - A w: a vector for the forward direction, a
sum over time steps for the backward one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from sofa_softctl.runtime.behavior.elasticity import ElasticForceField
from sofa_softctl.runtime.behavior.mechanics import Mass

if TYPE_CHECKING:
    from sofa_softctl.runtime.derivatives.step_derivative import StepDerivative


@dataclass(eq=False)
class Sums:
    """Derivatives of sum(y . r) over steps, from which those by all parameters follow."""

    stiffness: dict[int, np.ndarray] = field(default_factory=dict)
    """By the stiffnesses of each force field's term, by the field's id; see StepTerm."""
    mass: dict[int, float] = field(default_factory=dict)
    """By the relative change of each mass, by its id."""
    rayleigh_mass: float = 0.0
    """By the integrator's rayleighMass."""
    rayleigh_stiffness: float = 0.0
    """By the integrator's rayleighStiffness."""


class StepParameter(Protocol):
    """One number on which steps depend."""

    def get(self) -> float:
        """Its present value in the scene."""

    def set(self, value: float) -> None:
        """Change it in the scene."""

    def allowed(self, value: float) -> bool:
        """Whether a step can be taken with that value."""

    def residual(self, step: StepDerivative) -> np.ndarray:
        """dr/d(parameter) for the step of the last `at`, shape (n, 3)."""

    def collect(self, sums: Sums) -> float:
        """The derivative by it."""


class Moduli:
    """Young's modulus of some elements of a field; r is linear in it.

    Args:
        elastic: The field.
        elements: Their numbers, shape (k,).
    """

    def __init__(self, elastic: ElasticForceField, elements: np.ndarray) -> None:
        self.elastic, self.elements = elastic, np.asarray(elements, dtype=int)

    def get(self) -> float:
        """See StepParameter."""
        return float(self.elastic.moduli()[self.elements[0]])

    def set(self, value: float) -> None:
        """See StepParameter."""
        self.elastic.set_moduli(self.elements, value)

    def allowed(self, value: float) -> bool:
        """See StepParameter."""
        return 0.0 <= value < np.inf

    def change(self) -> np.ndarray:
        """Derivative of V lambda and V mu of all elements, shape (m, 2)."""
        found = np.zeros_like(self.elastic.unit_stiffness)
        found[self.elements] = self.elastic.unit_stiffness[self.elements]
        return found

    def residual(self, step: StepDerivative) -> np.ndarray:
        """See StepParameter."""
        return step.by_stiffness(self.elastic, self.change())

    def collect(self, sums: Sums) -> float:
        """See StepParameter."""
        found = sums.stiffness[id(self.elastic)][self.elements]
        return float(np.vdot(found, self.elastic.unit_stiffness[self.elements]))


class PoissonRatio:
    """Poisson's ratio of all elements of a field."""

    def __init__(self, elastic: ElasticForceField) -> None:
        self.elastic = elastic

    def get(self) -> float:
        """See StepParameter."""
        return self.elastic.poisson_ratio()

    def set(self, value: float) -> None:
        """See StepParameter."""
        self.elastic.set_poisson_ratio(float(value))

    def allowed(self, value: float) -> bool:
        """See StepParameter."""
        return 0.0 <= value < 0.5

    def change(self) -> np.ndarray:
        """As for Moduli: lambda = E nu / ((1 + nu)(1 - 2 nu)), mu = E / (2 (1 + nu))."""
        nu = self.get()
        lam = (1.0 + 2.0 * nu**2) / ((1.0 + nu) * (1.0 - 2.0 * nu)) ** 2
        mu = -0.5 / (1.0 + nu) ** 2
        size = self.elastic.stiffness[:, 1] * 2.0 * (1.0 + nu)  # V E
        return size[:, None] * np.array([lam, mu])

    def residual(self, step: StepDerivative) -> np.ndarray:
        """See StepParameter."""
        return step.by_stiffness(self.elastic, self.change())

    def collect(self, sums: Sums) -> float:
        """See StepParameter."""
        return float(np.vdot(sums.stiffness[id(self.elastic)], self.change()))


class TotalMass:
    """A mass as a whole, by its Data totalMass; its distribution stays."""

    def __init__(self, mass: Mass) -> None:
        self.mass, self.total = mass, mass._data["totalMass"]

    def get(self) -> float:
        """See StepParameter."""
        return float(self.total.get())

    def set(self, value: float) -> None:
        """See StepParameter."""
        self.mass.scale(float(value) / self.get())
        self.total.set(float(value))

    def allowed(self, value: float) -> bool:
        """See StepParameter."""
        return 0.0 < value < np.inf

    def residual(self, step: StepDerivative) -> np.ndarray:
        """See StepParameter."""
        return step.by_mass(self.mass) / self.get()

    def collect(self, sums: Sums) -> float:
        """See StepParameter."""
        return sums.mass[id(self.mass)] / self.get()


class RayleighMass:
    """The integrator's damping in proportion to the mass."""

    def __init__(self, ode: Any) -> None:
        self.ode = ode

    def get(self) -> float:
        """See StepParameter."""
        return float(self.ode.rayleighMass.get())

    def set(self, value: float) -> None:
        """See StepParameter."""
        self.ode.rayleighMass.set(float(value))

    def allowed(self, value: float) -> bool:
        """See StepParameter."""
        return 0.0 <= value < np.inf

    def residual(self, step: StepDerivative) -> np.ndarray:
        """See StepParameter."""
        return step.by_rayleigh_mass()

    def collect(self, sums: Sums) -> float:
        """See StepParameter."""
        return sums.rayleigh_mass


class RayleighStiffness:
    """The integrator's damping in proportion to the stiffness."""

    def __init__(self, ode: Any) -> None:
        self.ode = ode

    def get(self) -> float:
        """See StepParameter."""
        return float(self.ode.rayleighStiffness.get())

    def set(self, value: float) -> None:
        """See StepParameter."""
        self.ode.rayleighStiffness.set(float(value))

    def allowed(self, value: float) -> bool:
        """See StepParameter."""
        return 0.0 <= value < np.inf

    def residual(self, step: StepDerivative) -> np.ndarray:
        """See StepParameter."""
        return step.by_rayleigh_stiffness()

    def collect(self, sums: Sums) -> float:
        """See StepParameter."""
        return sums.rayleigh_stiffness
