"""Checks of actuators' limits before the first step: contradictions, and SOFA's multipliers."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from sofa_softctl.base.source_line import describe
from sofa_softctl.errors import SceneError
from sofa_softctl.inverse.rows.actuators import Actuators
from sofa_softctl.scene.control.system import ComplianceSystem
from sofa_softctl.scene.control.units import quantities_of
from sofa_softctl.scene.graph.nodes import attributes_of, body_size, objects_of, stiffness_of

STRENGTH_RATIO_MAX = 1000.0
"""Effort relative to one that doubles the body's length, above which a limit has no effect [-]."""
PRESSURE_RATIO_MAX = 2.0
"""Pressure relative to Young's modulus, above which a limit has no effect [-]."""


class LimitSource(NamedTuple):
    """A limit, and its position in the user's code."""

    value: float
    """The limit, in the scene's units."""
    text: str
    """Name, number and owner, with the line of a component's Data."""


def check_limits(controller: Any, factor: np.ndarray) -> None:
    """Check the limits of an inverse controller's actuators.

    Args:
        controller: InverseController to check.
        factor: SOFA's multiplier of one unit of effort of each actuator, shape (n_a,).

    Raises:
        SceneError: a lower limit is above an upper one, or a limit excludes every value.
    """
    driven = controller.driven
    # Actuators whose effort is its change in a step, moduli, have limits of the modulus itself.
    for i in map(int, np.flatnonzero(~driven.is_change)):
        for low, high in (("effort_min", "effort_max"), ("displacement_min", "displacement_max")):
            lower, upper = (
                _limit(controller, low, i, factor[i]),
                _limit(controller, high, i, factor[i]),
            )
            if (
                not lower.value <= upper.value
                or lower.value == math.inf
                or upper.value == -math.inf
            ):
                raise SceneError(
                    f"{driven.names[i]}: its limits contradict each other: {lower.text}, and "
                    f"{upper.text}."
                )


def limit_warnings(controller: Any) -> list[str]:
    """Return warnings on limits of SOFA's multipliers, on names, and on cables that can push."""
    system = ComplianceSystem(controller.root)
    factor = np.array([system.effort_factor(c) for c in controller.driven.components])
    return [
        *_multiplier_warnings(controller, factor),
        *_pushing_warnings(controller, factor),
        *_strength_warnings(controller),
        *_shared_actuator_warnings(controller),
        *_swapped_name_warnings(controller),
    ]


def _swapped_name_warnings(controller: Any) -> list[str]:
    """Warn if `names` are the names of the actuators' nodes in another order."""
    nodes = [component.getContext().getName() for component in controller.driven.components]
    names = list(controller.names)
    if names == nodes or sorted(names) != sorted(nodes):
        return []
    return [
        f"'names' are {', '.join(names)}, and the nodes of 'actuators' {', '.join(nodes)}: give "
        "the names in the order of the actuators, or leave them out."
    ]


def _shared_actuator_warnings(controller: Any) -> list[str]:
    """Warn of actuators that an earlier inverse controller also drives."""
    texts = []
    for other in objects_of(controller.root):
        driven = attributes_of(other).get("driven")
        if other.getPathName() == controller.getPathName():
            break
        paths = [component.getPathName() for component in getattr(driven, "components", ())]
        twice = [c.getPathName() for c in controller.driven.components if c.getPathName() in paths]
        if twice:
            texts.append(
                f"{', '.join(twice)} is driven by '{other.getPathName()}', too: of two efforts in "
                "a step only the last acts. Leave it out of one of them."
            )
    return texts


def _strength_warnings(controller: Any) -> list[str]:
    """Warn of finite limits far above the strength of the material."""
    texts = []
    limits = np.broadcast_to(controller.driven.options["effort_max"], controller.driven.count)
    for component, kind, name, limit in zip(
        controller.driven.components, controller.driven.kinds, controller.names, limits, strict=True
    ):
        stiffness = stiffness_of(component)
        if kind is None or not stiffness or not math.isfinite(limit):
            continue
        size = body_size(component.getContext())
        kinds = {
            "force": (STRENGTH_RATIO_MAX, size**2, "what doubles the length of such a body"),
            "pressure": (PRESSURE_RATIO_MAX, 1.0, "what no body bears, Young's modulus"),
        }
        ratio, area, text = kinds.get(quantities_of(component).effort, (math.inf, 1.0, ""))
        if limit > ratio * area * stiffness:
            texts.append(
                f"effort_max={limit:g} of '{name}' limits nothing: already "
                f"{ratio * area * stiffness:.2g} is {ratio:g} times {text}. Is it in another unit?"
            )
    return texts


def _limit(controller: Any, name: str, i: int, factor: float) -> LimitSource:
    """Return the tighter one of the component's limit and the controller's."""
    driven: Actuators = controller.driven
    option = np.broadcast_to(driven.options[name], driven.count)[i]
    of_controller = LimitSource(float(option), f"{name}={option:g} of {type(controller).__name__}")
    component_limit = driven.own_limit(name, i)
    if component_limit is None:
        return of_controller
    data_name, data, sign = component_limit
    text = _limit_text(driven.components[i], data_name, data)
    limit = sign * float(data.value)
    if name.startswith("effort") and factor != 1.0:
        limit /= factor
        text += f", an effort of {limit:g}"
    of_component = LimitSource(limit, text)
    tighter = max if name.endswith("_min") else min
    return tighter(of_component, of_controller, key=lambda source: source.value)


def _limit_text(component: Any, name: str, data: Any) -> str:
    line = getattr(data, "where", None)
    location = f" ({describe(line)})" if line is not None else ""
    kind = component.getClassName()
    return f"{name}={data.value:g} of {kind} '{component.getPathName()}'{location}"


def _multiplier_warnings(controller: Any, factor: np.ndarray) -> list[str]:
    """Warn of limits on SOFA's multiplier, which mean another effort at another dt."""
    driven: Actuators = controller.driven
    limits = [
        (i, name, *own_limit)
        for name in ("effort_min", "effort_max")
        for i, kind in enumerate(driven.kinds)
        if kind is not None and factor[i] != 1.0
        if (own_limit := driven.own_limit(name, i)) is not None
        if own_limit[1].value != 0.0 and math.isfinite(own_limit[1].value)
    ]
    if not limits:
        return []
    i, name, data, value, _ = limits[0]
    other_count = len({item[0] for item in limits}) - 1
    like_others = f", like limits of {other_count} other actuators," if other_count else ""
    effort = driven.quantities[i].effort
    options = {name: _as_option(driven, name, factor) for _, name, *_ in limits}
    return [
        f"{_limit_text(driven.components[i], data, value)}{like_others} limits SOFA's multiplier, "
        f"which is {factor[i]:g} times the {effort} with this integrator and dt: here it means a "
        f"{effort} of {value.value / factor[i]:g}, and another one at another dt. Give the "
        f"controller {' and '.join(f'{name}={limit}' for name, limit in options.items())} instead."
    ]


def _as_option(driven: Actuators, name: str, factor: np.ndarray) -> str:
    """Return the components' own limits as the text of a controller option."""
    own_limits = [driven.own_limit(name, i) for i in range(driven.count)]
    unset = -math.inf if name.endswith("_min") else math.inf
    limits = [
        unset if own_limit is None else float(own_limit[1].value) / multiplier
        for own_limit, multiplier in zip(own_limits, factor, strict=True)
    ]
    texts = [f"{limit:g}" for limit in limits]
    return texts[0] if len(set(texts)) == 1 else f"[{', '.join(texts)}]"


def _pushing_warnings(controller: Any, factor: np.ndarray) -> list[str]:
    """Warn of cables without a lower limit, which would push like rods."""
    driven: Actuators = controller.driven
    free = [
        i
        for i, component in enumerate(driven.components)
        if component.getClassName().startswith("Cable")
        and _limit(controller, "effort_min", i, factor[i]).value == -math.inf
    ]
    if not free:
        return []
    names = ", ".join(driven.names[i] for i in free)
    return [
        f"{names}: no lower limit of the force, so {'it' if len(free) == 1 else 'they'} can push, "
        "which a cable cannot. Give the controller effort_min=0, or a negative number for a rod."
    ]
