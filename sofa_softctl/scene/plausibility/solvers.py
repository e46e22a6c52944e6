"""Solvers that need not converge, and components that do the same work twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from sofa_softctl.scene.graph.nodes import box_size, nodes_of
from sofa_softctl.scene.plausibility.bodies import Body, StartWarning, at
from sofa_softctl.units import Units

RESIDUAL_RATIO_MAX = 0.5
"""Tolerance of conjugate gradients above which few iterations are done [-]."""
TOLERANCE_RATIO_MAX = 0.015
"""Tolerance of a constraint solver by the size of the smallest body, above which gaps stay open."""
DAMPING_MAX = 10.0
"""rayleighMass times dt above which nine tenths of a velocity are lost in a step [-]."""
CREEP_TIME_MIN = 2.0
"""rayleighStiffness, the time in which a body returns, above which it creeps [s]."""
CREEP_STEPS_MIN = 100.0
"""The same by dt [-]; below that a run lasts for longer."""

NOT_NEGATIVE = ("amping", "tiffness", "rayleighMass")
"""Endings of Data that put energy into the motion where they are negative."""
SINGLE = ("CollisionPipeline", "CollisionResponse", "AnimationLoop", "ConstraintSolver")
"""Endings of components of which a node has one."""


def solver_warnings(root: Any, bodies: Sequence[Body], units: Units | None) -> list[StartWarning]:
    """Warn of useless iterations, tolerances and damping, and of doubled masses and materials."""
    warnings: list[StartWarning] = []
    size = min((body.size for body in bodies if body.size > 0.0), default=0.0) or box_size(root)
    seconds = 1.0 if units is None else units.in_si("time")
    for node in nodes_of(root):
        warnings += _several(node)
        for item in node.objects:
            if text := "; ".join((*_numbers(root, item, size), *_creep(root, item, seconds))):
                warnings.append(StartWarning(item, f"{at(item)} {text}."))
    warnings += [warning for body in bodies for warning in _doubles(body)]
    return warnings + [warning for body in bodies for warning in _without_stiffness(body)]


def _several(node: Any) -> Iterator[StartWarning]:
    """Warn of two components in a node of which one counts."""
    for ending in SINGLE:
        pair = [item for item in node.objects if item.getClassName().endswith(ending)]
        if len(pair) > 1:
            yield StartWarning(
                pair[1],
                f"{at(pair[1])} is beside {pair[0].getClassName()} '{pair[0].getPathName()}', and "
                "only one of them counts. Leave one out.",
            )


def _numbers(root: Any, item: Any, size: float) -> Iterator[str]:
    kind = item.getClassName()
    if kind == "CGLinearSolver":
        if item.iterations.value < 2:
            yield f"stops after iterations={item.iterations.value}, far from the solution: give 25"
        if item.tolerance.value > RESIDUAL_RATIO_MAX:
            yield (
                f"accepts a residual of tolerance={item.tolerance.value:g} times the load, so "
                "it need not solve: give 1e-9"
            )
    if item.findData("maxIterations") is not None and item.findData("tolerance") is not None:
        if "ConstraintSolver" in kind and item.maxIterations.value < 1:
            yield f"may not iterate (maxIterations={item.maxIterations.value}): give 1000"
        if "ConstraintSolver" in kind and item.tolerance.value > TOLERANCE_RATIO_MAX * size > 0.0:
            yield (
                f"accepts an error of tolerance={item.tolerance.value:g}, and the smallest "
                f"body is {size:.3g} long: constraints need not hold. Give {1e-6 * size:.0e}, say"
            )
    for data in item.getDataFields():
        if not data.getName().endswith(NOT_NEGATIVE):
            continue
        numbers = np.asarray(data.value)
        if numbers.dtype.kind in "if" and np.min(numbers, initial=0.0) < 0.0:
            yield (
                f"has {data.getName()}={numbers.min():g}, which drives the motion in place of "
                "resisting it: give 0 or more"
            )
    damping = item.findData("rayleighMass")
    if damping is not None and float(damping.value) * float(root.dt.value) > DAMPING_MAX:
        yield (
            f"has rayleighMass={float(damping.value):g}, which takes nearly all velocity away in "
            f"each step of dt={float(root.dt.value):g}: the body creeps. Give 0.1, say"
        )


def _creep(root: Any, item: Any, seconds: float) -> Iterator[str]:
    """Warn of a rayleighStiffness with which a body returns slowly at any stiffness."""
    damping = item.findData("rayleighStiffness")
    if damping is None or "OdeSolver" not in item.getCategories():
        return
    time, dt = float(damping.value), float(root.dt.value)
    if time * seconds >= CREEP_TIME_MIN and time >= CREEP_STEPS_MIN * dt:
        yield (
            f"has rayleighStiffness={time:g}, which is the time in which a deformed body comes "
            f"back, {time / dt:.3g} steps of dt={dt:g}: it creeps. Give 0.1, say"
        )


def _without_stiffness(body: Body) -> Iterator[StartWarning]:
    """Warn of a correction that ignores the stiffness of a body."""
    for correction in body.node.objects if body.elastic and len(body.elements) else ():
        if correction.getClassName() != "UncoupledConstraintCorrection":
            continue
        if correction.defaultCompliance.isSet() or correction.compliance.isSet():
            continue
        yield StartWarning(
            correction,
            f"{at(correction)} moves each node of '{body.node.getPathName()}' by its mass alone, "
            "as if no element joined it to others: contacts and actuators do not deform the body "
            "as its stiffness says. Use LinearSolverConstraintCorrection with a direct solver, "
            "such as SparseLDLSolver.",
        )


def _doubles(body: Body) -> Iterator[StartWarning]:
    """Warn of two masses on one state, or two materials on the same elements."""
    path = body.node.getPathName()
    masses = [item for item in body.masses if item.getContext().getPathName() == path]
    carried = [item for item in body.masses if item.getContext().getPathName() != path]
    for first, second in product(masses, carried):
        if _total_mass(first) == _total_mass(second) != 0.0:
            yield StartWarning(
                second,
                f"{at(second)} gives the body of '{path}' its totalMass={_total_mass(second):g} a "
                f"second time, on points that a mapping carries: {first.getClassName()} "
                f"'{first.getPathName()}' has it already. Leave it out.",
            )
    fields = [e for e in body.node.objects if e.findData("youngModulus") is not None]
    for entries, effect in ((masses, "masses add up"), (fields, "materials add up")):
        pair = [item for item in entries[1:] if _acts_on_same(entries[0], item)]
        if pair:
            yield StartWarning(
                pair[0],
                f"{at(pair[0])} acts on what {entries[0].getClassName()} "
                f"'{entries[0].getPathName()}' acts on already: their {effect}. Leave one out.",
            )


def _total_mass(item: Any) -> float:
    total = item.findData("totalMass")
    return 0.0 if total is None else float(total.value)


def _acts_on_same(first: Any, second: Any) -> bool:
    """Return True if two components are masses, or materials of one element, on one topology."""
    kinds = [item.getClassName() for item in (first, second)]
    masses = all(kind.endswith("Mass") for kind in kinds)
    cells = any(all(cell in kind for kind in kinds) for cell in ("Tetrahedr", "Hexahedr"))
    if not (masses or cells or kinds[0] == kinds[1]):
        return False
    links = [item.findLink("topology") for item in (first, second)]
    linked = [link.getLinkedBase() if link is not None else None for link in links]
    paths = {item.getPathName() for item in linked if item is not None}
    return len(paths) < 2
