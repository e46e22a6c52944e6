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
        """Von Mises stress of each tetrahedron [pressure], shape (m,).

        Args:
            positions: Shape (n, 3).
            rest: Rest positions, shape (n, 3).
            tetrahedra: Vertex numbers, shape (m, 4).
        """

    @abstractmethod
    def arrays(self) -> dict[str, np.ndarray]:
        """For a recording, from which `material_from` makes it again."""


@dataclass(frozen=True)
class Corotational(Material):
    """Linear elasticity in the rotated frame of each tetrahedron; the stress of its forces."""

    method: str
    """How rotations are found: small, large, polar, svd or gradient."""
    young: np.ndarray
    """Young's modulus of each tetrahedron, or one for all [pressure], shape (m,) or (1,)."""
    poisson: np.ndarray
    """Poisson's ratio, likewise."""

    @override
    def von_mises(
        self, positions: np.ndarray, rest: np.ndarray, tetrahedra: np.ndarray
    ) -> np.ndarray:
        x, x0 = (np.ascontiguousarray(each, dtype=float) for each in (positions, rest))
        elements, method = np.ascontiguousarray(tetrahedra, dtype=np.int64), _METHODS[self.method]
        gradients, _ = corotational.shape_gradients(x0, elements)
        frames, rotations = np.empty((2, len(elements), 3, 3))
        corotational.rest_frames(x0, elements, method, frames)
        h = np.empty((len(elements), 4, 3))
        corotational.rotate(x, x0, elements, method, frames, gradients, rotations, h)
        F = stresses.deformation_gradients(x, elements, gradients)
        strain = stresses.corotational_strain(F, rotations)
        young, nu = (np.broadcast_to(each, len(elements)) for each in (self.young, self.poisson))
        lame = np.stack([nu / ((1.0 + nu) * (1.0 - 2.0 * nu)), 0.5 / (1.0 + nu)], axis=1)
        return stresses.von_mises(stresses.linear_stress(strain, young[:, None] * lame))

    @override
    def arrays(self) -> dict[str, np.ndarray]:
        return {"method": np.array(self.method), "young": self.young, "poisson": self.poisson}


@dataclass(frozen=True)
class Hyperelastic(Material):
    """A strain energy; Cauchy's stress."""

    energy: str
    """Its name in TetrahedronHyperelasticityFEMForceField."""
    parameters: np.ndarray
    """Its ParameterSet [pressure], of the body, shape (k,), or of each tetrahedron, (m k,)."""

    @override
    def von_mises(
        self, positions: np.ndarray, rest: np.ndarray, tetrahedra: np.ndarray
    ) -> np.ndarray:
        x, x0 = (np.ascontiguousarray(each, dtype=float) for each in (positions, rest))
        elements = np.ascontiguousarray(tetrahedra, dtype=np.int64)
        gradients, _ = corotational.shape_gradients(x0, elements)
        count = len(elements)
        F, slopes = np.empty((count, 3, 3)), np.empty((count, hyperelastic.SLOPES))
        law, unit = _ENERGIES[self.energy], np.ones(count)
        each = 3 if law == hyperelastic.MOONEY_RIVLIN else 2
        parameters = np.broadcast_to(self.parameters.reshape(-1, each), (count, each)).copy()
        hyperelastic.deform(x, elements, gradients, unit, law, parameters, F, slopes)
        return stresses.von_mises(stresses.hyperelastic_stress(F, slopes))

    @override
    def arrays(self) -> dict[str, np.ndarray]:
        return {"energy": np.array(self.energy), "parameters": self.parameters}


def material_of(node: Any, count: int) -> Material | None:
    """Law of the tetrahedra of a node, on either backend; None: another one, or none.

    Args:
        node: The node.
        count: Its number of tetrahedra.
    """
    for entry in node.objects if count else ():
        kind = entry.getClassName()
        if kind in _LINEAR:
            return _corotational(entry, kind.startswith("Fast"), count)
        if kind == "TetrahedronHyperelasticityFEMForceField":
            energy = str(entry.materialName.value)
            parameters = np.array(entry.ParameterSet.value, dtype=float)
            return Hyperelastic(energy, parameters) if energy in _ENERGIES else None
    return None


def material_from(arrays: Mapping[str, np.ndarray]) -> Material | None:
    """The law whose `arrays` are among these; None: there is none."""
    if "method" in arrays and str(arrays["method"]) in _METHODS:
        return Corotational(str(arrays["method"]), arrays["young"], arrays["poisson"])
    if "energy" in arrays and str(arrays["energy"]) in _ENERGIES:
        return Hyperelastic(str(arrays["energy"]), arrays["parameters"])
    return None


def _corotational(entry: Any, fast: bool, count: int) -> Material | None:
    method = str(entry.method.value)
    method = _FAST.get(method, method) if fast else method
    young, poisson = (
        _per_element(getattr(entry, name).value, count) for name in ("youngModulus", "poissonRatio")
    )
    data = entry.findData("localStiffnessFactor")
    factors = np.zeros(0) if data is None else np.array(data.value, dtype=float).ravel()
    if len(factors):
        young = young * factors[np.arange(count) * len(factors) // count]
    return Corotational(method, young, poisson) if method in _METHODS else None


def _per_element(given: Any, count: int) -> np.ndarray:
    """One value for all, or one an element; a missing entry is the first, as in SOFA."""
    values: np.ndarray = np.array(given, dtype=float).ravel()
    if len(values) < 2:
        return values
    found = np.full(count, values[0])
    found[: len(values)] = values[:count]
    return found
