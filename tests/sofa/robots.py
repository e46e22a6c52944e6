"""Small robots for the tests in SOFA; they run in the embedded runtime as well."""

import numpy as np

from sofa_softctl import (
    FrictionWithoutCreep,
    InverseController,
    Session,
    Sofa,
    add_constraint_solver,
    add_effector,
)
from sofa_softctl.scene.control.system import ComplianceSystem


def box(nx, ny, nz, size):
    """Six tetrahedra a cell; positions (n, 3), tetrahedra (m, 4) of positive volume."""
    axes = [np.linspace(0.0, side, count) for side, count in zip(size, (nx, ny, nz), strict=True)]
    positions = np.array([[x, y, z] for x in axes[0] for y in axes[1] for z in axes[2]])
    strides = (ny * nz, nz, 1)
    tetrahedra = []
    for i in range((nx - 1) * (ny - 1) * (nz - 1)):
        cell = np.unravel_index(i, (nx - 1, ny - 1, nz - 1))
        for order in ((0, 1, 2), (1, 2, 0), (2, 0, 1), (0, 2, 1), (1, 0, 2), (2, 1, 0)):
            path = np.cumsum([np.dot(cell, strides), *(strides[k] for k in order)])
            a, b, c, d = positions[path]
            if np.linalg.det([b - a, c - a, d - a]) < 0.0:
                path = path[[1, 0, 2, 3]]
            tetrahedra.append(path.tolist())
    return positions, tetrahedra


def add_loop(root, solver=None, **values):
    """Animation loop and constraint solver."""
    root.dt = 0.01
    root.gravity = [0.0, -9810.0, 0.0]
    root.addObject("FreeMotionAnimationLoop")
    if solver is None:
        add_constraint_solver(root, maxIterations=500, tolerance=1e-9, **values)
    else:
        root.addObject(solver, maxIt=500, tolerance=1e-9, **values)


def add_body(root, counts, size, offset=(0.0, 0.0, 0.0), **values):
    """A soft block, its force field with these Data; returns its node, positions, tetrahedra."""
    positions, tetrahedra = box(*counts, size)
    positions = positions + offset
    body = root.addChild("body")
    body.addObject("EulerImplicitSolver", rayleighStiffness=0.05)
    body.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
    body.addObject(
        "TetrahedronSetTopologyContainer", position=positions.tolist(), tetrahedra=tetrahedra
    )
    body.addObject("MechanicalObject", name="dofs")
    body.addObject("UniformMass", totalMass=0.03)
    body.addObject(
        "TetrahedronFEMForceField",
        name="elasticity",
        youngModulus=500.0,
        poissonRatio=0.4,
        **values,
    )
    body.addObject("LinearSolverConstraintCorrection")
    return body, positions, tetrahedra


def hanging(root, method, option):
    """A clamped beam along z that falls; its elasticity computes von Mises stresses."""
    add_loop(root)
    values = {"method": method, "computeVonMisesStress": option}
    body, positions, _ = add_body(root, (3, 2, 5), (20.0, 20.0, 80.0), **values)
    foot = np.flatnonzero(positions[:, 2] == 0.0).tolist()
    body.addObject("FixedProjectiveConstraint", indices=foot)
    return root


def arm(root, goal=(14.0, 3.0, 80.0), solver=None, controlled=True, **values):
    """A clamped beam along z with one cable, its tip under inverse control."""
    add_loop(root, solver, **values)
    body, positions, _ = add_body(root, (2, 2, 5), (20.0, 20.0, 80.0))
    foot = np.flatnonzero(positions[:, 2] == 0.0).tolist()
    body.addObject("FixedProjectiveConstraint", indices=foot)
    cable = body.addChild("cable")
    cable.addObject(
        "MechanicalObject", name="dofs", position=[[17.0, 10.0, z] for z in (20, 50, 78)]
    )
    motor = cable.addObject(
        "CableConstraint",
        name="motor",
        indices=[0, 1, 2],
        pullPoint=[17.0, 10.0, 0.0],
        valueType="force",
        value=[0.0],
        minForce=0.0,
    )
    cable.addObject("BarycentricMapping")
    tip = body.addChild("tip")
    tip.addObject("MechanicalObject", name="dofs", position=[[10.0, 10.0, 80.0]])
    effector = add_effector(tip)
    tip.addObject("BarycentricMapping")
    if controlled:
        root.addObject(
            InverseController(
                name="inverse",
                root=root,
                actuators=[motor],
                effectors=[effector],
                goal=goal if callable(goal) else [*goal],
            )
        )
    return root


def surface(tetrahedra):
    """Outward triangles of the boundary."""
    faces = {}
    for a, b, c, d in tetrahedra:
        for face in ((b, c, d), (a, d, c), (a, b, d), (a, c, b)):
            faces.setdefault(tuple(sorted(face)), []).append(list(face))
    return [found[0] for found in faces.values() if len(found) == 1]


def balloon(root, dt=0.01, first_order=False):
    """A soft cube with a cavity, held at one side; its pressure waits for an effort.

    Objects: /body/dofs, /body/cavity/pressure (a SurfacePressureConstraint of type pressure).
    """
    add_loop(root)
    root.dt = dt
    root.gravity = [0.0, 0.0, 0.0]
    positions, tetrahedra = box(4, 4, 4, (30.0, 30.0, 30.0))
    centres = np.array([positions[element].mean(axis=0) for element in tetrahedra])
    hollow = (np.abs(centres - 15.0) < 5.0).all(axis=1)
    tetrahedra = [t for t, out in zip(tetrahedra, hollow, strict=True) if not out]
    body = root.addChild("body")
    body.addObject("EulerImplicitSolver", rayleighStiffness=0.02, firstOrder=first_order)
    body.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
    body.addObject(
        "TetrahedronSetTopologyContainer", position=positions.tolist(), tetrahedra=tetrahedra
    )
    body.addObject("MechanicalObject", name="dofs")
    body.addObject("UniformMass", totalMass=0.03)
    body.addObject("TetrahedronFEMForceField", youngModulus=500.0, poissonRatio=0.4)
    side = np.flatnonzero(positions[:, 0] == 0.0).tolist()
    body.addObject("FixedProjectiveConstraint", indices=side)
    body.addObject("LinearSolverConstraintCorrection")
    inside = ((positions > 5.0) & (positions < 25.0)).all(axis=1)
    skin = [t[::-1] for t in surface(tetrahedra) if inside[t].all()]
    cavity = body.addChild("cavity")
    cavity.addObject("MechanicalObject", name="dofs", position=positions.tolist())
    cavity.addObject("SurfacePressureConstraint", name="pressure", triangles=skin, value=[0.0])
    cavity.addObject("IdentityMapping")
    return root


def inflated(pressure, **options):
    """Positions of the balloon at rest under a pressure [kPa], set through ComplianceSystem."""

    def scene(root):
        balloon(root, **options)
        root.addObject(Pump(name="pump", root=root, pressure=pressure))

    session = Session(scene)
    steps = 40 if options.get("first_order") else round(2.0 / options.get("dt", 0.01))
    session.step(steps)
    cavity = session.root.body.cavity.pressure
    return {
        "positions": session.root.body.dofs.position.array().tolist(),
        "factor": ComplianceSystem(session.root).effort_factor(cavity),
        "lambda": float(cavity.pressure.value),
        "growth": float(cavity.volumeGrowth.value),
    }


class Pump(Sofa.Core.Controller):
    """Holds a pressure, whatever dt and integrator are."""

    def __init__(self, *args, **kwargs):
        Sofa.Core.Controller.__init__(self, *args, **kwargs)
        self.root, self.pressure = kwargs["root"], kwargs["pressure"]

    def onSolveConstraintSystemEndEvent(self, event):
        cavity = self.root.body.cavity.pressure
        system = ComplianceSystem(self.root)
        rows, _ = system.rows_of([cavity]).row_indices()
        factor = np.array([system.effort_factor(cavity)])
        system.set_effort(rows, np.array([self.pressure]), factor)


def block_on_floor(root, mu=0.5):
    """A soft block that starts 1.5 mm above the floor y = 0, with contacts from 3 mm on."""
    add_loop(root)
    for kind in ("CollisionPipeline", "BruteForceBroadPhase", "BVHNarrowPhase"):
        root.addObject(kind)
    root.addObject("MinProximityIntersection", alarmDistance=3.0, contactDistance=0.5)
    response = {"response": "FrictionContactConstraint", "responseParams": f"mu={mu}"}
    root.addObject("CollisionResponse", **response)
    body, positions, tetrahedra = add_body(root, (4, 4, 4), (30.0, 30.0, 30.0), (-15.0, 1.5, -15.0))
    skin = body.addChild("skin")
    skin.addObject("MeshTopology", position=positions.tolist(), triangles=surface(tetrahedra))
    skin.addObject("MechanicalObject", name="dofs")
    _add_models(skin)
    skin.addObject("BarycentricMapping")
    floor = root.addChild("floor")
    corners = [
        [-100.0, 0.0, -100.0],
        [-100.0, 0.0, 100.0],
        [100.0, 0.0, 100.0],
        [100.0, 0.0, -100.0],
    ]
    floor.addObject("MeshTopology", position=corners, triangles=[[0, 1, 2], [0, 2, 3]])
    floor.addObject("MechanicalObject", name="dofs")
    _add_models(floor, moving=False, simulated=False)
    return root


def _add_models(node, **values):
    for kind in ("TriangleCollisionModel", "LineCollisionModel", "PointCollisionModel"):
        node.addObject(kind, **values)


def pinch(root, without_creep):
    """Two balls on springs that forces press from both sides against a third, which has weight.

    Objects: /ball/dofs, /fingers/dofs. The springs open the contacts in the free motion; the forces
    leave a push of 100 mN, and friction could carry 2 * 0.5 * 100 mN, five times the weight.
    """
    add_loop(root)
    for kind in ("CollisionPipeline", "BruteForceBroadPhase", "BVHNarrowPhase"):
        root.addObject(kind)
    root.addObject("MinProximityIntersection", alarmDistance=3.0, contactDistance=0.1)
    response = {"response": "FrictionContactConstraint", "responseParams": "mu=0.5"}
    root.addObject("CollisionResponse", **response)
    for name, x, mass in (("ball", [0.0], 0.002), ("fingers", [-10.1, 10.1], 0.004)):
        node = root.addChild(name)
        node.addObject("EulerImplicitSolver", rayleighStiffness=0.1, rayleighMass=0.1)
        node.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
        node.addObject(
            "MechanicalObject",
            name="dofs",
            position=[[c, 0.0, 0.0] for c in x],
            rest_position=[[c + np.sign(c), 0.0, 0.0] for c in x],
        )
        node.addObject("UniformMass", totalMass=mass)
        node.addObject("SphereCollisionModel", radius=5.0)
        node.addObject("LinearSolverConstraintCorrection")
    fingers = root.fingers
    fingers.addObject("RestShapeSpringsForceField", stiffness=100.0, points=[0, 1])
    for index, push in enumerate((200.0, -200.0)):
        fingers.addObject(
            "PositionConstraint",
            name=f"push_{index}",
            indices=[index],
            useDirections=[1, 0, 0],
            valueType="force",
            value=[push * root.dt.value],
        )
    if without_creep:
        root.addObject(FrictionWithoutCreep(root=root))
    return root


def pinched(without_creep):
    """Height of the ball after a second."""
    session = Session(lambda root: pinch(root, without_creep))
    session.step(100)
    return float(session.root.ball.dofs.position.value[0, 1])
