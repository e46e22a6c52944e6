"""Watches on all components of a running scene, and on attributes that are views of Data."""

from __future__ import annotations

import dis
import inspect
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sofa_softctl.errors import DivergedError
from sofa_softctl.scene.backend.backend import find_backend
from sofa_softctl.scene.graph.nodes import attributes_of, controllers_of, objects_of
from sofa_softctl.scene.plausibility.bodies import (
    Body,
    at,
    bodies_of,
    is_bare,
    is_linear,
    solver_above,
)
from sofa_softctl.scene.plausibility.places.points import JOINING
from sofa_softctl.scene.watch.actuators import PushingCable, WatchedSolver, undriven_cables
from sofa_softctl.scene.watch.drive_faults import (
    beyond_material,
    drive_faults,
    shared_list,
    unused_drives,
)
from sofa_softctl.scene.watch.drives import drives_of
from sofa_softctl.units import Units


class KeptViews:
    """Attributes that a controller reads, and then sets to a view of a Data, in every step.

    `self.old = state.position.value` is not a copy: in the next step it shows the new positions,
    so that a difference from it is 0.
    """

    def __init__(self, root: Any) -> None:
        controllers = controllers_of(find_backend().Sofa, root)
        self._kept = [
            (c, name) for c in controllers for name in dict.fromkeys(_kept_names(type(c)))
        ]
        self._before: dict[int, Any] = {}
        self.texts: list[str] = []

    def step(self, steps: int) -> None:
        """Compare the attributes with their values in the previous step."""
        if steps > 3 or self.texts:
            return
        for number, (controller, name) in enumerate(self._kept):
            value = vars(controller).get(name)
            is_view = isinstance(value, np.ndarray) and not value.flags.writeable
            if not is_view or value.base is None:
                continue
            before = self._before.setdefault(number, value)
            if before is not value and np.shares_memory(before, value):
                self.texts.append(
                    f"{at(controller)}: its attribute '{name}' is a view of a Data, which shows "
                    "present values, not those of the step before: what is compared with it is "
                    "compared with itself. Keep a copy: .value.copy()."
                )


def _kept_names(kind: type) -> Iterator[str]:
    """Yield the attributes of self that a method reads before it sets them."""
    for method in vars(kind).values():
        if not inspect.isfunction(method) or method.__name__ == "__init__":
            continue
        read: set[str] = set()
        self_name = method.__code__.co_varnames[:1]
        steps = list(dis.get_instructions(method))
        for previous, step in zip(steps, steps[1:], strict=False):
            loaded = previous.argval if isinstance(previous.argval, tuple) else (previous.argval,)
            if not previous.opname.startswith("LOAD_FAST") or loaded[-1:] != self_name:
                continue
            if step.opname == "LOAD_ATTR":
                read.add(step.argval)
            elif step.opname == "STORE_ATTR" and step.argval in read:
                yield step.argval


TIMES = ("keyTimes", "times")
"""Data with the times of a prescribed motion or force."""
STEPS_BETWEEN_JOINTS = 5
"""Steps between two looks at joints and springs, which move little in one [-]."""
AT_END = ("WriteState", "Exporter", "ConstantForceField", "AnimationStarter")
"""Endings of the names of components that are examined when a run ends."""


class SceneWatch:
    """Watches on the components of a scene.

    Args:
        root: Root of an initialised scene, on either backend.
        units: Units that the scene declares.
        settings: `ConditionSettings`.
        bodies: Moving bodies of the scene.
        duration: DURATION of the scene, or 0 [time].
    """

    def __init__(
        self,
        root: Any,
        units: Units | None,
        settings: Any,
        bodies: Sequence[Body],
        duration: float = 0.0,
    ) -> None:
        size = min((body.size for body in bodies), default=0.0)
        self._root, self._units, self._settings = root, units, settings
        self._duration = duration
        self._drives = drives_of(root, units)
        self._cables = [PushingCable(cable) for cable in undriven_cables(root)]
        self._views = KeptViews(root)
        components = list(objects_of(root))
        # An inverse controller solves the constraints itself.
        is_inverse = any("driven" in attributes_of(item) for item in components)
        self._solvers = [
            WatchedSolver(item, settings.visible_error_min * size)
            for item in components
            if item.getClassName() == "GenericConstraintSolver" and not is_inverse
        ]
        self._turns: list[Any] = []
        self._still: list[Any] = []
        self._contacts: list[Any] = []
        self._effectors: list[Any] = []
        self._goals: list[Any] = []
        self._joints: list[Any] = []
        self._linear_solvers: list[Any] = []
        self._watch_by_kind(components, bodies, size)

    def _watch_by_kind(self, entries: Sequence[Any], bodies: Sequence[Body], size: float) -> None:
        """Add the watches on kinds of components that few scenes have, with late imports."""
        root, kinds = self._root, {component.getClassName() for component in entries}
        if any(map(is_linear, entries)):
            from sofa_softctl.scene.watch.materials import watched_turns

            self._turns = watched_turns(bodies)
        if any(solver_above(body.node) is None or is_bare(body.node) for body in bodies_of(root)):
            from sofa_softctl.scene.watch.motions import still_states

            self._still = still_states(root)
        if not kinds.isdisjoint(JOINING):
            from sofa_softctl.scene.watch.joints import watched_joints

            self._joints = watched_joints(root)
        if any(kind.endswith("CollisionModel") for kind in kinds):
            from sofa_softctl.scene.watch.contacts import watched_contacts

            self._contacts = watched_contacts(root, size)
        if "PositionEffector" in kinds or self._still:
            from sofa_softctl.scene.watch.effectors import StillGoals, watched_effectors

            self._effectors, self._goals = watched_effectors(root), [StillGoals(root)]
        if any("residual_sum" in attributes_of(component) for component in entries):
            from sofa_softctl.scene.watch.linear_solvers import watched_linear_solvers

            self._linear_solvers = watched_linear_solvers(root)

    def step(self, steps: int, time: float) -> None:
        """Look at a step that ends at a time, the solvers every few steps."""
        for drive in self._drives:
            drive.step()
        for cable in self._cables:
            cable.step(time, self._settings.pushing_ratio_min)
        if steps % STEPS_BETWEEN_JOINTS == 0:
            for joint in self._joints:
                joint.check(time)
        self._views.step(steps)
        for effector in self._effectors:
            effector.step()
        for state in self._still:
            state.step()
        for contacts in self._contacts:
            contacts.step(time)
        if steps % self._settings.steps_between_checks == 0:
            for solver in self._solvers:
                solver.check(self._settings.solver_error_max)

    def check(self, time: float) -> None:
        """Look at what changes slowly."""
        for watch in self._turns:
            watch.check(time)

    def texts(self) -> list[str]:
        """Return sentences on the faults of the run."""
        tolerance = self._settings.displacement_tolerance
        texts = [
            *(text for drive in self._drives for text in drive_faults(drive, tolerance)),
            *(cable.text(self._root, self._units) for cable in self._cables),
            *(solver.text() for solver in self._solvers),
            shared_list(self._drives),
            unused_drives(self._drives, self._duration),
            *self._views.texts,
            *self._late_motions(),
            *(text for watch in self._still for text in watch.texts()),
            *(effector.text() for effector in self._effectors),
            *(text for goals in self._goals for text in goals.texts()),
            *(text for watch in self._linear_solvers for text in watch.texts()),
            *(text for joint in self._joints for text in joint.texts()),
            *(text for watch in self._turns for text in watch.texts()),
            *(text for watch in self._contacts for text in watch.texts()),
        ]
        return [text for text in texts if text]

    def _late_motions(self) -> list[str]:
        components = list(objects_of(self._root))
        is_timed = any(component.findData(name) for component in components for name in TIMES)
        if not is_timed and not any(
            component.getClassName().endswith(AT_END) for component in components
        ):
            return []
        from sofa_softctl.scene.watch.motions import late_motions

        return list(late_motions(self._root, self._duration))

    def explain(self, error: Exception) -> None:
        """Add to the error of a run that diverged which effort the material does not bear."""
        ratio = self._settings.diverging_effort_min
        if isinstance(error, DivergedError):
            for text in filter(None, (beyond_material(drive, ratio) for drive in self._drives)):
                error.args = (f"{error} {text}",)
                return
