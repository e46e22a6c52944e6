"""Small scene for checks: a soft bar with two cables."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

BAR_SIZE = (10.0, 10.0, 40.0)
"""Size of the bar [mm]; it is clamped at z = 0."""
NODE_COUNTS = (2, 2, 3)
"""Number of nodes along x, y and z."""


@dataclass(frozen=True)
class SmallScene:
    """Parts of the scene to add controllers to. Units: mm, kg, s; steps of 0.01 s."""

    root: Any
    """The root, with a FreeMotionAnimationLoop and a constraint solver."""
    body: Any
    """Node of the bar: 12 nodes and 12 tetrahedra, state `dofs`, topology `mesh`."""
    cables: tuple[Any, Any]
    """CableConstraints along two sides of the bar, valueType 'force', not pulled."""
    tip: Any
    """State with one point, in the middle of the free end."""


def small_scene(root: Any, *, mass: bool = True) -> SmallScene:
    """Build the scene below an empty root, not initialised.

    Args:
        root: A node.
        mass: Add a UniformMass of 20 g to the bar.
    """
    root.dt, root.gravity = 0.01, [0.0, 0.0, -9810.0]
    root.addObject("FreeMotionAnimationLoop")
    root.addObject(
        "GenericConstraintSolver", name="constraints", maxIterations=1000, tolerance=1e-12
    )
    points, tetrahedra = bar()
    body = root.addChild("body")
    body.addObject("EulerImplicitSolver", rayleighStiffness=0.01)
    body.addObject("SparseLDLSolver")
    body.addObject(
        "TetrahedronSetTopologyContainer", name="mesh", position=points, tetrahedra=tetrahedra
    )
    body.addObject("MechanicalObject", name="dofs")
    if mass:
        body.addObject("UniformMass", totalMass=0.02)
    body.addObject("TetrahedronFEMForceField", youngModulus=500.0, poissonRatio=0.4)
    body.addObject("FixedProjectiveConstraint", indices=np.flatnonzero(points[:, 2] == 0.0))
    body.addObject("LinearSolverConstraintCorrection")
    cables = tuple(_cable(body, f"cable_{k}", x) for k, x in enumerate((2.0, 8.0)))
    tip = body.addChild("tip")
    state = tip.addObject("MechanicalObject", name="dofs", position=[[5.0, 5.0, BAR_SIZE[2]]])
    tip.addObject("BarycentricMapping")
    return SmallScene(root, body, (cables[0], cables[1]), state)


def bar() -> tuple[np.ndarray, np.ndarray]:
    """Return points of the bar (12, 3) and six tetrahedra per cell (12, 4)."""
    axes = [
        np.linspace(0.0, size, count) for size, count in zip(BAR_SIZE, NODE_COUNTS, strict=True)
    ]
    points = np.array(list(itertools.product(*axes)))
    strides = (NODE_COUNTS[1] * NODE_COUNTS[2], NODE_COUNTS[2], 1)
    tetrahedra = []
    for layer in range(NODE_COUNTS[2] - 1):
        for order in itertools.permutations(range(3)):
            path = layer + np.cumsum([0, *(strides[axis] for axis in order)])
            is_odd = np.linalg.det(np.eye(3)[list(order)]) < 0.0
            tetrahedra.append(path[[1, 0, 2, 3]] if is_odd else path)
    return points, np.array(tetrahedra)


def _cable(body: Any, name: str, x: float) -> Any:
    node = body.addChild(name)
    points = [[x, 5.0, z] for z in (10.0, 25.0, 39.0)]
    node.addObject("MechanicalObject", position=points)
    cable = node.addObject(
        "CableConstraint",
        name="cable",
        indices=[0, 1, 2],
        pullPoint=[x, 5.0, 0.0],
        valueType="force",
        value=[0.0],
    )
    node.addObject("BarycentricMapping")
    return cable
