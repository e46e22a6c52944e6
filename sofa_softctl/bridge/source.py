"""What drives the actuators that a robot follows: a controller, a list, or the whole scene."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from sofa_softctl.bridge.config.scene_actuators import driven_by
from sofa_softctl.scene import options
from sofa_softctl.scene.actuator_quantities import QUANTITIES
from sofa_softctl.scene.channels import nodes_of

_EXPECTED = (
    "a controller with a list `actuators`, such as an InverseController, or a list of components "
    f"({', '.join(sorted(QUANTITIES))})"
)


def find_source(bridge: Any, source: Any) -> tuple[Any, list[Any]]:
    """What drives the actuators, and these.

    Args:
        bridge: The HardwareBridge.
        source: A controller or a list of components; None: the only controller of the scene that
            drives any, in a scene without one all its actuators.

    Raises:
        SceneError: `source` is something else, there are several controllers, or no actuators.
    """
    if source is None:
        return _only_source(bridge)
    if isinstance(source, list | tuple):
        source = SimpleNamespace(actuators=list(source))
    found = driven_by(source)
    if not found:
        shown = getattr(source, "actuators", source)
        options.wrong(bridge, "source", _EXPECTED, shown)
    return source, found


def _only_source(bridge: Any) -> tuple[Any, list[Any]]:
    entries = [entry for node in nodes_of(bridge.root) for entry in node.objects]
    driving = [entry for entry in entries if driven_by(entry)]
    if len(driving) > 1:
        names = ", ".join(repr(entry.getPathName()) for entry in driving)
        options.wrong(bridge, "source", "the controller to follow", None, f"These drive: {names}.")
    if driving:
        return driving[0], driven_by(driving[0])
    known = [
        entry
        for entry in entries
        if entry.getClassName() in QUANTITIES
        and entry.getClassName() != "PositionConstraint"  # effectors are made of them
    ]
    if not known:
        advice = "Make the bridge after them."
        options.wrong(bridge, "source", f"{_EXPECTED}, as the scene has none so far", None, advice)
    return SimpleNamespace(actuators=known), known
