"""Hyperelasticity on tetrahedra."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.behavior.mechanics import Pairs
from sofa_softctl.runtime.behavior.roles import HyperelasticForceField
from sofa_softctl.runtime.behavior.step_term import StepTerm
from sofa_softctl.runtime.components.elasticity.tetrahedral import TetrahedralForceField
from sofa_softctl.runtime.core.data.types import Bool, Choice, Reals, Vectors
from sofa_softctl.runtime.helper.message import complain, keeps_sofa_defects
from sofa_softctl.runtime.kernels.elasticity import hyperelastic as kernel
from sofa_softctl.runtime.kernels.elasticity import hyperelastic_derivative as derivative
from sofa_softctl.runtime.kernels.elasticity.corotational import element_pairs, shape_gradients


@dataclass(frozen=True)
class Material:
    """A strain energy that the kernels know."""

    number: int
    """Number in kernels/hyperelastic."""
    parameters: tuple[str, ...]
    """Names of the entries of ParameterSet, in order."""


class TetrahedronHyperelasticityFEMForceField(TetrahedralForceField, HyperelasticForceField):
    """Elasticity from a strain energy, for large strains; the stiffness is its exact derivative.

    The rest shape is the state's rest_position at init. ParameterSet is read at init and reinit;
    unlike in SOFA, it may list the parameters of each tetrahedron, one after the other. An inverted
    element has no energy in ArrudaBoyce, NeoHookean and MooneyRivlin: its forces are NaN, and the
    step ends with DivergedError; with StableNeoHookean it can recover.

    Source: Bonet and Wood 2008, chapters 6 and 9; StableNeoHookean: Smith, de Goes, Kim 2018;
    ArrudaBoyce: Arruda and Boyce 1993, with chains of eight links and mu of its series;
    parameters as in SOFA's component of the same name.
    """

    exact_tangent = True
    materials: ClassVar[dict[str, Material]] = {
        "ArrudaBoyce": Material(kernel.ARRUDA_BOYCE, ("mu", "k")),
        "MooneyRivlin": Material(kernel.MOONEY_RIVLIN, ("c1", "c2", "k")),
        "NeoHookean": Material(kernel.NEO_HOOKEAN, ("mu", "lambda")),
        "StVenantKirchhoff": Material(kernel.ST_VENANT_KIRCHHOFF, ("mu", "lambda")),
        "StableNeoHookean": Material(kernel.STABLE_NEO_HOOKEAN, ("mu", "lambda")),
    }

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
        self.gradients, volumes = shape_gradients(self.x0, self.elements)
        self.volumes = np.abs(volumes)
        self._pairs = element_pairs(self.elements)
        self._deformations = np.empty((len(self.elements), 3, 3))
        self._slopes = np.empty((len(self.elements), kernel.SLOPES))
        self.reinit()

    def reinit(self) -> None:
        """Read materialName and ParameterSet."""
        name = self.materialName.get()
        if name not in self.materials:
            raise self.fault(
                f"does not support materialName '{name}'. It knows "
                f"{', '.join(map(repr, self.materials))}."
            )
        self.material = self.materials[name]
        self.parameters = self._per_element(name)
        self._check_parameters(name)
        self._deform()

    def _per_element(self, name: str) -> np.ndarray:
        """Return the parameters of each tetrahedron, shape (m, k)."""
        expected, count = self.material.parameters, len(self.elements)
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
                f"{', '.join(self.material.parameters)} = {self.parameters[first].tolist()} make a "
                f"shear modulus of {shear[first]:g} and a bulk modulus of {bulk[first]:g}; neither "
                "may be negative."
            )

    @override
    def rest_moduli(self) -> tuple[np.ndarray, np.ndarray]:
        if self.material.number == kernel.MOONEY_RIVLIN:
            c1, c2, bulk = self.parameters.T
            return 2.0 * (c1 + c2), bulk
        if self.material.number == kernel.ARRUDA_BOYCE:
            mu, bulk = self.parameters.T
            return kernel.CHAINS_AT_REST * mu, bulk
        mu, lam = self.parameters.T
        return mu, lam + 2.0 / 3.0 * mu

    @property
    @override
    def parameter_names(self) -> tuple[str, ...]:
        return self.material.parameters

    def set_parameters(self, elements: np.ndarray | slice, values: np.ndarray) -> None:
        """Set the parameters of some elements, shown by ParameterSet."""
        parameters = self.parameters.copy()
        parameters[elements] = values
        self.parameters = parameters
        is_uniform = not np.ptp(parameters, axis=0).any()
        self.ParameterSet.set(parameters[0].copy() if is_uniform else parameters.ravel().copy())
        self._deform()

    @override
    def snapshot(self) -> dict[str, Any]:
        return {"parameters": self.parameters}  # never written in place

    @override
    def restore(self, snapshot: dict[str, Any]) -> None:
        self.parameters = snapshot["parameters"]

    def reset(self) -> None:
        """Compute the stiffness of the initial state."""
        self._deform()

    def _deform(self) -> None:
        kernel.deform(
            self.state.position.get(),
            self.elements,
            self.gradients,
            self.volumes,
            self.material.number,
            self.parameters,
            self._deformations,
            self._slopes,
        )

    def energy(self) -> float:
        """Return the elastic energy at the state's position [energy], zero at rest."""
        return kernel.energy(
            self.state.position.get(),
            self.elements,
            self.gradients,
            self.volumes,
            self.material.number,
            self.parameters,
        )

    @override
    def add_force(self, force: np.ndarray) -> None:
        self._deform()
        kernel.add_force(self.elements, self.gradients, self._deformations, self._slopes, force)

    @override
    def add_product(self, out: np.ndarray, v: np.ndarray, factor: float) -> None:
        kernel.add_product(
            v, self.elements, self.gradients, self._deformations, self._slopes, factor, out
        )

    @override
    def pairs(self) -> Pairs:
        return self._pairs

    @override
    def add_matrix(self, values: np.ndarray, slots: np.ndarray, factor: float) -> None:
        kernel.add_matrix(
            self.gradients, self._deformations, self._slopes, factor, slots.reshape(-1, 10), values
        )

    def check_differentiable(self) -> None:
        """Accept every material."""

    @override
    def step_term(self) -> StepTerm:
        return HyperelasticTerm(self)


class HyperelasticTerm(StepTerm):
    """Term of a TetrahedronHyperelasticityFEMForceField: dr/dx = -h K - h (h + beta) dK/dw.

    The stiffnesses are the parameters of the material in each tetrahedron, in which r is linear.
    """

    def __init__(self, field: Any) -> None:
        self.field = field
        count = len(field.elements)
        self.stiffness_shape = field.parameters.shape
        self.rates = np.empty((count, 3, 3))
        self.A = np.empty((count, 9, 9))
        self.invariants = np.empty((count, derivative.INVARIANTS))

    @override
    def at(self, x: np.ndarray, w: np.ndarray, h: float, beta: float) -> None:
        field, self.h, self.c = self.field, h, h * (h + beta)
        self.x = np.ascontiguousarray(x)
        derivative.gradients(np.ascontiguousarray(w), field.elements, field.gradients, self.rates)
        derivative.tensors(*self._state, self.rates, self.h, self.c, self.A)
        self._unit_slopes: list[np.ndarray] = []

    @property
    def _state(self) -> tuple[np.ndarray, np.ndarray]:
        """Deformation gradients, and slopes of the energy."""
        return self.field._deformations, self.field._slopes

    @override
    def add_by_positions(self, dx: np.ndarray, out: np.ndarray) -> None:
        derivative.add_by_positions(dx, self.field.elements, self.field.gradients, self.A, out)

    def add_transposed(self, y: np.ndarray, out: np.ndarray, by_stiffness: np.ndarray) -> None:
        """Add the transposed products; dr/dx is symmetric."""
        field, rows = self.field, self.invariants
        derivative.add_by_positions(y[None], field.elements, field.gradients, self.A, out[None])
        rates = (self.rates, self.h, self.c)
        derivative.invariants(y, field.elements, field.gradients, self._state[0], *rates, rows)
        for number, slopes in enumerate(self._slopes_by_parameter()):
            by_stiffness[:, number] -= np.einsum("es,es->e", rows, slopes)

    @override
    def add_by_stiffness(self, change: np.ndarray, out: np.ndarray) -> None:
        field = self.field
        slopes = self._slopes(change)
        geometry = (field.elements, field.gradients, self._state[0])
        derivative.add_residual(*geometry, slopes, self.rates, self.h, self.c, out)

    def _slopes_by_parameter(self) -> list[np.ndarray]:
        """Return the derivatives of the slopes by each parameter, shape (m, 7) each."""
        if not self._unit_slopes:
            for direction in np.eye(self.stiffness_shape[1]):
                unit = np.tile(direction, (self.stiffness_shape[0], 1))
                self._unit_slopes.append(self._slopes(unit)[:, : derivative.INVARIANTS])
        return self._unit_slopes

    def _slopes(self, parameters: np.ndarray) -> np.ndarray:
        """Return the slopes of the energy with other parameters, shape (m, SLOPES)."""
        field = self.field
        F, slopes = np.empty_like(field._deformations), np.empty_like(field._slopes)
        kernel.deform(
            self.x,
            field.elements,
            field.gradients,
            field.volumes,
            field.material.number,
            np.ascontiguousarray(parameters, dtype=float),
            F,
            slopes,
        )
        return slopes
