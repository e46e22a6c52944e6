"""Solvers that need not converge, and components that do the same work twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sofa_softctl.scene.body import box_size
from sofa_softctl.scene.channels import nodes_of
from sofa_softctl.scene.plausibility.bodies import Body, StartWarning, at

RESIDUAL_RATIO_MAX = 0.5
"""Tolerance of conjugate gradients above which hardly an iteration is needed [-]."""
TOLERANCE_RATIO_MAX = 0.1
"""Tolerance of a constraint solver by the size of the scene, above which gaps stay open [-]."""
DAMPING_MAX = 10.0
"""rayleighMass times dt above which nine tenths of a velocity are lost in a step [-]."""

NOT_NEGATIVE = ("amping", "tiffness", "rayleighMass")
"""Endings of Data that put energy into the motion where they are negative."""
SINGLE = ("CollisionPipeline", "CollisionResponse", "AnimationLoop", "ConstraintSolver")
"""Endings of components of which a node has one."""


def solver_warnings(root: Any, bodies: Sequence[Body]) -> list[StartWarning]:
    """Iterations, tolerances and damping that cancel the problem; doubled masses and materials."""
    warnings: list[StartWarning] = []
    for node in nodes_of(root):
        warnings += _several(node)
        for entry in node.objects:
            if text := "; ".join(_numbers(root, entry)):
                warnings.append(StartWarning(entry, f"{at(entry)} {text}."))
    return warnings + [warning for body in bodies for warning in _doubled(body)]


def _several(node: Any) -> Iterator[StartWarning]:
    """Two components in a node of which one counts."""
    for ending in SINGLE:
        same = [entry for entry in node.objects if entry.getClassName().endswith(ending)]
        if len(same) > 1:
            yield StartWarning(
                same[1],
                f"{at(same[1])} is beside {same[0].getClassName()} '{same[0].getPathName()}', and "
                "only one of them counts. Leave one out.",
            )


def _numbers(root: Any, entry: Any) -> Iterator[str]:
    kind = entry.getClassName()
    if kind == "CGLinearSolver":
        if entry.iterations.value < 2:
            yield f"stops after iterations={entry.iterations.value}, far from the solution: give 25"
        if entry.tolerance.value > RESIDUAL_RATIO_MAX:
            yield (
                f"accepts a residual of tolerance={entry.tolerance.value:g} times the load, so "
                "it need not solve: give 1e-9"
            )
    if entry.findData("maxIterations") is not None and entry.findData("tolerance") is not None:
        size = box_size(root)
        if "ConstraintSolver" in kind and entry.maxIterations.value < 1:
            yield f"may not iterate (maxIterations={entry.maxIterations.value}): give 1000"
        if "ConstraintSolver" in kind and entry.tolerance.value > TOLERANCE_RATIO_MAX * size > 0.0:
            yield (
                f"accepts an error of tolerance={entry.tolerance.value:g}, and the scene is "
                f"{size:.3g} long: constraints need not hold. Give {1e-6 * size:.0e}, say"
            )
    for data in entry.getDataFields():
        if not data.getName().endswith(NOT_NEGATIVE):
            continue
        numbers = np.asarray(data.value)
        if numbers.dtype.kind in "if" and np.min(numbers, initial=0.0) < 0.0:
            yield (
                f"has {data.getName()}={numbers.min():g}, which drives the motion in place of "
                "resisting it: give 0 or more"
            )
    damping = entry.findData("rayleighMass")
    if damping is not None and float(damping.value) * float(root.dt.value) > DAMPING_MAX:
        yield (
            f"has rayleighMass={float(damping.value):g}, which takes nearly all velocity away in "
            f"each step of dt={float(root.dt.value):g}: the body creeps. Give 0.1, say"
        )


def _doubled(body: Body) -> Iterator[StartWarning]:
    """Two masses on one state, or two materials of one kind on the same elements."""
    path = body.node.getPathName()
    masses = [entry for entry in body.masses if entry.getContext().getPathName() == path]
    fields = [e for e in body.node.objects if e.findData("youngModulus") is not None]
    for entries, what in ((masses, "masses add up"), (fields, "materials add up")):
        same = [entry for entry in entries[1:] if _acts_on_same(entries[0], entry)]
        if same:
            yield StartWarning(
                same[0],
                f"{at(same[0])} acts on what {entries[0].getClassName()} "
                f"'{entries[0].getPathName()}' acts on already: their {what}. Leave one out.",
            )


def _acts_on_same(first: Any, second: Any) -> bool:
    """Return True if two components are of one kind, or both masses, on one topology."""
    masses = all(entry.getClassName().endswith("Mass") for entry in (first, second))
    if not masses and first.getClassName() != second.getClassName():
        return False
    links = [entry.findLink("topology") for entry in (first, second)]
    linked = [link.getLinkedBase() if link is not None else None for link in links]
    paths = {entry.getPathName() for entry in linked if entry is not None}
    return len(paths) < 2
