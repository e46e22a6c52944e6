"""Hyperelasticity on tetrahedra."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sofa_softctl.runtime.behavior.mechanics import Pairs
from sofa_softctl.runtime.behavior.step_term import StepTerm
from sofa_softctl.runtime.components.elasticity.hyperelastic_term import HyperelasticTerm
from sofa_softctl.runtime.components.elasticity.tetrahedral import TetrahedralForceField
from sofa_softctl.runtime.core.data.types import Bool, Choice, Reals, Vectors
from sofa_softctl.runtime.kernels.elasticity import hyperelastic as kernel
from sofa_softctl.runtime.kernels.elasticity.corotational import element_pairs, shape_gradients


@dataclass(frozen=True)
class Material:
    """A strain energy that the kernels know."""

    number: int
    """Its number in kernels/hyperelastic."""
    parameters: tuple[str, ...]
    """What ParameterSet holds, in this order."""


class TetrahedronHyperelasticityFEMForceField(TetrahedralForceField):
    """Elasticity from a strain energy, for large strains; the stiffness is its exact derivative.

    Rest shape: the state's rest_position at init. ParameterSet is read at init and reinit. An
    element that is turned inside out has no energy in NeoHookean and MooneyRivlin: its forces are
    NaN, and the step ends with DivergedError; StableNeoHookean can be turned back.

    Source: Bonet and Wood 2008, chapters 6 and 9; StableNeoHookean: Smith, de Goes, Kim 2018;
    parameters are those of SOFA's component of the same name.
    """

    exact_tangent = True
    materials: ClassVar[dict[str, Material]] = {
        "MooneyRivlin": Material(kernel.MOONEY_RIVLIN, ("c1", "c2", "k")),
        "NeoHookean": Material(kernel.NEO_HOOKEAN, ("mu", "lambda")),
        "StVenantKirchhoff": Material(kernel.ST_VENANT_KIRCHHOFF, ("mu", "lambda")),
        "StableNeoHookean": Material(kernel.STABLE_NEO_HOOKEAN, ("mu", "lambda")),
    }

    materialName = Choice(
        "ArrudaBoyce",
        "Strain energy: MooneyRivlin, NeoHookean, StVenantKirchhoff or StableNeoHookean.",
        choices=(
            "ArrudaBoyce",
            "Costa",
            "MooneyRivlin",
            "NeoHookean",
            "Ogden",
            "StVenantKirchhoff",
            "VerondaWestman",
            "StableNeoHookean",
        ),
    )
    ParameterSet = Reals(
        [],
        "Parameters of the material: mu and lambda (Lame's), or c1, c2 and k of MooneyRivlin.",
        unit="pressure",
    )
    AnisotropyDirections = Vectors(3, [], "Unused: the materials are isotropic.")
    matrixRegularization = Bool(False, "Unused, as in SOFA.")

    def init(self) -> None:
        """Prepare the elements.

        Raises:
            SceneError: no tetrahedra, flat tetrahedra, a material that is not here, or parameters
                that do not fit it.
        """
        self.elements = self.find_elements()
        self.x0 = self.state._data["rest_position"].get().copy()
        self.gradients, volumes = shape_gradients(self.x0, self.elements)
        self.volumes = np.abs(volumes)
        self._pairs = element_pairs(self.elements)
        self._deformations = np.empty((len(self.elements), 3, 3))
        self._slopes = np.empty((len(self.elements), kernel.SLOPES))
        self.reinit()

    def reinit(self) -> None:
        """Take over materialName and ParameterSet."""
        name = self.materialName.get()
        if name not in self.materials:
            raise self.fault(
                f"does not support materialName '{name}'. It knows "
                f"{', '.join(map(repr, self.materials))}."
            )
        self.material = self.materials[name]
        self.parameters = self.ParameterSet.get().copy()
        self._check_parameters(name)
        self._deform()

    def _check_parameters(self, name: str) -> None:
        expected, found = self.material.parameters, self.parameters
        if len(found) != len(expected):
            raise self.fault(
                f"needs {len(expected)} numbers in ParameterSet for {name}, {', '.join(expected)}; "
                f"got {len(found)}: {found.tolist()}."
            )
        shear, bulk = self.rest_moduli()
        if not (shear >= 0.0 and bulk >= 0.0 and np.isfinite(found).all()):
            raise self.fault(
                f"has a ParameterSet without stiffness at rest for {name}: {', '.join(expected)} = "
                f"{found.tolist()} make a shear modulus of {shear:g} and a bulk modulus of "
                f"{bulk:g}; neither may be negative."
            )

    def rest_moduli(self) -> tuple[float, float]:
        """Shear and bulk modulus at rest [pressure]: those of linear elasticity there."""
        if self.material.number == kernel.MOONEY_RIVLIN:
            c1, c2, bulk = self.parameters
            return 2.0 * (c1 + c2), bulk
        mu, lam = self.parameters
        return mu, lam + 2.0 / 3.0 * mu

    def reset(self) -> None:
        """Back to the stiffness of the initial state."""
        self._deform()

    def _deform(self) -> None:
        kernel.deform(
            self.state._data["position"].get(),
            self.elements,
            self.gradients,
            self.volumes,
            self.material.number,
            self.parameters,
            self._deformations,
            self._slopes,
        )

    def energy(self) -> float:
        """Elastic energy at the state's position [energy], zero at rest."""
        return kernel.energy(
            self.state._data["position"].get(),
            self.elements,
            self.gradients,
            self.volumes,
            self.material.number,
            self.parameters,
        )

    def add_force(self, force: np.ndarray) -> None:
        """See ForceField."""
        self._deform()
        kernel.add_force(self.elements, self.gradients, self._deformations, self._slopes, force)

    def add_product(self, out: np.ndarray, v: np.ndarray, factor: float) -> None:
        """See Contribution."""
        kernel.add_product(
            v, self.elements, self.gradients, self._deformations, self._slopes, factor, out
        )

    def pairs(self) -> Pairs:
        """See Contribution."""
        return self._pairs

    def add_matrix(self, values: np.ndarray, slots: np.ndarray, factor: float) -> None:
        """See Contribution."""
        kernel.add_matrix(
            self.gradients, self._deformations, self._slopes, factor, slots.reshape(-1, 10), values
        )

    def check_differentiable(self) -> None:
        """See ForceField: it is, with every material."""

    def step_term(self) -> StepTerm:
        """See ForceField."""
        return HyperelasticTerm(self)
