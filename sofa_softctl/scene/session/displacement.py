"""Displacements of bodies and tips over a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sofa_softctl.scene.control.report import Table
from sofa_softctl.scene.graph.nodes import nodes_of, own_state, path_of
from sofa_softctl.scene.plausibility.bodies import solver_above

ROWS_MAX = 12
"""Bodies and tips of the table of a run, farthest first; JSON has all."""
ROUNDING_RATIO = 1e-9
"""Displacement along an axis by the largest one, below which the table shows 0 [-]."""
OF_A_TIP = ("MechanicalObject", "Mapping", "Effector", "PositionConstraint", "Monitor")
"""Ends of the names of the components of a tip, which shows its body's motion and nothing else."""


@dataclass(frozen=True)
class Displacement:
    """Displacement of a body or tip from the begin of a run to its end."""

    center: list[float]
    """Displacement of the mean of its nodes [length], shape (3,)."""
    largest: float
    """Largest displacement of one of its nodes [length]."""

    @property
    def distance(self) -> float:
        """Distance that the mean of the nodes moved [length]."""
        return float(np.linalg.norm(self.center))


class Displacements:
    """Positions of a session's bodies and tips now, to compare later ones with."""

    def __init__(self, session: Any) -> None:
        self._start = [
            (path_of(state), state, _points(state))
            for node in nodes_of(session.root)
            if (state := own_state(node)) is not None and (_is_tip(node) or _is_body(node, state))
        ]

    def by_path(self) -> dict[str, Displacement]:
        """Return the displacements by the paths of the states."""
        return {
            path: _displacement(end - start)
            for path, state, start in self._start
            if (end := _points(state)).shape == start.shape
        }


def displacement_table(displacements: dict[str, Displacement], units: dict[str, str]) -> Table:
    """Return the table for the command line; `units` has the unit of each quantity."""
    ranked = sorted(displacements.items(), key=lambda item: -item[1].largest)
    omitted = max(0, len(ranked) - ROWS_MAX)
    return Table(
        f"Moved from the start to the end [{units['length']}]",
        ("body or tip", "center", "by x", "y", "z", "farthest node"),
        [(path, *_texts(moved)) for path, moved in ranked[:ROWS_MAX]],
        f"{omitted} more moved less: --json shows all." if omitted else "",
    )


def _texts(moved: Displacement) -> list[str]:
    """Return the numbers of a row; what is only rounding is 0."""
    numbers = (moved.distance, *moved.center, moved.largest)
    floor = ROUNDING_RATIO * moved.largest
    return [f"{value if abs(value) > floor else 0.0:.4g}" for value in numbers]


def _displacement(moved: np.ndarray) -> Displacement:
    distances = np.linalg.norm(moved, axis=1)
    return Displacement(moved.mean(axis=0).tolist(), float(distances.max()))


def _points(state: Any) -> np.ndarray:
    """Return a copy of the positions without turns [length], shape (n, 3)."""
    return np.array(state.position.value, dtype=float)[:, :3]


def _is_body(node: Any, state: Any) -> bool:
    """Return True if an integrator moves a state in space that is not mapped."""
    return (
        node.getMechanicalMapping() is None
        and len(state.position.value) > 0
        and np.shape(state.position.value)[1] >= 3
        and solver_above(node) is not None
    )


def _is_tip(node: Any) -> bool:
    """Return True if a mapped state only shows the motion of its body."""
    return (
        node.getMechanicalMapping() is not None
        and all(component.getClassName().endswith(OF_A_TIP) for component in node.objects)
        and np.shape(own_state(node).position.value)[1] >= 3
    )
