"""Contact detection that cannot work: parts missing, nothing that may touch, distances."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np

from sofa_softctl.scene.graph.nodes import attributes_of, box_size, elements_of, own_state
from sofa_softctl.scene.plausibility.bodies import StartWarning, at
from sofa_softctl.scene.plausibility.leaving import collision_models, groups_of

ALARM_RATIO_MAX = 2.0
"""Largest alarm distance by the size of the smallest moving body; above, all touches all [-]."""
CONTACT_RATIO_MAX = 0.15
"""Largest contact distance by the size of the smallest moving body; above, it hovers [-]."""
ALARM_RATIO_MIN = 5e-4
"""Smallest such ratio; below, a body passes a surface before its contact is detected [-]."""


def contact_warnings(root: Any) -> list[StartWarning]:
    """Warn of collision models of two or more nodes that cannot work."""
    models = collision_models(root)
    if len({model.getContext().getPathName() for model in models}) < 2:
        return []
    parts = {name: component for component in root.objects if (name := component.getClassName())}
    pipeline = parts.get("CollisionPipeline")
    if pipeline is None:
        if any("Pipeline" in name for name in parts):
            return []
        return [
            StartWarning(
                root,
                f"{len(models)} collision models, the first {at(models[0])}, and no "
                "CollisionPipeline at the root: nothing touches. Add a CollisionPipeline, "
                "BruteForceBroadPhase, BVHNarrowPhase, CollisionResponse and LocalMinDistance, or "
                "leave the models out.",
            )
        ]
    if not any(_may_touch(first, second) for first, second in combinations(models, 2)):
        return [
            StartWarning(
                pipeline,
                f"{at(pipeline)} finds no contacts: of {len(models)} collision models no two may "
                "touch. Look at their 'active', 'simulated', 'moving' and 'group': models of a "
                "common group do not touch.",
            )
        ]
    return [
        *_loop(root, parts),
        *_distances(parts, models),
        *_inside_out(models),
        *_without_elements(models),
    ]


def _may_touch(first: Any, second: Any) -> bool:
    """Return True if detection looks at two models."""
    if not (first.active.value and second.active.value):
        return False
    if not (first.simulated.value or second.simulated.value):
        return False
    if first.getContext().getPathName() == second.getContext().getPathName():
        return bool(first.selfCollision.value)
    return not groups_of(first) & groups_of(second)


def _loop(root: Any, parts: dict[str, Any]) -> list[StartWarning]:
    """Warn of contacts that are constraints, under a loop that solves none."""
    response = parts.get("CollisionResponse")
    if response is None or not str(response.response.value).startswith("FrictionContact"):
        return []
    if not set(parts) & {"DefaultAnimationLoop"}:
        return []
    return [
        StartWarning(
            response,
            f"{at(response)} makes constraints of contacts (response='{response.response.value}'), "
            "and DefaultAnimationLoop solves none: bodies go through each other. Use a "
            "FreeMotionAnimationLoop with a constraint solver and constraint corrections.",
        )
    ]


def _distances(parts: dict[str, Any], models: list[Any]) -> list[StartWarning]:
    """Warn of an alarm distance in another unit than the bodies."""
    method = next(
        (component for component in parts.values() if component.findData("alarmDistance")), None
    )
    moving = [model for model in models if model.simulated.value]
    if method is None or any(model.findData("listRadius") is not None for model in moving):
        return []
    sizes = [size for model in moving if (size := box_size(model.getContext())) > 0.0]
    if not sizes:
        return []
    thickness = max(float(model.proximity.value) for model in moving)
    alarm, size = float(method.alarmDistance.value) + thickness, min(sizes)
    distance = float(method.contactDistance.value) + thickness
    if distance > CONTACT_RATIO_MAX * size:
        return [
            StartWarning(
                method,
                f"{at(method)} keeps bodies contactDistance={distance:.3g} apart, and the "
                f"smallest one that can touch is {size:.3g} long: it hovers. Are the distances in "
                "another unit than the meshes?",
            )
        ]
    if ALARM_RATIO_MIN * size <= alarm <= ALARM_RATIO_MAX * size:
        return []
    consequence = (
        "is seen only once it is through" if alarm < size else "touches all, wherever they are"
    )
    return [
        StartWarning(
            method,
            f"{at(method)} looks for contacts within alarmDistance={alarm:.3g}, and the smallest "
            f"body that can touch is {size:.3g} long: it {consequence}. Are the distances in "
            "another unit than the meshes?",
        )
    ]


def _inside_out(models: list[Any]) -> list[StartWarning]:
    """Warn of closed surfaces that are inside out and enclose nothing."""
    warnings = []
    for model in models:
        if model.getClassName() != "TriangleCollisionModel":
            continue
        node = model.getContext()
        triangles = next((t for e in node.objects if len(t := elements_of(e, "triangles"))), None)
        state = own_state(node)
        if triangles is None or state is None or triangles.max() >= len(state.position.value):
            continue
        x = np.asarray(state.position.value, dtype=float)[:, :3]
        if _turned_volume(x, triangles) < 0.0 and not _holds_others(model, x, models):
            warnings.append(
                StartWarning(
                    model,
                    f"{at(model)} is turned inside out: its closed surface encloses a negative "
                    "volume, so contacts push into the body. Turn its triangles over (two columns "
                    "swapped), or export the mesh with outward normals.",
                )
            )
    return warnings


def _without_elements(models: list[Any]) -> Iterator[StartWarning]:
    """Warn of models without triangles or lines, in the embedded runtime."""
    for model in models:
        elements = attributes_of(model).get("elements")
        if elements is not None and not len(elements) and elements.shape[1] > 1:
            kind = "triangles" if elements.shape[1] == 3 else "lines"
            yield StartWarning(
                model,
                f"{at(model)} finds no {kind} in the topology of its node or above, so nothing "
                "touches them. Give the topology its elements, such as src='@loader', not only "
                "its positions.",
            )


def _turned_volume(x: np.ndarray, triangles: np.ndarray) -> float:
    """Return the volume that a closed surface encloses [length^3], 0 if it is open."""
    from sofa_softctl.runtime.mesh.skin import measure_skin

    skin = measure_skin(x, triangles)
    return skin.volume if skin.is_closed else 0.0


def _holds_others(model: Any, x: np.ndarray, models: list[Any]) -> bool:
    """Return True if another model lies within the box of a surface that faces inwards."""
    low, high = x.min(axis=0), x.max(axis=0)
    for second_model in models:
        state = own_state(second_model.getContext())
        if state is None or not _may_touch(model, second_model) or not len(state.position.value):
            continue
        centre = np.asarray(state.position.value, dtype=float)[:, :3].mean(axis=0)
        if ((centre > low) & (centre < high)).all():
            return True
    return False
