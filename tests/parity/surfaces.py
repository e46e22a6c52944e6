"""A soft beam with cables and forces that are spread over its skin."""

import numpy as np

BACK = [[10.0, 22.0, 33.0], [11.0, 21.0, 66.0]]
"""Places beside the upper side of the beam."""
TOP = {"centers": BACK, "radii": [14.0, 11.0]}


def skin_of(tetrahedra):
    """Triangles that belong to one tetrahedron, their normals outwards."""
    faces = {}
    for a, b, c, d in tetrahedra.tolist():
        for face in ((b, c, d), (a, d, c), (a, b, d), (a, c, b)):
            faces.setdefault(tuple(sorted(face)), []).append(face)
    return [found[0] for found in faces.values() if len(found) == 1]


def beam(root, box, component, goal=None, **values):
    """A beam along z, clamped at z = 0, and a component on a skin of its own nodes.

    Args:
        goal: Of the beam's end, for actuators.
    """
    root.dt = 0.01
    root.gravity = [0.0, -9810.0, 0.0]
    root.addObject("RequiredPlugin", pluginName="SoftRobots")
    root.addObject("FreeMotionAnimationLoop")
    if goal is None:
        root.addObject("GenericConstraintSolver", maxIterations=1000, tolerance=1e-11)
    else:
        root.addObject("RequiredPlugin", pluginName="SoftRobots.Inverse")
        root.addObject("QPInverseProblemSolver", epsilon=1e-3)
    points, tetrahedra = box(4, 4, 10, (20.0, 20.0, 90.0))
    node = root.addChild("beam")
    node.addObject("EulerImplicitSolver", rayleighMass=0.1, rayleighStiffness=0.05)
    node.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
    node.addObject("TetrahedronSetTopologyContainer", position=points, tetrahedra=tetrahedra)
    node.addObject("MechanicalObject", name="dofs")
    node.addObject("UniformMass", totalMass=0.04)
    node.addObject("TetrahedronFEMForceField", youngModulus=600.0, poissonRatio=0.4)
    foot = [i for i, p in enumerate(points) if p[2] < 1e-9]
    node.addObject("FixedProjectiveConstraint", indices=foot)
    node.addObject("LinearSolverConstraintCorrection")
    skin = node.addChild("skin")
    triangles = skin_of(tetrahedra)
    vertices = sorted({v for triangle in triangles for v in triangle})
    triangles = [[vertices.index(v) for v in triangle] for triangle in triangles]
    skin.addObject("MeshTopology", name="mesh", position=points[vertices], triangles=triangles)
    skin.addObject("MechanicalObject", name="dofs")
    if "nodes_at" in values:
        places = np.array(values.pop("nodes_at"))[:, None]
        away = np.linalg.norm(points[vertices] - places, axis=2)
        values["indices"] = away.argmin(axis=1).tolist()
    skin.addObject(component, **values)
    skin.addObject("BarycentricMapping")
    if goal is not None:
        tip = node.addChild("tip")
        tip.addObject("MechanicalObject", name="dofs", position=[[10.0, 10.0, 90.0]])
        tip.addObject("PositionEffector", indices=[0], effectorGoal=[goal])
        tip.addObject("BarycentricMapping", mapForces=False, mapMasses=False)


def cases(box):
    """Scene and its parameters, by name; `box` makes meshes."""
    cable = {"box": box, "component": "CableConstraint", "pullPoint": [10.0, 30.0, 0.0]}
    pulled = {"valueType": "force", "value": [2.0], "minForce": 0.0}
    pressed = {"box": box, "component": "ForceSurfaceActuator", "goal": [11.0, 6.0, 89.0]}
    nodes = {"nodes_at": BACK, "radii": [10.5, 13.5]}
    return {
        "spread_sphere": (beam, {**cable, "method": "sphere", **TOP, "value": [4.0]}),
        "spread_geodesic": (beam, {**cable, "method": "geodesic", **TOP, **pulled}),
        "spread_sphere_at_nodes": (beam, {**cable, "method": "sphere", **nodes, **pulled}),
        "spread_geodesic_at_nodes": (beam, {**cable, "method": "geodesic", **nodes, **pulled}),
        "spread_at_one_node": (
            beam,
            {**cable, "method": "sphere", "nodes_at": BACK[1:], "radii": [8.0], "value": [3.0]},
        ),
        "spread_between_nodes": (
            beam,
            {
                **cable,
                "method": "geodesic",
                "hasPullPoint": False,
                "nodes_at": [[6.6, 20.0, 30.0], [6.6, 20.0, 50.0], [6.6, 20.0, 80.0]],
                "radii": [9.5],
                "value": [2.0],
            },
        ),
        "spread_actuator": (
            beam,
            {
                **cable,
                "component": "CableActuator",
                "goal": [10.0, 14.0, 88.0],
                "method": "sphere",
                **TOP,
                "minForce": 0.0,
                "maxPositiveDisp": 6.0,
            },
        ),
        "pressed_along_directions": (
            beam,
            {**pressed, **TOP, "directions": [[0.0, -1.0, 0.2], [0.1, 2.0, 0.0]]},
        ),
        "pressed_along_normals": (beam, {**pressed, **TOP, "updateNormals": True}),
        "pressed_within_limits": (
            beam,
            {
                **pressed,
                "centers": BACK[:1],
                "radii": [13.0],
                "minForce": -30.0,
                "maxForce": 5.0,
                "maxForceVariation": 4.0,
            },
        ),
    }


INVERSE = (
    "spread_actuator",
    "pressed_along_directions",
    "pressed_along_normals",
    "pressed_within_limits",
)
"""Those whose records need the plugin SoftRobots.Inverse."""
