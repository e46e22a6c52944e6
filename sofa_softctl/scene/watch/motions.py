"""Motions and forces that are given over time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sofa_softctl.scene.body import body_size
from sofa_softctl.scene.channels import nodes_of
from sofa_softctl.scene.plausibility.bodies import Body, at, bodies_of
from sofa_softctl.scene.plausibility.places.joints import solver_above

LATE = 100.0
"""Last time of a motion by the time of a run from which on it hardly began [-]."""
FAR_MOVED = 0.25
"""Mean motion of nodes by the size of their body, from which on a force may be too large [-]."""
STEPS_BETWEEN = 1e4
"""Steps between two times of a motion from which on they are in another unit, or very slow [-]."""


def late_motions(root: Any, duration: float = 0.0) -> Iterator[str]:
    """Name motions and forces whose times end long after a run, and files with its start alone."""
    time, dt = float(root.time.value), float(root.dt.value)
    for entry in (entry for node in nodes_of(root) for entry in node.objects):
        yield from _only_start(entry, max(duration, time) if duration else LATE * time, dt)
        yield from _repeated_force(entry)
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


def _only_start(entry: Any, run: float, dt: float) -> Iterator[str]:
    """A component that writes its first time, and then none within a run."""
    period, every = entry.findData("period"), entry.findData("exportEveryNumberOfSteps")
    if every is not None and not (entry.exportAtEnd.value or entry.exportAtBegin.value):
        interval, unit = dt * float(every.value), f"exportEveryNumberOfSteps={every.value}"
    elif period is not None and entry.getClassName() == "WriteState":
        interval, unit = float(period.value), f"period={float(period.value):g}"
    else:
        return
    if interval > run > 0.0:
        yield (
            f"{at(entry)} has {unit}, more than the run of {run:.4g}, so that its file has at most "
            "the start. Is it in another unit?"
        )


def _repeated_force(entry: Any) -> Iterator[str]:
    """The one force of several nodes, each of which it acts on, where they have moved far."""
    if entry.getClassName() != "ConstantForceField" or not entry.forces.isSet():
        return
    forces, indices = np.asarray(entry.forces.value), np.asarray(entry.indices.value, dtype=int)
    state, size = entry.getContext().getMechanicalState(), body_size(entry.getContext())
    if len(indices) < 2 or state is None or np.ptp(forces, axis=0).any():
        return
    x, rest = (np.asarray(d.value, dtype=float) for d in (state.position, state.rest_position))
    if x.shape != rest.shape or x.shape[1] != 3 or not indices.max() < len(x) > len(indices):
        return
    moved = float(np.linalg.norm((x - rest)[indices, :3].mean(axis=0)))
    if moved > FAR_MOVED * size:
        yield (
            f"{at(entry)}: its nodes have moved by {moved:.3g}, and the body is {size:.3g} long. "
            f"Each of its {len(indices)} nodes gets the force of 'forces', {len(indices)} times it "
            "in sum: is that the total? Then give totalForce."
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
