"""Equilibria of a scene's robot, on a copy of the scene in the embedded runtime."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl.errors import BackendError
from sofa_softctl.runtime.equilibrium.flutter import flutter_number
from sofa_softctl.runtime.equilibrium.map import Equilibrium, EquilibriumMap, KnownEquilibrium
from sofa_softctl.scene.backend import find_backend
from sofa_softctl.scene.channels import state_at
from sofa_softctl.scene.session import Session

__all__ = [
    "Equilibrium",
    "EquilibriumMap",
    "KnownEquilibrium",
    "equilibrium_map",
    "flutter_number",
    "model_hash",
]


def equilibrium_map(
    scene: str | Path | Callable[..., Any],
    *,
    scale: float,
    points: Sequence[str] = (),
    parameters: dict[str, Any] | None = None,
) -> EquilibriumMap:
    """Equilibrium of a scene's robot under the tensions of its cables.

    Args:
        scene: Scene file or createScene.
        scale: Tension of a control of 1 [force].
        points: Paths of nodes whose states are watched, such as "/arm/beam".
        parameters: Of createScene.

    Raises:
        BackendError: this process runs SOFA, which gives no exact tangents.
        SceneError: no such node, or a scene without cables.
    """
    if find_backend().name != "embedded":
        raise BackendError(
            "Equilibria are sought in the embedded runtime, but this process runs SOFA. Do it in a "
            "process of its own, such as `softctl plan`, or with SOFTCTL_BACKEND=embedded."
        )
    root = Session(scene, parameters=parameters).root
    return EquilibriumMap(root, scale=scale, points=[state_at(root, path) for path in points])


_MOVING = frozenset(
    "position velocity free_position free_velocity force externalForce derivX reset_position "
    "reset_velocity name printLog filename constraintIndex cableLength displacement value bbox "
    "componentState tags listening".split()
)
"""Data that say nothing of the model, or change while it runs."""


def model_hash(found: EquilibriumMap) -> str:
    """Digest of a model: its shape, materials, masses, lines and scale.

    A digest of all Data of the components that take part, without names, files and what moves.
    """
    digest = hashlib.sha256(f"equilibrium 1 {found.scale!r}".encode())
    system = found.system
    parts = [*system.states, *system.mapped, *system.mappings, *system.masses]
    parts += [*system.force_fields, *system.projective, *found.cables]
    for part in parts:
        digest.update(type(part).__name__.encode())
        for name in sorted(set(part._data) - _MOVING):
            digest.update(name.encode())
            value = part._data[name].get()
            array = isinstance(value, np.ndarray)
            digest.update(value.tobytes() if array else repr(value).encode())
        elements = getattr(part, "elements", None)
        if elements is not None:
            digest.update(np.ascontiguousarray(elements).tobytes())
    for mass in system.masses:
        digest.update(mass._context._data["gravity"].get().tobytes())  # type: ignore[union-attr]
    digest.update(found.rest.tobytes())
    return digest.hexdigest()
