"""Corotational linear elasticity as a strain energy."""

from __future__ import annotations

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.components.elasticity.strain_energy import LameEnergy, StrainState
from sofa_softctl.runtime.kernels.elasticity import corotational_energy as kernel


class _CorotationalState(StrainState):
    """State of a `CorotationalEnergy`."""

    def __init__(self, F: np.ndarray, parameters: np.ndarray) -> None:
        super().__init__(F, parameters)
        self.rotations: np.ndarray = np.empty_like(F)
        kernel.rotate(F, self.rotations)

    @override
    def energies(self) -> np.ndarray:
        out = np.empty(len(self.F))
        kernel.energies(self.F, self.rotations, self.parameters, out)
        return out

    @override
    def stresses(self) -> np.ndarray:
        out = np.empty_like(self.F)
        kernel.stresses(self.F, self.rotations, self.parameters, out)
        return out

    @override
    def tangents(self, factor: float, out: np.ndarray, *, is_exact: bool) -> None:
        kernel.tangents(self.F, self.rotations, self.parameters, factor, is_exact, out)

    @override
    def add_tangent_rates(self, rates: np.ndarray, factor: float, out: np.ndarray) -> None:
        kernel.add_tangent_rates(self.F, self.rotations, self.parameters, rates, factor, out)


class CorotationalEnergy(LameEnergy):
    """Linear elasticity in the rotated frame of each point."""

    has_exact_steps = False

    @override
    def at(self, F: np.ndarray, parameters: np.ndarray) -> StrainState:
        return _CorotationalState(F, parameters)
