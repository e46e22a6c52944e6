"""Von Mises stresses as outputs of corotational tetrahedra."""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.source_line import describe
from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.types import Bool, Int, Real, Reals, Text
from sofa_softctl.runtime.helper import message
from sofa_softctl.runtime.kernels.elasticity import corotational as kernel

_STRESS_MIN = 1e-10
"""Smaller von Mises stresses are 0, in any unit [pressure], as in SOFA."""


class VonMisesOutputs(Component):
    """Stresses of elements and nodes of a TetrahedronFEMForceField, computed on demand."""

    computeVonMisesStress = Int(
        0, "Von Mises stresses: 0 none, 1 of SOFA's corotational strain, 2 of Green's strain."
    )
    vonMisesPerElement = Reals([], "Stress of each element.", unit="pressure", computed=True)
    vonMisesPerNode = Reals([], "Mean stress around each node.", unit="pressure", computed=True)
    showVonMisesStressPerElement = Bool(False, "Unused.")
    showVonMisesStressPerNodeColorMap = Bool(False, "Unused.")
    vonMisesStressColors = Reals([], "Unused.")
    showStressColorMap = Text("Blue to Red", "Unused.")
    showStressAlpha = Real(1.0, "Unused.")
    showVonMisesStressPerNode = Bool(False, "Unused.")

    elements: np.ndarray
    gradients: np.ndarray
    volumes: np.ndarray
    stiffness: np.ndarray
    rotations: np.ndarray
    frames0: np.ndarray
    h: np.ndarray
    x0: np.ndarray
    method_number: int

    def _stress_option(self) -> int:
        """Return the kind of von Mises stresses, see `computeVonMisesStress`."""
        return self.computeVonMisesStress.get()

    def _check_stress_option(self) -> None:
        option = self._stress_option()
        if option not in (0, 1, 2):
            raise self.fault(f"needs computeVonMisesStress 0, 1 or 2, got {option}.")
        if option == 1 and self.method_number == kernel.SMALL:
            raise self.fault(
                "has no rotations for computeVonMisesStress=1, because its method is "
                f"'{self.method.get()}': take computeVonMisesStress=2, Green's strain."
            )
        if option == 1 and self.method_number != kernel.GRADIENT:
            message.warning(
                self,
                f"{describe(self._where)}: computeVonMisesStress=1 gives SOFA's numbers, which "
                "mix two frames and depend on the order of an element's vertices. Take 2 for "
                "stresses of Green's strain.",
            )

    def update_outputs(self) -> None:
        """Compute von Mises stresses of the present positions, if enabled.

        Departure: SOFA computes them at the end of a step. The results differ only after positions
        are set by hand.
        """
        option = self._stress_option()
        if not (option and self._initialised):
            return
        from sofa_softctl.runtime.kernels.elasticity import von_mises as stresses

        x = self.state.position.get()
        F = stresses.deformation_gradients(x, self.elements, self.gradients)
        strain = stresses.green_strain(F) if option == 2 else self._sofa_strain(x, F)
        lame = self.stiffness / self.volumes[:, None]
        stress = stresses.von_mises(stresses.linear_stress(strain, lame))
        stress[stress < _STRESS_MIN] = 0.0
        self.vonMisesPerElement.set(stress)
        nodes = stresses.mean_at_nodes(stress, self.elements, len(x))
        self.vonMisesPerNode.set(nodes)

    def _sofa_strain(self, x: np.ndarray, F: np.ndarray) -> np.ndarray:
        """Return the strain of computeVonMisesStress=1, where SOFA uses 'polar' for 'svd'."""
        from sofa_softctl.runtime.kernels.elasticity import von_mises as stresses

        method = kernel.POLAR if self.method_number == kernel.SVD else self.method_number
        rotations, h = np.empty_like(self.rotations), np.empty_like(self.h)
        elements, frames = self.elements, self.frames0
        kernel.rotate(x, self.x0, elements, method, frames, self.gradients, rotations, h)
        return stresses.sofa_corotational_strain(F, rotations, frames)
