"""Hyperelasticity on tetrahedra."""

from __future__ import annotations

from sofa_softctl.runtime.components.elasticity.strain_energy import HYPERELASTIC_ENERGIES
from sofa_softctl.runtime.components.elasticity.strain_point_field import StrainPointForceField
from sofa_softctl.runtime.components.elasticity.strain_points import element_points
from sofa_softctl.runtime.components.elasticity.tetrahedral import TetrahedralForceField
from sofa_softctl.runtime.core.data.types import Bool, Choice, Reals, Vectors
from sofa_softctl.runtime.kernels.elasticity.corotational import shape_gradients


class TetrahedronHyperelasticityFEMForceField(TetrahedralForceField, StrainPointForceField):
    """Elasticity from a strain energy, for large strains; the stiffness is its exact derivative.

    The rest shape is the state's rest_position at init. ParameterSet is read at init and reinit;
    unlike in SOFA, it may list the parameters of each tetrahedron, one after the other. An inverted
    element has no energy in ArrudaBoyce, NeoHookean and MooneyRivlin: its forces are NaN, and the
    step ends with DivergedError; with StableNeoHookean it can recover.

    Source: Bonet and Wood 2008, chapters 6 and 9; StableNeoHookean: Smith, de Goes, Kim 2018;
    ArrudaBoyce: Arruda and Boyce 1993, with chains of eight links and mu of its series;
    parameters as in SOFA's component of the same name.
    """

    materialName = Choice(
        "ArrudaBoyce",
        "Strain energy: ArrudaBoyce, MooneyRivlin, NeoHookean, StVenantKirchhoff or "
        "StableNeoHookean.",
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
        follows="reinit",
    )
    ParameterSet = Reals(
        [],
        "Parameters of the material: mu and lambda (Lame's), c1, c2 and k of MooneyRivlin, mu and "
        "k of ArrudaBoyce; for the body, or for each tetrahedron.",
        unit="pressure",
        follows="reinit",
    )
    AnisotropyDirections = Vectors(3, [], "Unused: the materials are isotropic.")
    matrixRegularization = Bool(False, "Unused, as in SOFA.")

    def init(self) -> None:
        """Prepare the elements.

        Raises:
            SceneError: there is no topology, a tetrahedron is flat, the material is not supported,
                or its parameters are invalid.
        """
        self.elements = self.find_elements()
        self.x0 = self.state.rest_position.get().copy()
        self.points = element_points(*shape_gradients(self.x0, self.elements), self.elements)
        self.reinit()

    def reinit(self) -> None:
        """Read materialName and ParameterSet."""
        name = self.materialName.get()
        if name not in HYPERELASTIC_ENERGIES:
            raise self.fault(
                f"does not support materialName '{name}'. It knows "
                f"{', '.join(map(repr, HYPERELASTIC_ENERGIES))}."
            )
        self._use_law(HYPERELASTIC_ENERGIES[name])
        self._use_parameters(self.read_parameters(name))
        self.check_parameters(name)
        self.deform()
