"""Equilibria of a scene's robot, on a copy of the scene in the embedded runtime."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sofa_softctl.errors import BackendError
from sofa_softctl.runtime.equilibrium.flutter import flutter_number
from sofa_softctl.runtime.equilibrium.map import Equilibrium, EquilibriumMap, KnownEquilibrium
from sofa_softctl.scene.backend.backend import find_backend
from sofa_softctl.scene.graph.nodes import state_at
from sofa_softctl.scene.session.session import Session

__all__ = [
    "Equilibrium",
    "EquilibriumMap",
    "KnownEquilibrium",
    "equilibrium_map",
    "flutter_number",
]


def equilibrium_map(
    scene: str | Path | Callable[..., Any],
    *,
    scale: float,
    points: Sequence[str] = (),
    parameters: dict[str, Any] | None = None,
) -> EquilibriumMap:
    """Return the equilibrium map of a scene's robot under the tensions of its cables.

    Args:
        scene: Scene file or createScene.
        scale: Tension of a control of 1 [force].
        points: Paths of nodes whose states are outputs, such as "/arm/beam".
        parameters: Parameters of createScene.

    Raises:
        BackendError: this process runs SOFA, which gives no exact tangents.
        SceneError: no such node, or a scene without cables.
    """
    if find_backend().name != "embedded":
        raise BackendError(
            "Equilibria are sought in the embedded runtime, but this process runs SOFA. Do it in a "
            "separate process, such as `softctl plan`, or with SOFTCTL_BACKEND=embedded."
        )
    root = Session(scene, parameters=parameters).root
    return EquilibriumMap(root, scale=scale, points=[state_at(root, path) for path in points])
