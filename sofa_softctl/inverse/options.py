"""Checks of the options of inverse control."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sofa_softctl.errors import ProblemError, SceneError
from sofa_softctl.qp.solvers import find
from sofa_softctl.scene.control import options
from sofa_softctl.scene.control.system import row_count

CONTACTS = ("coulomb", "sticking", "forward")
"""Models of contacts."""
EFFECTORS = "a list of effectors, each what add_effector(node) returned"


def checked_effectors(controller: Any, effectors: Any) -> list[list[Any]]:
    """Return the three PositionConstraints of each effector; SceneError if they are not that."""
    advice = "Write effectors=[effector], with effector = add_effector(node)."
    several = isinstance(effectors, list | tuple) and len(effectors)
    if not several or _is_row(effectors[0]):
        options.raise_invalid_option(controller, "effectors", EFFECTORS, effectors, advice)
    for rows in effectors:
        three = isinstance(rows, list | tuple) and len(rows) == 3
        if not three or not all(map(_is_row, rows)) or not _are_axes(rows):
            options.raise_invalid_option(controller, "effectors", EFFECTORS, rows, advice)
    paths = [rows[0].getPathName() for rows in effectors]
    if twice := [path for path in paths if paths.count(path) > 1]:
        options.raise_invalid_option(
            controller, "effectors", f"{EFFECTORS}, each once", f"{twice[0]} twice"
        )
    return [list(rows) for rows in effectors]


def _is_row(component: Any) -> bool:
    return (
        hasattr(component, "getContext")
        and component.getClassName().startswith("Position")
        and row_count(component) == 1
    )


def _are_axes(rows: Any) -> bool:
    """Return True if three constraints act on one node along x, y and z in this order."""
    is_same_node = len({row.getContext().getPathName() for row in rows}) == 1
    directions = np.array([np.asarray(row.useDirections.value)[:3] for row in rows], dtype=bool)
    return is_same_node and bool((directions == np.eye(3, dtype=bool)).all())


def checked_solver(controller: Any, solver: Any) -> str:
    """Return the name of a QP solver; SceneError if there is no such solver."""
    name = options.text(controller, "solver", solver)
    try:
        find(name)
    except ProblemError as error:
        raise SceneError(f"{controller.made_at}: InverseController: {error}") from None
    return name


def checked_names(controller: Any, names: Any, actuators: int) -> tuple[str, ...] | None:
    """Return a name for each actuator, or None; SceneError otherwise."""
    if names is None:
        return None
    expected = f"a list of texts, one for each of the {actuators} actuators"
    if isinstance(names, str) or not isinstance(names, Sequence) or len(names) != actuators:
        options.raise_invalid_option(controller, "names", expected, names)
    if not all(isinstance(name, str) and name for name in names):
        options.raise_invalid_option(controller, "names", expected, names)
    if len(set(names)) < len(names):
        options.raise_invalid_option(controller, "names", f"{expected}, all different", names)
    return tuple(names)


def row_weights(controller: Any, weight: Any, effectors: int) -> np.ndarray:
    """Weight of each effector row [-], shape (3 n_e,), from one number, (n_e,) or (n_e, 3).

    Raises:
        SceneError: it has another shape, or is negative or infinite.
    """
    weights = options.as_floats(weight)
    shapes = ((), (effectors,), (effectors, 3))
    if (
        weights is None
        or weights.shape not in shapes
        or not ((weights >= 0) & np.isfinite(weights)).all()
    ):
        expected = (
            f"finite numbers >= 0: one, or shape ({effectors},) by effector, or ({effectors}, 3) "
            "by effector and axis"
        )
        options.raise_invalid_option(controller, "weight", expected, weight)
    by_axis = weights[:, None] if weights.ndim == 1 else weights
    return np.array(np.broadcast_to(by_axis, (effectors, 3))).ravel()
