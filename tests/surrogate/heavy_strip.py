"""A strip of silicone that stands on its end, too soft for its weight: it leans left or right.

A line along each of its two faces pulls it over. Units: mm, kg, s.
"""

import itertools

import numpy as np

from sofa_softctl import add_constraint_solver

LENGTH, THICK, WIDE = 100.0, 10.0, 20.0
NODES = (3, 2, 13)


def mesh():
    """Points and tetrahedra: six for each cell of a grid, around the cell's diagonal."""
    axes = [np.linspace(-s / 2, s / 2, n) for s, n in ((THICK, NODES[0]), (WIDE, NODES[1]))]
    points = list(itertools.product(*axes, np.linspace(0.0, LENGTH, NODES[2])))
    number = np.arange(len(points)).reshape(NODES)
    tetrahedra = []
    for first in itertools.product(*(range(n - 1) for n in NODES)):
        for order in itertools.permutations(range(3)):
            way = np.cumsum(np.vstack((first, np.eye(3, dtype=int)[list(order)])), axis=0)
            corners = [int(number[tuple(corner)]) for corner in way]
            even = round(np.linalg.det(np.eye(3)[list(order)])) > 0
            tetrahedra.append(corners if even else [corners[k] for k in (1, 0, 2, 3)])
    return np.array(points), tetrahedra


def createScene(root, young_modulus=60.0):
    root.gravity = [0.0, 0.0, -9810.0]
    root.addObject("FreeMotionAnimationLoop")
    add_constraint_solver(root, maxIterations=100, tolerance=1e-6)
    strip = root.addChild("strip")
    strip.addObject("EulerImplicitSolver")
    strip.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
    points, tetrahedra = mesh()
    strip.addObject("MeshTopology", position=points.tolist(), tetrahedra=tetrahedra)
    strip.addObject("MechanicalObject", name="dofs")
    strip.addObject("UniformMass", totalMass=1.07e-6 * LENGTH * THICK * WIDE)
    strip.addObject(
        "TetrahedronHyperelasticityFEMForceField",
        materialName="StableNeoHookean",
        ParameterSet=[young_modulus / 2.6, young_modulus / 1.3],
    )
    held = np.flatnonzero(points[:, 2] == 0.0).tolist()
    strip.addObject("FixedProjectiveConstraint", indices=held)
    strip.addObject("LinearSolverConstraintCorrection")
    for name, x in (("right", THICK / 2), ("left", -THICK / 2)):
        line = strip.addChild(name)
        path = [[0.9 * x, 0.0, z] for z in np.linspace(5.0, 98.0, 8)]
        line.addObject("MechanicalObject", position=path)
        line.addObject(
            "CableConstraint",
            indices=list(range(len(path))),
            pullPoint=[0.9 * x, 0.0, 0.0],
            valueType="force",
            value=[0.0],
        )
        line.addObject("BarycentricMapping")
    tip = strip.addChild("tip")
    tip.addObject("MechanicalObject", position=[[0.0, 0.0, LENGTH]])
    tip.addObject("BarycentricMapping")
    return root
