"""Checks of actuators' limits before the first step: contradictions, and SOFA's multipliers."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import Sofa

from sofa_softctl.errors import SceneError
from sofa_softctl.inverse.actuators import Actuators
from sofa_softctl.runtime.helper.source_line import describe


class Source(NamedTuple):
    """A limit, and where it was written."""

    value: float
    """The limit, in the scene's units."""
    text: str
    """Name and number as the user wrote them, with component and line."""


def check_limits(controller: Any, factor: np.ndarray) -> None:
    """Check the limits of an inverse controller's actuators.

    Args:
        controller: The controller.
        factor: Multiplier of one unit of effort of each actuator, shape (n_a,).

    Raises:
        SceneError: a lower limit is above an upper one, or a limit excludes every value.
    """
    driven = controller.driven
    for i in map(int, np.flatnonzero(~driven.changes)):
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
        _warn_of_multipliers(controller, i, factor[i])
        _warn_of_pushing(controller, i, factor[i])


def _limit(controller: Any, name: str, i: int, factor: float) -> Source:
    """The tighter one of the component's limit and the controller's."""
    driven: Actuators = controller.driven
    given = np.broadcast_to(driven.given[name], driven.count)[i]
    of_controller = Source(float(given), f"{name}={given:g} of {type(controller).__name__}")
    own = driven.own_limit(name, i)
    if own is None:
        return of_controller
    data, value, sign = own
    text, limit = _written(driven.components[i], data, value), sign * float(value.value)
    if name.startswith("effort") and factor != 1.0:
        limit /= factor
        text += f", an effort of {limit:g}"
    of_component = Source(limit, text)
    tighter = max if name.endswith("_min") else min
    return tighter(of_component, of_controller, key=lambda source: source.value)


def _written(component: Any, name: str, data: Any) -> str:
    line = getattr(data, "where", None)
    place = f" ({describe(line)})" if line is not None else ""
    return f"{name}={data.value:g} of {component.getClassName()} '{component.getPathName()}'{place}"


def _warn_of_multipliers(controller: Any, i: int, factor: float) -> None:
    """Warn of limits on SOFA's multiplier, which mean another effort at another dt."""
    driven: Actuators = controller.driven
    if factor == 1.0:
        return
    for name in ("effort_min", "effort_max"):
        own = driven.own_limit(name, i)
        if own is None or own[1].value == 0.0 or not math.isfinite(own[1].value):
            continue
        data, value, _ = own
        what = driven.kinds[i].unit  # type: ignore[union-attr]
        Sofa.msg_warning(
            controller,
            f"{_written(driven.components[i], data, value)} limits SOFA's multiplier, which is "
            f"{factor:g} times the {what} with this integrator and dt: a {what} of "
            f"{value.value / factor:g} here, and another one at another dt. Give the controller "
            f"{name}={value.value / factor:g} instead.",
        )


def _warn_of_pushing(controller: Any, i: int, factor: float) -> None:
    """Warn of cables without a lower limit, which would push like rods."""
    component = controller.driven.components[i]
    if not component.getClassName().startswith("Cable"):
        return
    if _limit(controller, "effort_min", i, factor).value == -math.inf:
        Sofa.msg_warning(
            controller,
            f"{controller.driven.names[i]} ({component.getClassName()} "
            f"'{component.getPathName()}') has no lower limit of its force, so it can push, which "
            "a cable cannot. Give the controller effort_min=0, or a negative number if it is a "
            "rod.",
        )
