"""Corotational linear elasticity on tetrahedra."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.behavior.mechanics import Pairs
from sofa_softctl.runtime.behavior.roles import ElasticForceField
from sofa_softctl.runtime.components.elasticity.moduli import (
    elastic_moduli,
    lame_parameters,
    rest_shape,
)
from sofa_softctl.runtime.components.elasticity.tetrahedral import TetrahedralForceField
from sofa_softctl.runtime.components.elasticity.von_mises_outputs import VonMisesOutputs
from sofa_softctl.runtime.core.data.types import Bool, Choice, Int, Real, Reals, Vectors
from sofa_softctl.runtime.kernels.elasticity import corotational as kernel

if TYPE_CHECKING:
    from sofa_softctl.runtime.behavior.step_term import StepTerm
    from sofa_softctl.runtime.components.elasticity.plasticity import Plasticity

_SNAPSHOT_ATTRIBUTES = ("unit_stiffness", "stiffness", "_young")


class TetrahedronFEMForceField(VonMisesOutputs, TetrahedralForceField, ElasticForceField):
    """Linear elasticity in the rotated frame of each tetrahedron.

    The stiffness omits the derivative of the rotations, as in SOFA. The rest shape is the state's
    rest_position at init. Without tetrahedra in the topology each hexahedron is cut in six.
    Departure: updateStiffnessMatrix updates all strains; with method large SOFA omits shear.

    Source: Coevoet, Escande, Duriez 2019, section III-A; SOFA's component of the same name.
    """

    aliases: ClassVar[tuple[str, ...]] = ("TetraFEMForceField", "TetrahedronFEM")
    methods: ClassVar[dict[str, int]] = {
        "small": kernel.SMALL,
        "large": kernel.LARGE,
        "polar": kernel.POLAR,
        "svd": kernel.SVD,
    }
    """Number of each method in the kernels."""
    cuts_hexahedra: ClassVar[bool] = True

    method = Choice(
        "large",
        "Rotation of an element: none, from first edges, polar or singular values.",
        choices=("small", "large", "polar", "svd"),
        follows="start",
    )
    youngModulus = Reals(
        [5000.0],
        "Young's modulus; one for all, or one per element (missing entries equal the first).",
        unit="pressure",
        per="element",
        follows="reinit",
        switch="updateStiffness",
    )
    poissonRatio = Reals(
        [0.45], "Poisson's ratio, 0 to below 0.5; as youngModulus.", per="element", follows="reinit"
    )
    localStiffnessFactor = Reals(
        [], "Factors of Young's modulus, spread over the elements.", follows="reinit"
    )
    updateStiffness = Bool(False, "Read changes of youngModulus in every step.")
    initialPoints = Vectors(3, [], "Rest shape; only a link counts.", unit="length")
    computeGlobalMatrix = Bool(False, "Unused.", aliases=("assembling",))
    updateStiffnessMatrix = Bool(False, "Measure strains on the present, not the rest shape.")
    plasticMaxThreshold = Real(
        0.0, "Largest norm of 6 V times the plastic strain; 0 for no plasticity.", unit="length^3"
    )
    plasticYieldThreshold = Real(
        0.0001, "Norm of 6 V times the elastic strain above which it creeps.", unit="length^3"
    )
    plasticCreep = Real(0.9, "Fraction of the elastic strain that becomes plastic in a step.")
    gatherPt = Int(0, "Unused.")
    gatherBsize = Int(0, "Unused.")
    drawHeterogeneousTetra = Bool(False, "Draw elements by stiffness.")
    showElementGapScale = Real(0.333, "Unused.")
    drawAsEdges = Bool(False, "Unused.")

    def init(self) -> None:
        """Prepare the elements.

        Raises:
            SceneError: there is no topology, a tetrahedron is flat, or moduli are not finite.
        """
        self.elements = self.find_elements()
        self.x0 = rest_shape(self)
        self.method_number = self.methods[self.method.get()]
        self.gradients, volumes = kernel.shape_gradients(self.x0, self.elements)
        self.volumes = np.abs(volumes)
        count = len(self.elements)
        self.frames0 = np.empty((count, 3, 3))
        kernel.rest_frames(self.x0, self.elements, self.method_number, self.frames0)
        self.rotations = np.zeros((count, 3, 3))
        self.h = np.zeros((count, 4, 3))
        self._plasticity: Plasticity | None = None
        self._check_plasticity()
        self._set_stiffness()
        self._rotate()
        self._check_stress_option()

    def _set_stiffness(self) -> None:
        young, poisson = elastic_moduli(self, len(self.elements))
        unit = self.volumes.copy()
        factors = self.localStiffnessFactor.get()
        if len(factors):
            count = len(young)
            unit *= factors[np.arange(count) * len(factors) // count]
        self.unit_stiffness = lame_parameters(poisson) * unit[:, None]  # for E = 1
        self.stiffness = self.unit_stiffness * young[:, None]
        self._young = young
        self._young_counter = self.youngModulus.getCounter()

    def reinit(self) -> None:
        """Read youngModulus and poissonRatio."""
        self._set_stiffness()

    @override
    def snapshot(self) -> dict[str, Any]:
        attributes = {
            name: getattr(self, name) for name in _SNAPSHOT_ATTRIBUTES
        }  # never written in place
        plasticity = self._plasticity
        return {**attributes, "plastic": None if plasticity is None else plasticity.strain}

    @override
    def restore(self, snapshot: dict[str, Any]) -> None:
        for name in _SNAPSHOT_ATTRIBUTES:
            setattr(self, name, snapshot[name])
        strain = snapshot["plastic"]
        self._plasticity = None if strain is None else self._create_plasticity(strain)

    def moduli(self) -> np.ndarray:
        """Return the moduli without localStiffnessFactor."""
        return self._young

    def set_moduli(self, elements: np.ndarray | slice, young: np.ndarray | float) -> None:
        """Set the moduli of some elements, shown by youngModulus."""
        moduli, stiffness = self._young.copy(), self.stiffness.copy()
        moduli[elements] = young
        stiffness[elements] = self.unit_stiffness[elements] * moduli[elements][:, None]
        self._young, self.stiffness = moduli, stiffness
        self.youngModulus.set(moduli.copy() if np.ptp(moduli) else moduli[:1].copy())
        self._young_counter = self.youngModulus.getCounter()

    def poisson_ratio(self) -> float:
        """Return Poisson's ratio of the first element."""
        return float(self.poissonRatio.get()[0])

    @override
    def set_poisson_ratio(self, value: float) -> None:
        self.poissonRatio.set([value])
        self.reinit()

    def add_force_per_modulus(self, elements: np.ndarray | slice, force: np.ndarray) -> None:
        """Add df/dE of some elements at the positions of the last `add_force`."""
        x = self.state.position.get()
        kernel.add_force(
            x,
            self.x0,
            x,
            0.0,
            self.elements[elements],
            self.rotations[elements],
            self.h[elements],
            self.unit_stiffness[elements],
            force,
        )

    def largest_force_per_modulus(self, elements: np.ndarray | slice) -> float:
        """Return the largest force on a node of some elements for E = 1 and a strain of about 1."""
        slopes = np.linalg.norm(self.gradients[elements], axis=-1).max(axis=-1)
        return float((self.unit_stiffness[elements].sum(axis=1) * slopes).max())

    def reset(self) -> None:
        """Compute the rotations of the initial state, without plastic strains."""
        self._plasticity = None
        self._rotate()

    def _rotate(self) -> None:
        x = self.state.position.get()
        kernel.rotate(
            x,
            self.x0,
            self.elements,
            self.method_number,
            self.frames0,
            self.gradients,
            self.rotations,
            self.h,
        )
        if self.updateStiffnessMatrix.get() and self.method_number != kernel.SMALL:
            gradients, volumes = kernel.shape_gradients(x, self.elements)
            np.multiply(gradients, np.abs(volumes / self.volumes)[:, None, None], out=self.h)

    @override
    def add_force(self, force: np.ndarray) -> None:
        self.add_force_and_product(force, self.state.position.get(), 0.0)

    @override
    def add_force_and_product(self, force: np.ndarray, v: np.ndarray, factor: float) -> None:
        if self.updateStiffness.get() and self.youngModulus.getCounter() != self._young_counter:
            self._set_stiffness()
        self._rotate()
        x = self.state.position.get()
        geometry = (self.elements, self.rotations, self.h)
        kernel.add_force(x, self.x0, v, factor, *geometry, self.stiffness, force)
        if self.plasticMaxThreshold.get() > 0.0:
            self._add_plastic_force(x, force)

    def _check_plasticity(self) -> None:
        if self.plasticMaxThreshold.get() > 0.0 and self.updateStiffnessMatrix.get():
            raise self.fault("has plasticMaxThreshold and updateStiffnessMatrix: choose one.")

    def _create_plasticity(self, strain: np.ndarray | None = None) -> Plasticity:
        from sofa_softctl.runtime.components.elasticity.plasticity import Plasticity

        plasticity = Plasticity(self.frames0, self.volumes)
        plasticity.strain = plasticity.strain if strain is None else strain
        return plasticity

    def _add_plastic_force(self, x: np.ndarray, force: np.ndarray) -> None:
        from sofa_softctl.runtime.kernels.elasticity import von_mises as stresses

        self._check_plasticity()
        if self._plasticity is None:
            self._plasticity = self._create_plasticity()
        F = stresses.deformation_gradients(x, self.elements, self.gradients)
        self._plasticity.flow(
            stresses.corotational_strain(F, self.rotations),
            self.plasticYieldThreshold.get(),
            self.plasticMaxThreshold.get(),
            self.plasticCreep.get(),
        )
        geometry = (self.elements, self.rotations, self.gradients)
        self._plasticity.add_force(*geometry, self.stiffness, force)

    @override
    def add_product(self, out: np.ndarray, v: np.ndarray, factor: float) -> None:
        kernel.add_product(v, self.elements, self.h, self.stiffness, factor, out)

    @override
    def pairs(self) -> Pairs:
        return kernel.element_pairs(self.elements)

    @override
    def add_matrix(self, values: np.ndarray, slots: np.ndarray, factor: float) -> None:
        kernel.add_matrix(self.h, self.stiffness, factor, slots.reshape(-1, 10), values)
        if self.exact_tangent:
            from sofa_softctl.runtime.kernels.elasticity import corotational_tangent as tangent

            self._spins = self._rotation_derivatives()
            tangent.add_turning_matrix(*self._spins, 1.0, factor, slots.reshape(-1, 10), values)

    @override
    def check_differentiable(self) -> None:
        if self.method_number == kernel.SVD:
            raise self.fault("has method 'svd', which is not smooth: use 'large' or 'polar'.")
        if self.updateStiffnessMatrix.get():
            raise self.fault("has updateStiffnessMatrix: its derivative is not known, set it off.")
        if self.plasticMaxThreshold.get() > 0.0:
            raise self.fault("has plasticMaxThreshold: derivatives of plasticity are not known.")

    @override
    def step_term(self) -> StepTerm:
        from sofa_softctl.runtime.components.elasticity.corotational_term import CorotationalTerm

        return CorotationalTerm(self)

    @property
    @override
    def skew(self) -> bool:  # type: ignore[override]
        return self.method_number not in (kernel.SMALL, kernel.GRADIENT)

    @override
    def add_skew_matrix(self, values: np.ndarray, slots: np.ndarray) -> None:
        from sofa_softctl.runtime.kernels.elasticity import corotational_tangent as tangent

        tangent.add_turning_matrix(*self._spins, -1.0, 1.0, slots.reshape(-1, 10), values)

    def _rotation_derivatives(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the rotations' derivative and its effect on forces; see corotational_tangent."""
        from sofa_softctl.runtime.kernels.elasticity import corotational_tangent as tangent

        B, G = np.empty((2, len(self.elements), 4, 3, 3))
        x = self.state.position.get()
        tangent.tangent_factors(
            x,
            self.x0,
            self.elements,
            self.method_number,
            self.frames0,
            self.rotations,
            self.h,
            self.stiffness,
            B,
            G,
        )
        return B, G
