"""Motions and forces that are given over time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sofa_softctl.scene.channels import nodes_of
from sofa_softctl.scene.plausibility.bodies import Body, at, bodies_of, solver_above

LATE = 100.0
"""Last time of a motion by the time of a run from which on it hardly began [-]."""
STEPS_BETWEEN = 1e4
"""Steps between two times of a motion from which on they are in another unit, or very slow [-]."""


def late_motions(root: Any) -> Iterator[str]:
    """Name motions and forces whose times end long after a run."""
    time, dt = float(root.time.value), float(root.dt.value)
    for entry in (entry for node in nodes_of(root) for entry in node.objects):
        data = entry.findData("keyTimes") or entry.findData("times")
        if data is None or np.ndim(data.value) != 1 or len(data.value) < 2:
            continue
        times = np.sort(np.asarray(data.value, dtype=float))
        gaps = np.diff(times)
        if times[-1] > LATE * time > 0.0 and gaps.min() > STEPS_BETWEEN * dt:
            yield (
                f"{at(entry)}: its {data.getName()} end at {times[-1]:g}, and the run at "
                f"{time:.4g}: it has hardly begun. Are they in another unit than dt={dt:g}?"
            )


@dataclass
class StillState:
    """A state that no integrator and no mapping moves, and what it held at the start."""

    body: Body
    start: dict[str, np.ndarray] = field(init=False)
    """Values by the names of their Data."""

    def __post_init__(self) -> None:
        self.start = {name: self._now(name) for name in ("position", "velocity", "rest_position")}

    def _now(self, name: str) -> np.ndarray:
        return np.array(self.body.state.findData(name).value, dtype=float)

    def texts(self) -> Iterator[str]:
        """Return sentences if it stays, and something is set or recorded that would move it."""
        changed = [n for n, x in self.start.items() if not np.array_equal(x, self._now(n))]
        if "position" in changed:
            return
        where = at(self.body.state)
        told: Any = getattr(getattr(self.body.node.getRoot(), "late_changes", None), "told", set())
        for name in (name for name in changed if self.body.state.findData(name) not in told):
            yield (
                f"{where}: its {name} was set while the scene ran, and it has not moved: there is "
                "no integrator in its node or above that would read it. Set 'position'."
            )
        for entry in self.body.node.objects:
            if entry.getClassName() == "Monitor":
                yield (
                    f"{at(entry)} records what never moves: '{self.body.state.getPathName()}' has "
                    "neither an integrator nor a mapping. Is a mapping from its body left out?"
                )


def still_states(root: Any) -> list[StillState]:
    """Return the watches on states that nothing moves."""
    return [StillState(body) for body in bodies_of(root) if solver_above(body.node) is None]
