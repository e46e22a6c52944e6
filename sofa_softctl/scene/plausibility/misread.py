"""Warnings of numbers that SOFA reads otherwise than they were meant, or that are left out."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from sofa_softctl.scene.graph.nodes import body_of, box_size, nodes_of, own_state
from sofa_softctl.scene.plausibility.bodies import StartWarning, at
from sofa_softctl.units import Units

RADIANS_TOLERANCE = 1e-3
"""Relative difference from a part of a turn in radians that rounding explains, as of 1.57 [-]."""
LOCKING_RATIO_MIN = 0.49
"""Poisson's ratio above which linear tetrahedra lock [-]."""
LAMBDA_BY_MU_MIN = 0.01
"""Ratio lambda / mu below which the second parameter is rather Poisson's ratio: (E, nu) [-]."""
SPHERE_RATIO_MAX = 10.0
"""Half size of a body by the radius of its one sphere, above which the radius is wrong [-]."""
USE_REST = (
    "MeshSpringForceField",
    "RegularGridSpringForceField",
    "VectorSpringForceField",
    "RestShapeSpringsForceField",
    "BendingSprings",
    "TrianglePressureForceField",
    "DiagonalMass",
    "FixedLagrangianConstraint",
)
"""Ends of the names of classes whose forces or masses come from the rest positions of a state."""


def misread_warnings(root: Any, units: Units | None) -> list[StartWarning]:
    """Warn of angles in another unit, defaults, Poisson's ratios, friction, rest positions."""
    checks = (_angles, _turns, _poisson, _hyperelastic, _sphere, _friction, _rest)
    components = [component for node in nodes_of(root) for component in node.objects]
    warnings = [
        StartWarning(component, f"{at(component)} {text}")
        for component in components
        for check in checks
        for text in check(component)
    ]
    if units is not None:
        warnings += [
            StartWarning(component, f"{at(component)} {text}")
            for component in components
            for text in _default_modulus(component)
        ]
    return warnings


def _angles(component: Any) -> Iterator[str]:
    """Warn of angles of a mesh in radians."""
    if not component.getClassName().endswith(("Loader", "MechanicalObject", "OglModel")):
        return
    for name in ("rotation", "rotation2"):
        data = component.findData(name)
        values = [] if data is None else [abs(float(v)) for v in np.ravel(data.value) if v]
        if values and all(_is_part_of_turn(value) for value in values):
            yield (
                f"has {name}={_digits(data.value)}, which are parts of a turn in radians, and "
                f"degrees are expected: give {_digits(np.degrees(data.value).round())}."
            )


def _is_part_of_turn(angle: float) -> bool:
    parts = [k * part for part in (math.pi / 6.0, math.pi / 4.0) for k in range(1, 13)]
    is_near = any(abs(angle / part - 1.0) < RADIANS_TOLERANCE for part in parts)
    return is_near and round(angle, 1) != angle


def _turns(component: Any) -> Iterator[str]:
    """Warn of turns of a movement in degrees."""
    if not component.getClassName().startswith("LinearMovement"):
        return
    movements = np.asarray(component.movements.value, dtype=float)
    turns = movements[:, 3:] if movements.ndim == 2 else np.empty(0)
    largest = float(np.abs(turns).max(initial=0.0))
    if largest > 4.0 * math.pi and not np.any(turns % 15.0):
        yield (
            f"turns by {largest:g} in 'movements', and radians are expected, "
            f"{largest / math.tau:.3g} turns: are these degrees, for {math.radians(largest):.4g}?"
        )


def _default_modulus(component: Any) -> Iterator[str]:
    data = component.findData("youngModulus")
    if data is None or "FEMForceField" not in component.getClassName():
        return
    parameters = component.findData("ParameterSet")  # instead of the modulus
    is_given = data.isSet() or data.getParent() is not None
    if not is_given and (parameters is None or not parameters.isSet()):
        value = np.ravel(data.value)[:1]
        yield f"has no youngModulus and takes the default, {_digits(value)}: give the material's."


def _poisson(component: Any) -> Iterator[str]:
    data = component.findData("poissonRatio")
    if data is None or not component.getClassName().startswith(("Tetrahedr", "FastTetrahedr")):
        return
    largest = float(np.max(data.value, initial=0.0))
    if LOCKING_RATIO_MIN < largest < 0.5:
        yield (
            f"has poissonRatio={largest:g}, at which linear tetrahedra lock: the body is far "
            "stiffer than its material. Give 0.45 to 0.49."
        )


def _hyperelastic(component: Any) -> Iterator[str]:
    material = component.findData("materialName")
    if material is None or str(material.value) not in ("NeoHookean", "StVenantKirchhoff"):
        return
    values = np.ravel(np.asarray(component.ParameterSet.value, dtype=float))
    if len(values) == 2 and 0.0 < values[1] < min(0.5, LAMBDA_BY_MU_MIN * values[0]):
        e, nu = values
        shear, first = e / (2.0 + 2.0 * nu), e * nu / ((1.0 + nu) * (1.0 - 2.0 * nu))
        yield (
            f"has ParameterSet={_digits(values)}, and the second number looks like Poisson's ratio "
            f"where {material.value} has Lame's parameters mu and lambda: of these they would be "
            f"{shear:.6g} {first:.6g}."
        )


def _sphere(component: Any) -> Iterator[str]:
    """Warn of the default radius of the one sphere of a far larger body."""
    if component.getClassName() != "SphereCollisionModel" or component.radius.isSet():
        return
    state = own_state(component.getContext())
    if component.listRadius.isSet() or state is None or len(state.position.value) != 1:
        return
    body = body_of(component.getContext())
    shown = [
        np.ptp(np.asarray(e.position.value, dtype=float), axis=0).max()
        for node in nodes_of(body)
        for e in node.objects
        if e.getClassName() == "OglModel" and len(e.position.value)
    ]
    half, radius = 0.5 * max([box_size(body), *shown]), float(component.radius.value)
    if half > SPHERE_RATIO_MAX * radius:
        yield (
            f"has no radius and takes the default, {radius:g}, and the body is {2.0 * half:.3g} "
            f"long: give its radius, such as {half:.3g}."
        )


def _rest(component: Any) -> Iterator[str]:
    """Warn of rest positions of a mapped state without positions."""
    if not component.getClassName().endswith(USE_REST):
        return
    shape, state = component.findLink("external_rest_shape"), own_state(component.getContext())
    if state is None or (shape is not None and shape.getSize()):
        return
    rest, position = (
        np.asarray(data.value, dtype=float)[:, :3] for data in (state.rest_position, state.position)
    )
    if len(rest) > 1 and not rest.any() and position.any():
        yield (
            f"works with the rest positions of '{state.getPathName()}', which are all 0, as those "
            "of a mapped state without positions are in SOFA: give the state its 'position', "
            "such as '@mesh.position'."
        )


def _friction(component: Any) -> Iterator[str]:
    if component.getClassName() != "CollisionResponse":
        return
    parameters = str(component.responseParams.value)
    if "mu=" in parameters and str(component.response.value).startswith("Penalit"):
        yield (
            f"has responseParams='{parameters}', and contacts by penalty have no friction: use "
            "response='FrictionContactConstraint'."
        )


def _digits(values: Any) -> str:
    return " ".join(f"{value:g}" for value in np.ravel(values))
