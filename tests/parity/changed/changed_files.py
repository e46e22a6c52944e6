"""Scenes that read and write files in the working folder, for changed_data.py.

What is read lies in the folder `in`; all else is what the scene has written.
"""

import os
import tempfile
from pathlib import Path

POINTS = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1.2]]
CUBE = [[x, y, z] for z in (0, 1) for y in (0, 1) for x in (0, 1)]
TETRAHEDRA = [[0, 1, 2, 3], [1, 2, 3, 4]]
FACES = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 4], [2, 3, 4], [3, 1, 4]]
BLENDER = "BlenderExporter", {"simulationType": 0}


def _rows(rows, begin=""):
    return "".join(f"{begin}{' '.join(map(str, row))}\n" for row in rows)


def _obj(points):
    return _rows(points, "v ") + _rows([[i + 1 for i in face] for face in FACES], "f ")


def _off(points):
    return f"OFF\n5 {len(FACES)} 0\n" + _rows(points) + _rows(FACES, "3 ")


def _stl(points):
    corners = (_rows([points[i] for i in face], "vertex ") for face in FACES)
    facets = (f"facet normal 0 0 1\nouter loop\n{c}endloop\nendfacet\n" for c in corners)
    return f"solid a\n{''.join(facets)}endsolid a\n"


def _gmsh(points):
    nodes = _rows([i + 1, *point] for i, point in enumerate(points))
    elements = _rows([k + 1, 4, 2, 0, 0, *(i + 1 for i in t)] for k, t in enumerate(TETRAHEDRA))
    head = "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n"
    return f"{head}$Nodes\n5\n{nodes}$EndNodes\n$Elements\n2\n{elements}$EndElements\n"


def _gid(points):
    nodes = _rows([i + 1, *point] for i, point in enumerate(points))
    elements = _rows([k + 1, *(i + 1 for i in t)] for k, t in enumerate(TETRAHEDRA))
    head = "MESH dimension 3 ElemType Tetrahedra Nnode 4\n"
    return f"{head}Coordinates\n{nodes}End Coordinates\nElements\n{elements}End Elements\n"


def _vtk(points):
    head = "# vtk DataFile Version 2.0\nmesh\nASCII\nDATASET UNSTRUCTURED_GRID\n"
    cells = _rows(TETRAHEDRA, "4 ")
    return f"{head}POINTS 5 float\n{_rows(points)}CELLS 2 10\n{cells}CELL_TYPES 2\n10\n10\n"


def _with_quads(points):
    """Faces of other kinds, and a vertex that none has."""
    return _rows([*points, [3, 3, 3]], "v ") + "f 1 2 5 3\nf 1 2 4\n"


def _spheres(points):
    rows = (["sphe", i, *p, 0.1 + 0.02 * i] for i, p in enumerate(points))
    return f"sphere model\n{_rows(rows)}"


def _state(points):
    times = [(0.01 * k, [[x + 0.1 * k, y, z] for x, y, z in points]) for k in range(6)]
    return "".join(f"T= {time}\n  X= {_rows(rows).replace(chr(10), ' ')}\n" for time, rows in times)


def _frames(points):
    numbers = [[[x + 0.1 * k, y, z] for x, y, z in points] for k in range(6)]
    lines = "".join(_rows(rows).replace("\n", " ") + "\n" for rows in numbers)
    return f"animation\nframes: 6\nnodes: {len(points)}\nkeys: 0 5\n{lines}"


def _matrix(points):
    return _rows([[points[4][2], 0, 0, 0.1], [0, 1, 0, 0.2], [0, 0, 1, 0.3], [0, 0, 0, 1]])


def _rigid(points):
    return f"Xsp 3.0\nmass {points[4][2]}\nvolm 2.0\ninrt 1 0 0 0 1 0 0 0 1\ncntr 0 0 0\n"


def files(write, ending):
    """Two files that differ in one place."""
    os.makedirs("in", exist_ok=True)
    for name, height in (("a", 1.2), ("b", 1.5)):
        points = [*POINTS[:-1], [1, 1, height]]
        Path(f"in/{name}.{ending}").write_text(write(points), encoding="ascii")
    return f"in/a.{ending}"


def _world(root):
    root.dt, root.gravity = 0.01, [3.0, -9.81, 1.0]
    root.addObject("DefaultAnimationLoop")
    node = root.addChild("body")
    node.addObject("EulerImplicitSolver", rayleighMass=0.1)
    node.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
    return node


def _springs(node):
    node.addObject("UniformMass", totalMass=1.0)
    node.addObject("MeshSpringForceField", stiffness=100.0, damping=1.0)
    node.addObject("FixedProjectiveConstraint", indices=[0])


def loaded(kind, write, ending, **values):
    """A net of springs between the vertices of a file."""

    def build(root):
        node = _world(root)
        node.addObject(kind, name="loader", filename=files(write, ending), **values)
        node.addObject("MeshTopology", src="@loader")
        node.addObject("MechanicalObject", name="dofs")
        _springs(node)

    return build


def from_topology(kind, write=None, ending="", places=None, **values):
    """A net of springs between the vertices of a topology, whether it reads a file or not.

    Args:
        places: Of the nodes, where the topology gives none.
    """

    def build(root):
        node = _world(root)
        given = {"filename": files(write, ending)} if write else {}
        node.addObject(kind, name="mesh", **given, **values)
        node.addObject("MechanicalObject", name="dofs", **({"position": places} if places else {}))
        _springs(node)

    return build


def beside_net(kind, write=None, ending="", file_data="filename", **values):
    """A net of springs with a component beside it that reads or writes files."""

    def build(root):
        node = _world(root)
        node.addObject("MeshTopology", name="mesh", position=POINTS, tetrahedra=TETRAHEDRA)
        node.addObject("MechanicalObject", name="dofs")
        _springs(node)
        given = {file_data: files(write, ending)} if write else {}
        node.addObject(kind, name="tool", **given, **values)

    return build


def placed(root):
    """Springs to points that a matrix from a file has placed."""
    node = _world(root)
    node.addObject(
        "TransformPosition",
        name="placed",
        method="fromFile",
        input_position=POINTS,
        filename=files(_matrix, "txt"),
    )
    node.addObject("MechanicalObject", name="dofs", position="@placed.output_position")
    node.addObject("UniformMass", totalMass=1.0)
    node.addObject("RestShapeSpringsForceField", stiffness=20.0)


def falling_body(root):
    """A body whose mass is that of a file."""
    node = _world(root)
    node.addObject("MechanicalObject", name="dofs", template="Rigid3", position=[[0] * 6 + [1]])
    node.addObject("UniformMass", filename=files(_rigid, "rigid"))
    node.addObject("ConstantForceField", totalForce=[0, 0, 1, 0.1, 0, 0])


def serial(root):
    """Bytes to a device, which is the other end of a terminal."""
    ends = os.openpty()
    root.__dict__["device"] = ends
    node = _world(root)
    # The terminal's number depends on who else has one: the port has a name of this process.
    port = Path(tempfile.gettempdir(), f"softctl-serial-{os.getpid()}")
    port.unlink(missing_ok=True)
    port.symlink_to(os.ttyname(ends[1]))
    node.addObject(
        "SerialPortBridgeGeneric",
        port=str(port),
        baudRate=9600,
        size=2,
        packetOut=[3, 4],
        precise=True,
        splitPacket=True,
        listening=True,
    )


ALWAYS = {"exportEveryNumberOfSteps": 1, "exportAtEnd": True}
CASES = {
    "gmsh": loaded("MeshGmshLoader", _gmsh, "msh"),
    "gid": loaded("GIDMeshLoader", _gid, "gid"),
    "obj": loaded("MeshOBJLoader", _obj, "obj"),
    "obj_of_quads": loaded("MeshOBJLoader", _with_quads, "obj"),
    "off": loaded("MeshOffLoader", _off, "off"),
    "stl": loaded("MeshSTLLoader", _stl, "stl"),
    "vtk": loaded("MeshVTKLoader", _vtk, "vtk"),
    "spheres": loaded("SphereLoader", _spheres, "sph"),
    "grid_creator": loaded("GridMeshCreator", _obj, "obj", resolution=[3, 3], trianglePattern=1),
    "string_creator": loaded("StringMeshCreator", _obj, "obj", resolution=5),
    "topology_file": from_topology("MeshTopology", _vtk, "vtk"),
    "points_alone": from_topology("PointSetTopologyContainer", position=POINTS),
    "tetrahedra_container": from_topology(
        "TetrahedronSetTopologyContainer", position=POINTS, tetrahedra=TETRAHEDRA
    ),
    "triangles_container": from_topology(
        "TriangleSetTopologyContainer", position=POINTS, triangles=FACES
    ),
    "regular_grid": from_topology("RegularGridTopology", n=[2, 2, 3], max=[1, 1, 2], min=[0, 0, 0]),
    "plain_grid": from_topology(
        "GridTopology",
        n=[2, 2, 2],
        places=CUBE,
    ),
    "cylinder_grid": from_topology(
        "CylinderGridTopology", n=[3, 3, 3], axis=[0, 0, 1], radius=1, length=2
    ),
    "sphere_grid": from_topology("SphereGridTopology", n=[3, 3, 3], radius=1),
    "edges_container": from_topology(
        "EdgeSetTopologyContainer", position=POINTS, edges=[[0, 1], [1, 2], [2, 3], [3, 4]]
    ),
    "quads_container": from_topology(
        "QuadSetTopologyContainer", position=CUBE, quads=[[0, 1, 3, 2], [4, 5, 7, 6]]
    ),
    "hexahedra_container": from_topology(
        "HexahedronSetTopologyContainer", position=CUBE, hexahedra=[[0, 1, 3, 2, 4, 5, 7, 6]]
    ),
    "mesh_of_cells": from_topology(
        "MeshTopology", position=CUBE, hexahedra=[[0, 1, 3, 2, 4, 5, 7, 6]]
    ),
    "read_state": beside_net("ReadState", _state, "txt"),
    "compare_state": beside_net("CompareState", _state, "txt"),
    "animation": beside_net("AnimationEditor", _frames, "txt", dx=0.15),
    "write_state": beside_net("WriteState", filename="out", period=0.02, time=[0.01]),
    "write_state_until": beside_net("WriteState", filename="out", stopAt=1e-3, keperiod=0.01),
    "monitor": beside_net("Monitor", indices=[1, 4], ExportPositions=True, fileName="out"),
    "monitor_forces": beside_net("Monitor", ExportForces=True, ExportVelocities=True),
    "vtk_out": beside_net("VTKExporter", tetras=True, listening=True, **ALWAYS),
    "vtk_old_out": beside_net("VTKExporter", XMLformat=False, triangles=True, **ALWAYS),
    "vtk_numbers_out": beside_net(
        "VTKExporter", pointsDataFields=["dofs.velocity"], overwrite=True, **ALWAYS
    ),
    "mesh_out": beside_net("MeshExporter", **ALWAYS),
    "mesh_gmsh_out": beside_net("MeshExporter", format="gmsh", exportAtBegin=True),
    "stl_out": beside_net("STLExporter", triangle=FACES, position=POINTS, **ALWAYS),
    "blender_out": beside_net(*BLENDER[:1], **BLENDER[1], **ALWAYS),
    "obj_out": beside_net("VisualModelOBJExporter", **ALWAYS),
    "placed": placed,
    "falling_body": falling_body,
    "serial": serial,
}
