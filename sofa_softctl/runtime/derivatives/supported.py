"""Unsupported scenes raise SceneError before their time step is differentiated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sofa_softctl.runtime.behavior.mechanics import Contribution
from sofa_softctl.runtime.behavior.solvers import MechanicalSystem


def check_step(loop: Any, system: MechanicalSystem, *, besides: Sequence[Any] = ()) -> None:
    """Raise SceneError where the derivative of a scene's time step is not known.

    Components check themselves, by `check_differentiable`; the rest is checked here.

    Args:
        loop: Animation loop of the scene, after `prepare`.
        system: Its only system.
        besides: Force fields that are not checked.

    Raises:
        SceneError: A component's derivative is not known, a state is not of points, a force field
            or mass has a damping of its own or acts on a mapped state, or forces act from outside.
    """
    loop.outer.refuse("derivatives of a step")
    by_velocity = loop._data.get("solveVelocityConstraintFirst")
    if by_velocity is not None and by_velocity.get():
        raise loop.fault(
            "has solveVelocityConstraintFirst=True: derivatives are known of the step without it."
        )
    system.solver.check_differentiable()
    for state in system.states:
        if state.kind.name != "Vec3":
            raise state.fault(
                "has bodies or joints: derivatives of a step are known for states of points alone."
            )
    for field in system.force_fields:
        if any(field is other for other in besides):
            continue
        field.check_differentiable()
        if field.rayleighStiffness.get():
            raise field.fault("has a rayleighStiffness of its own: give it to the integrator.")
        _check_independent(field, system)
    for mass in system.masses:
        mass.check_differentiable()
        if mass.separateGravity.get() or mass.rayleighMass.get():
            raise mass.fault(
                "has separateGravity or a rayleighMass of its own: leave them out, and give the "
                "damping to the integrator."
            )
        _check_independent(mass, system)
    for projection in system.projective:
        projection.check_differentiable()
    for node in loop.root.walk():
        for constraint in node.of("constraint"):
            constraint.check_differentiable()


def _check_independent(entry: Contribution, system: MechanicalSystem) -> None:
    if id(entry.state) not in system.offset:
        raise entry.fault(
            f"acts on {entry.state.describe()}, which follows another state: put it on the state "
            "that drives."
        )
