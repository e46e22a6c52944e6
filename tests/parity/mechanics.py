"""Small scenes of solvers, springs and constraints, whose motion in SOFA is recorded.

`python tests/parity/mechanics.py [names]` remakes records/mechanics.npz with the real SOFA
v25.06 on the Python path.
"""

import os
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
RECORD = os.path.join(HERE, "records", "mechanics.npz")
STEPS = 20

PLUGINS = """AnimationLoop Constraint.Lagrangian.Correction Constraint.Lagrangian.Model
    Constraint.Lagrangian.Solver Constraint.Projective LinearSolver.Direct LinearSolver.Iterative
    LinearSolver.Preconditioner LinearSystem MechanicalLoad Mapping.Linear Mapping.NonLinear Mass
    ODESolver.Backward ODESolver.Forward SolidMechanics.FEM.Elastic SolidMechanics.Spring
    StateContainer Topology.Container.Constant Topology.Container.Dynamic
    Topology.Container.Grid"""


def grid(nx=2, ny=2, nz=4, h=10.0):
    """Points of a box, and six tetrahedra in each of its cells."""
    points = np.array([[x, y, z] for z in range(nz) for y in range(ny) for x in range(nx)]) * h
    tetrahedra = []
    for z in range(nz - 1):
        for y in range(ny - 1):
            for x in range(nx - 1):
                for order in ((0, 1, 2), (1, 2, 0), (2, 0, 1), (0, 2, 1), (2, 1, 0), (1, 0, 2)):
                    corner, path = [x, y, z], []
                    for axis in (None, *order):
                        if axis is not None:
                            corner[axis] += 1
                        path.append((corner[2] * ny + corner[1]) * nx + corner[0])
                    tetrahedra.append(path)
    return points, np.array(tetrahedra)


def beam(root, solvers, integrator="EulerImplicitSolver", clamp=True, parent=None, **data):
    """A soft beam of 2 x 2 x 4 nodes that falls; `solvers` are names, each with its Data."""
    points, tetrahedra = grid()
    root.dt = 0.01
    root.gravity = [0.0, -9810.0, 100.0]
    node = (parent or root).addChild("beam")
    data = data or ({"rayleighStiffness": 0.02} if integrator == "EulerImplicitSolver" else {})
    for kind, values in reversed(solvers):
        node.addObject(kind, **{"name": "solver", **values})
    if solvers:
        data["linearSolver"] = "@solver"
    if integrator:
        node.addObject(integrator, **data)
    node.addObject("MeshTopology", position=points.tolist(), tetrahedra=tetrahedra.tolist())
    node.addObject("MechanicalObject", name="dofs", template="Vec3d")
    node.addObject("UniformMass", totalMass=0.02)
    node.addObject("TetrahedronFEMForceField", youngModulus=300.0, poissonRatio=0.4, method="large")
    if clamp:
        node.addObject("FixedProjectiveConstraint", indices=[0, 1, 2, 3])
    return node.dofs


def solved(*solvers, **values):
    """A scene of the beam with these linear solvers."""
    return lambda root: beam(root, solvers, **values)


def held(kind, solver, **values):
    """A scene of the beam, of which two nodes are clamped and others constrained."""

    def build(root):
        dofs = beam(root, [solver], clamp=False)
        node = root.beam
        node.addObject("FixedProjectiveConstraint", indices=[0, 1])
        node.addObject(kind, **values)
        return dofs

    return build


def attached(solver, **values):
    """A scene of the beam, of which nodes are attached to those of other points that fall."""

    def build(root):
        both = root.addChild("both")
        both.addObject(solver[0], name="solver", **solver[1])
        both.addObject("EulerImplicitSolver", linearSolver="@solver", rayleighStiffness=0.02)
        points, tetrahedra = grid()
        other = both.addChild("other")
        other.addObject(
            "MechanicalObject",
            name="dofs",
            position=[[0, 0, 0], [10, 1, 0], [0, 10, 0]],
            velocity=[[0, 0, 0], [1, 2, 3], [4, 5, 6]],
        )
        other.addObject("UniformMass", totalMass=0.01)
        dofs = beam(root, [], None, clamp=False, parent=both)
        both.addObject(
            "AttachProjectiveConstraint",
            object1="@other/dofs",
            object2="@beam/dofs",
            indices1=[1, 2],
            indices2=[1, 2],
            **values,
        )
        return dofs

    return build


def bodies(kind, **values):
    """Two bodies that fall and turn, held by springs; the second is constrained."""

    def build(root):
        root.dt = 0.01
        root.gravity = [0.0, -9.81, 1.0]
        node = root.addChild("bodies")
        node.addObject("EulerImplicitSolver", rayleighMass=0.1)
        node.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
        turned = [0.1, 0.2, 0.3, 0.86**0.5]
        node.addObject(
            "MechanicalObject",
            name="dofs",
            template="Rigid3d",
            position=[[0, 0, 0, 0, 0, 0, 1], [1, 2, 3, *turned]],
            velocity=[[1, 0, 0, 1, 2, 3], [0, 1, 0, 3, 2, 1]],
        )
        node.addObject("UniformMass", totalMass=2.0)
        node.addObject("RestShapeSpringsForceField", stiffness=[30.0], angularStiffness=[5.0])
        if kind.startswith("Attach"):
            values.update(object1="@dofs", object2="@dofs", indices1=[0], indices2=[1])
        node.addObject(kind, **values)
        return node.dofs

    return build


def points_of(seed, count, size=2.0):
    """Points at random."""
    return np.random.default_rng(seed).uniform(0.0, size, (count, 3)).tolist()


def moving(node, name, count, seed, template="Vec3d"):
    """A child with some nodes that move."""
    child = node.addChild(name)
    position = points_of(seed, count)
    velocity = points_of(seed + 1, count)
    if template == "Rigid3d":
        position = [[*point, 0.1, 0.2, 0.3, 0.86**0.5] for point in position]
        velocity = [[*v, 0.5, 0.2, 0.1] for v in velocity]
    child.addObject(
        "MechanicalObject", name="dofs", template=template, position=position, velocity=velocity
    )
    child.addObject("UniformMass", totalMass=0.1 * count)
    return child


def falling(root, solver):
    """A node that is integrated."""
    root.dt = 0.01
    root.gravity = [0.0, -9.81, 1.0]
    node = root.addChild("moving")
    node.addObject(solver[0], name="solver", **solver[1])
    node.addObject("EulerImplicitSolver", rayleighMass=0.1, rayleighStiffness=0.02)
    return node


def sprung(solver, *fields, mesh=None):
    """A scene of six points with force fields between them."""

    def build(root):
        node = falling(root, solver)
        child = moving(node, "points", 6, 3)
        child.dofs.rest_position.value = points_of(9, 6)
        if mesh is not None:
            child.addObject("MeshTopology", position=points_of(3, 6), **mesh)
        for kind, values in fields:
            child.addObject(kind, **values)
        return child.dofs

    return build


def joined(solver, other="moving", template="Vec3d", kind="SpringForceField", **values):
    """A scene of three nodes that are joined to those of another state."""
    values = values or LISTED_BETWEEN

    def build(root):
        node = falling(root, solver)
        child = moving(node, "points", 3, 3, template)
        if other == "moving":
            second = moving(node, "others", 3, 7, template).dofs
        elif other == "obstacle":
            still = root.addChild("still")
            second = still.addObject("MechanicalObject", name="dofs", position=points_of(7, 3))
        else:
            below = moving(node, "carrier", 1, 7, "Rigid3d").addChild("followers")
            second = below.addObject("MechanicalObject", name="dofs", position=points_of(8, 3))
            below.addObject("RigidMapping", geometricStiffness="None")
        node.addObject(
            kind, object1=child.dofs.getLinkPath(), object2=second.getLinkPath(), **values
        )
        return child.dofs

    return build


def gridded(solver, kind, **values):
    """A scene of a grid that is pulled out of shape."""

    def build(root):
        node = falling(root, solver)
        child = node.addChild("grid")
        child.addObject("RegularGridTopology", n=[3, 2, 2], min=[0, 0, 0], max=[2, 1.5, 1])
        points = [[x, 1.5 * y, z] for z in (0, 1) for y in (0, 1) for x in (0, 1, 2)]
        child.addObject(
            "MechanicalObject",
            name="dofs",
            position=(np.array(points) + 0.1 * np.array(points_of(2, 12))).tolist(),
            rest_position=points,
        )
        child.addObject("UniformMass", totalMass=1.0)
        child.addObject(kind, **values)
        child.addObject("FixedProjectiveConstraint", indices=[0, 3])
        return child.dofs

    return build


def constrained(kind, other="moving", template="Vec3d", alone=False, **values):
    """A scene of springs on three nodes that are held, or joined to those of another state."""

    def build(root):
        free(root)
        node = falling(root, LDL)
        node.addObject("GenericConstraintCorrection")
        child = moving(node, "points", 3, 3, template)
        child.addObject("RestShapeSpringsForceField", stiffness=[3.0], angularStiffness=[1.0])
        if alone:
            child.addObject(kind, **values)
            return child.dofs
        if other == "moving":
            second = moving(node, "others", 3, 7, template).dofs
        else:
            still = root.addChild("still")
            second = still.addObject("MechanicalObject", name="dofs", position=points_of(7, 3))
        node.addObject(
            kind, object1=child.dofs.getLinkPath(), object2=second.getLinkPath(), **values
        )
        return child.dofs

    return build


def free(root):
    """Constraints, solved to rounding."""
    root.addObject("FreeMotionAnimationLoop")
    root.addObject("GenericConstraintSolver", maxIterations=2000, tolerance=1e-14)


def jointed(kind, **values):
    """A scene of two joints that fall along their coordinate, with a constraint."""

    def build(root):
        free(root)
        node = falling(root, LDL)
        root.gravity = [-9.81, 0.0, 0.0]
        node.addObject("GenericConstraintCorrection")
        node.addObject(
            "MechanicalObject",
            name="dofs",
            template="Vec1d",
            position=[[0.1], [0.2]],
            velocity=[[1.0], [2.0]],
        )
        node.addObject("UniformMass", totalMass=1.0)
        node.addObject(kind, **values)
        return node.dofs

    return build


def stepped(kind, mass="UniformMass", **values):
    """A scene of springs without a linear solver, or of a mesh with one."""

    def build(root):
        root.dt = 0.01
        root.gravity = [0.0, -9.81, 1.0]
        node = root.addChild("moving")
        if mass == "MeshMatrixMass":
            node.addObject(LDL[0], name="solver", **LDL[1])
        node.addObject(kind, **values)
        if mass == "bodies":
            child = moving(node, "bodies", 3, 3, "Rigid3d")
            child.addObject("RestShapeSpringsForceField", stiffness=[9.0], angularStiffness=[3.0])
            return child.dofs
        if mass == "UniformMass":
            child = moving(node, "points", 6, 3)
        else:
            child = node.addChild("points")
            child.addObject("MeshTopology", position=points_of(3, 6), **TETRAHEDRA)
            child.addObject(
                "MechanicalObject", name="dofs", position=points_of(3, 6), velocity=points_of(4, 6)
            )
            child.addObject(mass, totalMass=5.0)
        child.addObject("SpringForceField", **LISTED)
        child.addObject("FixedProjectiveConstraint", indices=[5])
        return child.dofs

    return build


def apart(kind, integrator="EulerImplicitSolver", alone=False, loop=None, **values):
    """Two bodies, each with an integrator, and springs between them (or in one) above both."""

    def build(root):
        if loop is not None:
            root.removeObject(root.getObject("DefaultAnimationLoop"))
            root.addObject("MultiStepAnimationLoop", **loop)
        root.dt = 0.01
        root.gravity = [0.0, -9.81, 1.0]
        for number, name in enumerate(("one", "two")):
            node = root.addChild(name)
            if integrator == "EulerImplicitSolver":
                node.addObject(LDL[0], name="solver", **LDL[1])
            node.addObject(integrator)
            moving(node, "points", 3, 3 + 4 * number)
        first, second = root.one.points.dofs, (root.one if alone else root.two).points.dofs
        root.addObject(kind, object1=first.getLinkPath(), object2=second.getLinkPath(), **values)
        return first

    return build


def pushed(solver):
    """A scene of springs with forces from outside, which act in the first step alone."""

    def build(root):
        node = falling(root, solver)
        child = moving(node, "points", 6, 3)
        child.dofs.externalForce.value = [[1, 0, 0], [0, 0, 0], [5, -3, 2], *[[0, 0, 0]] * 3]
        child.addObject("SpringForceField", **LISTED)
        return child.dofs

    return build


def guided(kind, integrator="RungeKutta4Solver", loop=None, **values):
    """A scene of the beam, of which two nodes are moved, with short steps."""

    def build(root):
        if loop is not None:
            root.removeObject(root.getObject("DefaultAnimationLoop"))
            root.addObject("MultiStepAnimationLoop", **loop)
        solvers = [] if loop is None else [LDL]
        dofs = beam(root, solvers, integrator=integrator, clamp=False)
        root.dt = 2e-4 if loop is None else 0.01
        root.beam.addObject("FixedProjectiveConstraint", indices=[0, 1])
        root.beam.addObject(kind, indices=[14, 15], **values)
        return dofs

    return build


LISTED = {
    "indices1": [0, 2, 3, 4],
    "indices2": [1, 5, 1, 0],
    "stiffness": [30, 50, 9, 40],
    "damping": [2, 0, 1, 0.5],
    "lengths": [1, 0.5, 0, 2],
}
LISTED_BETWEEN = {
    "indices1": [0, 2, 1],
    "indices2": [1, 0, 1],
    "stiffness": [30, 50, 9],
    "damping": [2, 0, 1],
    "lengths": [1, 0.5, 0],
}
TETRAHEDRA = {"tetrahedra": [[0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5]]}
MOVED_SOON = {"keyTimes": [0, 1e-3, 0.1], "movements": [[0, 0, 0], [1, 2, 1], [3, 0, 0]]}
DRIVEN_SOON = {"keyTimes": [0, 1e-3, 0.1], "velocities": [[0, 0, 0], [100, 200, 99], [30, 0, 0]]}
STRIP = {"triangles": [[0, 1, 2], [2, 1, 3], [2, 3, 4], [4, 3, 5]]}
LDL = ("SparseLDLSolver", {"template": "CompressedRowSparseMatrixMat3x3d"})
PCG = "PCGLinearSolver"
CG = ("CGLinearSolver", {"iterations": 9, "tolerance": 1e-9, "threshold": 1e-30})
MOVED = {
    "indices": [2, 3],
    "keyTimes": [0, 0.05, 0.5],
    "movements": [[0, 0, 0], [1, 0, 0.5], [1, 9, 0]],
}
DRIVEN = {
    "indices": [2, 3],
    "keyTimes": [0, 0.05, 0.12],
    "velocities": [[1, 0, 0], [20, 0, 5], [5, 9, 0]],
}
MATRIX = {"template": "CompressedRowSparseMatrixd"}

CASES = {
    "direct_llt": solved(("EigenSimplicialLLT", MATRIX)),
    "direct_ldlt": solved(("EigenSimplicialLDLT", MATRIX)),
    "direct_lu": solved(("EigenSparseLU", MATRIX)),
    "direct_qr": solved(("EigenSparseQR", MATRIX)),
    "direct_cholesky": solved(("CholeskySolver", {"template": "FullMatrix"})),
    "direct_svd": solved(("SVDLinearSolver", {"template": "FullMatrix"})),
    "cg_alone": solved((PCG, {"iterations": 12, "tolerance": 1e-9})),
    "cg_by_tolerance": solved((PCG, {"iterations": 50, "tolerance": 0.3})),
    "cg_with_jacobi": solved(
        (PCG, {"iterations": 9, "tolerance": 1e-9, "preconditioner": "@p"}),
        ("JacobiPreconditioner", {"name": "p"}),
    ),
    "cg_with_blocks": solved(
        (PCG, {"iterations": 9, "tolerance": 1e-9, "preconditioner": "@p"}),
        ("BlockJacobiPreconditioner", {"name": "p"}),
    ),
    "cg_with_relaxation": solved(
        (PCG, {"iterations": 9, "tolerance": 1e-9, "preconditioner": "@p"}),
        ("SSORPreconditioner", {"name": "p", "omega": 1.3, **MATRIX}),
    ),
    "cg_with_old_factors": solved(
        (PCG, {"iterations": 4, "tolerance": 1e-9, "preconditioner": "@p", "update_step": 5}),
        ("SparseLDLSolver", {"name": "p", "template": "CompressedRowSparseMatrixMat3x3d"}),
    ),
    "cg_with_first_factors": solved(
        (PCG, {"iterations": 4, "preconditioner": "@p", "build_precond": False}),
        ("SparseLDLSolver", {"name": "p", "template": "CompressedRowSparseMatrixMat3x3d"}),
    ),
    "moved": held("LinearMovementProjectiveConstraint", LDL, **MOVED),
    "moved_by_products": held("LinearMovementProjectiveConstraint", CG, **MOVED),
    "moved_to_places": held(
        "LinearMovementProjectiveConstraint",
        LDL,
        indices=[3],
        keyTimes=[0, 1],
        movements=[[10, 10, 0], [20, 10, 5]],
        relativeMovements=False,
    ),
    "moved_and_let_go": held(
        "LinearMovementProjectiveConstraint",
        CG,
        indices=[2, 3],
        keyTimes=[0, 0.05, 0.1],
        movements=[[0, 0, 0], [1, 0, 0], [1, 1, 0]],
    ),
    "moved_and_let_go_by_factors": held(
        "LinearMovementProjectiveConstraint",
        LDL,
        indices=[2, 3],
        keyTimes=[0, 0.05, 0.1],
        movements=[[0, 0, 0], [1, 0, 0], [1, 1, 0]],
    ),
    "moved_in_part": held(
        "PartialLinearMovementProjectiveConstraint", LDL, movedDirections=[1, 0, 1], **MOVED
    ),
    "driven": held("LinearVelocityProjectiveConstraint", LDL, **DRIVEN),
    "driven_by_products": held("LinearVelocityProjectiveConstraint", CG, **DRIVEN),
    "driven_on": held(
        "LinearVelocityProjectiveConstraint", CG, continueAfterEnd=True, coordinates=[0], **DRIVEN
    ),
    "on_a_line": held(
        "LineProjectiveConstraint", CG, indices=[2, 3], origin=[0, 9, 1], direction=[1, 0.2, 3]
    ),
    "in_a_plane": held(
        "PlaneProjectiveConstraint", CG, indices=[2, 3], origin=[0, 9, 1], normal=[1, 0.2, 3]
    ),
    "along_a_direction": held(
        "DirectionProjectiveConstraint", CG, indices=[2, 3], direction=[1, 0.2, 3]
    ),
    "at_a_point": held("PointProjectiveConstraint", LDL, indices=[3], point=[11, 10, 1]),
    "in_fixed_planes": held(
        "FixedPlaneProjectiveConstraint", LDL, direction=[0, 0, 1], dmin=-1, dmax=11
    ),
    "in_oblique_planes": held(
        "FixedPlaneProjectiveConstraint", CG, direction=[0.6, 0, 0.8], indices=[2, 3]
    ),
    "oscillating": held(
        "OscillatorProjectiveConstraint", CG, oscillators="3 10 10 0 1 0.5 0 20 0.3"
    ),
    "affine": held(
        "AffineMovementProjectiveConstraint",
        CG,
        indices=[2, 3],
        meshIndices=[2, 3],
        beginConstraintTime=0.02,
        endConstraintTime=0.15,
        rotation=[1, 0.1, 0, 0, 1, 0, 0, 0, 1],
        translation=[0, 1, 2],
    ),
    "attached": attached(CG),
    "attached_both_ways": attached(CG, twoWay=True),
    "attached_in_part": attached(CG, constraintFactor=[0.3, 0.6], velocityFactor=0.5),
    "attached_bodies": bodies("AttachProjectiveConstraint"),
    "bodies_moved": bodies(
        "LinearMovementProjectiveConstraint",
        indices=[1],
        keyTimes=[0, 0.1, 0.5],
        movements=[[0] * 6, [1, 0, 0, 0.3, 0.2, 0], [2, 1, 0, 0, 0.5, 1]],
    ),
    "bodies_held": bodies("FixedTranslationProjectiveConstraint", indices=[1]),
    "bodies_that_do_not_turn": bodies(
        "FixedRotationProjectiveConstraint", FixedXRotation=True, FixedZRotation=True
    ),
    "constraint_joins": constrained(
        "BilateralLagrangianConstraint", first_point=[0, 2], second_point=[1, 0]
    ),
    "constraint_joins_with_rest": constrained(
        "BilateralLagrangianConstraint",
        first_point=[0, 2],
        second_point=[1, 0],
        rest_vector=[[0.1, 0.2, 0.3], [0, 1, 0]],
    ),
    "constraint_joins_an_obstacle": constrained(
        "BilateralLagrangianConstraint", other="obstacle", first_point=[0, 2], second_point=[1, 0]
    ),
    "constraint_joins_bodies": constrained(
        "BilateralLagrangianConstraint", template="Rigid3d", first_point=[0], second_point=[1]
    ),
    "constraint_keeps_bodies": constrained(
        "BilateralLagrangianConstraint",
        template="Rigid3d",
        first_point=[0],
        second_point=[1],
        keepOrientationDifference=True,
    ),
    "constraint_fixes": constrained("FixedLagrangianConstraint", alone=True, indices=[0, 2]),
    "constraint_fixes_bodies": constrained(
        "FixedLagrangianConstraint", alone=True, template="Rigid3d", indices=[0, 2]
    ),
    "constraint_slides": constrained(
        "SlidingLagrangianConstraint", sliding_point=0, axis_1=1, axis_2=2
    ),
    "constraint_slides_on_an_obstacle": constrained(
        "SlidingLagrangianConstraint", other="obstacle", sliding_point=0, axis_1=1, axis_2=2
    ),
    "constraint_slides_the_other_way": constrained(
        "SlidingLagrangianConstraint", other="obstacle", sliding_point=0, axis_1=2, axis_2=1
    ),
    "constraint_slides_between_ends": constrained(
        "SlidingLagrangianConstraint", other="obstacle", sliding_point=2, axis_1=0, axis_2=1
    ),
    "constraint_stops": jointed("StopperLagrangianConstraint", index=0, min=-0.05, max=0.5),
    "explicit": stepped("EulerExplicitSolver"),
    "explicit_positions_first": stepped("EulerExplicitSolver", symplectic=False),
    "explicit_by_matrix": stepped("EulerExplicitSolver", mass="MeshMatrixMass"),
    "explicit_central": stepped("CentralDifferenceSolver"),
    "explicit_central_damped": stepped("CentralDifferenceSolver", rayleighMass=3.0),
    "explicit_second_order": stepped("RungeKutta2Solver"),
    "explicit_fourth_order": stepped("RungeKutta4Solver"),
    "explicit_fourth_order_of_bodies": stepped("RungeKutta4Solver", mass="bodies"),
    "springs": sprung(LDL, ("SpringForceField", LISTED)),
    "springs_by_products": sprung(CG, ("SpringForceField", LISTED)),
    "springs_given_whole": sprung(
        LDL,
        ("SpringForceField", {"spring": [[0, 1, 30, 2, 1], [2, 5, 50, 0, 0.5], [3, 1, 9, 1, 0]]}),
    ),
    "springs_that_pull": sprung(
        LDL, ("SpringForceField", {**LISTED, "elongationOnly": [1, 1, 1, 0], "enabled": [1, 0, 1]})
    ),
    "springs_between": joined(LDL),
    "springs_between_by_products": joined(CG),
    "springs_to_an_obstacle": joined(LDL, other="obstacle"),
    "springs_to_an_obstacle_by_products": joined(CG, other="obstacle"),
    "springs_to_followers_by_products": joined(CG, other="follower"),
    "springs_of_bodies": joined(LDL, template="Rigid3d"),
    "springs_of_a_mesh": sprung(
        LDL, ("MeshSpringForceField", {"stiffness": 40, "damping": 1}), mesh=TETRAHEDRA
    ),
    "springs_of_a_mesh_by_kind": sprung(
        CG,
        (
            "MeshSpringForceField",
            {
                "linesStiffness": 20,
                "trianglesStiffness": 30,
                "trianglesDamping": 2,
                "noCompression": True,
            },
        ),
        mesh={"edges": [[0, 1], [2, 3]], "triangles": [[0, 1, 2], [3, 4, 5]]},
    ),
    "springs_of_hexahedra": gridded(LDL, "MeshSpringForceField", cubesStiffness=40),
    "springs_of_a_grid": gridded(CG, "RegularGridSpringForceField", stiffness=20, damping=0.5),
    "springs_of_a_grid_by_factors": gridded(
        LDL, "RegularGridSpringForceField", stiffness=2, damping=0.1, spring=[[0, 7, 5, 0, 1]]
    ),
    "vector_springs": sprung(
        CG, ("VectorSpringForceField", {"stiffness": 20, "useTopology": True}), mesh=TETRAHEDRA
    ),
    "vector_springs_by_factors": sprung(
        LDL, ("VectorSpringForceField", {"stiffness": 20, "useTopology": True}), mesh=TETRAHEDRA
    ),
    "vector_springs_between": joined(CG, kind="VectorSpringForceField", stiffness=20),
    "bending_triangles": sprung(
        LDL, ("TriangularBendingSprings", {"stiffness": 60, "damping": 1}), mesh=STRIP
    ),
    "bending_triangles_by_products": sprung(
        CG, ("TriangularBendingSprings", {"stiffness": 60, "damping": 1}), mesh=STRIP
    ),
    "bending_quads": sprung(
        LDL,
        ("QuadularBendingSprings", {"stiffness": 60}),
        mesh={"quads": [[0, 1, 3, 2], [2, 3, 5, 4]]},
    ),
    "polynomial_springs": sprung(
        LDL,
        (
            "PolynomialRestShapeSpringsForceField",
            {
                "polynomialStiffness": [9, 5, 3],
                "polynomialDegree": [3],
                "smoothShift": 0.1,
                "smoothScale": 2.0,
                "initialLength": [0.5],
            },
        ),
    ),
    "polynomial_springs_of_each": sprung(
        CG,
        (
            "PolynomialRestShapeSpringsForceField",
            {
                "points": [1, 4],
                "polynomialStiffness": [9, 5, 3],
                "polynomialDegree": [2, 1],
                "initialLength": [0.5, 2.0],
            },
        ),
    ),
    "springs_between_integrators": apart("SpringForceField", **LISTED_BETWEEN),
    "springs_between_explicit_integrators": apart(
        "SpringForceField", integrator="RungeKutta4Solver", **LISTED_BETWEEN
    ),
    "springs_between_integrators_in_parts_of_a_step": apart(
        "SpringForceField", loop={"integrationSteps": 2}, **LISTED_BETWEEN
    ),
    "springs_above_an_integrator": apart("SpringForceField", alone=True, **LISTED_BETWEEN),
    "vector_springs_between_integrators": apart("VectorSpringForceField", stiffness=20),
    "force_from_outside": pushed(LDL),
    "moved_by_fourth_order": guided("LinearMovementProjectiveConstraint", **MOVED_SOON),
    "moved_by_second_order": guided(
        "LinearMovementProjectiveConstraint", integrator="RungeKutta2Solver", **MOVED_SOON
    ),
    "driven_by_fourth_order": guided("LinearVelocityProjectiveConstraint", **DRIVEN_SOON),
    "moved_in_parts_of_a_step": guided(
        "LinearMovementProjectiveConstraint",
        integrator="EulerImplicitSolver",
        loop={"integrationSteps": 3},
        keyTimes=[0, 0.05, 0.5],
        movements=[[0, 0, 0], [1, 2, 1], [3, 0, 0]],
    ),
    "minimal_residual": solved(("MinResLinearSolver", {"iterations": 9, "tolerance": 1e-9})),
    "minimal_residual_by_tolerance": solved(
        ("MinResLinearSolver", {"iterations": 90, "tolerance": 1e-2})
    ),
}


LOADS = {
    "constant": ("ConstantForceField", {"forces": [[1, 2, 3]], "indices": [0, 3]}),
    "constant_shared": ("ConstantForceField", {"totalForce": [1, 2, 3]}),
    "linear": (
        "LinearForceField",
        {
            "points": [0, 2],
            "force": 2.0,
            "times": [0, 0.05, 0.15],
            "forces": [[0, 0, 0], [9, 5, 1], [1, 1, 20]],
        },
    ),
    "plane": ("PlaneForceField", {"normal": [0, 1, 0.2], "d": 1.2, "stiffness": 90, "damping": 2}),
    "plane_at_most": (
        "PlaneForceField",
        {"normal": [0, 1, 0], "d": 1.2, "stiffness": 90, "damping": 2, "maxForce": 3},
    ),
    "plane_both_sides": (
        "PlaneForceField",
        {"normal": [0, 1, 0], "d": 1.2, "stiffness": 90, "bilateral": True, "localRange": [1, 3]},
    ),
    "sphere": (
        "SphereForceField",
        {"center": [1, 1, 1], "radius": 1.1, "stiffness": 90, "damping": 2},
    ),
    "ellipsoid": (
        "EllipsoidForceField",
        {"center": [1, 1, 1], "vradius": [1, 1.3, 0.9], "stiffness": 90, "damping": 2},
    ),
    "ellipsoid_inward": (
        "EllipsoidForceField",
        {"center": [1, 1, 1], "vradius": [0.6, 0.5, 0.7], "stiffness": -90, "damping": 2},
    ),
    "cone": (
        "ConicalForceField",
        {"coneHeight": [1, 1, 1], "coneAngle": 20, "stiffness": 50, "damping": 1},
    ),
    "damped": ("UniformVelocityDampingForceField", {"dampingCoefficient": 3}),
    "damped_implicitly": (
        "UniformVelocityDampingForceField",
        {"dampingCoefficient": 3, "implicit": True, "rayleighStiffness": 0.3},
    ),
    "damped_by_directions": (
        "DiagonalVelocityDampingForceField",
        {"dampingCoefficient": [[1, 2, 3], [3, 0, 1]]},
    ),
    "triangles": ("TrianglePressureForceField", {"pressure": [1, 2, 3], "triangleList": [0, 2]}),
    "triangles_by_stress": (
        "TrianglePressureForceField",
        {
            "cauchyStress": "1 2 4 2 3 5 4 5 6",
            "triangleList": [0, 2],
            "useConstantForce": False,
        },
    ),
    "quads": ("QuadPressureForceField", {"pressure": [1, 2, 3], "quadList": [0]}),
    "edges": ("EdgePressureForceField", {"pressure": [1, 2, 3], "edgeIndices": [0, 2]}),
    "edges_along_normals": (
        "EdgePressureForceField",
        {"p_intensity": [3.0], "binormal": [0, 0, 1], "edgeIndices": [0, 2]},
    ),
    "surface": ("SurfacePressureForceField", {"pressure": 5.0}),
    "surface_of_quads": ("SurfacePressureForceField", {"pressure": 5.0}),
    "surface_that_pulses": (
        "SurfacePressureForceField",
        {"pressure": 5.0, "pulseMode": True, "pressureLowerBound": 1.0, "pressureSpeed": 60.0},
    ),
    "surface_of_a_volume": (
        "SurfacePressureForceField",
        {"pressure": 5.0, "volumeConservationMode": True, "defaultVolume": 2.0},
    ),
    "surface_by_direction": (
        "SurfacePressureForceField",
        {"pressure": 5.0, "mainDirection": [1, 0, 0]},
    ),
}
LOADED = {
    "triangles": STRIP,
    "quads": {"quads": [[0, 1, 3, 2], [2, 3, 5, 4]]},
    "surface_of_quads": {"quads": [[0, 1, 3, 2], [2, 3, 5, 4]]},
    "edges": {"edges": [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5]]},
    "surface": STRIP,
}
"""Meshes by the begin of a load's name."""
NOT_SYMMETRIC = ("ellipsoid", "surface")  # where SOFA's direct solver takes one half of the matrix
for load, field in LOADS.items():
    mesh = LOADED.get(load) or LOADED.get(load.split("_")[0])
    CASES[f"load_{load}"] = sprung(CG, field, mesh=mesh)
    if not load.startswith(NOT_SYMMETRIC):
        CASES[f"load_{load}_by_factors"] = sprung(LDL, field, mesh=mesh)


def run(Sofa, name, steps=STEPS):
    """Positions of the watched state after each step, shape (steps, n, width)."""
    root = Sofa.Core.Node("root")
    root.addObject(
        "RequiredPlugin", pluginName=[f"Sofa.Component.{plugin}" for plugin in PLUGINS.split()]
    )
    if not name.startswith("constraint"):
        root.addObject("DefaultAnimationLoop")
    state = CASES[name](root)
    Sofa.Simulation.init(root)
    positions = []
    for _ in range(steps):
        Sofa.Simulation.animate(root, root.dt.value)
        positions.append(np.array(state.position.value))
    return np.array(positions)


def main():
    import Sofa
    import SofaRuntime  # noqa: F401

    records = dict(np.load(RECORD)) if os.path.exists(RECORD) else {}
    for name in sys.argv[1:] or CASES:
        records[name] = run(Sofa, name)
        print(name, records[name].shape, np.abs(records[name][-1] - records[name][0]).max())
    np.savez_compressed(RECORD, **{name: records[name] for name in CASES if name in records})


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # SOFA's bindings abort when Python cleans up after them
