"""Scenes with contacts whose motion is recorded; their first child holds the state 'dofs'.

Solved to 1e-13, so that the order of rows, in which SOFA and the embedded runtime differ, does not
tell. LocalMinDistance has its cones widened: as soon as nodes lie flat on the floor it would
otherwise be left to rounding which of them touch.
"""

import math

import numpy as np


def detection(
    root,
    method="LocalMinDistance",
    mu=0.4,
    alarm=4.0,
    contact=1.0,
    rules=None,
    conjugate=False,
    **values,
):
    """What finds and solves contacts."""
    root.dt = 0.01
    root.addObject("FreeMotionAnimationLoop")
    solving = {"maxIterations": 5000, "tolerance": 1e-13}
    if conjugate:
        solving["resolutionMethod"] = "NonsmoothNonlinearConjugateGradient"
        solving["newtonIterations"] = 5000
    root.addObject("GenericConstraintSolver", **solving)
    root.addObject("CollisionPipeline")
    root.addObject("BruteForceBroadPhase")
    root.addObject("BVHNarrowPhase")
    if method == "LocalMinDistance":
        values = {"angleCone": 0.1, **values}
    if method != "DiscreteIntersection":  # which knows no distances
        values = {"alarmDistance": alarm, "contactDistance": contact, **values}
    root.addObject(method, **values)
    response = {"response": "FrictionContactConstraint", "responseParams": f"mu={mu}"}
    if rules is None:
        root.addObject("CollisionResponse", **response)
    else:
        root.addObject("RuleBasedContactManager", rules=rules, **response)


def models(node, kinds=("Triangle", "Line", "Point"), **values):
    """Collision models, named after their node."""
    for kind in kinds:
        node.addObject(f"{kind}CollisionModel", name=f"{node.name.value}{kind}", **values)


def floor(root, slope=0.0, name="floor", **values):
    """A triangle that faces upwards, gravity tilted against it by `slope` degrees."""
    a = math.radians(slope)
    root.gravity = [9810.0 * math.sin(a), 0.0, -9810.0 * math.cos(a)]
    node = root.addChild(name)
    corners = [[-300.0, -300.0, 0.0], [900.0, -300.0, 0.0], [-300.0, 900.0, 0.0]]
    node.addObject("MeshTopology", position=corners, triangles=[[0, 1, 2]])
    node.addObject("MechanicalObject", name="dofs")
    models(node, **{"moving": False, "simulated": False, **values})
    return node


def turn(points, axis, degrees):
    """The points turned about their centre (Rodrigues)."""
    axis = np.array(axis, float) / np.linalg.norm(axis)
    a = math.radians(degrees)
    centre = points.mean(axis=0)
    p = points - centre
    along = np.outer(p @ axis, axis)
    return centre + along + math.cos(a) * (p - along) + math.sin(a) * np.cross(axis, p)


def skin(points, tetrahedra):
    """Triangles on the surface, normals outwards."""
    faces = {}
    for a, b, c, d in tetrahedra.tolist():
        for face, inner in (((b, c, d), a), ((a, c, d), b), ((a, b, d), c), ((a, b, c), d)):
            p, q, r, s = points[[*face, inner]]
            outwards = np.dot(np.cross(q - p, r - p), s - p) < 0.0
            faces.setdefault(tuple(sorted(face)), []).append(face if outwards else face[::-1])
    return [list(found[0]) for found in faces.values() if len(found) == 1]


def soft(root, points, tetrahedra, name="body", velocity=(0.0, 0.0, 0.0), young=300.0, **values):
    """A soft body whose skin touches."""
    node = root.addChild(name)
    node.addObject("EulerImplicitSolver", rayleighMass=0.1, rayleighStiffness=0.02)
    node.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
    node.addObject(
        "TetrahedronSetTopologyContainer",
        name="mesh",
        position=points.tolist(),
        tetrahedra=tetrahedra.tolist(),
    )
    speeds = np.tile(np.array(velocity, float), (len(points), 1))
    node.addObject(
        "MechanicalObject", name="dofs", position=points.tolist(), velocity=speeds.tolist()
    )
    node.addObject("UniformMass", totalMass=0.05)
    node.addObject("TetrahedronFEMForceField", method="large", youngModulus=young, poissonRatio=0.4)
    node.addObject("LinearSolverConstraintCorrection")
    surface = node.addChild(f"{name}Surface")
    surface.addObject("MeshTopology", position=points.tolist(), triangles=skin(points, tetrahedra))
    surface.addObject("MechanicalObject", name="dofs")
    models(surface, **values)
    surface.addObject("IdentityMapping")
    return node


def block(root, box, slope=0.0, nodes=3, on=None, own=None, **options):
    """A block that falls onto the floor, tilted; what its models and the floor's are told."""
    detection(root, **options)
    points, tetrahedra = box(nodes, nodes, nodes, (20.0, 24.0, 16.0))
    points = turn(points, (1.0, 0.6, 0.2), 25.0)
    points[:, 2] += 3.0 - points[:, 2].min()
    soft(root, points, tetrahedra, velocity=(20.0, 0.0, -100.0), **(own or {}))
    floor(root, slope, **(on or {}))


def resting(root, box, slope, **options):
    """A flat block just above the slope: it lands on all of its underside."""
    detection(root, **options)
    points, tetrahedra = box(4, 4, 2, (30.0, 30.0, 10.0))
    points[:, 2] += 1.2
    soft(root, points, tetrahedra)
    floor(root, slope)


def pair(root, box, nodes=3, **options):
    """Two soft blocks thrown at each other, askew."""
    detection(root, **options)
    root.gravity = [0.0, 0.0, 0.0]
    for name, shift, axis, speed in (
        ("body", 0.0, (0.3, 1.0, 0.4), 150.0),
        ("other", 27.0, (1.0, -0.5, 0.8), -150.0),
    ):
        points, tetrahedra = box(nodes, nodes, nodes, (16.0, 16.0, 16.0))
        points = turn(points, axis, 20.0) + [shift, 0.1 * shift, 0.05 * shift]
        soft(root, points, tetrahedra, name=name, velocity=(speed, 0.0, 0.0))


def doubled(root, box, **options):
    """Two blocks in one mesh, thrown at each other: they see each other by self-collision only."""
    detection(root, **options)
    root.gravity = [0.0, 0.0, 0.0]
    parts = []
    for shift, axis in ((0.0, (0.3, 1.0, 0.4)), (27.0, (1.0, -0.5, 0.8))):
        points, tetrahedra = box(3, 3, 3, (16.0, 16.0, 16.0))
        parts.append((turn(points, axis, 20.0) + [shift, 0.1 * shift, 0.05 * shift], tetrahedra))
    count = len(parts[0][0])
    points = np.concatenate([part[0] for part in parts])
    tetrahedra = np.concatenate([parts[0][1], parts[1][1] + count])
    node = soft(root, points, tetrahedra, selfCollision=True)
    speeds = np.zeros((2 * count, 3))
    speeds[:count, 0], speeds[count:, 0] = 150.0, -150.0
    node.dofs.velocity = speeds.tolist()


def marbles(root, slope=10.0, kind="Sphere", **options):
    """Nodes with spheres around them (or without) that fall onto the floor and each other."""
    detection(root, **options)
    node = root.addChild("marbles")
    node.addObject("EulerImplicitSolver")
    node.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
    places = [[0.0, 0.0, 7.0], [13.0, 1.0, 9.0], [7.0, 1.5, 17.0], [-20.0, 3.0, 15.0]]
    node.addObject("MechanicalObject", name="dofs", position=places)
    node.addObject("UniformMass", totalMass=0.1)
    node.addObject("LinearSolverConstraintCorrection")
    if kind == "Sphere":
        radii = [5.0, 6.0, 4.0, 7.0]
        node.addObject("SphereCollisionModel", listRadius=radii, selfCollision=True)
    else:
        node.addObject("PointCollisionModel", proximity=2.0)
    floor(root, slope)


def rolling(root, slope=10.0, together=True, **options):
    """Bodies with spheres around them that fall, turning, onto the floor and each other."""
    detection(root, **options)
    bodies = spheres(root, [[0, 0, 7, 0.2, 0.1, 0.05, 0.9], [13, 1, 9, 0.1, -0.3, 0.2, 0.7]])
    bodies.SphereCollisionModel.selfCollision.value = together
    floor(root, slope)


def colliding(root, **options):
    """A body with a sphere around it that hits a point with one."""
    detection(root, **options)
    root.gravity = [0.0, 0.0, -981.0]
    spheres(root, [[0, 0, 7, 0.2, 0.1, 0.05, 0.9], [30, 0, 7, 0, 0, 0, 1]])
    node = root.addChild("still")
    node.addObject("EulerImplicitSolver")
    node.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
    node.addObject("MechanicalObject", name="dofs", position=[[1.0, 2.0, -5.5]])
    node.addObject("UniformMass", totalMass=0.1)
    node.addObject("RestShapeSpringsForceField", stiffness=500.0)
    node.addObject("LinearSolverConstraintCorrection")
    node.addObject("SphereCollisionModel", radius=6.0)


def spheres(root, poses):
    """Bodies that turn, with spheres of 5 and 6 around them."""
    node = root.addChild("bodies")
    node.addObject("EulerImplicitSolver")
    node.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
    poses = np.array(poses)
    poses[:, 3:] /= np.linalg.norm(poses[:, 3:], axis=1, keepdims=True)
    speeds = [[0.0, 0.0, -100.0, 0.5, 6.0, 2.0], [-80.0, 0.0, -50.0, 0.0, 3.0, 1.0]]
    node.addObject(
        "MechanicalObject",
        name="dofs",
        template="Rigid3",
        position=poses,
        velocity=speeds[: len(poses)],
    )
    node.addObject("UniformMass", vertexMass="0.05 1 [9 0 0,0 9 0,0 0 9]")
    node.addObject("LinearSolverConstraintCorrection")
    radii = [5.0, 6.0][: len(poses)]
    node.addObject("SphereCollisionModel", name="SphereCollisionModel", listRadius=radii)
    return node


def rigid(root, box, slope=10.0, **options):
    """Two rigid blocks that fall onto the slope, tilted and turning, and onto each other."""
    detection(root, **options)
    node = root.addChild("bodies")
    node.addObject("EulerImplicitSolver", rayleighMass=0.1)
    node.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
    poses = np.array([[0, 0, 14.5, 0.2, 0.1, 0.05, 0.9], [40, 5, 16, 0.1, -0.3, 0.2, 0.7]])
    poses[:, 3:] /= np.linalg.norm(poses[:, 3:], axis=1, keepdims=True)
    speeds = [[20.0, 5.0, -100.0, 0.5, 1.0, 2.0], [-40.0, 0.0, -50.0, 0.0, 3.0, 1.0]]
    node.addObject(
        "MechanicalObject",
        name="dofs",
        template="Rigid3",
        position=poses.tolist(),
        velocity=speeds,
    )
    node.addObject("UniformMass", vertexMass="0.05 7680 [70 0 0,0 55 0,0 0 80]")
    node.addObject("LinearSolverConstraintCorrection")
    points, tetrahedra = box(2, 2, 2, (20.0, 24.0, 16.0))
    places, triangles = (points - points.mean(axis=0)).tolist(), skin(points, tetrahedra)
    for k in range(2):
        surface = node.addChild(f"surface{k}")
        surface.addObject("MeshTopology", position=places, triangles=triangles)
        surface.addObject("MechanicalObject", name="dofs", position=places)
        models(surface)
        surface.addObject("RigidMapping", index=k)
    floor(root, slope)


def cases(box):
    """Scene and its parameters, by name; `box` makes meshes."""
    made = {"box": box}
    return {
        "contacts_local_min_distance": (block, made),
        "contacts_min_proximity": (block, {**made, "method": "MinProximityIntersection"}),
        "contacts_new_proximity": (
            block,
            {**made, "method": "NewProximityIntersection", "nodes": 2},
        ),
        "contacts_without_friction": (block, {**made, "mu": 0.0}),
        "contacts_on_a_slope": (block, {**made, "slope": 30.0}),
        "contacts_conjugate_gradient": (block, {**made, "mu": 0.0, "conjugate": True}),
        "contacts_sliding": (
            resting,
            {**made, "slope": 30.0, "mu": 0.3, "method": "MinProximityIntersection"},
        ),
        "contacts_sticking": (
            resting,
            {**made, "slope": 15.0, "mu": 0.6, "method": "MinProximityIntersection"},
        ),
        "contacts_of_two": (pair, made),
        "contacts_of_two_min_proximity": (pair, {**made, "method": "MinProximityIntersection"}),
        "contacts_of_two_new_proximity": (
            pair,
            {**made, "method": "NewProximityIntersection", "nodes": 2},
        ),
        "contacts_with_itself": (doubled, made),
        "contacts_by_rule": (
            block,
            {
                **made,
                "own": {"group": [3]},
                "rules": "3 * FrictionContactConstraint?mu=0.1 * floorLine nullptr",
            },
        ),
        "contacts_with_thickness": (
            block,
            {**made, "own": {"proximity": 0.7}, "on": {"proximity": 0.4}},
        ),
        "contacts_of_a_group": (block, {**made, "own": {"group": [2, 5]}, "on": {"group": [5]}}),
        "contacts_of_what_moves": (block, {**made, "on": {"moving": True, "simulated": True}}),
        "contacts_of_spheres": (marbles, {}),
        "contacts_of_spheres_min_proximity": (marbles, {"method": "MinProximityIntersection"}),
        "contacts_of_spheres_new_proximity": (marbles, {"method": "NewProximityIntersection"}),
        "contacts_of_rigid_bodies": (rigid, {**made, "mu": 0.0}),
        "contacts_of_rigid_bodies_with_friction": (rigid, {**made, "mu": 0.2}),
        "contacts_of_rolling_spheres": (rolling, {"method": "MinProximityIntersection"}),
        "contacts_of_rolling_spheres_untested": (rolling, {}),
        "contacts_of_rolling_spheres_new_proximity": (
            rolling,
            {"method": "NewProximityIntersection", "together": False},
        ),
        "contacts_of_colliding_spheres": (colliding, {"method": "DiscreteIntersection"}),
        "contacts_of_points": (marbles, {"kind": "Point"}),
    }


LOOSE = {
    "contacts_new_proximity": 1e-6,
    "contacts_of_rigid_bodies_with_friction": 1e-3,
}
"""More contacts with friction than the body has ways to move: their forces are not unique, 5000
sweeps do not reach the tolerance, and where they stop depends on the order of rows. Deviation of
the motion from SOFA's, in the body's size, about four times what was found."""
