"""The plan of a step: what happens in which order, and what is computed together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.behavior.solvers import (
    ConstraintCorrection,
    DirectLinearSolver,
    MechanicalSystem,
)
from sofa_softctl.runtime.core.node import Node
from sofa_softctl.runtime.simulation.constraint_system import ConstraintProblem
from sofa_softctl.runtime.simulation.followers import WeightedRun
from sofa_softctl.runtime.simulation.loop import SteppingLoop
from sofa_softctl.runtime.simulation.simulation import loop_of


class PlanLine(NamedTuple):
    """One action of a step."""

    phase: str
    """Phase of the step, as the end of a run names it."""
    subject: str
    """Component, or components, by path."""
    action: str
    """Work that is done, with its size."""


def plan_step(root: Node) -> list[PlanLine]:
    """Return the actions of a step of a scene that is initialised, in their order.

    Raises:
        SceneError: The scene has no animation loop over systems, or is not initialised.
    """
    loop: Any = loop_of(root)
    if not isinstance(loop, SteppingLoop):
        raise SceneError(f"{loop.describe()} has no plan of its steps.")
    lines = list(_events(root, "controllers", "AnimateBeginEvent"))
    if not loop.systems:
        lines.append(PlanLine("free motion", "/", "nothing moves: there is no time integrator"))
    for system in loop.systems:
        lines += _free_motion(system)
    for pipeline in loop.pipelines:
        lines.append(PlanLine("collision", pipeline.getPathName(), "find contacts"))
    problem: ConstraintProblem | None = getattr(loop, "problem", None)
    if problem is not None:
        lines += _constraint_rows(problem)
        lines += _events(root, "controllers", "BuildConstraintSystemEndEvent")
        solver: Any = loop.solver  # type: ignore[attr-defined]
        lines.append(PlanLine("constraint solver", _name(solver), "solve for multipliers"))
        lines += _events(root, "controllers", "SolveConstraintSystemEndEvent")
        for correction, corrected in problem.corrections:
            inverse = "A^-1" if _uses_matrix(correction) else "C"
            count = 3 * corrected.size
            action = f"add {inverse} H^T lambda to {count} velocities and to the positions"
            lines.append(PlanLine("correction", _name(correction), action))
    for system in loop.systems:
        lines += _followers(system)
    return [*lines, *_events(root, "controllers", "AnimateEndEvent")]


def _name(component: Any) -> str:
    return f"{component.getPathName()} ({component.getClassName()})"


def _names(components: list[Any]) -> str:
    """Return the first two paths of components, the number of the others, and all classes."""
    paths = [component.getPathName() for component in components]
    classes = ", ".join(dict.fromkeys(component.getClassName() for component in components))
    rest = f" and {len(paths) - 2} more" if len(paths) > 2 else ""
    return f"{', '.join(paths[:2])}{rest} ({classes})"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _events(root: Node, phase: str, event: str) -> Iterator[PlanLine]:
    for controller in root.controllers():
        if hasattr(controller, f"on{event}"):
            yield PlanLine(phase, _name(controller), f"on{event}")


def _free_motion(system: MechanicalSystem) -> Iterator[PlanLine]:
    phase = "free motion"
    fixed = int(system.fixed.sum())
    text = f"step of {3 * system.size} degrees of freedom, {fixed} of them fixed"
    yield PlanLine(phase, _name(system.solver), text)
    for component in [*system.force_fields, *system.masses]:
        is_mapped = id(component.state) not in system.offset
        through = f", through the mappings of {component.state.getPathName()}" if is_mapped else ""
        kind = "gravity and mass"
        if component in system.force_fields:
            kind = "forces and stiffness" if system.solver.has_matrix else "forces"
        yield PlanLine(phase, _name(component), f"{kind}{through}")
    if system.solver.needs_linear_solver:
        action = "solve by iterations"
        if isinstance(system.linear_solver, DirectLinearSolver):
            matrix = getattr(system.linear_solver, "matrix", None)
            blocks = "" if matrix is None else f" of {len(matrix.pattern.indices)} 3x3 blocks"
            action = f"factorise the matrix{blocks}, solve"
        yield PlanLine(phase, _name(system.linear_solver), action)


def _followers(system: Any) -> Iterator[PlanLine]:
    for group in system.followers:
        together = ", one kernel" if isinstance(group, WeightedRun) else ""
        action = f"place {_count(group.count, 'point')}{together}"
        yield PlanLine("mappings", _names(group.mappings), action)


def _constraint_rows(problem: ConstraintProblem) -> Iterator[PlanLine]:
    phase = "constraint rows and W"
    in_block: set[int] = set()
    for block, _ in problem.row_blocks:
        in_block.update(map(id, block.members))
        rows = sum(member.row_count for member in block.members)
        yield PlanLine(phase, _names(block.members), f"{_count(rows, 'row')}, one kernel")
    for constraint in problem.constraints:
        if id(constraint) not in in_block:
            yield PlanLine(phase, _name(constraint), "its rows")
    for correction, _ in problem.corrections:
        action = "W = H A^-1 H^T" if _uses_matrix(correction) else "W = H C H^T, C of each node"
        yield PlanLine(phase, _name(correction), action)


def _uses_matrix(correction: ConstraintCorrection) -> bool:
    return correction.getClassName() != "UncoupledConstraintCorrection"
