"""Motions and forces that are given over time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sofa_softctl.scene.body import body_size, box_size
from sofa_softctl.scene.channels import nodes_of, own_state
from sofa_softctl.scene.plausibility.bodies import Body, at, bodies_of, solver_above
from sofa_softctl.scene.watch.actuators import objects_of

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
    steps: list[float] = field(default_factory=list)
    """Largest motions of a node in the first step and in a later one [length]."""

    def __post_init__(self) -> None:
        self.start = {name: self._now(name) for name in ("position", "velocity", "rest_position")}
        self._last, self._counter = self.start["position"], -1
        parent = next(iter(self.body.node.parents), None)
        self._above = None if parent is None else parent.getMechanicalState()
        self._above_start = np.array(self._above.position.value if self._above else [])

    def _now(self, name: str) -> np.ndarray:
        return np.array(self.body.state.findData(name).value, dtype=float)

    def step(self) -> None:
        """Note how far a script moved it in a step."""
        position = self.body.state.position
        if self.steps and position.getCounter() == self._counter:
            return
        x, self._counter = self._now("position"), position.getCounter()
        moved = float(np.abs(x[:, :3] - self._last[:, :3]).max(initial=0.0))
        self._last = x
        self.steps[1:] = [max(moved, *self.steps[1:], 0.0)] if self.steps else [moved]

    def texts(self) -> Iterator[str]:
        """Return sentences if it stays, and something is set or recorded that would move it.

        Also if it jumps, or moves and nothing follows.
        """
        changed = [n for n, x in self.start.items() if not np.array_equal(x, self._now(n))]
        where = at(self.body.state)
        if "position" in changed:
            yield from self._jump(where)
            yield from _unfollowed(self.body)
            return
        if self._above and not np.array_equal(self._above.position.value, self._above_start):
            yield (
                f"{where} stays where it is, and '{self._above.getPathName()}' above it moves: no "
                "mapping carries it along. Add one to its node, such as RigidMapping."
            )
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
        size = box_size(self.body.node.getRoot())
        first, later = (*self.steps, 0.0)[:2]
        if first > JUMP_MIN * size and 0.0 < later < first / JUMP:
            yield (
                f"{where} was moved by {first:.4g} in the first step, and by at most {later:.3g} "
                "in later ones: it jumps, with all that it carries. Let it start where the "
                "controller puts it first."
            )


def _unfollowed(body: Body) -> Iterator[str]:
    """A body that moves with points on it, which nothing refers to, reads or has forces on."""
    states = [state for node in nodes_of(body.node) if (state := own_state(node)) is not None]
    if len(states) < 2 or any(_is_read(state) for state in states):
        return
    carried = {entry for node in nodes_of(body.node) for entry in node.objects}
    kinds = [entry.getClassName() for entry in carried]
    if not all(kind.endswith(PASSIVE) for kind in kinds):
        return
    others = [entry for entry in objects_of(body.node.getRoot()) if entry not in carried]
    sources = [data.getParent() for entry in others for data in entry.getDataFields()]
    linked = [link.getLinkedBase() for entry in others for link in entry.getLinks()]
    if any(base in states for base in (*linked, *(s.getOwner() for s in sources if s is not None))):
        return
    yield (
        f"{at(body.state)} was moved by a script, and nothing follows it: no component refers to "
        f"{', '.join(repr(state.getPathName()) for state in states[1:3])}, which it carries. Link "
        "what is to move with it, such as 'external_rest_shape' of springs."
    )


def _is_read(state: Any) -> bool:
    """Return True if a controller may have read its positions; SOFA does not note it."""
    return bool(getattr(state.findData("position"), "is_read", True))


def still_states(root: Any) -> list[StillState]:
    """Return the watches on states that nothing moves."""
    return [StillState(body) for body in bodies_of(root) if solver_above(body.node) is None]
