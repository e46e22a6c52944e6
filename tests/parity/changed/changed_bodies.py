"""Scenes of contacts, regions and loads that no comparison with SOFA holds, for changed_data.py."""

import changed_scenes
from changed_scenes import alone, carried

mechanics, solids = changed_scenes.mechanics, changed_scenes.solids
parity = changed_scenes.load("parity_scenes")


def swapped(build, values=None, **kinds):
    """A scene with components of other classes, which get more `values`, or others."""

    def create(root):
        add = type(root).addObject

        def add_other(node, kind, *args, **given):
            if kind in kinds:
                given = {k: v for k, v in {**given, **(values or {})}.items() if v is not None}
            return add(node, kinds.get(kind, kind), *args, **given)

        type(root).addObject = add_other
        try:
            return build(root)
        finally:
            type(root).addObject = add

    return create


def of_parity(name, **more):
    """A scene of parity_scenes."""
    create, values = parity.CASES[name]
    return lambda root: create(root, **{**values, **more})


def chosen(kind, **values):
    """The falling beam of which a region is held."""

    def build(root):
        mechanics.beam(root, [mechanics.LDL], clamp=False)
        node = root.beam
        node.addObject(kind, name="region", **values)
        node.addObject("FixedProjectiveConstraint", indices="@region.indices")

    return alone(build)


def within_a_mesh(root):
    """The falling beam, of which what is within a surface is held."""
    points, tetrahedra = mechanics.grid()
    faces = parity.contacts.skin(points, tetrahedra[:6])
    inner = points[:8] * [1.3, 1.4, 1.5] - [1.0, 2.0, 3.5]
    chosen("MeshROI", ROIposition=inner.tolist(), ROItriangles=faces)(root)


def ropes(kind, response="FrictionContactConstraint", **values):
    """Two ropes, one of which falls across the other, with collision models of one kind."""

    def build(root):
        root.dt, root.gravity = 0.01, [20.0, 0.0, -981.0]
        if response.startswith("Friction"):
            root.addObject("FreeMotionAnimationLoop")
            root.addObject("GenericConstraintSolver", maxIterations=100, tolerance=1e-9)
        else:
            root.addObject("DefaultAnimationLoop")
        root.addObject("CollisionPipeline")
        root.addObject("BruteForceBroadPhase")
        root.addObject("BVHNarrowPhase")
        root.addObject("MinProximityIntersection", alarmDistance=2.0, contactDistance=0.5)
        mu = {"responseParams": "mu=0.2"} if response.startswith("Friction") else {}
        root.addObject("CollisionResponse", response=response, **mu)
        for name, points in (
            ("upper", [[x, 0.3 * (kind == "Point"), 0.7] for x in (-2, 0, 2)]),
            ("lower", [[0.2 * (kind != "Point"), y, 0] for y in (-2, 0, 2)]),
        ):
            node = root.addChild(name)
            node.addObject("EulerImplicitSolver", rayleighMass=0.1)
            node.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
            node.addObject("MeshTopology", position=points, edges=[[0, 1], [1, 2]])
            node.addObject("MechanicalObject", name="dofs")
            node.addObject("UniformMass", totalMass=0.1)
            node.addObject("MeshSpringForceField", stiffness=50.0, damping=0.1)
            if response.startswith("Friction"):
                node.addObject("LinearSolverConstraintCorrection")
            if name == "lower":
                node.addObject("FixedProjectiveConstraint", indices=[0, 2])
            common = {"group": [1]} if name == "lower" else {}
            model = {"radius": 0.2} if kind == "Sphere" else {}
            node.addObject(f"{kind}CollisionModel", **{**common, **model, **values})

    return build


def within_reach(root):
    """The falling beam, of which springs hold copies of the nodes that are near some places."""
    mechanics.beam(root, [mechanics.LDL])
    child = root.beam.addChild("copy")
    child.addObject("MechanicalObject", name="dofs", position=[[0, 0, 20.0], [10, 0.0, 20.0]])
    child.addObject("RestShapeSpringsForceField", stiffness=[50.0])
    child.addObject("SubsetMapping")


def pressed_along(kind):
    """The falling beam with a pressure on what faces along z."""

    def build(root):
        mechanics.beam(root, [mechanics.LDL])
        child = root.beam.addChild("faces")
        triangles = [[8, 9, 11], [8, 11, 10]] if kind.startswith("Edge") else []
        quads = [[8, 9, 11, 10], [12, 13, 15, 14]]
        child.addObject("MeshTopology", quads=quads, triangles=triangles)
        points, _ = mechanics.grid()
        child.addObject("MechanicalObject", name="dofs", position=points.tolist())
        child.addObject("IdentityMapping")
        child.addObject(kind, pressure=[0.0, 0.0, 3.0], normal=[0, 0, 1], dmin=-1, dmax=40)

    return build


def stopping(way):
    """A coordinate that reaches its least value, or its greatest."""

    def build(root):
        mechanics.jointed("StopperLagrangianConstraint", index=0, min=-0.0005, max=0.0005)(root)
        root.gravity = way * root.gravity.array()

    return build


def limited(root):
    """A force that follows a value without its jumps."""
    root.dt, root.gravity = 0.01, [0, 0, 0]
    root.addObject("DefaultAnimationLoop")
    node = root.addChild("point")
    node.addObject("EulerImplicitSolver")
    node.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
    node.addObject("MechanicalObject", name="dofs", position=[[0, 0, 0]])
    node.addObject("UniformMass", totalMass=1.0)
    start = [1.0, 0.0, 0.0]
    node.addObject(
        "DataVariationLimiter",
        name="limiter",
        input=[3.0, 0.5, 0.0],
        output=start,
        initOutput=False,
        listening=True,
        nbStep=4,
    )
    node.addObject("ConstantForceField", indices=[0], forces="@limiter.output")


def extruded(root):
    """A net of springs along the edges of hexahedra that come of quads."""
    root.dt, root.gravity = 0.01, [3.0, -9.81, 1.0]
    root.addObject("DefaultAnimationLoop")
    node = root.addChild("body")
    node.addObject("EulerImplicitSolver", rayleighMass=0.1)
    node.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
    node.addObject(
        "ExtrudeQuadsAndGenerateHexas",
        name="made",
        surfaceVertices=[[0, 0, 0], [1, 0, 0.2], [1, 1, 0], [0, 1, 0]],
        surfaceQuads=[[0, 1, 2, 3]],
    )
    node.addObject(
        "MeshTopology",
        name="mesh",
        position="@made.extrudedVertices",
        hexahedra="@made.extrudedHexas",
    )
    node.addObject("MechanicalObject", name="dofs", position="@made.extrudedVertices")
    node.addObject("UniformMass", totalMass=1.0)
    node.addObject("HexahedronFEMForceField", youngModulus=300.0, poissonRatio=0.3)
    node.addObject("FixedProjectiveConstraint", indices=[0, 1, 2, 3])


def nodes_below(root):
    yield root
    for child in root.children:
        yield from nodes_below(child)


def sensing(kind, actuator="SurfacePressureActuator", name="inflated_to_a_goal"):
    """A scene of an actuator whose node holds another component of the same surface."""

    def build(root):
        of_parity(name)(root)
        nodes = nodes_below(root)
        node = next(n for n in nodes for o in n.objects if o.getClassName() == actuator)
        node.addObject(kind, triangles=node.objects[0].triangles.value.tolist())

    return build


CASES = {
    "parallel_tetrahedra": alone(
        swapped(
            mechanics.solved(mechanics.LDL),
            TetrahedronFEMForceField="ParallelTetrahedronFEMForceField",
        )
    ),
    "parallel_hexahedra": alone(solids.solid("ParallelHexahedronFEMForceField")),
    "without_locking": alone(
        swapped(
            mechanics.solved(mechanics.LDL),
            {"method": None},
            TetrahedronFEMForceField="AssumedStrainFEMForceField",
        )
    ),
    "hyperelastic_without_locking": alone(
        swapped(
            mechanics.solved(mechanics.LDL),
            {"method": None, "materialName": "NeoHookean", "ParameterSet": [140.0, 560.0]},
            TetrahedronFEMForceField="AssumedStrainFEMForceField",
        )
    ),
    "hexahedra_without_locking": alone(solids.solid("AssumedStrainFEMForceField")),
    "parallel_mesh_springs": alone(
        swapped(
            mechanics.CASES["springs_of_a_mesh_by_kind"],
            MeshSpringForceField="ParallelMeshSpringForceField",
        )
    ),
    "parallel_springs": alone(
        swapped(mechanics.CASES["force_from_outside"], SpringForceField="ParallelSpringForceField")
    ),
    "contacts_lcp": swapped(
        of_parity("contacts_of_rigid_bodies_with_friction"),
        {"tolerance": 1e-3, "maxIt": 4, "mu": 0.05},
        GenericConstraintSolver="LCPConstraintSolver",
    ),
    "contacts_lcp_converging": swapped(
        of_parity("contacts_of_rigid_bodies_with_friction"),
        {"tolerance": 1.0, "maxIt": 100, "mu": 0.05},
        GenericConstraintSolver="LCPConstraintSolver",
    ),
    "contacts_lcp_conjugate": swapped(
        of_parity("contacts_of_points", mu=0.0),
        {"resolutionMethod": "NonsmoothNonlinearConjugateGradient", "newtonIterations": 3},
        GenericConstraintSolver="LCPConstraintSolver",
    ),
    "contacts_nncg": swapped(
        of_parity("contacts_of_points", mu=0.0),
        {"tolerance": 1e-3, "newtonIterations": 3},
        GenericConstraintSolver="NNCGConstraintSolver",
    ),
    "contacts_few_sweeps": swapped(
        of_parity("contacts_of_rigid_bodies_with_friction"),
        {"tolerance": 1e-9, "maxIterations": 3},
        GenericConstraintSolver="GenericConstraintSolver",
    ),
    "contacts_parallel": swapped(
        of_parity("contacts_of_points"),
        BVHNarrowPhase="ParallelBVHNarrowPhase",
        BruteForceBroadPhase="ParallelBruteForceBroadPhase",
    ),
    "contacts_precomputed": swapped(
        of_parity("contacts_of_points"),
        {"regularizationTerm": 0.01},
        LinearSolverConstraintCorrection="PrecomputedConstraintCorrection",
    ),
    "box_in_a_box": chosen(
        "PairBoxROI", inclusiveBox=[-1, -1, -1, 11, 11, 11], includedBox=[5, 5, -2, 12, 12, 5]
    ),
    "within_a_mesh": within_a_mesh,
    "limited": limited,
    "extruded": extruded,
    "pressure_sensed": sensing("SurfacePressureSensor"),
    "pressure_given": sensing("SurfacePressureEquality"),
    **{f"ropes_{kind.lower()}": ropes(kind) for kind in ("Line", "Point", "Sphere")},
    **{
        f"ropes_{kind.lower()}_by_penalty": ropes(kind, "PenalityContactForceField")
        for kind in ("Line", "Point", "Sphere")
    },
    "stopped": stopping(1.0),
    "stopped_above": stopping(-1.0),
    "box_of_cells": chosen("BoxROI", box=[-1, -1, -1, 11, 11, 11]),
    "ball_of_cells": chosen("SphereROI", centers=[[0, 0, 0]], radii=[12.0]),
    "plane_of_cells": chosen("PlaneROI", plane=[-1, -1, 0, 11, -1, 0, 11, 11, 0, 4]),
    "part_by_range": carried("SubsetMapping", first=8, last=10),
    "part_by_distance": alone(within_reach),
    "quads_pressed_along": alone(pressed_along("QuadPressureForceField")),
    "edges_pressed_along": alone(pressed_along("EdgePressureForceField")),
}
