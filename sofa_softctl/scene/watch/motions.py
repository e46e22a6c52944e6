"""Motions and forces prescribed over time."""

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

LATE_RATIO = 100.0
"""Last time of a motion by the time of a run, above which only its beginning is done [-]."""
MOTION_RATIO_MAX = 0.25
"""Mean motion of nodes by the size of their body, above which a force may be too large [-]."""
LONG_RUN_STEPS = 100
"""Steps above which a run without a DURATION is taken as complete [-]."""
STEPS_BETWEEN_MAX = 1e4
"""Steps between two times of a motion, above which its unit may be wrong [-]."""


def late_motions(root: Any, duration: float = 0.0) -> Iterator[str]:
    """Name motions and forces that end long after a run, and files with only its start."""
    time, dt = float(root.time.value), float(root.dt.value)
    for component in (component for node in nodes_of(root) for component in node.objects):
        run = time if duration or time > LONG_RUN_STEPS * dt else LATE_RATIO * time
        yield from _only_start(component, max(duration, run), dt)
        yield from _repeated_force(component)
        manager = attributes_of(component).get("manager")  # of splib3's AnimationStarter
        for animation in attributes_of(manager).get("animations", ()):
            if animation.duration > max(
                LATE_RATIO * duration, LATE_RATIO * time, STEPS_BETWEEN_MAX * dt
            ):
                yield (
                    f"{at(manager)}: an animation lasts {animation.duration:g}, and the run "
                    f"{time:.4g}: it has hardly begun. Is its duration in another unit than dt?"
                )
        data = component.findData("keyTimes") or component.findData("times")
        if data is None or np.ndim(data.value) != 1 or len(data.value) < 2:
            continue
        times = np.sort(np.asarray(data.value, dtype=float))
        gaps = np.diff(times)
        if times[-1] > LATE_RATIO * time > 0.0 and gaps.min() > STEPS_BETWEEN_MAX * dt:
            yield (
                f"{at(component)}: its {data.getName()} end at {times[-1]:g}, and the run at "
                f"{time:.4g}: it has hardly begun. Are they in another unit than dt={dt:g}?"
            )


def _only_start(component: Any, run: float, dt: float) -> Iterator[str]:
    period, step_interval = (
        component.findData("period"),
        component.findData("exportEveryNumberOfSteps"),
    )
    if step_interval is not None and not (
        component.exportAtEnd.value or component.exportAtBegin.value
    ):
        interval, unit = (
            dt * float(step_interval.value),
            f"exportEveryNumberOfSteps={step_interval.value}",
        )
    elif period is not None and component.getClassName() == "WriteState":
        interval, unit = float(period.value), f"period={float(period.value):g}"
    else:
        return
    if interval > run > 0.0:
        yield (
            f"{at(component)} has {unit}, more than the run of {run:.4g}, so that it writes at "
            "most the start. Is it in another unit?"
        )


def _repeated_force(component: Any) -> Iterator[str]:
    """Name a single force that acts on each of several nodes, if they have moved far."""
    if component.getClassName() != "ConstantForceField" or not component.forces.isSet():
        return
    forces, indices = (
        np.asarray(component.forces.value),
        np.asarray(component.indices.value, dtype=int),
    )
    state, size = component.getContext().getMechanicalState(), body_size(component.getContext())
    if len(indices) < 2 or state is None or len(forces) != len(indices) or np.ptp(forces, 0).any():
        return
    x, rest = (np.asarray(d.value, dtype=float) for d in (state.position, state.rest_position))
    if x.shape != rest.shape or x.shape[1] != 3 or not indices.max() < len(x) >= len(indices):
        return
    if len(indices) == len(x) and not stiffness_of(component) > 0.0:  # particles
        return
    motion = float(np.linalg.norm((x - rest)[indices, :3].mean(axis=0)))
    if motion > MOTION_RATIO_MAX * size:
        yield (
            f"{at(component)}: its nodes have moved by {motion:.3g}, and the body is {size:.3g} "
            f"long. Each of its {len(indices)} nodes gets the force of 'forces', {len(indices)} "
            "times it in sum: is that the total? Then give totalForce."
        )


JUMP, JUMP_MIN = 10.0, 0.1
"""Motion in the first step by the second one, and by the scene's size, above which it is a jump
[-]."""
PASSIVE = ("MechanicalObject", "Mapping", "Solver", "Container", "Topology", "Loader")
"""Ends of the names of components that neither act on points nor show them."""


@dataclass
class StillState:
    """A state without integrator and mapping, with its values at the start."""

    body: Body
    start: dict[str, np.ndarray] = field(init=False)
    """Values by the names of their Data."""
    moves: list[float] = field(default_factory=list)
    """Largest motions of a node in the first two steps [length]."""

    def __post_init__(self) -> None:
        self.start = {name: self._value(name) for name in ("position", "velocity", "rest_position")}
        self._last = self.start["position"]

    def _value(self, name: str) -> np.ndarray:
        return np.array(self.body.state.findData(name).value, dtype=float)

    def step(self) -> None:
        """Note how far a script moves it in the first steps."""
        if len(self.moves) < 2:
            last, self._last = self._last, self._value("position")
            self.moves.append(float(np.abs(self._last - last)[:, :3].max(initial=0.0)))

    def texts(self) -> Iterator[str]:
        """Return sentences if it stays, and something is set or recorded that would move it.

        If it moves: if it begins with a jump, or nothing follows.
        """
        changed = [n for n, x in self.start.items() if not np.array_equal(x, self._value(n))]
        label = at(self.body.state)
        if solver_above(self.body.node) is not None:
            neighbours = self.body.node.objects
            if changed == ["rest_position"] and not is_followed(
                [self.body.state], neighbours, *changed
            ):
                yield (
                    f"{label}: its rest_position was set while the scene ran, and nothing reads "
                    "that: it has not moved. Set 'position'."
                )
            return
        if "position" in changed:
            yield from self._jump(label)
            yield from _left_behind(self.body)
            return
        read_data: Any = getattr(
            getattr(self.body.node.getRoot(), "late_changes", None), "told", set()
        )
        for name in (name for name in changed if self.body.state.findData(name) not in read_data):
            yield (
                f"{label}: its {name} was set while the scene ran, and it has not moved: there is "
                "no integrator in its node or above that would read it. Set 'position'."
            )
        for component in self.body.node.objects:
            if component.getClassName() == "Monitor":
                yield (
                    f"{at(component)} records what never moves: '{self.body.state.getPathName()}' "
                    "has neither an integrator nor a mapping. Is a mapping from its body left out?"
                )

    def _jump(self, label: str) -> Iterator[str]:
        first, second = (*self.moves, 0.0, 0.0)[:2]
        if first > max(JUMP_MIN * box_size(self.body.node.getRoot()), JUMP * second) and second:
            yield (
                f"{label} was moved by {first:.4g} in the first step, and by {second:.3g} in the "
                "second: it jumps, with all that it carries. Let it start where the controller "
                "puts it first."
            )


def _left_behind(body: Body) -> Iterator[str]:
    """Name states below a body moved by a script that have no mapping or no user."""
    components = {component for node in nodes_of(body.node) for component in node.objects}
    below = [own_state(node) for node in nodes_of(body.node)[1:] if own_state(node) is not None]
    unmapped = [s for s in below if s.getContext().getMechanicalMapping() is None]
    for state in (s for s in unmapped if solver_above(s.getContext()) is None):
        if np.array_equal(state.position.value, state.rest_position.value):
            yield (
                f"{at(state)} stays where it is, and '{body.state.getPathName()}' above it moves: "
                "no mapping carries it along. Add one to its node, such as RigidMapping."
            )
    is_passive = all(component.getClassName().endswith(PASSIVE) for component in components)
    if below and not unmapped and is_passive and not is_followed([body.state, *below], components):
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
