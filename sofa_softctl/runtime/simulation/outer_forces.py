"""Masses, forces and constraints that are below no time integrator."""

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
    """Forces of springs above the integrators of the bodies that they join, in a step.

    As in SOFA they act at the start of the step, as constant forces without a matrix. Other
    components that are not in an integrator's node or below have no effect, also in SOFA; here it
    is a fault.

    Args:
        root: Root of the graph.
        systems: Systems of its integrators.
        act: Outer springs act in the loop; not in a FreeMotionAnimationLoop.
    """

    def __init__(self, root: Node, systems: Sequence[GraphSystem], act: bool) -> None:
        nodes = list(root.walk())
        self._act = act
        self._order = {id(node): number for number, node in enumerate(nodes)}
        self._mover = {id(state): system for system in systems for state in system.all_states}
        self.states: list[Any] = [state for node in nodes for state in node.of("state")]
        self.fields: list[ForceField] = []
        """Outer springs that act."""
        self._contacts: list[ForceField] = []
        self._has_warned = False
        reached = {id(part): system for system in systems for part in _contents(system)}
        for node in nodes:
            for category in ("mass", "force field", "projective constraint"):
                for component in node.of(category):
                    self._check_component(component, reached.get(id(component)))

    def _check_component(self, part: Any, system: GraphSystem | None) -> None:
        """Add an outer spring, or complain of a component without effect."""
        mover = self._mover.get(id(part.state))
        if isinstance(part, ProjectiveConstraint):
            moves = type(part).project_position is not ProjectiveConstraint.project_position
            if mover is not system and mover is not None and not moves:
                complain(part, part.fault(_explain_unreached(part, mover)))
        elif system is not None:
            if mover is not system:
                complain(part, part.fault(_explain_unreached(part, mover)))
        elif isinstance(part, ForceField) and part.acts_alone and self._has_mover(part):
            self._add_springs(part)
        else:
            complain(part, part.fault(_explain_unreached(part, mover)))

    def _has_mover(self, field: ForceField) -> bool:
        return any(id(state) in self._mover for state in _states_of(field))

    def _add_springs(self, field: ForceField) -> None:
        movers = [self._mover.get(id(state)) for state in _states_of(field)]
        solvers = [mover.solver for mover in movers if mover is not None]
        position = self._order[id(field._context)]
        early = [solver for solver in solvers if self._order[id(solver._context)] < position]
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
            self.fields.append(field)
            return
        complain(field, field.fault(problem))

    def push(self, contacts: Sequence[ForceField]) -> None:
        """Replace the penalty contacts of a step."""
        outer = [field for field in contacts if self._has_mover(field)]
        self._contacts = outer if self._act else []
        if outer and not self._act and not self._has_warned:
            self._has_warned = True
            message.warning(
                outer[0],
                f"{outer[0].describe()} does nothing under FreeMotionAnimationLoop (in SOFA "
                "neither): it pushes by penalty, and stands above the integrators. Set "
                "response='FrictionContactConstraint' on the CollisionResponse.",
            )

    def act(self) -> None:
        """Add the springs' forces to the externalForce of the states that they join."""
        for field in [*self.fields, *self._contacts]:
            joint, targets = field.joint(), [state.outer_force() for state in _states_of(field)]
            if joint is None:
                field.add_force(targets[0])
                continue
            force = field.state.force.get()
            force[:] = 0.0
            field.add_force(force)
            joint.add_jt_to(force, targets)

    def refuse(self, purpose: str) -> None:
        """Check that no outer force acts.

        Args:
            purpose: Feature without outer forces, for the message: "equilibria".

        Raises:
            SceneError: An outer force acts.
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
        """Clear the outer forces of this step."""
        for state in self.states:
            if len(state.externalForce.get()):
                state.clear_outer_force()


def _contents(system: GraphSystem) -> list[Any]:
    return [*system.masses, *system.force_fields, *system.projective]


def _states_of(field: ForceField) -> list[MechanicalState]:
    """Return the states on which a force field acts: two, or one."""
    joint = field.joint()
    return [field.state] if joint is None else joint.drivers


def _explain_unreached(component: Any, mover: GraphSystem | None) -> str:
    if mover is None:
        return (
            f"acts on {component.state.describe()}, but no time integrator moves it: add an "
            "EulerImplicitSolver and a SparseLDLSolver to its node or above."
        )
    return (
        f"acts on {component.state.describe()}, but is not below {mover.solver.describe()}, which "
        "moves it, and has no effect: put it into that integrator's node or below."
    )
