"""Hyperelasticity on tetrahedra."""

from __future__ import annotations

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.components.elasticity.strain_energy import HYPERELASTIC_ENERGIES
from sofa_softctl.runtime.components.elasticity.strain_point_field import StrainPointForceField
from sofa_softctl.runtime.components.elasticity.strain_points import element_points
from sofa_softctl.runtime.components.elasticity.tetrahedral import TetrahedralForceField
from sofa_softctl.runtime.core.data.types import Bool, Choice, Reals, Vectors
from sofa_softctl.runtime.helper.message import complain, keeps_sofa_defects
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
        gradients, volumes = shape_gradients(self.x0, self.elements)
        self.points = element_points(gradients, self.elements, volumes)
        self.reinit()

    def reinit(self) -> None:
        """Read materialName and ParameterSet."""
        name = self.materialName.get()
        if name not in HYPERELASTIC_ENERGIES:
            raise self.fault(
                f"does not support materialName '{name}'. It knows "
                f"{', '.join(map(repr, HYPERELASTIC_ENERGIES))}."
            )
        self.law = HYPERELASTIC_ENERGIES[name]
        self._use_parameters(self._per_element(name))
        self._check_parameters(name)
        self.deform()

    def _per_element(self, name: str) -> np.ndarray:
        """Return the parameters of each tetrahedron, shape (m, k)."""
        expected, count = self.law.parameter_names, len(self.elements)
        values = self.ParameterSet.get()
        if len(values) not in (len(expected), len(expected) * count):
            text = f": {values.tolist()}" if len(values) < 10 else ""
            problem = self.fault(
                f"needs {len(expected)} numbers in ParameterSet for {name}, {', '.join(expected)}, "
                f"or that many for each of its {count} tetrahedra; got {len(values)}{text}."
            )
            if len(values) < len(expected) and not keeps_sofa_defects():
                raise problem
            complain(self, problem, " As in SOFA the first ones count; what is missing is 0.")
            values = np.append(values, np.zeros(len(expected)))[: len(expected)]
        rows = values.reshape(-1, len(expected))
        return np.broadcast_to(rows, (count, len(expected))).copy()

    def _check_parameters(self, name: str) -> None:
        shear, bulk = self.rest_moduli()
        is_stable = (shear >= 0.0) & (bulk >= 0.0) & np.isfinite(self.parameters).all(axis=1)
        if not is_stable.all():
            first = int(np.flatnonzero(~is_stable)[0])
            raise self.fault(
                f"has a ParameterSet without stiffness at rest for {name}: "
                f"{', '.join(self.law.parameter_names)} = {self.parameters[first].tolist()} make a "
                f"shear modulus of {shear[first]:g} and a bulk modulus of {bulk[first]:g}; neither "
                "may be negative."
            )

    @override
    def set_parameters(self, elements: np.ndarray | slice, values: np.ndarray) -> None:
        super().set_parameters(elements, values)
        parameters = self.parameters
        is_uniform = not np.ptp(parameters, axis=0).any()
        self.ParameterSet.set(parameters[0].copy() if is_uniform else parameters.ravel().copy())
