"""Elasticity of a body in one line: elements that do not lock, or SOFA's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import Sofa.Helper

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.components.elasticity.energies import ENERGIES
from sofa_softctl.scene.backend.backend import find_backend

NOT_LOCKING = "AssumedStrainFEMForceField"
"""Component of the embedded runtime; SOFA does not have it."""


def add_elasticity(
    node: Any,
    *,
    young_modulus: float | Sequence[float] | None = None,
    poisson_ratio: float | None = None,
    material: str = "Corotational",
    parameters: Sequence[float] | None = None,
    quadratic: bool = False,
    name: str = "elasticity",
) -> Any:
    """Add elasticity to the tetrahedra or hexahedra of a node, without locking.

    A coarse mesh then bends as a fine one does: a modulus from a tensile test holds on any mesh. In
    SOFA, which lacks these elements, its own are added, with a warning: they are stiffer.

    Args:
        node: Node with a topology of tetrahedra or hexahedra, and a state of points.
        young_modulus: Young's modulus [pressure]; one, or one for each element.
        poisson_ratio: Poisson's ratio, 0 to below 0.5, by default 0.45; to 0.499 nothing locks.
        material: Corotational (linear in the rotated frame), StVenantKirchhoff, NeoHookean,
            StableNeoHookean, MooneyRivlin or ArrudaBoyce.
        parameters: Parameters of the material instead of modulus and ratio [pressure]: mu and
            lambda, c1, c2 and k of MooneyRivlin, mu and k of ArrudaBoyce.
        quadratic: The tetrahedra are the eighths of 10-node ones; see `softctl mesh quadratic`.
        name: Name of the force field.

    Returns:
        The force field.

    Raises:
        SceneError: The material is unknown, a modulus or the ratio is missing or out of range, or
            SOFA has no element for the material.
    """
    if material not in ENERGIES:
        raise SceneError(
            f"add_elasticity knows the materials {', '.join(ENERGIES)}; got {material!r}."
        )
    if parameters is not None:
        if young_modulus is not None or poisson_ratio is not None:
            raise SceneError(
                "add_elasticity takes either parameters, or young_modulus and poisson_ratio; got "
                "both."
            )
        given: dict[str, Any] = {"ParameterSet": _numbers("parameters", parameters).tolist()}
        young, ratio = np.zeros(0), 0.0
    else:
        if young_modulus is None:
            raise SceneError("add_elasticity needs young_modulus, or parameters of the material.")
        young = _numbers("young_modulus", young_modulus)
        if not (young > 0.0).all():
            raise SceneError(f"young_modulus must be above 0, got {young_modulus!r}.")
        ratios = _numbers("poisson_ratio", 0.45 if poisson_ratio is None else poisson_ratio)
        ratio = float(ratios[0])
        if len(ratios) != 1 or not 0.0 <= ratio < 0.5:
            raise SceneError(
                f"poisson_ratio must be a number from 0 to below 0.5, got {poisson_ratio!r}. Take "
                "0.499 for a material that keeps its volume."
            )
        given = {"youngModulus": young.tolist(), "poissonRatio": ratio}
    if find_backend().component_names_among((NOT_LOCKING,)):
        return node.addObject(
            NOT_LOCKING, name=name, materialName=material, quadratic=quadratic, **given
        )
    return _add_locking(node, name, young, ratio, material, given.get("ParameterSet"))


def _numbers(name: str, values: Any) -> np.ndarray:
    """Return finite numbers as an array, shape (k,)."""
    try:
        array = np.atleast_1d(np.asarray(values, dtype=float))
    except (TypeError, ValueError):
        array = np.full(1, np.nan)
    if array.ndim != 1 or not array.size or not np.isfinite(array).all():
        raise SceneError(f"{name} must be a finite number or a list of these, got {values!r}.")
    return array


def _add_locking(
    node: Any,
    name: str,
    young: np.ndarray,
    poisson: float,
    material: str,
    parameters: list[float] | None,
) -> Any:
    """Add SOFA's element to a node, with a warning."""
    has_hexahedra = any(_holds_hexahedra(component) for component in node.objects)
    Sofa.Helper.msg_warning(
        node,
        f"add_elasticity: SOFA has no elements without locking, so '{name}' is SOFA's own: too "
        "stiff in bending, by as much as `softctl mesh error` says for this scene.",
    )
    law = ENERGIES[material]
    if material == "Corotational":
        if parameters is not None:
            shear, bulk = (float(modulus[0]) for modulus in law.rest_moduli(np.array([parameters])))
            young = np.array([9.0 * bulk * shear / (3.0 * bulk + shear)])
            poisson = (3.0 * bulk - 2.0 * shear) / (2.0 * (3.0 * bulk + shear))
        kind = "HexahedronFEMForceField" if has_hexahedra else "TetrahedronFEMForceField"
        moduli = {"youngModulus": young.tolist(), "poissonRatio": poisson}
        return node.addObject(kind, name=name, method="large", **moduli)
    if has_hexahedra:
        raise SceneError(
            f"SOFA has no {material} for hexahedra: take material='Corotational', or tetrahedra."
        )
    if parameters is None:
        if np.ptp(young):
            raise SceneError(
                f"SOFA has one modulus for a body of {material}: give a number as young_modulus, "
                "or take material='Corotational'."
            )
        moduli_at_rest = 0.5 * young[:1] / (1.0 + poisson), young[:1] / (3.0 - 6.0 * poisson)
        parameters = law.parameters_of(*moduli_at_rest)[0].tolist()
    kind = "TetrahedronHyperelasticityFEMForceField"
    return node.addObject(kind, name=name, materialName=material, ParameterSet=parameters)


def _holds_hexahedra(component: Any) -> bool:
    """Return True for a topology of hexahedra, a grid among them."""
    kind = component.getClassName()
    if kind in ("RegularGridTopology", "SparseGridTopology", "HexahedronSetTopologyContainer"):
        return True
    if kind != "MeshTopology":
        return False
    hexahedra = component.findData("hexahedra")
    return hexahedra is not None and len(hexahedra.value) > 0
