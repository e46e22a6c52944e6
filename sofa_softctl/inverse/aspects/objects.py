"""Objects that a robot holds or moves: their forces and slip in grasps, and those that it lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import override

from sofa_softctl.inverse.aspects.aspect import ControlStep, StepAspect
from sofa_softctl.qpcc.problem.problem import InverseProblem
from sofa_softctl.scene.control.contacts import is_inside

if TYPE_CHECKING:
    from sofa_softctl.inverse.rows.grasp import Grasp


class GraspedObjects(StepAspect):
    """Tracks the objects of all grasps, and warns when one is dropped."""

    def __init__(self, grasps: Sequence[Grasp]) -> None:
        self.grasps = grasps

    @override
    def update(self, step: ControlStep) -> Iterator[str]:
        for grasp in self.grasps:
            rows = (
                np.empty(0, dtype=int) if step.contacts is None else step.contacts.on_object(grasp)
            )
            if grasp.look(step.end, step.normal[rows], step.slide[rows]):
                yield f"{grasp.body}: no contact holds it at t = {step.end:.4g}."

    @override
    def warnings(self) -> Iterator[str]:
        for grasp in self.grasps:
            if grasp.dropped_at is not None:
                yield f"{grasp.body} was dropped at t = {grasp.dropped_at:.4g}"
            if grasp.slip > grasp.slip_tolerance:
                yield f"{grasp.body} slipped by {grasp.slip:.3g} in the grasp"

    @override
    def forget(self) -> None:
        for grasp in self.grasps:
            grasp.forget()

    @override
    def snapshot(self) -> Any:
        return [grasp.snapshot() for grasp in self.grasps]

    @override
    def restore(self, snapshot: Any) -> None:
        for grasp, state in zip(self.grasps, snapshot, strict=True):
            grasp.restore(state)


COMPLIANCE_RATIO_MIN = 1e-12
"""Compliance between two bodies relative to the largest, below which they are uncoupled [-]."""


class LostObjects(StepAspect):
    """Detects lost bodies of effectors and grasps.

    A body is lost while all of this holds:

    - it touched something before;
    - nothing touches it now: no contact moves its effectors (their rows of W_ec are zero), or, for
      the body of a grasp, none involves it;
    - no actuator moves its effectors without contacts (their rows of W_ea are zero);
    - no grasp had `let_go` when it left.

    So a robot's own tip is never lost, nor an object that stands on a table; an object in free
    flight is, until it touches something again.

    Args:
        bodies: Path of each effector's body.
        grasps: Objects that are held.
    """

    def __init__(self, bodies: Sequence[str] = (), grasps: Sequence[Grasp] = ()) -> None:
        self.grasps = grasps
        self.watch(bodies)
        self.left: dict[str, float] = {}
        """Time at which each lost body left its last contact [time]."""
        self._touched: set[str] = set()
        self._named: set[str] = set()

    def watch(self, bodies: Sequence[str]) -> None:
        """Set the bodies of the effectors, by their paths."""
        self.bodies = list(bodies)
        paths = [g.body for g in self.grasps]
        grasped = [path for path in paths if not any(is_inside(path, body) for body in bodies)]
        self.names = list(dict.fromkeys([*self.bodies, *grasped]))
        """Paths of the bodies that can be lost."""

    @override
    def update(self, step: ControlStep) -> Iterable[str]:
        if step.contacts is None and not self._touched:
            return ()
        contacts = [] if step.contacts is None else step.contacts.contacts
        problem = step.problem
        assert problem is not None
        return [
            f"{name}: nothing touches it from t = {step.end:.4g} on, and until something does no "
            "actuator moves it. Was it dropped, or pushed away? Set `let_go` of its Grasp before "
            "it is thrown on purpose."
            for name in self.look(step.end, problem, [contact.bodies for contact in contacts])
        ]

    @override
    def warnings(self) -> Iterator[str]:
        for name, time in self.left.items():
            since = f"nothing touches it since t = {time:.4g}"
            yield f"{name} is lost: {since}, and no actuator moves it"

    def look(
        self, time: float, problem: InverseProblem, touching: Iterable[tuple[str, str]]
    ) -> list[str]:
        """Update after a step.

        Args:
            time: Time at the end of the step.
            problem: The problem of the step, with three rows for each effector.
            touching: Paths of the two bodies of each contact.

        Returns:
            Bodies that are lost for the first time.
        """
        is_moved, is_touched = self._by_actuators(problem), self._by_contacts(problem)
        pairs = set(touching)
        newly_lost = []
        for name in self.names:
            indices = [k for k, body in enumerate(self.bodies) if body == name]
            if is_touched[indices].any() or any(
                is_inside(name, path) for pair in pairs for path in pair
            ):
                self._touched.add(name)
                self.left.pop(name, None)
            elif name in self.left or name not in self._touched or is_moved[indices].any():
                continue
            elif any(g.let_go and is_inside(g.body, name) for g in self.grasps):
                self._touched.discard(name)
            else:
                self.left[name] = time
                newly_lost += [] if name in self._named else [name]
                self._named.add(name)
        return newly_lost

    def _by_actuators(self, problem: InverseProblem) -> np.ndarray:
        """Return True for effectors that an actuator moves without contacts, shape (n,)."""
        return self._couples(problem.W_ea, problem.W_aa)

    def _by_contacts(self, problem: InverseProblem) -> np.ndarray:
        """Return True for effectors that a contact moves, shape (n,)."""
        if problem.contacts is None:
            return np.zeros(len(self.bodies), dtype=bool)
        return self._couples(problem.contacts.W_ec, problem.contacts.W_cc)

    def _couples(self, W: np.ndarray, scale: np.ndarray) -> np.ndarray:
        size = np.abs(W).reshape(len(self.bodies), -1).max(axis=1, initial=0.0)
        return np.asarray(size > COMPLIANCE_RATIO_MIN * np.abs(scale).max(initial=0.0))

    @override
    def snapshot(self) -> dict[str, Any]:
        return {"left": dict(self.left), "touched": set(self._touched), "named": set(self._named)}

    @override
    def restore(self, snapshot: dict[str, Any]) -> None:
        self.left = dict(snapshot["left"])
        self._touched, self._named = set(snapshot["touched"]), set(snapshot["named"])

    @override
    def forget(self) -> None:
        self.restore({"left": {}, "touched": (), "named": ()})
