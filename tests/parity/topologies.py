"""Topologies, mappings between them and loaders, whose Data after init SOFA v25.06 recorded.

Remake records/topologies.json with SOFA on the Python path: `python tests/parity/topologies.py`,
or those of some cases with their names as arguments.
"""

import json
import os
import sys

import numpy as np

RECORD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "records", "topologies.json")
ELEMENTS = ("position", "edges", "triangles", "quads", "tetrahedra", "hexahedra")
PLUGINS = [
    f"Sofa.Component.{name}"
    for name in (
        "IO.Mesh",
        "Constraint.Projective",
        "LinearSolver.Direct",
        "Mapping.Linear",
        "Mass",
        "ODESolver.Backward",
        "SolidMechanics.FEM.Elastic",
        "SolidMechanics.Spring",
        "StateContainer",
        "Topology.Container.Constant",
        "Topology.Container.Dynamic",
        "Topology.Container.Grid",
        "Topology.Mapping",
    )
]
X = np.random.default_rng(7).normal(size=(12, 3)).round(3).tolist()
TETRAHEDRA = [[5, 1, 7, 3], [4, 7, 3, 1], [7, 6, 1, 4]]
TRIANGLES = [[6, 1, 2], [1, 2, 3], [6, 5, 1]]
QUADS = [[7, 1, 5, 3], [2, 3, 5, 0]]
HEXAHEDRA = [[7, 4, 1, 0, 3, 2, 5, 6], [8, 9, 1, 0, 11, 10, 5, 6]]
BOX = {"min": [0.0, -1.0, 0.5], "max": [2.0, 1.0, 2.0]}
CELLS = [[x, y, z] for z in (0, 1, 3) for y in (0, 1, 2) for x in (0, 1, 2)]
ROW = [[k, k + 1, k + 4, k + 3, k + 9, k + 10, k + 13, k + 12] for k in (0, 1, 3, 4)]
ABOVE = [[vertex + 9 for vertex in cell] for cell in ROW]
NEEDLE = [
    [x * 0.02 + foot, y * 0.02, z]
    for foot, height in ((0.0, 0.3), (0.1, 0.02), (0.1, 0.3))
    for z in (height - 0.02 if foot else 0.0, height)
    for x, y in ((0, 0), (1, 0), (1, 1), (0, 1))
]
"""A high brick, with small ones beside its foot and its top."""
BRICKS = np.arange(24).reshape(3, 8).tolist()
SPLINTERS = [
    [brick[0], brick[a], brick[b], brick[6]]
    for brick in BRICKS
    for a, b in ((1, 2), (2, 3), (3, 7), (7, 4), (4, 5), (5, 1))
]


def ring():
    """A ring with waves, round the z axis, of quads; as values of a topology."""
    u, v = np.meshgrid(np.arange(14) * 2 * np.pi / 14, np.arange(9) * 2 * np.pi / 9, indexing="ij")
    radius = 1.5 + (0.5 + 0.1 * np.sin(3 * u)) * np.cos(v)
    points = np.stack([radius * np.cos(u), radius * np.sin(u), 0.6 * np.sin(v)], axis=2)
    i, j = np.indices((14, 9))
    number = np.array([i * 9 + j, (i + 1) % 14 * 9 + j])
    number = [*number, (i + 1) % 14 * 9 + (j + 1) % 9, i * 9 + (j + 1) % 9]
    quads = np.stack(number, axis=2).reshape(-1, 4)
    return {"position": points.reshape(-1, 3).round(3).tolist(), "quads": quads.tolist()}


CORNERS = [[x, y, z] for z in (0.0, 2.0) for y in (0.0, 2.0) for x in (0.0, 2.0)]
SIDES = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]]
CUBE = {"position": CORNERS, "triangles": [[s[k], s[k + 1], s[0]] for s in SIDES for k in (1, 2)]}
"""Its sides lie in planes of the grids that it is given to."""
CORNER = {
    "position": [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "triangles": [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]],
}
PLATE = {
    "position": [[0, 0, 0], [1, 0, 1], [1, 1, 1], [0, 1, 0]],
    "triangles": [[0, 1, 2], [0, 2, 3]],
}
"""Its triangles, as one of the corner, pass through edges and corners of cells."""
FEM = "HexahedronFEMForceField"


def alone(kind, **values):
    """One topology with a state beside it."""

    def build(node):
        made = node.addObject(kind, name="made", **values)
        node.addObject("MechanicalObject", name="dofs")
        return {"made": made}

    return build


def mapped(mapping, source, source_values, target, **values):
    """A topology in a node, and one below it that a mapping fills."""

    def build(node):
        node.addObject(source, name="from", position=X, **source_values)
        node.addObject("MechanicalObject", name="dofs")
        return below(node, mapping, target, **values)

    return build


def below(node, mapping, target, **values):
    """A topology in a child that a mapping fills."""
    child = node.addChild("child")
    made = child.addObject(f"{target}SetTopologyContainer", name="made")
    child.addObject(f"{target}SetTopologyModifier", name="modifier")
    child.addObject(mapping, name="mapping", input="@../from", output="@made", **values)
    return {"made": made}


def on_grid(swapping):
    """The tetrahedra of a grid's hexahedra."""

    def build(node):
        node.addObject("RegularGridTopology", name="from", n=[4, 3, 3], **BOX)
        node.addObject("MechanicalObject", name="dofs")
        return below(node, "Hexa2TetraTopologicalMapping", "Tetrahedron", swapping=swapping)

    return build


def quads_of_a_grid():
    """Triangles of the quads of a grid, whose diagonals alternate."""

    def build(node):
        node.addObject("RegularGridTopology", name="from", n=[4, 3, 1], **BOX)
        node.addObject("MechanicalObject", name="dofs")
        return below(node, "Quad2TriangleTopologicalMapping", "Triangle")

    return build


def tube(**values):
    """Circles around the frames of a beam."""

    def build(node):
        node.addObject("EdgeSetTopologyContainer", name="from", edges=[[0, 1], [1, 2]])
        frames = [[0, 0, 0, 0, 0, 0, 1], [1, 0, 0, 0, 0, 0.6, 0.8], [1, 2, 0, 0.5, 0.5, 0.5, 0.5]]
        node.addObject("MechanicalObject", name="dofs", template="Rigid3d", position=frames)
        child = node.addChild("child")
        made = child.addObject("QuadSetTopologyContainer", name="made")
        child.addObject("QuadSetTopologyModifier", name="modifier")
        dofs = child.addObject("MechanicalObject", name="dofs")
        child.addObject(
            "Edge2QuadTopologicalMapping",
            name="mapping",
            input="@../from",
            output="@made",
            **values,
        )
        return {"made": made, "dofs": dofs}

    return build


def falling(kind, force_field="TetrahedronFEMForceField", beside=None, **values):
    """A soft body, of hexahedra for example, that has moved for 20 steps and carries points.

    They lie in a box of size 3, or in the one from 0 to `beside`.
    """

    def build(node):
        node.addObject("EulerImplicitSolver", rayleighMass=0.1, rayleighStiffness=0.02)
        node.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
        made = node.addObject(kind, **values)
        dofs = node.addObject("MechanicalObject", name="dofs")
        node.addObject("UniformMass", totalMass=2.0)
        moduli = {} if "Spring" in force_field else {"youngModulus": 300.0, "poissonRatio": 0.3}
        node.addObject(force_field, **moduli)
        node.addObject("FixedProjectiveConstraint", indices=[0, 1, 3, 9])
        child = node.addChild("child")
        box = (-0.5, 2.4) if beside is None else (0.0, beside)
        points = np.random.default_rng(9).uniform(*box, size=(20, 3)).round(3)
        carried = child.addObject("MechanicalObject", name="carried", position=points.tolist())
        child.addObject("UniformMass", totalMass=0.5)
        child.addObject("BarycentricMapping")
        return {"made": made, "dofs": dofs, "carried": carried}

    return build


def in_one_node():
    """A grid and the tetrahedra made of it in one node: force fields act on the latter."""

    def build(node):
        node.addObject("EulerImplicitSolver", rayleighMass=0.1, rayleighStiffness=0.02)
        node.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
        node.addObject("RegularGridTopology", name="grid", n=[3, 3, 3], **BOX)
        made = node.addObject("TetrahedronSetTopologyContainer", name="made")
        node.addObject("TetrahedronSetTopologyModifier")
        node.addObject("Hexa2TetraTopologicalMapping", input="@grid", output="@made")
        dofs = node.addObject("MechanicalObject", name="dofs")
        node.addObject("MeshMatrixMass", totalMass=2.0)
        node.addObject("TetrahedronFEMForceField", youngModulus=300.0, poissonRatio=0.3)
        node.addObject("FixedProjectiveConstraint", indices=[0, 1, 3, 9])
        return {"made": made, "dofs": dofs}

    return build


CASES = {
    "tetrahedra": alone("TetrahedronSetTopologyContainer", position=X, tetrahedra=TETRAHEDRA[1:]),
    "triangles": alone("TriangleSetTopologyContainer", position=X, triangles=TRIANGLES),
    "quads": alone("QuadSetTopologyContainer", position=X, quads=QUADS),
    "hexahedra": alone("HexahedronSetTopologyContainer", position=X, hexahedra=HEXAHEDRA),
    "mesh_of_tetrahedra": alone("MeshTopology", position=X, tetrahedra=TETRAHEDRA[1:]),
    "mesh_of_triangles": alone("MeshTopology", position=X, triangles=TRIANGLES),
    "mesh_of_quads": alone("MeshTopology", position=X, quads=QUADS),
    "mesh_of_hexahedra": alone("MeshTopology", position=X, hexahedra=HEXAHEDRA),
    "mesh_of_both": alone("MeshTopology", position=X, triangles=TRIANGLES, quads=QUADS),
    "grid": alone("RegularGridTopology", n=[3, 2, 4], **BOX),
    "grid_by_limits": alone(
        "RegularGridTopology", nx=2, ny=3, nz=1, scale=1.1,
        xmin=0.1, xmax=1, ymin=0, ymax=2, zmin=0, zmax=0.7,
    ),
    "grid_by_cells": alone("RegularGridTopology", cellWidth=0.7, **BOX),
    "grid_of_a_line": alone("RegularGridTopology", n=[1, 4, 1], **BOX),
    "grid_without_triangles": alone("RegularGridTopology", n=[2, 2, 2], computeTriangleList=0),
    "grid_of_points": alone(
        "RegularGridTopology", n=[2, 2, 2], computeTriangleList=0, computeQuadList=0,
        computeHexaList=0, computeEdgeList=0,
    ),
    "cylinder": alone(
        "CylinderGridTopology", n=[4, 3, 3], radius=2, length=3, center=[1, 2, 3], axis=[1, 1, 0]
    ),
    "cylinder_along_x": alone("CylinderGridTopology", n=[3, 3, 2], axis=[1, 0, 0]),
    "ball": alone("SphereGridTopology", n=[3, 4, 3], radius=2, center=[1, 2, 3], axis=[0, 1, 1]),
    "cube": alone("CubeTopology", nx=4, ny=3, nz=4, **BOX),
    "cube_with_inside": alone("CubeTopology", nx=3, ny=3, nz=3, internalPoints=1, **BOX),
    "cube_of_sides": alone("CubeTopology", nx=3, ny=2, nz=4, splitNormals=1, **BOX),
    "cube_that_is_flat": alone("CubeTopology", nx=3, ny=2, nz=1, **BOX),
    "sphere": alone("SphereQuadTopology", nx=3, ny=4, nz=3, center=[1, 0, 0], radius=2),
    "hexa_to_tetra": on_grid(False),
    "hexa_to_tetra_swapping": on_grid(True),
    "hexa_to_quad": mapped(
        "Hexa2QuadTopologicalMapping", "HexahedronSetTopologyContainer",
        {"hexahedra": HEXAHEDRA}, "Quad",
    ),
    "hexa_to_quad_flipped": mapped(
        "Hexa2QuadTopologicalMapping", "HexahedronSetTopologyContainer",
        {"hexahedra": HEXAHEDRA}, "Quad", flipNormals=True,
    ),
    "quad_to_triangle": mapped(
        "Quad2TriangleTopologicalMapping", "QuadSetTopologyContainer", {"quads": QUADS}, "Triangle",
    ),
    "quad_to_triangle_on_a_grid": quads_of_a_grid(),
    "triangle_to_edge": mapped(
        "Triangle2EdgeTopologicalMapping", "TriangleSetTopologyContainer",
        {"triangles": TRIANGLES}, "Edge",
    ),
    "tetra_to_triangle": mapped(
        "Tetra2TriangleTopologicalMapping", "TetrahedronSetTopologyContainer",
        {"tetrahedra": TETRAHEDRA[1:]}, "Triangle",
    ),
    "tetra_to_triangle_flipped": mapped(
        "Tetra2TriangleTopologicalMapping", "TetrahedronSetTopologyContainer",
        {"tetrahedra": TETRAHEDRA[1:]}, "Triangle", flipNormals=True,
    ),
    "edge_to_quad": tube(radius=0.2, nbPointsOnEachCircle=5),
    "edge_to_quad_ellipse": tube(
        radius=0.2, radiusFocal=0.1, focalAxis=[0, 1, 1], nbPointsOnEachCircle=4, flipNormals=True
    ),
    "moving_grid": falling("RegularGridTopology", n=[3, 3, 3], **BOX),
    "moving_mesh_of_hexahedra": falling("MeshTopology", position=CELLS, hexahedra=[*ROW, *ABOVE]),
    "moving_set_of_hexahedra": falling(
        "HexahedronSetTopologyContainer", beside=[0.08, 0.05, 0.32], position=NEEDLE,
        hexahedra=BRICKS,
    ),
    "moving_set_of_tetrahedra": falling(
        "TetrahedronSetTopologyContainer", beside=[0.08, 0.05, 0.32], position=NEEDLE,
        tetrahedra=SPLINTERS,
    ),
    "moving_set_of_triangles": falling(
        "TriangleSetTopologyContainer", "MeshSpringForceField", beside=[0.08, 0.05, 0.32],
        position=NEEDLE, triangles=[splinter[1:] for splinter in SPLINTERS],
    ),
    "moving_tetrahedra_of_a_grid": in_one_node(),
    "sparse": alone("SparseGridTopology", n=[7, 6, 4], **ring()),
    "sparse_by_cells": alone("SparseGridTopology", cellWidth=0.4, **ring()),
    "sparse_inside": alone("SparseGridTopology", n=[20, 19, 12], onlyInsideCells=1, **ring()),
    "sparse_of_finer": alone("SparseGridTopology", n=[4, 5, 3], nbVirtualFinerLevels=2, **ring()),
    "sparse_in_a_box": alone(
        "SparseGridTopology", n=[5, 5, 5], min=[-1, -1, -1], max=[1, 1, 1], **ring()
    ),
    "sparse_of_planes": alone(
        "SparseGridTopology", n=[5, 5, 5], min=[-1, -1, -1], max=[3, 3, 3], **CUBE
    ),
    "sparse_of_tenths": alone(
        "SparseGridTopology", n=[11, 11, 11], min=[0, 0, 0], max=[2, 2, 2.2], **CUBE
    ),
    "sparse_of_a_corner": alone("SparseGridTopology", n=[10, 10, 10], **CORNER),
    "sparse_of_a_plate": alone("SparseGridTopology", n=[13, 13, 13], **PLATE),
    "moving_sparse": falling("SparseGridTopology", FEM, n=[7, 6, 4], **ring()),
    "moving_sparse_alike": falling(
        "SparseGridTopology", FEM, n=[7, 6, 4], fillWeighted=0, **ring()
    ),
    "moving_sparse_of_finer": falling(
        "SparseGridTopology", FEM, n=[5, 5, 3], nbVirtualFinerLevels=2, **ring()
    ),
    "moving_sparse_tetrahedra": falling("SparseGridTopology", n=[5, 5, 3], **ring()),
    "moving_sparse_springs": falling(
        "SparseGridTopology", "MeshSpringForceField", n=[5, 5, 3], **ring()
    ),
    "string": alone("StringMeshCreator", resolution=5),
    "sheet": alone("GridMeshCreator", resolution=[4, 3]),
    "sheet_alternating": alone("GridMeshCreator", resolution=[3, 4], trianglePattern=1),
    "sheet_downward": alone("GridMeshCreator", resolution=[3, 3], trianglePattern=3),
    "sheet_of_quads": alone(
        "GridMeshCreator", resolution=[3, 3], trianglePattern=0, rotation=[10, 20, 30],
        scale3d=[2, 3, 4], translation=[1, 0, 0],
    ),
}  # fmt: skip


def run(Sofa, name):
    """Positions and elements of what the case makes, after init, as lists."""
    root = Sofa.Core.Node("root")
    root.gravity = [3.0, -98.1, 20.0]
    root.addObject("DefaultAnimationLoop")
    for plugin in PLUGINS:
        root.addObject("RequiredPlugin", name=plugin)
    made = CASES[name](root.addChild("node"))
    Sofa.Simulation.init(root)
    for _ in range(20 if name.startswith("moving") else 0):
        Sofa.Simulation.animate(root, 0.01)
    found = {}
    for key, entry in made.items():
        for data in ("position", "hexahedra") if "sparse" in name else ELEMENTS:
            value = entry.findData(data)
            if value is not None and len(value.value):
                found[f"{key}.{data}"] = np.asarray(value.value).tolist()
    return found


def main():
    import Sofa
    import SofaRuntime  # noqa: F401

    with open(RECORD) as file:
        known = json.load(file)
    records = {name: known.get(name) for name in CASES}
    for name in sys.argv[1:] or CASES:
        print(name, flush=True)
        records[name] = run(Sofa, name)
    with open(RECORD, "w") as file:
        entries = (f'"{name}": {json.dumps(record)}' for name, record in records.items())
        file.write("{\n" + ",\n".join(entries) + "\n}\n")


if __name__ == "__main__":
    main()
    os._exit(0)  # SOFA's bindings abort when Python cleans up after them
