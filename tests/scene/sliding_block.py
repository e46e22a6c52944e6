"""A soft block that slides down a slope with friction, for batches; it may fail at a time."""

import numpy as np
import Sofa

from sofa_softctl import parameters_from_argv

SLOPE = np.radians(30.0)


class FailingController(Sofa.Core.Controller):
    """Raises an error from a time on."""

    def __init__(self, *args, root, fail_at, **kwargs):
        super().__init__(*args, **kwargs)
        self.root, self.fail_at = root, fail_at

    def onAnimateBeginEvent(self, event):
        if self.root.time.value >= self.fail_at - 1e-9:
            raise ValueError("no air pressure")


@parameters_from_argv
def createScene(root, mu=0.3, cells=3, fail_at=0.0):
    root.dt = 0.005
    root.gravity = [9810.0 * np.sin(SLOPE), -9810.0 * np.cos(SLOPE), 0.0]
    root.addObject("FreeMotionAnimationLoop")
    root.addObject("GenericConstraintSolver", tolerance=1e-9, maxIterations=500)
    for kind in ("CollisionPipeline", "BruteForceBroadPhase", "BVHNarrowPhase"):
        root.addObject(kind)
    root.addObject("LocalMinDistance", alarmDistance=2.0, contactDistance=0.5, angleCone=0.01)
    root.addObject(
        "CollisionResponse", response="FrictionContactConstraint", responseParams=f"mu={mu}"
    )
    floor = root.addChild("floor")
    corners = [[-50, 0, -50], [-50, 0, 50], [200, 0, 50], [200, 0, -50]]
    floor.addObject("MeshTopology", position=corners, triangles=[[0, 1, 2], [0, 2, 3]])
    floor.addObject("MechanicalObject")
    floor.addObject("TriangleCollisionModel", moving=False, simulated=False)
    block = root.addChild("block")
    block.addObject("EulerImplicitSolver", rayleighStiffness=0.01)
    block.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
    block.addObject(
        "RegularGridTopology", n=[cells, cells, cells], min=[0, 0.6, -10], max=[20, 20.6, 10]
    )
    block.addObject("MechanicalObject", name="dofs")
    block.addObject("UniformMass", totalMass=0.01)
    block.addObject("HexahedronFEMForceField", youngModulus=200.0, poissonRatio=0.3)
    block.addObject("LinearSolverConstraintCorrection")
    block.addObject("PointCollisionModel")
    if fail_at:
        root.addObject(FailingController(root=root, fail_at=fail_at))
    return root
