"""Engines and regions, whose outputs SOFA v25.06 recorded: after init, and after inputs changed.

Remake records/engines.json with SOFA on the Python path: `python tests/parity/engines.py`.
"""

import json
import os

import numpy as np

RECORD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "records", "engines.json")
PLUGINS = [
    "Sofa.Component.Engine.Analyze",
    "Sofa.Component.Engine.Generate",
    "Sofa.Component.Engine.Select",
    "Sofa.Component.Engine.Transform",
    "Sofa.Component.StateContainer",
    "Sofa.Component.Topology.Container.Constant",
    "SoftRobots",
]


def points(seed, n=7):
    """Random points."""
    return np.random.default_rng(seed).uniform(-1.0, 1.0, size=(n, 3)).round(2).tolist()


def elements(seed, width, n=5, among=7):
    """Random elements, each of different points."""
    rng = np.random.default_rng(seed)
    return [rng.choice(among, width, replace=False).tolist() for _ in range(n)]


X, Y = points(1), points(2, 5)
FRAMES = [
    [0.1, 0.2, 0.3, 0, 0, 0, 1],
    [0.5, -0.1, 0.2, 0.5, 0.5, 0.5, 0.5],
    [-1, 2, 0.7, 0, 0.6, 0, 0.8],
]
MESH = {
    "edges": elements(3, 2),
    "triangles": elements(4, 3),
    "quads": elements(5, 4),
    "tetrahedra": elements(6, 4),
}
HEXAHEDRA = [[7, 4, 1, 0, 3, 2, 5, 6]]
CUBE = [[x, y, z] for z in (0, 1) for y in (0, 1) for x in (0, 1)]
INSIDE = {"box": [-0.5, -0.9, -0.8, 1, 0.6, 0.9]}
SIDES = [[0, 2, 1], [1, 2, 3], [4, 5, 6], [5, 7, 6], [0, 1, 4], [1, 5, 4]]
MORE_SIDES = [[2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]]
LEANING = [-1, -1, -0.5, 0.5, -1, -0.4, 0.9, 0.6, 0, 1.2]
FLAT = [0, 0, 0, 1, 0, 0, 1, 1, 0, 0]
FACES = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0.2, 1, 0], [0.5, 0.5, 0.1], [3, 3, 0]])


def engine(kind, then=None, **values):
    """One engine, and Data to change after init."""

    def build(node):
        return node.addObject(kind, name="engine", **values), then

    return build


def among(kind, then=None, *, template="Vec3", state=X, **values):
    """One engine beside a state and elements."""

    def build(node):
        node.addObject("MeshTopology", name="mesh", position=X, **MESH)
        if state is not None:
            node.addObject("MechanicalObject", name="dofs", template=template, position=state)
        if template != "Vec3":
            values["template"] = template
        return node.addObject(kind, name="engine", **values), then

    return build


def below(kind, **values):
    """One engine in a node without state or elements."""

    def build(node):
        node.addObject("MechanicalObject", name="dofs", position=X)
        node.addObject("MeshTopology", name="mesh", position=X, **MESH)
        return node.addChild("child").addObject(kind, name="engine", **values), None

    return build


def moved(kind, then=None, **values):
    """One engine beside a state whose positions change."""

    def build(node):
        node.addObject("MeshTopology", name="mesh", position=X, **MESH)
        dofs = node.addObject("MechanicalObject", name="dofs", position=X)
        made = node.addObject(kind, name="engine", **values)

        def change():
            dofs.position.value = [[2 * c for c in row] for row in X]
            for name, value in (then or {}).items():
                made.findData(name).value = value

        return made, change

    return build


def nearest(**values):
    """Pairs of points of two states."""

    def build(node):
        for name, places in (("a", X), ("b", Y)):
            node.addChild(name).addObject("MechanicalObject", name="dofs", position=places)
        links = {"template": "Vec3d", "object1": "@a/dofs", "object2": "@b/dofs"}
        return node.addObject("NearestPointROI", name="engine", **links, **values), None

    return build


CASES = {
    # regions
    "box": among("BoxROI", {"box": [[-1, -1, -1, 0, 0, 1]]}, **INSIDE),
    "box_by_centre": among("BoxROI", strict=False, **INSIDE),
    "box_corners_any_order": among("BoxROI", box=[1, 0.6, 0.9, -0.5, -0.9, -0.8]),
    "box_default": among("BoxROI"),
    "box_two": among("BoxROI", box=[[-1, -1, -1, 0, 0, 1], [0, 0, 0, 1, 1, 1]]),
    "box_none": among("BoxROI", box=[]),
    "box_oriented": among("BoxROI", {"orientedBox": [FLAT]}, orientedBox=LEANING),
    "box_oriented_without_depth": engine("BoxROI", orientedBox=FLAT, position=FACES.tolist()),
    "box_without_elements": among(
        "BoxROI", computeEdges=False, computeTriangles=False, computeQuad=False,
        computeTetrahedra=False, **INSIDE,
    ),
    "box_of_given": engine("BoxROI", position=X, triangles=MESH["triangles"], **INSIDE),
    "box_of_empty_elements": among("BoxROI", triangles=[], **INSIDE),
    "box_once": among("BoxROI", {"box": [[-1, -1, -1, 0, 0, 1]]}, doUpdate=False, **INSIDE),
    "box_of_frames": among(
        "BoxROI", template="Rigid3d", state=[*FRAMES, *FRAMES, FRAMES[0]], box=[0, 0, 0, 1, 1, 1]
    ),
    "box_of_frames_of_its_own": engine(
        "BoxROI", template="Rigid3d", position=FRAMES, box=[-1, 0, 0, 0.2, 2, 1]
    ),
    "box_of_the_node_above": below("BoxROI", **INSIDE),
    "box_of_what_moves": moved("BoxROI", {"strict": False}, **INSIDE),
    "sphere": among("SphereROI", {"radii": [0.2], "strict": False}, centers=[0.2, 0, 0], radii=0.9),
    "sphere_two": among("SphereROI", centers=[[1, 0, 0], [-1, 0, 0.2]], radii=[0.9, 0.8]),
    "sphere_one_radius": among("SphereROI", centers=[[1, 0, 0], [-1, 0, 0.2]], radii=0.9),
    "sphere_radii_missing": among("SphereROI", centers=[[1, 0, 0]] * 3, radii=[0.9, 2]),
    "sphere_none": among("SphereROI"),
    "sphere_by_centre": among("SphereROI", centers=[0.2, 0, 0], radii=0.7, strict=False),
    "sphere_by_angles": among(
        "SphereROI", centers=[0, 0, 0], radii=2, direction=[1, 1, 3], edgeAngle=70,
        normal=[0, 0, 2], triAngle=60,
    ),
    "plane": among("PlaneROI", {"plane": [FLAT]}, plane=LEANING),
    "plane_default": among("PlaneROI"),
    "plane_none": among("PlaneROI", plane=[]),
    "plane_without_depth": engine(
        "PlaneROI", template="Vec3d", position=FACES.tolist(), plane=FLAT, edges=[[0, 5], [3, 4]]
    ),
    "plane_two": among("PlaneROI", plane=[LEANING, [-1, -1, -1, 1, -1, -1, 1, 1, -1, 1]]),
    "plane_of_the_node_above": below("PlaneROI", plane=LEANING),
    "complement": engine(
        "ComplementaryROI", {"setIndices1": [6]}, position=X, nbSet=2, setIndices1=[1, 3, 3, 9],
        setIndices2=[3, 4],
    ),
    "complement_of_none": engine("ComplementaryROI", position=X),
    "boundary": engine(
        "MeshBoundaryROI", {"inputROI": [0, 1, 2, 3, 4]}, triangles=MESH["triangles"],
        quads=MESH["quads"],
    ),
    "boundary_of_a_part": engine(
        "MeshBoundaryROI", triangles=SIDES, quads=MORE_SIDES, inputROI=[0, 1, 2, 3, 6, 7]
    ),
    "nearest": nearest(radius=0.8),
    "nearest_of_some": nearest(radius=2, inputIndices1=[5, 0, 2], inputIndices2=[4, 1]),
    # values by index
    "values": engine(
        "ValuesFromIndices", {"indices": [0, 0]}, template="Vec3d", input=X, indices=[3, 0, 9, 3]
    ),
    "values_int": engine("ValuesFromIndices", template="i", input=[4, 5, 6], indices=[2, 0]),
    "values_double": engine(
        "ValuesFromIndices", template="d", input=[0.1, 1e-7, 3e9], indices=[2, 1, 0]
    ),
    "points_each_once": engine(
        "PointsFromIndices", position=[*X, X[2], [c + 5e-7 for c in X[0]]], indices=[2, 7, 0, 8, 2]
    ),
    "points_of_the_state": moved("PointsFromIndices", indices=[3, 1]),
    "points_none": engine("PointsFromIndices", position=X),
    "indices": engine(
        "IndicesFromValues", {"values": [5]}, template="i", values=[3, 5, 9],
        **{"global": [5, 3, 3]},
    ),
    "indices_all": engine(
        "IndicesFromValues", template="i", values=[3, 5], recursiveSearch=True,
        **{"global": [5, 3, 3, 4]},
    ),
    "indices_of_points": engine(
        "IndicesFromValues", template="Vec3d", values=[X[2], X[0]], **{"global": X}
    ),
    "mapped_value": engine(
        "IndexValueMapper", {"value": 4}, inputValues=[1, 2], indices=[0, 5, 3], value=3,
        defaultValue=7,
    ),
    "mapped_value_default": engine("IndexValueMapper", indices=[2], value=3),
    "mapped_values": engine(
        "Indices2ValuesMapper", {"inputValues": [4, 9]}, inputValues=[3, 1, 4, 3],
        indices=[3, 4, 3], values=[0.5, 0.25, 8],
    ),
    "mapped_regions": engine(
        "ROIValueMapper", {"value1": 5}, nbROIs=2, indices1=[0, 4], value1=2, indices2=[4, 6],
        value2=3, defaultValue=9,
    ),
    "mapped_no_regions": engine("ROIValueMapper"),
    # arithmetic
    **{
        f"math_{name}": engine(
            "MathOp", {"input1": [2, 1]}, template="vector<d>", op=op, nbInputs=3,
            input1=[1, 2, 3], input2=[4, -5, 6, 7], input3=[0.5, 3, -2],
        )
        for name, op in zip(
            ("sum", "difference", "product", "quotient", "least", "greatest"), "+-*/<>",
            strict=True,
        )
    },
    "math_minus_one": engine("MathOp", template="vector<d>", op="-", nbInputs=1, input1=[1, 2]),
    "math_one_over": engine("MathOp", template="vector<d>", op="/", nbInputs=1, input1=[4, 2]),
    "math_of_one": engine("MathOp", template="vector<d>", op="-", input1=[1, 2]),
    "math_of_points": engine("MathOp", template="vector<Vec3d>", op="-", input1=X, input2=Y),
    "math_of_integers": engine(
        "MathOp", template="vector<i>", op="/", input1=[7, -7], input2=[2, 2]
    ),
    "math_default": engine("MathOp", template="vector<d>", input1=[7, -7], input2=[2, 2]),
    "difference": engine(
        "DifferenceEngine", {"input": X[:3]}, template="Vec3d", input=X[:5], substractor=Y
    ),
    "difference_of_numbers": engine(
        "DifferenceEngine", template="Vec1d", input=[1, 2.5], substractor=[3, 1]
    ),
    "sum": engine("SumEngine", {"input": Y}, template="Vec3d", input=X),
    "sum_of_none": engine("SumEngine", template="Vec3d"),
    "norm": engine("NormEngine", {"normType": 3}, template="Vec3d", input=X),
    "norm_1": engine("NormEngine", template="Vec3d", input=X, normType=1),
    "norm_largest": engine("NormEngine", template="Vec3d", input=X, normType=-1),
    "average": moved("AverageCoord", template="Vec3d"),
    "average_of_some": moved("AverageCoord", {"indices": [0]}, template="Vec3d", indices=[4, 2]),
    "average_of_frames": among("AverageCoord", template="Rigid3d", state=FRAMES),
    # sets, points, vectors, meshes
    **{
        f"sets_{op}": engine("MergeSets", {"in1": [1]}, in1=[5, 1, 3, 5], in2=[4, 3, 9], op=op)
        for op in ("union", "intersection", "difference", "symmetric_difference", "")
    },
    "sets_unknown": engine("MergeSets", in1=[5, 1], in2=[4], op="with"),
    "merged_points": engine("MergePoints", {"position1": X[:2]}, position1=X, position2=Y),
    "merged_points_in_places": engine(
        "MergePoints", position1=X, position2=Y, mappingX2=[3, 0, 6, 1, 2]
    ),
    "merged_vectors": engine(
        "MergeVectors", {"input2": [[9, 9, 9]]}, template="vector<Vec3d>", nbInputs=3, input1=X[:2],
        input2=Y[:1], input3=X[2:3],
    ),
    "merged_integers": engine(
        "MergeVectors", template="vector<i>", nbInputs=2, input1=[1], input2=[2, 3]
    ),
    "merged_meshes": engine(
        "MergeMeshes", {"position1": X[:6]}, nbMeshes=2, position1=X, triangles1=MESH["triangles"],
        quads1=MESH["quads"], position2=Y, edges2=[[0, 1]], triangles2=[[2, 3, 4]],
        tetrahedra2=[[0, 1, 2, 3]],
    ),
    "part_of_a_mesh": engine(
        "MeshSubsetEngine", {"indices": [0, 1, 2, 3, 4]}, inputPosition=X,
        inputEdges=MESH["edges"], inputTriangles=MESH["triangles"], inputQuads=MESH["quads"],
        inputTetrahedra=MESH["tetrahedra"], indices=[6, 2, 0, 5, 1, 3],
    ),
    "part_of_a_mesh_twice": engine(
        "MeshSubsetEngine", inputPosition=X, inputTriangles=MESH["triangles"],
        indices=[0, 1, 2, 3, 4, 5, 6, 2, 3],
    ),
    # generated
    "grid": engine("GenerateGrid", {"max": [1, 1, 1]}, template="Vec3d", min=[0, -1, 1],
                   max=[1, 2, 2], resolution=[2, 1, 2]),
    "grid_flat": engine(
        "GenerateGrid", template="Vec3d", min=[0, -1, 1], max=[1, 2, 2], resolution=[2, 3, 0]
    ),
    "grid_default": engine("GenerateGrid", template="Vec3d"),
    "normals": engine(
        "NormalsFromPoints", {"invertNormals": True}, position=CUBE, triangles=SIDES,
        quads=MORE_SIDES,
    ),
    "normals_by_angle": engine(
        "NormalsFromPoints", position=X, triangles=MESH["triangles"], quads=MESH["quads"],
        useAngles=True,
    ),
    "normals_inverted": engine(
        "NormalsFromPoints", position=X, triangles=MESH["triangles"], invertNormals=True
    ),
    "rigid_mass": engine(
        "GenerateRigidMass", {"density": 3}, density=2, position=CUBE, triangles=SIDES,
        quads=MORE_SIDES,
    ),
    "volume_of_a_surface": engine(
        "VolumeFromTriangles", {"positions": X + CUBE}, positions=CUBE, triangles=SIDES,
        quads=MORE_SIDES,
    ),
    "volume_of_elements": engine(
        "VolumeFromTetrahedrons", {"tetras": MESH["tetrahedra"][:2]}, positions=[*X, [1, 2, 3]],
        tetras=MESH["tetrahedra"], hexas=HEXAHEDRA,
    ),
    "volume_of_the_node": moved("VolumeFromTetrahedrons", {"tetras": [[0, 1, 2, 3]]}),
    "volume_of_what_moves": moved("VolumeFromTetrahedrons", update=True),
    "volume_of_a_surface_that_moves": moved("VolumeFromTriangles", update=True),
    # transformed
    **{
        f"transformed_{name}": engine(
            "TransformEngine", {"inverse": True}, template=template, input_position=places,
            translation=[1, 2, 3], rotation=[10, 20, 30], scale=[2, 3, 0.5],
            quaternion=[0.1, 0.2, 0.3, 0.9],
        )
        for name, template, places in (("points", "Vec3d", X), ("frames", "Rigid3d", FRAMES))
    },
    **{
        f"placed_{method}": engine(
            "TransformPosition", {"translation": [0, 1, 0]}, input_position=X, method=method,
            origin=[0.1, 0.2, 0.3], normal=[1, 2, 2], translation=[1, 2, 3], rotation=[10, 20, 30],
            scale=[2, 3, 0.5], fixedIndices=[2, 4],
            matrix=[1, 2, 3, 4, 0, 1, 0, 1, 2, 0, 1, 0, 0, 0, 0.5, 2],
        )
        for method in (
            "projectOnPlane", "translation", "rotation", "scale", "scaleTranslation",
            "scaleRotationTranslation", "affine",
        )
    },
}  # fmt: skip
OUTPUTS = """average centerToOrigin distances edgeIndices edgeOutIndices edges edgesInROI
    edgesOutROI hexahedra hexahedraInROI hexahedraOutROI hexahedronIndices hexahedronOutIndices
    indexPairs indices indices1 indices2 indicesOut indices_position inertiaMatrix mass massCenter
    nbIndices normals npoints otherIndices out outStr output outputValues output_position points
    pointsInROI pointsOutROI position quadIndices quadOutIndices quads quadsInROI quadsOutROI
    tetrahedra tetrahedraInROI tetrahedraOutROI tetrahedronIndices tetrahedronOutIndices
    triangleIndices triangleOutIndices triangles trianglesInROI trianglesOutROI volume""".split()


def run(Sofa, name):
    """Outputs after init and after the change, by name."""
    root = Sofa.Core.Node("root")
    root.addObject("DefaultAnimationLoop")
    for plugin in PLUGINS:
        root.addObject("RequiredPlugin", name=plugin)
    made, then = CASES[name](root.addChild("node"))
    Sofa.Simulation.init(root)
    found = [outputs(made)]
    if then is not None:
        if callable(then):
            then()
        else:
            for key, value in then.items():
                made.findData(key).value = value
        found.append(outputs(made))
    return found


def outputs(engine):
    """What an engine has computed, as lists."""
    found = {}
    for name in OUTPUTS:
        data = engine.findData(name)
        if data is None:
            continue
        value = data.value
        found[name] = value if isinstance(value, str) else np.asarray(value).tolist()
    return found


def main():
    import Sofa
    import SofaRuntime  # noqa: F401

    records = {}
    for name in CASES:
        print(name, flush=True)
        records[name] = run(Sofa, name)
    with open(RECORD, "w") as file:
        entries = (f'"{name}": {json.dumps(record)}' for name, record in records.items())
        file.write("{\n" + ",\n".join(entries) + "\n}\n")


if __name__ == "__main__":
    main()
    os._exit(0)  # SOFA's bindings abort when Python cleans up after them
