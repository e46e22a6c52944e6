"""Parameters of a time step: of materials, damping, mass.

Each returns its derivative of r = M v + h f + H^T lam - A w: a vector for the forward direction, a
sum over time steps for the backward direction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from sofa_softctl.runtime.behavior.mechanics import Mass
from sofa_softctl.runtime.behavior.roles import (
    ElasticForceField,
    HyperelasticForceField,
    SolidForceField,
)


@dataclass(eq=False)
class ParameterDerivatives:
    """Derivatives of sum(y . r) over steps, which determine derivatives by all parameters."""

    stiffness: dict[int, np.ndarray] = field(default_factory=dict)
    """Derivatives by stiffnesses of each force field's term, by the field's id; see StepTerm."""
    mass: dict[int, float] = field(default_factory=dict)
    """Derivatives by the relative change of each mass, by its id."""
    node_mass: np.ndarray = field(default_factory=lambda: np.zeros(0))
    """Derivatives by a mass added to each node, shape (n,)."""
    rayleigh_mass: float = 0.0
    """Derivative by the integrator's rayleighMass."""
    rayleigh_stiffness: float = 0.0
    """Derivative by the integrator's rayleighStiffness."""


class StepResidual(Protocol):
    """Derivatives of a step's residual r, to combine to derivatives by parameters, (n, 3)."""

    def by_stiffness(self, field: Any, change: np.ndarray) -> np.ndarray:
        """Return dr for a change of the stiffnesses of a field's term; see StepTerm."""

    def by_mass(self, mass: Mass) -> np.ndarray:
        """Return dr for a relative change of a mass."""

    def by_node_mass(self, masses: np.ndarray) -> np.ndarray:
        """Return dr for masses added to the nodes, shape (n,)."""

    def by_rayleigh_mass(self) -> np.ndarray:
        """Return the derivative by the integrator's rayleighMass."""

    def by_rayleigh_stiffness(self) -> np.ndarray:
        """Return the derivative by the integrator's rayleighStiffness."""


class StepParameter(Protocol):
    """Number on which steps depend."""

    def get(self) -> float:
        """Return the present value in the scene."""

    def set(self, value: float) -> None:
        """Change it in the scene."""

    def allowed(self, value: float) -> bool:
        """Return True if a step can be made with this value."""

    def residual(self, step: StepResidual) -> np.ndarray:
        """Return dr/d(parameter) for the last `set_step`, shape (n, 3)."""

    def collect(self, sums: ParameterDerivatives) -> float:
        """Return the derivative by this parameter."""


@runtime_checkable
class Region(StepParameter, Protocol):
    """Parameter of some elements of a field."""

    @property
    def field(self) -> SolidForceField:
        """Field of the elements."""

    @property
    def elements(self) -> np.ndarray:
        """Indices of the elements, shape (k,)."""

    @property
    def quantity(self) -> str:
        """Name of the parameter, as in messages."""

    @property
    def sets(self) -> tuple[int, ...]:
        """Indices of an element's parameters that it sets; regions must not set the same one."""

    def values(self) -> np.ndarray:
        """Return the parameter in all elements of the field, shape (m,)."""


class Moduli:
    """Young's modulus of some elements of a field; r is linear in it.

    Args:
        field: Field of the elements.
        elements: Indices of the elements, shape (k,).
    """

    quantity = "Young's modulus"
    sets = (0,)

    def __init__(self, field: ElasticForceField, elements: np.ndarray) -> None:
        self.field, self.elements = field, np.asarray(elements, dtype=int)

    def get(self) -> float:
        """Return the present value in the scene."""
        return float(self.field.moduli()[self.elements[0]])

    def set(self, value: float) -> None:
        """Change it in the scene."""
        self.field.set_moduli(self.elements, value)

    def values(self) -> np.ndarray:
        """Return the parameter in all elements of the field, shape (m,)."""
        return self.field.moduli()

    def allowed(self, value: float) -> bool:
        """Return True if a step can be made with this value."""
        return 0.0 <= value < np.inf

    def change(self) -> np.ndarray:
        """Return the derivative of V lambda and V mu of all elements, shape (m, 2)."""
        by_modulus = np.zeros_like(self.field.unit_stiffness)
        by_modulus[self.elements] = self.field.unit_stiffness[self.elements]
        return by_modulus

    def residual(self, step: StepResidual) -> np.ndarray:
        """Return dr/d(parameter) for the last `set_step`, shape (n, 3)."""
        return step.by_stiffness(self.field, self.change())

    def collect(self, sums: ParameterDerivatives) -> float:
        """Return the derivative by this parameter."""
        by_stiffness = sums.stiffness[id(self.field)][self.elements]
        return float(np.vdot(by_stiffness, self.field.unit_stiffness[self.elements]))


class MaterialParameter:
    """Parameter of a strain energy in some elements; r is linear in it.

    Args:
        field: Field of the elements.
        number: Index of the parameter.
        elements: Indices of the elements, shape (k,).
    """

    def __init__(self, field: HyperelasticForceField, number: int, elements: np.ndarray) -> None:
        self.field, self.number = field, number
        self.elements = np.asarray(elements, dtype=int)
        self.quantity = f"'{field.parameter_names[number]}'"
        self.sets = (number,)

    def get(self) -> float:
        """Return the present value in the scene."""
        return float(self.values()[self.elements[0]])

    def set(self, value: float) -> None:
        """Change it in the scene."""
        rows = self.field.parameters[self.elements]
        rows[:, self.number] = value
        self.field.set_parameters(self.elements, rows)

    def values(self) -> np.ndarray:
        """Return the parameter in all elements of the field, shape (m,)."""
        return self.field.parameters[:, self.number]

    def allowed(self, value: float) -> bool:
        """Return True if a step can be made with this value."""
        return 0.0 <= value < np.inf

    def residual(self, step: StepResidual) -> np.ndarray:
        """Return dr/d(parameter) for the last `set_step`, shape (n, 3)."""
        change = np.zeros_like(self.field.parameters)
        change[self.elements, self.number] = 1.0
        return step.by_stiffness(self.field, change)

    def collect(self, sums: ParameterDerivatives) -> float:
        """Return the derivative by this parameter."""
        return float(sums.stiffness[id(self.field)][self.elements, self.number].sum())


class RestModulus:
    """Young's modulus at rest of a strain energy, as a scale of all its parameters.

    Poisson's ratio at rest and the ratios of the parameters stay. r is linear in it.

    Args:
        field: Field of the elements.
        elements: Indices of the elements, shape (k,).
    """

    quantity = "Young's modulus"

    def __init__(self, field: HyperelasticForceField, elements: np.ndarray) -> None:
        self.field, self.elements = field, np.asarray(elements, dtype=int)
        self.sets = tuple(range(len(field.parameter_names)))

    def get(self) -> float:
        """Return the present value in the scene."""
        return float(self.values()[self.elements[0]])

    def set(self, value: float) -> None:
        """Change it in the scene."""
        self.field.set_moduli(self.elements, value)

    def values(self) -> np.ndarray:
        """Return the parameter in all elements of the field, shape (m,)."""
        return self.field.moduli()

    def allowed(self, value: float) -> bool:
        """Return True if a step can be made with this value."""
        return 0.0 < value < np.inf

    def residual(self, step: StepResidual) -> np.ndarray:
        """Return dr/d(parameter) for the last `set_step`, shape (n, 3)."""
        change = np.zeros_like(self.field.parameters)
        change[self.elements] = self._units()
        return step.by_stiffness(self.field, change)

    def collect(self, sums: ParameterDerivatives) -> float:
        """Return the derivative by this parameter."""
        return float(np.vdot(sums.stiffness[id(self.field)][self.elements], self._units()))

    def _units(self) -> np.ndarray:
        """Return parameters of the elements for a modulus of 1, shape (k, number of parameters)."""
        rows: np.ndarray = self.field.parameters[self.elements]
        return rows / self.values()[self.elements, None]


class PoissonRatio:
    """Poisson's ratio of all elements of a field."""

    def __init__(self, elastic: ElasticForceField) -> None:
        self.elastic = elastic

    def get(self) -> float:
        """Return the present value in the scene."""
        return self.elastic.poisson_ratio()

    def set(self, value: float) -> None:
        """Change it in the scene."""
        self.elastic.set_poisson_ratio(float(value))

    def allowed(self, value: float) -> bool:
        """Return True if a step can be made with this value."""
        return 0.0 <= value < 0.5

    def change(self) -> np.ndarray:
        """Return the derivative of V lambda and V mu, shape (m, 2).

        lambda = E nu / ((1 + nu)(1 - 2 nu)), mu = E / (2 (1 + nu)).
        """
        nu = self.get()
        lam = (1.0 + 2.0 * nu**2) / ((1.0 + nu) * (1.0 - 2.0 * nu)) ** 2
        mu = -0.5 / (1.0 + nu) ** 2
        size = self.elastic.stiffness[:, 1] * 2.0 * (1.0 + nu)  # V E
        return size[:, None] * np.array([lam, mu])

    def residual(self, step: StepResidual) -> np.ndarray:
        """Return dr/d(parameter) for the last `set_step`, shape (n, 3)."""
        return step.by_stiffness(self.elastic, self.change())

    def collect(self, sums: ParameterDerivatives) -> float:
        """Return the derivative by this parameter."""
        return float(np.vdot(sums.stiffness[id(self.elastic)], self.change()))


class RestPoissonRatio:
    """Poisson's ratio at rest of a strain energy in all elements; Young's modulus stays.

    Args:
        field: Field of the elements.
    """

    def __init__(self, field: HyperelasticForceField) -> None:
        self.field = field

    def get(self) -> float:
        """Return the present value in the scene, that of the first element."""
        shear, bulk = (float(modulus[0]) for modulus in self.field.rest_moduli())
        return (3.0 * bulk - 2.0 * shear) / (2.0 * (3.0 * bulk + shear))

    def set(self, value: float) -> None:
        """Change it in the scene."""
        young = self.field.moduli()
        shear, bulk = 0.5 * young / (1.0 + value), young / (3.0 * (1.0 - 2.0 * value))
        self.field.set_parameters(slice(None), self.field.parameters_for(shear, bulk))

    def allowed(self, value: float) -> bool:
        """Return True if a step can be made with this value."""
        return 0.0 <= value < 0.5

    def change(self) -> np.ndarray:
        """Return the derivative of the parameters of all elements, shape (m, k)."""
        young, nu = self.field.moduli(), self.get()
        shear = -0.5 * young / (1.0 + nu) ** 2
        return self.field.parameters_for(shear, 2.0 / 3.0 * young / (1.0 - 2.0 * nu) ** 2)

    def residual(self, step: StepResidual) -> np.ndarray:
        """Return dr/d(parameter) for the last `set_step`, shape (n, 3)."""
        return step.by_stiffness(self.field, self.change())

    def collect(self, sums: ParameterDerivatives) -> float:
        """Return the derivative by this parameter."""
        return float(np.vdot(sums.stiffness[id(self.field)], self.change()))


class TotalMass:
    """Total mass of a mass, by its Data totalMass; its distribution stays."""

    def __init__(self, mass: Mass) -> None:
        self.mass, self.total = mass, mass.totalMass

    def get(self) -> float:
        """Return the present value in the scene."""
        return float(self.total.get())

    def set(self, value: float) -> None:
        """Change it in the scene."""
        self.mass.scale(float(value) / self.get())
        self.total.set(float(value))

    def allowed(self, value: float) -> bool:
        """Return True if a step can be made with this value."""
        return 0.0 < value < np.inf

    def residual(self, step: StepResidual) -> np.ndarray:
        """Return dr/d(parameter) for the last `set_step`, shape (n, 3)."""
        return step.by_mass(self.mass) / self.get()

    def collect(self, sums: ParameterDerivatives) -> float:
        """Return the derivative by this parameter."""
        return sums.mass[id(self.mass)] / self.get()


class Payload:
    """Mass of a load that nodes carry, each a fixed fraction of it; r is linear in it.

    Args:
        masses: Diagonal masses of the load in the scene, with the rows of their states' nodes.
        fractions: Fraction of the load at each node [-], shape (n,), sum 1.
    """

    def __init__(self, masses: Sequence[tuple[Any, slice]], fractions: np.ndarray) -> None:
        self.masses, self.fractions = list(masses), fractions
        self.value = 0.0

    def get(self) -> float:
        """Return the present value in the scene."""
        return self.value

    def set(self, value: float) -> None:
        """Change it in the scene."""
        self.value = float(value)
        for mass, rows in self.masses:
            mass.vertexMass.value = self.value * self.fractions[rows]

    def allowed(self, value: float) -> bool:
        """Return True if a step can be made with this value."""
        return 0.0 <= value < np.inf

    def residual(self, step: StepResidual) -> np.ndarray:
        """Return dr/d(parameter) for the last `set_step`, shape (n, 3)."""
        return step.by_node_mass(self.fractions)

    def collect(self, sums: ParameterDerivatives) -> float:
        """Return the derivative by this parameter."""
        return float(self.fractions @ sums.node_mass)


class RayleighMass:
    """The integrator's damping in proportion to the mass."""

    def __init__(self, ode: Any) -> None:
        self.ode = ode

    def get(self) -> float:
        """Return the present value in the scene."""
        return float(self.ode.rayleighMass.get())

    def set(self, value: float) -> None:
        """Change it in the scene."""
        self.ode.rayleighMass.set(float(value))

    def allowed(self, value: float) -> bool:
        """Return True if a step can be made with this value."""
        return 0.0 <= value < np.inf

    def residual(self, step: StepResidual) -> np.ndarray:
        """Return dr/d(parameter) for the last `set_step`, shape (n, 3)."""
        return step.by_rayleigh_mass()

    def collect(self, sums: ParameterDerivatives) -> float:
        """Return the derivative by this parameter."""
        return sums.rayleigh_mass


class RayleighStiffness:
    """The integrator's damping in proportion to the stiffness."""

    def __init__(self, ode: Any) -> None:
        self.ode = ode

    def get(self) -> float:
        """Return the present value in the scene."""
        return float(self.ode.rayleighStiffness.get())

    def set(self, value: float) -> None:
        """Change it in the scene."""
        self.ode.rayleighStiffness.set(float(value))

    def allowed(self, value: float) -> bool:
        """Return True if a step can be made with this value."""
        return 0.0 <= value < np.inf

    def residual(self, step: StepResidual) -> np.ndarray:
        """Return dr/d(parameter) for the last `set_step`, shape (n, 3)."""
        return step.by_rayleigh_stiffness()

    def collect(self, sums: ParameterDerivatives) -> float:
        """Return the derivative by this parameter."""
        return sums.rayleigh_stiffness
