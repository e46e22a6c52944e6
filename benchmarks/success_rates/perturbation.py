"""Scenes with perturbed rest shapes: sensitivity of answers to rounding."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from sofa_softctl.errors import SceneError
from sofa_softctl.scene.graph.nodes import nodes_of, own_state

RELATIVE = 1e-10
"""Standard deviation of the shifts, over the robot's size: far above a sum's last digit, and far
below anything that a maker of robots, or a mesher, could control."""


def with_perturbed_rest(
    create: Callable[..., Any], seed: int, *, relative: float = RELATIVE
) -> Callable[..., Any]:
    """A createScene whose bodies have slightly other rest positions; the embedded backend only.

    The vertices that loaders have read, and the positions that the scene gives to states which no
    mapping moves (rigid bodies, obstacles), are shifted before anything is initialised, by
    independent normal numbers. The robot's size is the largest extent of what loaders have read.

    Args:
        create: The scene's createScene.
        seed: Of the random numbers. 0 changes nothing.
        relative: Standard deviation of the shifts over the robot's size [-].
    """
    if not seed:
        return create

    @functools.wraps(create)
    def perturbed(root: Any, **parameters: Any) -> Any:
        made = create(root, **parameters)
        perturb(root, np.random.default_rng(seed), relative)
        return made

    return perturbed


def perturb(root: Any, rng: np.random.Generator, relative: float = RELATIVE) -> None:
    """Shift the rest positions of a scene that is not yet initialised.

    Raises:
        SceneError: The scene has no body with an extent.
    """
    nodes = nodes_of(root)
    meshes = [loader.position for node in nodes for loader in _loaders(node)]
    given = [state.position for node in nodes for state in _given(node)]
    sizes = [np.ptp(data.value[:, :3], axis=0).max() for data in meshes or given]
    size = max(sizes, default=0.0)
    if not size:
        raise SceneError(
            "There is no rest shape to perturb: the scene has neither a mesh loader nor a state "
            "with two different positions of its own."
        )
    for data in meshes + given:
        moved = np.array(data.value)
        moved[:, :3] += relative * size * rng.standard_normal((len(moved), 3))
        data.value = moved


def _loaders(node: Any) -> list[Any]:
    return [one for one in node.objects if one.getClassName().endswith("Loader")]


def _given(node: Any) -> list[Any]:
    """The state of a node, if the scene gives its positions and no mapping moves it."""
    state = own_state(node)
    mapped = node.getMechanicalMapping() is not None
    return [] if state is None or mapped or not len(state.position.value) else [state]
