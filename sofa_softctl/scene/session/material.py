"""Laws of elasticity of a body's tetrahedra, for stresses of recorded positions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.kernels.elasticity import corotational, hyperelastic
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
_ENERGIES = {
    "ArrudaBoyce": hyperelastic.ARRUDA_BOYCE,
    "StVenantKirchhoff": hyperelastic.ST_VENANT_KIRCHHOFF,
    "NeoHookean": hyperelastic.NEO_HOOKEAN,
    "StableNeoHookean": hyperelastic.STABLE_NEO_HOOKEAN,
    "MooneyRivlin": hyperelastic.MOONEY_RIVLIN,
}


class Material(ABC):
    """A law of elasticity."""

    @abstractmethod
    def von_mises(
        self, positions: np.ndarray, rest: np.ndarray, tetrahedra: np.ndarray
    ) -> np.ndarray:
        """Return the von Mises stress of each tetrahedron [pressure], shape (m,).

        Args:
            positions: Positions [length], shape (n, 3).
            rest: Rest positions [length], shape (n, 3).
            tetrahedra: Vertex numbers, shape (m, 4).
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
    def von_mises(
        self, positions: np.ndarray, rest: np.ndarray, tetrahedra: np.ndarray
    ) -> np.ndarray:
        x, x0 = (np.ascontiguousarray(values, dtype=float) for values in (positions, rest))
        elements, method = np.ascontiguousarray(tetrahedra, dtype=np.int64), _METHODS[self.method]
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
        return stresses.von_mises(stresses.linear_stress(strain, young[:, None] * lame))

    @override
    def arrays(self) -> dict[str, np.ndarray]:
        return {"method": np.array(self.method), "young": self.young, "poisson": self.poisson}


@dataclass(frozen=True)
class Hyperelastic(Material):
    """Hyperelastic law given by a strain energy; stresses are Cauchy's."""

    energy: str
    """Name of the law in TetrahedronHyperelasticityFEMForceField."""
    parameters: np.ndarray
    """ParameterSet of the body, shape (k,), or of each tetrahedron, shape (m k,) [pressure]."""

    @override
    def von_mises(
        self, positions: np.ndarray, rest: np.ndarray, tetrahedra: np.ndarray
    ) -> np.ndarray:
        x, x0 = (np.ascontiguousarray(values, dtype=float) for values in (positions, rest))
        elements = np.ascontiguousarray(tetrahedra, dtype=np.int64)
        gradients, _ = corotational.shape_gradients(x0, elements)
        count = len(elements)
        F, slopes = np.empty((count, 3, 3)), np.empty((count, hyperelastic.SLOPES))
        law, unit = _ENERGIES[self.energy], np.ones(count)
        width = 3 if law == hyperelastic.MOONEY_RIVLIN else 2
        parameters = np.broadcast_to(self.parameters.reshape(-1, width), (count, width)).copy()
        hyperelastic.deform(x, elements, gradients, unit, law, parameters, F, slopes)
        return stresses.von_mises(stresses.hyperelastic_stress(F, slopes))

    @override
    def arrays(self) -> dict[str, np.ndarray]:
        return {"energy": np.array(self.energy), "parameters": self.parameters}


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
            return Hyperelastic(energy, parameters) if energy in _ENERGIES else None
    return None


def material_from(arrays: Mapping[str, np.ndarray]) -> Material | None:
    """Return the law whose `arrays` are among some arrays, or None."""
    if "method" in arrays and str(arrays["method"]) in _METHODS:
        return Corotational(str(arrays["method"]), arrays["young"], arrays["poisson"])
    if "energy" in arrays and str(arrays["energy"]) in _ENERGIES:
        return Hyperelastic(str(arrays["energy"]), arrays["parameters"])
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
