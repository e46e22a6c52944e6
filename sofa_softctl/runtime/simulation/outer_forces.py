"""Masses, forces and constraints that are in the part of no time integrator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sofa_softctl.runtime.behavior.mechanics import ForceField, ProjectiveConstraint
from sofa_softctl.runtime.behavior.state import MechanicalState
from sofa_softctl.runtime.core.node import Node
from sofa_softctl.runtime.helper import message
from sofa_softctl.runtime.helper.message import complain
from sofa_softctl.runtime.simulation.system import GraphSystem


class OuterForces:
    """Forces from outside, for one step: springs above the integrators of the bodies they join.

    They act as SOFA's do: at the start of the step, as constant forces of which no matrix knows.
    What else an integrator does not reach, since it is not in its node or below, has no effect,
    in SOFA too; here it is a fault.

    Args:
        root: Root of the graph.
        systems: Those of its integrators.
        act: Whether the loop lets springs act so; a FreeMotionAnimationLoop does not.
    """

    def __init__(self, root: Node, systems: Sequence[GraphSystem], act: bool) -> None:
        nodes = list(root.walk())
        self._act = act
        self._order = {id(node): number for number, node in enumerate(nodes)}
        self._mover = {id(state): system for system in systems for state in system.all_states}
        self.states: list[Any] = [state for node in nodes for state in node.of("state")]
        self.fields: list[ForceField] = []
        """The springs that act."""
        self._contacts: list[ForceField] = []
        self._said = False
        reached = {id(entry): system for system in systems for entry in _parts(system)}
        for node in nodes:
            for category in ("mass", "force field", "projective constraint"):
                for entry in node.of(category):
                    self._judge(entry, reached.get(id(entry)))

    def _judge(self, entry: Any, system: GraphSystem | None) -> None:
        """Let it act, or say that it does not."""
        mover = self._mover.get(id(entry.state))
        if isinstance(entry, ProjectiveConstraint):
            moves = type(entry).project_position is not ProjectiveConstraint.project_position
            if mover is not system and mover is not None and not moves:
                complain(entry, entry.fault(_out_of_reach(entry, mover)))
        elif system is not None:
            if mover is not system:
                complain(entry, entry.fault(_out_of_reach(entry, mover)))
        elif isinstance(entry, ForceField) and entry.acts_alone and any(map(self._of, _on(entry))):
            self._judge_springs(entry)
        else:
            complain(entry, entry.fault(_out_of_reach(entry, mover)))

    def _of(self, state: MechanicalState) -> GraphSystem | None:
        return self._mover.get(id(state))

    def _judge_springs(self, entry: ForceField) -> None:
        solvers = [mover.solver for state in _on(entry) if (mover := self._of(state))]
        place = self._order[id(entry._context)]
        early = [solver for solver in solvers if self._order[id(solver._context)] < place]
        if not self._act:
            problem = (
                "has no time integrator in its node or above, and so does nothing under "
                "FreeMotionAnimationLoop (in SOFA too): put one integrator above all that it joins."
            )
        elif early:
            problem = (
                f"comes after {early[0].describe()}, which has moved by then, and does nothing: "
                "put it into a node above the integrators."
            )
        else:
            self.fields.append(entry)
            return
        complain(entry, entry.fault(problem))

    def push(self, contacts: Sequence[ForceField]) -> None:
        """Exchange the contacts of a step that push like springs."""
        found = [entry for entry in contacts if any(map(self._of, _on(entry)))]
        self._contacts = found if self._act else []
        if found and not self._act and not self._said:
            self._said = True
            message.warning(
                found[0],
                f"{found[0].describe()} does nothing under FreeMotionAnimationLoop (in SOFA "
                "neither): it pushes by penalty, and stands above the integrators. Set "
                "response='FrictionContactConstraint' on the CollisionResponse.",
            )

    def act(self) -> None:
        """Add the springs' forces to the externalForce of what they join."""
        for field in [*self.fields, *self._contacts]:
            joint, targets = field.joint(), [state.outer_force() for state in _on(field)]
            if joint is None:
                field.add_force(targets[0])
                continue
            both = field.state.force.get()
            both[:] = 0.0
            field.add_force(both)
            joint.add_jt_to(both, targets)

    def refuse(self, purpose: str) -> None:
        """Check that no force acts from outside.

        Args:
            purpose: What does not know of such forces, for the message: "equilibria".

        Raises:
            SceneError: One does.
        """
        for field in [*self.fields, *self._contacts]:
            raise field.fault(
                f"acts from above the time integrators, and {purpose} do not know of that: put it "
                "below one integrator, with all that it joins."
            )
        for state in self.states:
            if state.externalForce.get().any():
                raise state.fault(
                    f"has an externalForce, and {purpose} do not know of it: use a "
                    "ConstantForceField."
                )

    def clear(self) -> None:
        """End what acted in this step."""
        for state in self.states:
            state.clear_outer_force()


def _parts(system: GraphSystem) -> list[Any]:
    return [*system.masses, *system.force_fields, *system.projective]


def _on(field: ForceField) -> list[MechanicalState]:
    """The states on which a force field acts: two, or one."""
    joint = field.joint()
    return [field.state] if joint is None else joint.drivers


def _out_of_reach(entry: Any, mover: GraphSystem | None) -> str:
    if mover is None:
        return (
            f"acts on {entry.state.describe()}, but no time integrator moves it: add an "
            "EulerImplicitSolver and a SparseLDLSolver to its node or above."
        )
    return (
        f"acts on {entry.state.describe()}, but is not below {mover.solver.describe()}, which "
        "moves it, and has no effect: put it into that integrator's node or below."
    )
