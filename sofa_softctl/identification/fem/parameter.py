"""Parameters of FEM robots: materials by region, damping, mass, marker frame."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.fem.sensing import Marker, point
from sofa_softctl.identification.model.parameter import Parameter, Prior
from sofa_softctl.scene.copies.step_model import Box, StepModel, StepParameter, inside_box
from sofa_softctl.units import Units


def _not_declared(model: StepModel) -> StepParameter:
    raise NotImplementedError


@dataclass(frozen=True)
class FemParameter(Parameter):
    """Unknown parameter of a scene."""

    of: Callable[[StepModel], StepParameter] = _not_declared
    """Function that returns the parameter in a model of the scene."""
    quantity: str = ""
    """Quantity 'pressure', 'mass', 'time' or '1/time', which defines the unit; "" without one."""
    scene_parameter: str | None = None
    """Parameter of createScene with the same value, for `scene_values`, or None."""


@dataclass(frozen=True)
class FrameParameter(Parameter):
    """One of six components of the correction of the registered marker frame."""

    component: int = 0
    """0 to 2: rotation vector [rad], about the scene's origin; 3 to 5: translation [length]."""
    quantity: str = ""
    """Quantity 'length', which defines the unit, or "" for an angle."""


def with_unit(
    parameter: FemParameter | FrameParameter, units: Units | None, scene: str
) -> FemParameter | FrameParameter:
    """The parameter with its unit in the scene.

    Args:
        parameter: Parameter with that unit, or without a unit.
        units: Units of the scene, or None if unknown; then the parameter is returned unchanged.
        scene: Name of the scene, for the message.

    Raises:
        IdentificationError: It is declared in another unit.
    """
    if units is None or not parameter.quantity:
        return parameter
    unit = f"1/{units.time}" if parameter.quantity == "1/time" else units.symbol(parameter.quantity)
    if parameter.unit not in ("", unit):
        raise IdentificationError(
            f"Parameter '{parameter.name}' is declared in {parameter.unit}. Expected {unit}: the "
            "units of "
            f"scene '{scene}' are {units}. Give start, bounds "
            f"and prior in {unit}; `unit` may then be left out."
        )
    return replace(parameter, unit=unit)


def frame_parameters(
    *, angle: float = 0.3, shift: float = 50.0, unit: str = ""
) -> tuple[FrameParameter, ...]:
    """Correction of the marker frame as parameters, so that intervals include its error.

    Args:
        angle: Bound of the rotation [rad].
        shift: Bound of the translation [length].
        unit: Unit of length, by default the unit of the scene.
    """
    turns = [
        FrameParameter(f"frame.turn_{axis}", 0.0, "rad", -angle, angle, component=k)
        for k, axis in enumerate("xyz")
    ]
    shifts = [
        FrameParameter(
            f"frame.shift_{axis}", 0.0, unit, -shift, shift, component=3 + k, quantity="length"
        )
        for k, axis in enumerate("xyz")
    ]
    return (*turns, *shifts)


def young_modulus(
    name: str,
    start: float,
    *,
    box: Box | None = None,
    boxes: Sequence[Box] = (),
    elements: Sequence[int] | None = None,
    field: str | None = None,
    unit: str = "",
    lower: float = 0.0,
    upper: float = math.inf,
    prior: Prior | None = None,
    scene_parameter: str | None = None,
) -> FemParameter:
    """Young's modulus of a region: the tetrahedra whose centre at rest is in one of the boxes.

    That of a hyperelastic material is its modulus at rest; all of its parameters scale with it.

    Args:
        name: Name of the parameter.
        start: Initial value [pressure].
        box: xmin, ymin, zmin, xmax, ymax, zmax; without box, boxes and elements: all tetrahedra.
        boxes: Several boxes.
        elements: Indices of tetrahedra, in place of boxes.
        field: Path of the force field, if the scene has several.
        unit: Unit of the modulus, by default the unit of the scene.
        lower, upper, prior: As for Parameter.
        scene_parameter: Parameter of createScene that is the modulus of this region.
    """
    all_boxes = (*([box] if box is not None else []), *boxes)
    of = partial(StepModel.moduli, path=field, boxes=all_boxes, elements=elements)
    return FemParameter(
        name, start, unit, lower, upper, prior, of, "pressure", scene_parameter=scene_parameter
    )


def material_parameter(
    name: str,
    start: float,
    *,
    parameter: str = "",
    box: Box | None = None,
    boxes: Sequence[Box] = (),
    elements: Sequence[int] | None = None,
    field: str | None = None,
    **rest: Any,
) -> FemParameter:
    """Parameter of a hyperelastic material in a region, such as mu of NeoHookean.

    Args:
        name: Name of the parameter.
        start: Initial value [pressure].
        parameter: Name in the material, by default `name`: 'mu' or 'lambda'; 'c1', 'c2' or 'k' of
            MooneyRivlin, 'mu' or 'k' of ArrudaBoyce.
        box, boxes, elements, field: The region, as for `young_modulus`.
        rest: unit, lower, upper, prior, scene_parameter as for `young_modulus`.
    """
    all_boxes = (*([box] if box is not None else []), *boxes)
    name_in_material = parameter or name
    of = partial(
        StepModel.material_parameter,
        name=name_in_material,
        path=field,
        boxes=all_boxes,
        elements=elements,
    )
    return FemParameter(name, start, of=of, quantity="pressure", **rest)


def poisson_ratio(
    name: str = "poisson_ratio",
    start: float = 0.45,
    *,
    field: str | None = None,
    lower: float = 0.0,
    upper: float = 0.495,
    prior: Prior | None = None,
    scene_parameter: str | None = None,
) -> FemParameter:
    """Poisson's ratio of a force field."""
    of = partial(StepModel.poisson_ratio, path=field)
    return FemParameter(name, start, "-", lower, upper, prior, of, scene_parameter=scene_parameter)


def total_mass(
    name: str = "total_mass", start: float = 1.0, *, mass: str | None = None, **rest: Any
) -> FemParameter:
    """Total mass; its distribution is kept.

    Args:
        name: Name of the parameter.
        start: Initial value [mass].
        mass: Path of the mass, if the scene has several.
        rest: unit, lower, upper, prior, scene_parameter as for `young_modulus`.
    """
    of = partial(StepModel.total_mass, path=mass)
    return FemParameter(name, start, of=of, quantity="mass", **rest)


def payload(
    name: str,
    start: float,
    *,
    at: tuple[float, float, float] | None = None,
    state: str | None = None,
    index: int = 0,
    box: Box | None = None,
    **rest: Any,
) -> FemParameter:
    """Mass of a load that the robot carries, besides the masses of the scene.

    The load has weight and inertia, no stiffness. Give one of `at`, `state` and `box`.

    Args:
        name: Name of the parameter.
        start: Initial value [mass]; with 0, give its typical magnitude, `size`.
        at: Position at rest of a load in a point of the mesh [length].
        state: Path of a node whose state carries the load.
        index: Index of the point in that state.
        box: Box of the nodes that share the load evenly: xmin, ymin, zmin, xmax, ymax, zmax.
        rest: unit, lower, upper, prior, scene_parameter, size as for `young_modulus`.

    Raises:
        IdentificationError: None of them is given, or several are.
    """
    places = {"at": at, "state": state, "box": box}
    given = [key for key, value in places.items() if value is not None]
    if len(given) != 1:
        raise IdentificationError(
            f"Payload '{name}' needs one of 'at', a position on the mesh, 'state', a node, and "
            f"'box', for the nodes in it. Got: {' and '.join(given) or 'none of them'}."
        )
    of = partial(_payload, place=Marker(name, at, state, index), box=box)
    return FemParameter(name, start, of=of, quantity="mass", **rest)


def _payload(model: StepModel, *, place: Marker, box: Box | None) -> StepParameter:
    if box is None:
        return model.payload(point(model, place).toarray()[0])
    is_inside = inside_box(model.step.x0, box)
    if not is_inside.any():
        low, high = (np.round(f(model.step.x0, axis=0), 3).tolist() for f in (np.min, np.max))
        raise IdentificationError(
            f"Payload '{place.name}': there is no node in its box {list(box)}. The nodes lie "
            f"between {low} and {high}."
        )
    return model.payload(is_inside.astype(float))


def rayleigh_mass(name: str = "rayleigh_mass", start: float = 0.1, **rest: Any) -> FemParameter:
    """Rayleigh damping of the integrator proportional to mass [1/time]."""
    return FemParameter(name, start, of=StepModel.rayleigh_mass, quantity="1/time", **rest)


def rayleigh_stiffness(
    name: str = "rayleigh_stiffness", start: float = 0.1, **rest: Any
) -> FemParameter:
    """Rayleigh damping of the integrator proportional to stiffness [time]."""
    return FemParameter(name, start, of=StepModel.rayleigh_stiffness, quantity="time", **rest)
