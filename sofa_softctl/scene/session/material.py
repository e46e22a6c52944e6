"""Laws of elasticity of a body's elements, for stresses of recorded positions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.components.elasticity.energies import ENERGIES
from sofa_softctl.runtime.components.elasticity.strain_point_field import element_stresses
from sofa_softctl.runtime.components.elasticity.strain_points import points_of
from sofa_softctl.runtime.kernels.elasticity import corotational
from sofa_softctl.runtime.kernels.elasticity import von_mises as stresses

_METHODS = {
    "small": corotational.SMALL,
    "large": corotational.LARGE,
    "polar": corotational.POLAR,
    "svd": corotational.SVD,
    "gradient": corotational.GRADIENT,
}
_FAST = {"qr": "large", "polar": "gradient", "polar2": "polar", "none": "small", "linear": "small"}
"""Methods of FastTetrahedralCorotationalForceField by other names."""
_LINEAR = (
    "FastTetrahedralCorotationalForceField",
    "TetrahedralCorotationalFEMForceField",
    "TetrahedronFEMForceField",
)


class Material(ABC):
    """A law of elasticity."""

    @abstractmethod
    def cell_values(
        self, positions: np.ndarray, rest: np.ndarray, cells: np.ndarray
    ) -> dict[str, np.ndarray]:
        """Return von_mises and strain_energy, per volume at rest [pressure], shapes (m,).

        Args:
            positions: Positions [length], shape (n, 3).
            rest: Rest positions [length], shape (n, 3).
            cells: Vertex numbers of tetrahedra or hexahedra, shape (m, 4) or (m, 8).
        """

    @abstractmethod
    def arrays(self) -> dict[str, np.ndarray]:
        """Return arrays for a recording; the inverse of `material_from`."""


@dataclass(frozen=True)
class Corotational(Material):
    """Linear elasticity in the rotated frame of each tetrahedron."""

    method: str
    """Method for the rotations: small, large, polar, svd or gradient."""
    young: np.ndarray
    """Young's modulus of each tetrahedron, or one for all [pressure], shape (m,) or (1,)."""
    poisson: np.ndarray
    """Poisson's ratio of each tetrahedron, or one for all [-], shape (m,) or (1,)."""

    @override
    def cell_values(
        self, positions: np.ndarray, rest: np.ndarray, cells: np.ndarray
    ) -> dict[str, np.ndarray]:
        x, x0 = (np.ascontiguousarray(values, dtype=float) for values in (positions, rest))
        elements, method = np.ascontiguousarray(cells, dtype=np.int64), _METHODS[self.method]
        gradients, _ = corotational.shape_gradients(x0, elements)
        frames, rotations = np.empty((2, len(elements), 3, 3))
        corotational.rest_frames(x0, elements, method, frames)
        h = np.empty((len(elements), 4, 3))
        corotational.rotate(x, x0, elements, method, frames, gradients, rotations, h)
        F = stresses.deformation_gradients(x, elements, gradients)
        strain = stresses.corotational_strain(F, rotations)
        young, nu = (
            np.broadcast_to(values, len(elements)) for values in (self.young, self.poisson)
        )
        lame = np.stack([nu / ((1.0 + nu) * (1.0 - 2.0 * nu)), 0.5 / (1.0 + nu)], axis=1)
        stress = stresses.linear_stress(strain, young[:, None] * lame)
        energy = 0.5 * np.einsum("eij,eij->e", stress, strain)
        return {"von_mises": stresses.von_mises(stress), "strain_energy": energy}

    @override
    def arrays(self) -> dict[str, np.ndarray]:
        return {"method": np.array(self.method), "young": self.young, "poisson": self.poisson}


class Hyperelastic(Material):
    """Strain energy of elements, without that of bending of hexahedra; stresses are Cauchy's.

    Args:
        energy: Name of the energy, a materialName of AssumedStrainFEMForceField.
        parameters: Parameters of the energy [pressure], for the body, shape (k,), or for each
            element, shape (m k,).
        element: Kind of the elements, such as smoothed; see `points_of`.
    """

    def __init__(self, energy: str, parameters: np.ndarray, element: str = "linear") -> None:
        self.energy, self.parameters, self.element = energy, parameters, element
        self._mesh: tuple[np.ndarray, np.ndarray] | None = None

    @override
    def cell_values(
        self, positions: np.ndarray, rest: np.ndarray, cells: np.ndarray
    ) -> dict[str, np.ndarray]:
        law = ENERGIES[self.energy]
        width = len(law.parameter_names)
        parameters = np.broadcast_to(self.parameters.reshape(-1, width), (len(cells), width))
        if self._mesh is None or self._mesh[0] is not rest or self._mesh[1] is not cells:
            self._points = points_of(self.element, rest, cells, parameters)
            self._mesh = rest, cells
        points = self._points
        at_points = points.distribute(parameters, law.rest_moduli(parameters)[0])
        state = law.at(points.gradients_of(positions), at_points)
        return {
            "von_mises": stresses.von_mises(element_stresses(points, state)),
            "strain_energy": points.sum_in_elements(state.energies()) / points.volumes,
        }

    @override
    def arrays(self) -> dict[str, np.ndarray]:
        return {
            "energy": np.array(self.energy),
            "parameters": self.parameters,
            "element": np.array(self.element),
        }


def material_of(node: Any, count: int) -> Material | None:
    """Return the law of a node's tetrahedra, on either backend, or None if not supported.

    Args:
        node: The node.
        count: Number of tetrahedra in the node.
    """
    for component in node.objects if count else ():
        kind = component.getClassName()
        if kind in _LINEAR:
            return _corotational(component, kind.startswith("Fast"), count)
        if kind == "TetrahedronHyperelasticityFEMForceField":
            energy = str(component.materialName.value)
            parameters = np.array(component.ParameterSet.value, dtype=float)
            return Hyperelastic(energy, parameters) if energy in ENERGIES else None
        if kind == "AssumedStrainFEMForceField":
            parameters, element = component.parameters, component.element
            shown = parameters.ravel() if np.ptp(parameters, axis=0).any() else parameters[0]
            return Hyperelastic(str(component.materialName.value), shown, element)
    return None


def material_from(arrays: Mapping[str, np.ndarray]) -> Material | None:
    """Return the law whose `arrays` are among some arrays, or None."""
    if "method" in arrays and str(arrays["method"]) in _METHODS:
        return Corotational(str(arrays["method"]), arrays["young"], arrays["poisson"])
    if "energy" in arrays and str(arrays["energy"]) in ENERGIES:
        element = str(arrays.get("element", "linear"))  # recordings of old versions have none
        return Hyperelastic(str(arrays["energy"]), arrays["parameters"], element)
    return None


def _corotational(component: Any, fast: bool, count: int) -> Material | None:
    method = str(component.method.value)
    method = _FAST.get(method, method) if fast else method
    young, poisson = (
        _per_element(getattr(component, name).value, count)
        for name in ("youngModulus", "poissonRatio")
    )
    data = component.findData("localStiffnessFactor")
    factors = np.zeros(0) if data is None else np.array(data.value, dtype=float).ravel()
    if len(factors):
        young = young * factors[np.arange(count) * len(factors) // count]
    return Corotational(method, young, poisson) if method in _METHODS else None


def _per_element(value: Any, count: int) -> np.ndarray:
    """Return one value for all or per element; missing values equal the first, as in SOFA."""
    values: np.ndarray = np.array(value, dtype=float).ravel()
    if len(values) < 2:
        return values
    filled = np.full(count, values[0])
    filled[: len(values)] = values[:count]
    return filled
