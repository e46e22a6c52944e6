"""Strain energies of materials, and their stresses and tangents at strain points."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.kernels.elasticity import hyperelastic


class StrainState(ABC):
    """Strain energy of some points at their present deformation.

    Args:
        F: Deformation gradients, shape (p, 3, 3).
        parameters: Parameters of the energy times the volume of each point [energy], shape (p, k).
    """

    def __init__(self, F: np.ndarray, parameters: np.ndarray) -> None:
        self.F, self.parameters = F, np.ascontiguousarray(parameters)

    @abstractmethod
    def energy(self) -> float:
        """Return the energy W of all points together, zero at rest."""

    @abstractmethod
    def stresses(self) -> np.ndarray:
        """Return dW/dF of each point, shape (p, 3, 3)."""

    @abstractmethod
    def tangents(self, factor: float, out: np.ndarray) -> None:
        """Compute out = factor d2W/dF2 of each point, shape (p, 9, 9)."""

    @abstractmethod
    def add_tangent_rates(self, rates: np.ndarray, factor: float, out: np.ndarray) -> None:
        """Add factor times the change of d2W/dF2 to out as F changes by `rates`, (p, 3, 3)."""


class StrainEnergy(ABC):
    """Strain energy W of the deformation gradient, linear in its parameters."""

    parameter_names: tuple[str, ...]
    """Names of its k parameters; the last one resists changes of volume, the others shear."""

    @abstractmethod
    def at(self, F: np.ndarray, parameters: np.ndarray) -> StrainState:
        """Return the energy of points; see `StrainState` for the arguments."""

    @abstractmethod
    def rest_moduli(self, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return shear and bulk modulus [pressure] for small strains, shapes (m,)."""


class _HyperelasticState(StrainState):
    """State of a `HyperelasticEnergy`."""

    def __init__(self, F: np.ndarray, parameters: np.ndarray, number: int) -> None:
        super().__init__(F, parameters)
        self.number = number
        self.slopes = np.empty((len(F), hyperelastic.SLOPES))
        hyperelastic.slopes(F, number, self.parameters, self.slopes)

    @override
    def energy(self) -> float:
        return hyperelastic.energy(self.F, self.number, self.parameters)

    @override
    def stresses(self) -> np.ndarray:
        out = np.empty_like(self.F)
        hyperelastic.stresses(self.F, self.slopes, out)
        return out

    @override
    def tangents(self, factor: float, out: np.ndarray) -> None:
        hyperelastic.tangents(self.F, self.slopes, factor, out)

    @override
    def add_tangent_rates(self, rates: np.ndarray, factor: float, out: np.ndarray) -> None:
        from sofa_softctl.runtime.kernels.elasticity import hyperelastic_derivative

        hyperelastic_derivative.add_tangent_rates(self.F, self.slopes, rates, factor, out)


@dataclass(frozen=True)
class HyperelasticEnergy(StrainEnergy):
    """Energy of the invariants of the deformation; see `kernels.elasticity.hyperelastic`."""

    number: int
    """Number of the material in the kernels."""
    parameter_names: tuple[str, ...]

    @override
    def at(self, F: np.ndarray, parameters: np.ndarray) -> StrainState:
        return _HyperelasticState(F, parameters, self.number)

    @override
    def rest_moduli(self, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.number == hyperelastic.MOONEY_RIVLIN:
            c1, c2, bulk = parameters.T
            return 2.0 * (c1 + c2), bulk
        if self.number == hyperelastic.ARRUDA_BOYCE:
            mu, bulk = parameters.T
            return hyperelastic.CHAINS_AT_REST * mu, bulk
        mu, lam = parameters.T
        return mu, lam + 2.0 / 3.0 * mu


ELASTIC_PARAMETERS = ("mu", "lambda")
"""Lame's parameters, from which Young's modulus and Poisson's ratio follow."""

HYPERELASTIC_ENERGIES = {
    "ArrudaBoyce": HyperelasticEnergy(hyperelastic.ARRUDA_BOYCE, ("mu", "k")),
    "MooneyRivlin": HyperelasticEnergy(hyperelastic.MOONEY_RIVLIN, ("c1", "c2", "k")),
    "NeoHookean": HyperelasticEnergy(hyperelastic.NEO_HOOKEAN, ELASTIC_PARAMETERS),
    "StVenantKirchhoff": HyperelasticEnergy(hyperelastic.ST_VENANT_KIRCHHOFF, ELASTIC_PARAMETERS),
    "StableNeoHookean": HyperelasticEnergy(hyperelastic.STABLE_NEO_HOOKEAN, ELASTIC_PARAMETERS),
}
"""Hyperelastic energy of each materialName."""
