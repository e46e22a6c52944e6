"""Motions and forces that are given over time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sofa_softctl.scene.graph.nodes import (
    attributes_of,
    body_size,
    box_size,
    nodes_of,
    own_state,
    stiffness_of,
)
from sofa_softctl.scene.plausibility.bodies import (
    Body,
    at,
    bodies_of,
    is_bare,
    is_followed,
    solver_above,
)

LATE = 100.0
"""Last time of a motion by the time of a run from which on it hardly began [-]."""
FAR_MOVED = 0.25
"""Mean motion of nodes by the size of their body, from which on a force may be too large [-]."""
LONG = 100
"""Steps of a run without a DURATION from which on it may be meant to be whole."""
STEPS_BETWEEN = 1e4
"""Steps between two times of a motion from which on they are in another unit, or very slow [-]."""


def late_motions(root: Any, duration: float = 0.0) -> Iterator[str]:
    """Name motions and forces whose times end long after a run, and files with its start alone."""
    time, dt = float(root.time.value), float(root.dt.value)
    for entry in (entry for node in nodes_of(root) for entry in node.objects):
        run = time if duration or time > LONG * dt else LATE * time
        yield from _only_start(entry, max(duration, run), dt)
        yield from _repeated_force(entry)
        manager = attributes_of(entry).get("manager")  # of splib3's AnimationStarter
        for animation in attributes_of(manager).get("animations", ()):
            if animation.duration > max(LATE * duration, LATE * time, STEPS_BETWEEN * dt):
                yield (
                    f"{at(manager)}: an animation lasts {animation.duration:g}, and the run "
                    f"{time:.4g}: it has hardly begun. Is its duration in another unit than dt?"
                )
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
            f"{at(entry)} has {unit}, more than the run of {run:.4g}, so that it writes at most "
            "the start. Is it in another unit?"
        )


def _repeated_force(entry: Any) -> Iterator[str]:
    """The one force of several nodes, each of which it acts on, where they have moved far."""
    if entry.getClassName() != "ConstantForceField" or not entry.forces.isSet():
        return
    forces, indices = np.asarray(entry.forces.value), np.asarray(entry.indices.value, dtype=int)
    state, size = entry.getContext().getMechanicalState(), body_size(entry.getContext())
    if len(indices) < 2 or state is None or len(forces) != len(indices) or np.ptp(forces, 0).any():
        return
    x, rest = (np.asarray(d.value, dtype=float) for d in (state.position, state.rest_position))
    if x.shape != rest.shape or x.shape[1] != 3 or not indices.max() < len(x) >= len(indices):
        return
    if len(indices) == len(x) and not stiffness_of(entry) > 0.0:  # particles
        return
    moved = float(np.linalg.norm((x - rest)[indices, :3].mean(axis=0)))
    if moved > FAR_MOVED * size:
        yield (
            f"{at(entry)}: its nodes have moved by {moved:.3g}, and the body is {size:.3g} long. "
            f"Each of its {len(indices)} nodes gets the force of 'forces', {len(indices)} times it "
            "in sum: is that the total? Then give totalForce."
        )


JUMP, JUMP_MIN = 10.0, 0.1
"""Motion in the first step by that in later ones, and by the size of the scene, above which it is a
jump [-]."""
PASSIVE = ("MechanicalObject", "Mapping", "Solver", "Container", "Topology", "Loader")
"""Ends of the names of components that neither act on points nor show them."""


@dataclass
class StillState:
    """A state that no integrator and no mapping moves, and what it held at the start."""

    body: Body
    start: dict[str, np.ndarray] = field(init=False)
    """Values by the names of their Data."""
    moves: list[float] = field(default_factory=list)
    """Largest motions of a node in the first two steps [length]."""

    def __post_init__(self) -> None:
        self.start = {name: self._now(name) for name in ("position", "velocity", "rest_position")}
        self._last = self.start["position"]

    def _now(self, name: str) -> np.ndarray:
        return np.array(self.body.state.findData(name).value, dtype=float)

    def step(self) -> None:
        """Note how far a script moves it in the first steps."""
        if len(self.moves) < 2:
            last, self._last = self._last, self._now("position")
            self.moves.append(float(np.abs(self._last - last)[:, :3].max(initial=0.0)))

    def texts(self) -> Iterator[str]:
        """Return sentences if it stays, and something is set or recorded that would move it.

        If it moves: if it begins with a jump, or nothing follows.
        """
        changed = [n for n, x in self.start.items() if not np.array_equal(x, self._now(n))]
        where = at(self.body.state)
        if solver_above(self.body.node) is not None:
            own = self.body.node.objects
            if changed == ["rest_position"] and not is_followed([self.body.state], own, *changed):
                yield (
                    f"{where}: its rest_position was set while the scene ran, and nothing reads "
                    "that: it has not moved. Set 'position'."
                )
            return
        if "position" in changed:
            yield from self._jump(where)
            yield from _left_behind(self.body)
            return
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

    def _jump(self, where: str) -> Iterator[str]:
        first, second = (*self.moves, 0.0, 0.0)[:2]
        if first > max(JUMP_MIN * box_size(self.body.node.getRoot()), JUMP * second) and second:
            yield (
                f"{where} was moved by {first:.4g} in the first step, and by {second:.3g} in the "
                "second: it jumps, with all that it carries. Let it start where the controller "
                "puts it first."
            )


def _left_behind(body: Body) -> Iterator[str]:
    """States below a body that a script moves: without a mapping, or which nothing refers to."""
    carried = {entry for node in nodes_of(body.node) for entry in node.objects}
    below = [own_state(node) for node in nodes_of(body.node)[1:] if own_state(node) is not None]
    loose = [s for s in below if s.getContext().getMechanicalMapping() is None]
    for state in (s for s in loose if solver_above(s.getContext()) is None):
        if np.array_equal(state.position.value, state.rest_position.value):
            yield (
                f"{at(state)} stays where it is, and '{body.state.getPathName()}' above it moves: "
                "no mapping carries it along. Add one to its node, such as RigidMapping."
            )
    is_passive = all(entry.getClassName().endswith(PASSIVE) for entry in carried)
    if below and not loose and is_passive and not is_followed([body.state, *below], carried):
        yield (
            f"{at(body.state)} was moved by a script, and nothing follows it: no component refers "
            f"to '{below[0].getPathName()}', which it carries. Link what is to move with it, such "
            "as 'external_rest_shape' of springs."
        )


def still_states(root: Any) -> list[StillState]:
    """Return the watches on states that nothing moves."""
    return [
        StillState(body)
        for body in bodies_of(root)
        if solver_above(body.node) is None or is_bare(body.node)
    ]
