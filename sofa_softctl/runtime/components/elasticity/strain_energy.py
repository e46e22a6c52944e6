"""Strain energies of materials, and their stresses and tangents at strain points."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.kernels.elasticity import hyperelastic


class StrainState(ABC):
    """Strain energy of some points at their present deformation.

    Args:
        F: Deformation gradients, shape (p, 3, 3).
        parameters: Parameters of the energy times the volume of each point [energy], shape (p, k).
    """

    rotations: np.ndarray | None = None
    """Rotations in which a time step is linear elasticity with mu and lambda, shape (p, 3, 3)."""

    def __init__(self, F: np.ndarray, parameters: np.ndarray) -> None:
        self.F, self.parameters = F, np.ascontiguousarray(parameters)

    @abstractmethod
    def energies(self) -> np.ndarray:
        """Return the energy W of each point [energy], shape (p,), zero at rest."""

    @abstractmethod
    def stresses(self) -> np.ndarray:
        """Return dW/dF of each point, shape (p, 3, 3)."""

    @abstractmethod
    def tangents(self, factor: float, out: np.ndarray, *, is_exact: bool) -> None:
        """Compute out = factor A of each point, shape (p, 9, 9), symmetric.

        Args:
            factor: Scale [-].
            out: Output.
            is_exact: Take A = d2W/dF2 instead of the stiffness of a time step.
        """

    @abstractmethod
    def add_tangent_rates(self, rates: np.ndarray, factor: float, out: np.ndarray) -> None:
        """Add factor times the derivative of A D by F, at constant D, to out.

        Args:
            rates: D of each point, shape (p, 3, 3), with A the stiffness of a time step.
            factor: Scale [-].
            out: Output, shape (p, 9, 9); symmetric only if A is exact.
        """


class StrainEnergy(ABC):
    """Strain energy W of the deformation gradient, linear in its parameters."""

    parameter_names: tuple[str, ...]
    """Names of its k parameters; the last one resists changes of volume, the others shear."""
    has_exact_steps = True
    """True if time steps take d2W/dF2, which is not positive under strong compression."""

    @abstractmethod
    def at(self, F: np.ndarray, parameters: np.ndarray) -> StrainState:
        """Return the energy of points; see `StrainState` for the arguments."""

    @abstractmethod
    def rest_moduli(self, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return shear and bulk modulus [pressure] for small strains, shapes (m,)."""

    @abstractmethod
    def parameters_of(self, shear: np.ndarray, bulk: np.ndarray) -> np.ndarray:
        """Return parameters with these moduli for small strains [pressure], shape (m, k)."""


class LameEnergy(StrainEnergy):
    """Energy with Lame's mu and lambda as its parameters."""

    parameter_names = ("mu", "lambda")

    @override
    def rest_moduli(self, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mu, lam = parameters.T
        return mu, lam + 2.0 / 3.0 * mu

    @override
    def parameters_of(self, shear: np.ndarray, bulk: np.ndarray) -> np.ndarray:
        return np.column_stack([shear, bulk - 2.0 / 3.0 * shear])


class _HyperelasticState(StrainState):
    """State of a `HyperelasticEnergy`."""

    def __init__(self, F: np.ndarray, parameters: np.ndarray, number: int) -> None:
        super().__init__(F, parameters)
        self.number = number
        self.slopes = np.empty((len(F), hyperelastic.SLOPES))
        hyperelastic.slopes(F, number, self.parameters, self.slopes)

    @override
    def energies(self) -> np.ndarray:
        out = np.empty(len(self.F))
        hyperelastic.energies(self.F, self.number, self.parameters, out)
        return out

    @override
    def stresses(self) -> np.ndarray:
        out = np.empty_like(self.F)
        hyperelastic.stresses(self.F, self.slopes, out)
        return out

    @override
    def tangents(self, factor: float, out: np.ndarray, *, is_exact: bool) -> None:
        hyperelastic.tangents(self.F, self.slopes, factor, out)

    @override
    def add_tangent_rates(self, rates: np.ndarray, factor: float, out: np.ndarray) -> None:
        from sofa_softctl.runtime.kernels.elasticity import hyperelastic_derivative

        hyperelastic_derivative.add_tangent_rates(self.F, self.slopes, rates, factor, out)


class _Hyperelastic(StrainEnergy):
    """Energy of the invariants of the deformation; see `kernels.elasticity.hyperelastic`.

    Args:
        number: Number of the material in the kernels.
    """

    def __init__(self, number: int) -> None:
        self.number = number

    @override
    def at(self, F: np.ndarray, parameters: np.ndarray) -> StrainState:
        return _HyperelasticState(F, parameters, self.number)


class _LameHyperelastic(_Hyperelastic, LameEnergy):
    """St. Venant-Kirchhoff's and neo-Hookean energies."""


class _MooneyRivlin(_Hyperelastic):
    """Energy of both isochoric invariants; from moduli, of the first only."""

    parameter_names = ("c1", "c2", "k")

    @override
    def rest_moduli(self, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        c1, c2, bulk = parameters.T
        return 2.0 * (c1 + c2), bulk

    @override
    def parameters_of(self, shear: np.ndarray, bulk: np.ndarray) -> np.ndarray:
        return np.column_stack([0.5 * shear, np.zeros_like(shear), bulk])


class _ArrudaBoyce(_Hyperelastic):
    """Energy of chains of eight links."""

    parameter_names = ("mu", "k")

    @override
    def rest_moduli(self, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mu, bulk = parameters.T
        return hyperelastic.CHAINS_AT_REST * mu, bulk

    @override
    def parameters_of(self, shear: np.ndarray, bulk: np.ndarray) -> np.ndarray:
        return np.column_stack([shear / hyperelastic.CHAINS_AT_REST, bulk])


HYPERELASTIC_ENERGIES: dict[str, StrainEnergy] = {
    "ArrudaBoyce": _ArrudaBoyce(hyperelastic.ARRUDA_BOYCE),
    "MooneyRivlin": _MooneyRivlin(hyperelastic.MOONEY_RIVLIN),
    "NeoHookean": _LameHyperelastic(hyperelastic.NEO_HOOKEAN),
    "StableNeoHookean": _LameHyperelastic(hyperelastic.STABLE_NEO_HOOKEAN),
    "StVenantKirchhoff": _LameHyperelastic(hyperelastic.ST_VENANT_KIRCHHOFF),
}
"""Hyperelastic energy of each materialName."""
