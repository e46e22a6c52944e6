"""Objects for contacts at the root of a scene."""

from __future__ import annotations

from typing import Any

SOLVERS = ("GenericConstraintSolver", "BlockGaussSeidelConstraintSolver")
"""Constraint solver in SOFA v25.06, and its name in newer versions."""


def ContactHeader(
    applyTo: Any, alarmDistance: float, contactDistance: float, frictionCoef: float = 0.0
) -> Any:
    """Add collision detection, contacts with friction, free motion and a constraint solver.

    Args:
        applyTo: Root of the scene.
        alarmDistance: Distance below which pairs are contacts [length].
        contactDistance: Distance that contacts keep [length].
        frictionCoef: Coulomb's coefficient, 0 for none.

    Returns:
        The root.
    """
    if not applyTo.hasObject("CollisionPipeline"):
        applyTo.addObject("CollisionPipeline")
    applyTo.addObject("BruteForceBroadPhase")
    applyTo.addObject("BVHNarrowPhase")
    applyTo.addObject(
        "RuleBasedContactManager",
        name="Response",
        response="FrictionContactConstraint",
        responseParams=f"mu={frictionCoef}",
    )
    applyTo.addObject(
        "LocalMinDistance",
        alarmDistance=alarmDistance,
        contactDistance=contactDistance,
        angleCone=0.01,
    )
    if not applyTo.hasObject("FreeMotionAnimationLoop"):
        applyTo.addObject("FreeMotionAnimationLoop")
    if not any(applyTo.hasObject(name) for name in SOLVERS):
        applyTo.addObject("GenericConstraintSolver", tolerance=1e-6, maxIterations=1000)
    return applyTo
