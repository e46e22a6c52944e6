"""Elasticity by a strain energy at strain points."""

from __future__ import annotations

from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.behavior.mechanics import Pairs
from sofa_softctl.runtime.behavior.roles import HyperelasticForceField
from sofa_softctl.runtime.behavior.step_term import StepTerm
from sofa_softctl.runtime.components.elasticity.strain_energy import StrainEnergy, StrainState
from sofa_softctl.runtime.components.elasticity.strain_points import StrainPoints
from sofa_softctl.runtime.helper.message import complain, keeps_sofa_defects
from sofa_softctl.runtime.kernels.elasticity import rotated_points
from sofa_softctl.runtime.kernels.elasticity import strain_points as kernel


class StrainPointForceField(HyperelasticForceField):
    """Forces of a strain energy at strain points.

    A subclass sets `elements`, `x0`, `points` and `law`, then `parameters`.
    """

    ParameterSet: Any
    """Data with the parameters of the body, or of each element."""
    points: StrainPoints
    """Points at which strains are measured."""
    law: StrainEnergy
    """Strain energy of the material."""
    _state: StrainState
    """Energy at the positions of the last `add_force`."""

    def read_parameters(self, name: str) -> np.ndarray:
        """Return the parameters in ParameterSet for each element, shape (m, k).

        Raises:
            SceneError: There are neither as many as for the body, nor for each element.
        """
        expected, count = self.law.parameter_names, len(self.elements)
        values = self.ParameterSet.get()
        if len(values) not in (len(expected), len(expected) * count):
            text = f": {values.tolist()}" if len(values) < 10 else ""
            problem = self.fault(
                f"needs {len(expected)} numbers in ParameterSet for {name}, {', '.join(expected)}, "
                f"or that many for each of its {count} elements; got {len(values)}{text}."
            )
            if len(values) < len(expected) and not keeps_sofa_defects():
                raise problem
            complain(self, problem, " As in SOFA the first ones count; what is missing is 0.")
            values = np.append(values, np.zeros(len(expected)))[: len(expected)]
        rows = values.reshape(-1, len(expected))
        return np.broadcast_to(rows, (count, len(expected))).copy()

    def check_parameters(self, name: str) -> None:
        """Raise a SceneError for parameters of a material without stiffness at rest."""
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
    def rest_moduli(self) -> tuple[np.ndarray, np.ndarray]:
        return self.law.rest_moduli(self.parameters)

    @override
    def parameters_for(self, shear: np.ndarray, bulk: np.ndarray) -> np.ndarray:
        parameters = self.law.parameters_of(shear, bulk)
        scale = shear / self.law.rest_moduli(self.parameters)[0]
        parameters[:, :-1] = self.parameters[:, :-1] * scale[:, None]
        return parameters

    @property
    @override
    def parameter_names(self) -> tuple[str, ...]:
        return self.law.parameter_names

    def _use_law(self, law: StrainEnergy) -> None:
        """Take another strain energy."""
        if self.__dict__.get("law") is not law:
            self.law, self.exact_tangent = law, law.has_exact_steps

    def set_parameters(self, elements: np.ndarray | slice, values: np.ndarray) -> None:
        """Set the parameters of some elements, shown by ParameterSet."""
        parameters = self.parameters.copy()
        parameters[elements] = values
        self._use_parameters(parameters)
        self.show_parameters()
        self.deform()

    @override
    def moduli(self) -> np.ndarray:
        shear, bulk = self.rest_moduli()
        return 9.0 * bulk * shear / (3.0 * bulk + shear)

    @override
    def set_moduli(self, elements: np.ndarray | slice, young: np.ndarray | float) -> None:
        scale = np.reshape(young / self.moduli()[elements], (-1, 1))
        self.set_parameters(elements, self.parameters[elements] * scale)

    @override
    def add_force_per_modulus(self, elements: np.ndarray | slice, force: np.ndarray) -> None:
        parameters = self._parameters_per_modulus(elements)
        state, points = self.law.at(self._state.F, self.distribute(parameters)), self.points
        stresses = state.stresses()
        kernel.add_stress(points.first, points.nodes, points.gradients, stresses, -1.0, force)

    def _parameters_per_modulus(self, elements: np.ndarray | slice) -> np.ndarray:
        """Return the derivative of all parameters by the modulus of some elements, (m, k)."""
        parameters = np.zeros_like(self.parameters)
        parameters[elements] = self.parameters[elements] / self.moduli()[elements, None]
        return parameters

    @override
    def largest_force_per_modulus(self, elements: np.ndarray | slice) -> float:
        return float(np.cbrt(self.points.volumes[elements]).max() ** 2)

    def show_parameters(self) -> None:
        """Set ParameterSet to the present parameters."""
        parameters = self.parameters
        is_uniform = not np.ptp(parameters, axis=0).any()
        self.ParameterSet.set(parameters[0].copy() if is_uniform else parameters.ravel().copy())

    def _use_parameters(self, parameters: np.ndarray) -> None:
        """Take these parameters of elements, shape (m, k)."""
        self.parameters = parameters
        self._point_parameters = self.distribute(parameters)

    def distribute(self, parameters: np.ndarray) -> np.ndarray:
        """Return the parameters of points times their volume, (p, k), from those of elements."""
        return self.points.distribute(parameters, self.law.rest_moduli(parameters)[0])

    @override
    def snapshot(self) -> dict[str, Any]:
        return {"parameters": self.parameters}  # never written in place

    @override
    def restore(self, snapshot: dict[str, Any]) -> None:
        self._use_parameters(snapshot["parameters"])

    def reset(self) -> None:
        """Compute the stiffness of the initial state."""
        self.deform()

    def deform(self) -> None:
        """Evaluate the energy at the state's position."""
        F = self.points.gradients_of(self.state.position.get())
        self._state = self.law.at(F, self._point_parameters)
        self._tangents_are_exact = None

    def _tangents(self) -> np.ndarray:
        """Return the tangents of the points at the last `deform`, shape (p, 9, 9)."""
        if self._tangents_are_exact != self.exact_tangent:
            count = len(self.points.first) - 1
            if len(self._tangent_memory) != count:
                self._tangent_memory = np.empty((count, 9, 9))
            self._state.tangents(1.0, self._tangent_memory, is_exact=self.exact_tangent)
            self._tangents_are_exact = self.exact_tangent
        return self._tangent_memory

    _tangent_memory = np.empty((0, 9, 9))
    _tangents_are_exact: bool | None = None
    """Kind of the tangents in memory, or None if they are of other positions."""

    def energy(self) -> float:
        """Return the elastic energy at the state's position [energy], zero at rest."""
        F = self.points.gradients_of(self.state.position.get())
        return float(self.law.at(F, self._point_parameters).energies().sum())

    @override
    def add_force(self, force: np.ndarray) -> None:
        self.deform()
        points = self.points
        stresses = self._state.stresses()
        kernel.add_stress(points.first, points.nodes, points.gradients, stresses, -1.0, force)

    def _rotations(self) -> np.ndarray | None:
        """Return rotations in which a time step is linear elasticity, (p, 3, 3), or None."""
        return None if self.exact_tangent else self._state.rotations

    @override
    def add_product(self, out: np.ndarray, v: np.ndarray, factor: float) -> None:
        points, rotations = self.points, self._rotations()
        stencils = (points.first, points.nodes, points.gradients)
        if rotations is None:
            kernel.add_product(v, *stencils, self._tangents(), factor, out)
        else:
            parameters = self._state.parameters
            rotated_points.add_product(v, *stencils, rotations, parameters, factor, out)

    @override
    def pairs(self) -> Pairs:
        return kernel.stencil_pairs(self.points.first, self.points.nodes)

    @override
    def add_matrix(self, values: np.ndarray, slots: np.ndarray, factor: float) -> None:
        points, rotations = self.points, self._rotations()
        stencils = (points.first, points.gradients)
        if rotations is None:
            kernel.add_matrix(*stencils, self._tangents(), factor, slots, values)
        else:
            parameters = self._state.parameters
            rotated_points.add_matrix(*stencils, rotations, parameters, factor, slots, values)

    def check_differentiable(self) -> None:
        """Accept every material."""

    @override
    def step_term(self) -> StepTerm:
        return StrainPointTerm(self)


def element_stresses(points: StrainPoints, state: StrainState) -> np.ndarray:
    """Return the mean Cauchy stress of each element [pressure], shape (m, 3, 3)."""
    J = np.linalg.det(state.F)[:, None, None]
    with np.errstate(divide="ignore", invalid="ignore"):  # of a flat point
        stresses = state.stresses() @ state.F.transpose(0, 2, 1) / J
    return points.sum_in_elements(stresses) / points.volumes[:, None, None]


class StrainPointTerm(StepTerm):
    """Term of a StrainPointForceField: dr/dx = h df/dx - h (h + beta) d(K w)/dx.

    The stiffnesses are the parameters of the energy in each element, in which r is linear.
    """

    def __init__(self, field: Any) -> None:
        self.field = field
        self.stiffness_shape = field.parameters.shape

    @override
    def at(self, x: np.ndarray, w: np.ndarray, h: float, beta: float) -> None:
        field, self.h, self.c = self.field, h, h * (h + beta)
        self.x, self.w = np.ascontiguousarray(x), np.ascontiguousarray(w)
        self.F, self.rates = (field.points.gradients_of(u) for u in (self.x, self.w))
        self.tangents = np.empty((len(self.F), 9, 9))
        state = field.law.at(self.F, field._point_parameters)
        state.tangents(self.h, self.tangents, is_exact=True)
        state.add_tangent_rates(self.rates, self.c, self.tangents)

    @override
    def add_by_positions(self, dx: np.ndarray, out: np.ndarray) -> None:
        for direction, change in zip(dx, out, strict=True):
            self._take_off(direction, self.tangents, change)

    def _take_off(self, u: np.ndarray, tangents: np.ndarray, out: np.ndarray) -> None:
        """Subtract from out what tangents make of the gradient of u, both of shape (n, 3)."""
        points = self.field.points
        stencils = (points.first, points.nodes, points.gradients)
        kernel.add_product(u, *stencils, tangents, -1.0, out)

    @override
    def add_transposed(self, y: np.ndarray, out: np.ndarray, by_stiffness: np.ndarray) -> None:
        y = np.ascontiguousarray(y)
        self._take_off(y, self.tangents.transpose(0, 2, 1).copy(), out)
        field = self.field
        Y = field.points.gradients_of(y)
        by_point = np.empty((len(Y), self.stiffness_shape[1]))
        for number, unit in enumerate(np.eye(self.stiffness_shape[1])):
            stress = self._stress(np.tile(unit, (len(Y), 1)))
            by_point[:, number] = np.einsum("pij,pij->p", Y, stress)
        by_moduli = field.law.rest_moduli(np.eye(self.stiffness_shape[1]))[0]
        by_stiffness -= field.points.collect(by_point, by_moduli)

    @override
    def add_by_stiffness(self, change: np.ndarray, out: np.ndarray) -> None:
        points = self.field.points
        stress = self._stress(self.field.distribute(change))
        kernel.add_stress(points.first, points.nodes, points.gradients, stress, -1.0, out)

    def _stress(self, parameters: np.ndarray) -> np.ndarray:
        """Return h P + c H[dF/dt] with these parameters of points, shape (p, 3, 3)."""
        state = self.field.law.at(self.F, parameters)
        tangents = np.empty((len(self.F), 9, 9))
        state.tangents(self.c, tangents, is_exact=False)
        rates = np.einsum("pij,pj->pi", tangents, self.rates.reshape(-1, 9))
        return self.h * state.stresses() + rates.reshape(-1, 3, 3)
