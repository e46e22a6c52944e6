"""A small bar that has a part of every kind that enters an equilibrium.

A chain of cells on a foot, held by two kinds of constraints, pulled by two lines, one of them on
mapped points; with springs to another state and a force field in Python. Units: mm, kg, s.
"""

import numpy as np
import Sofa

PLUGINS = """
Sofa.Component.AnimationLoop Sofa.Component.Constraint.Lagrangian.Correction
Sofa.Component.Constraint.Lagrangian.Solver Sofa.Component.Constraint.Projective
Sofa.Component.LinearSolver.Direct Sofa.Component.Mapping.Linear Sofa.Component.Mass
Sofa.Component.ODESolver.Backward Sofa.Component.SolidMechanics.FEM.Elastic
Sofa.Component.SolidMechanics.Spring Sofa.Component.StateContainer
Sofa.Component.Topology.Container.Constant SoftRobots
""".split()
FACTOR = 2.0
"""A global that the force field uses."""
CELLS, SIZE = 3, 10.0
SPLIT = ((0, 5, 1, 6), (0, 1, 3, 6), (1, 3, 6, 2), (6, 3, 0, 7), (6, 7, 0, 5), (7, 5, 4, 0))
"""Tetrahedra of a cell, by its corners."""


def stretch(x, rest):
    """A function that the force field calls."""
    return FACTOR * (x - rest)


class Pad(Sofa.Core.ForceFieldVec3d):
    """Springs to the first positions, on the nodes that are given."""

    exponent = 1.0

    def __init__(self, *args, stiffness=3.0, nodes=(5, 9), law=None, **kwargs):
        Sofa.Core.ForceFieldVec3d.__init__(self, *args, **kwargs)
        self.stiffness, self.nodes = stiffness, np.array(nodes)
        self.law = law or (lambda k: k)

    def init(self):
        self.rest = self.getContext().dofs.rest_position.array().copy()

    def addForce(self, parameters, force, position, velocity):
        change = stretch(position.value, self.rest)[self.nodes]
        with force.writeableArray() as f:
            f[self.nodes] -= self.law(self.stiffness) ** self.exponent * change

    def addKToMatrix(self, parameters, n_nodes, n_dofs):
        k = -FACTOR * self.law(self.stiffness) ** self.exponent
        return np.array([[3 * i + a, 3 * i + a, k] for i in self.nodes for a in range(3)])


def mesh():
    """Points (4 (CELLS + 1), 3) and tetrahedra of a bar along z."""
    square = np.array([[0, 0], [1, 0], [1, 1], [0, 1]]) * SIZE
    x = [[*corner, SIZE * level] for level in range(CELLS + 1) for corner in square]
    split = np.array(SPLIT)
    return x, np.concatenate([split + 4 * level for level in range(CELLS)]).tolist()


def createScene(root, edit=None, turned=0.0, elasticity="TetrahedronFEMForceField", pad=None):
    """`edit` is called with the root at the end, and may change what it likes."""
    root.dt = 0.01
    root.gravity = [0.0, 100.0, -9810.0]
    root.addObject("RequiredPlugin", pluginName=PLUGINS)
    root.addObject("FreeMotionAnimationLoop")
    root.addObject("GenericConstraintSolver", maxIterations=100, tolerance=1e-6)
    anchor = root.addChild("anchor")
    anchor.addObject("MechanicalObject", name="dofs", position=[[1.0, 2.0, 31.0], [9, 1, 33]])
    bar = root.addChild("bar")
    bar.addObject("EulerImplicitSolver")
    bar.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
    points, tetrahedra = mesh()
    bar.addObject("MeshTopology", name="mesh", position=points, tetrahedra=tetrahedra)
    turn = [turned, 0.7 * turned, 0.3 * turned]
    bar.addObject("MechanicalObject", name="dofs", rotation=turn)
    bar.addObject("DiagonalMass", name="mass", totalMass=0.01)
    if elasticity == "TetrahedronHyperelasticityFEMForceField":
        law = {"materialName": "StableNeoHookean", "ParameterSet": [100.0, 200.0]}
    else:
        law = {"youngModulus": [300.0], "poissonRatio": [0.3]}
    bar.addObject(elasticity, name="elasticity", **law)
    bar.addObject(
        "RestShapeSpringsForceField",
        name="springs",
        points=[10, 12],
        stiffness=[2.0],
        external_points=[0, 1],
        external_rest_shape="@/anchor/dofs",
    )
    bar.addObject(Pad(name="pad", **(pad or {})))
    bar.addObject("FixedProjectiveConstraint", name="foot", indices=[0, 1, 2, 3])
    bar.addObject(
        "PartialFixedProjectiveConstraint", name="slot", indices=[4], fixedDirections=[1, 0, 0]
    )
    bar.addObject("LinearSolverConstraintCorrection")
    bar.addObject("CableConstraint", name="line", indices=[13, 9], pullPoint=[20.0, 0.0, 0.0])

    side = bar.addChild("side")
    side.addObject("MechanicalObject", name="dofs", position=[[5, 9, 25], [5.0, 9.0, 12.0]])
    side.addObject("CableConstraint", name="line", indices=[0, 1], pullPoint=[5.0, 12.0, 0.0])
    side.addObject("BarycentricMapping", name="mapping")
    corner = bar.addChild("corner")
    corner.addObject("MechanicalObject", name="dofs")
    corner.addObject("SubsetMapping", name="mapping", indices=[15, 12])
    if edit is not None:
        edit(root)
    return root
