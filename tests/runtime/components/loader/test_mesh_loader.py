import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.helper.message import complaints, warnings_as_errors

SQUARE = "v 0 0 0\nv 9 9 9\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 3 4 5\n"
"""A quad, and a second point that belongs to nothing."""


@pytest.fixture
def loader(root, tmp_path):
    """Makes a loader of a file with that text."""

    def make(kind="MeshOBJLoader", text=SQUARE, suffix="obj", **values):
        path = tmp_path / f"mesh.{suffix}"
        path.write_text(text)
        return root.addObject(kind, filename=str(path), **values)

    return make


def test_a_file_of_another_loader_is_an_empty_mesh(loader, tolerant):
    """As in SOFA, which finds no line that it knows."""
    with complaints() as found:
        assert not len(loader(text="solid x\nendsolid x\n", suffix="stl").position.value)
    assert "reads OBJ files alone, and nothing from" in str(found[0])
    assert "Use MeshSTLLoader." in str(found[0])


def test_a_damaged_file_is_an_error_whatever_it_is_called(loader, tolerant):
    with pytest.raises(SceneError, match="expected lines 'v x y z', got none"):
        loader(text="solid x\nendsolid x\n")
    with pytest.raises(SceneError, match="there is no such mesh file"):
        loader(suffix="stl").filename.value = "nothing.stl"


def test_points_of_no_element_may_be_left_out(loader):
    """Elements name the others by their new numbers."""
    found = loader(onlyAttachedPoints=True)
    assert found.position.array()[:, 2].tolist() == [0, 0, 0, 0]
    assert found.quads.array().tolist() == [[0, 1, 2, 3]]


def test_a_matrix_takes_the_place_of_the_other_transformations(loader):
    """(x, y, z) to (2 - y, x, 3 z): a quarter turn about z, a stretch and a shift."""
    matrix = [[0, -1, 0, 2], [1, 0, 0, 0], [0, 0, 3, 0], [0, 0, 0, 1]]
    found = loader(transformation=matrix, translation=[50, 50, 50]).position.array()
    assert found[1] == pytest.approx([2 - 9, 9, 27])


def test_a_matrix_that_is_no_transformation_moves_nothing(loader, tolerant):
    with complaints() as said:
        mesh = loader(transformation=(2.0 * np.eye(4)).tolist(), translation=[50, 50, 50])
    assert mesh.position.array()[1].tolist() == [9, 9, 9]
    assert "last row [0.0, 0.0, 0.0, 2.0] in 'transformation'" in str(said[0])


@pytest.mark.parametrize("flipped", [False, True])
def test_elements_that_are_added_are_not_turned_over(flipped, loader):
    """Quads that a hexahedron is missing face outwards; the one of the file is turned."""
    corners = "0 0 0 1 0 0 1 1 0 0 1 0 0 0 1 1 0 1 1 1 1 0 1 1"
    text = (
        "# vtk DataFile Version 2.0\ncube\nASCII\nDATASET UNSTRUCTURED_GRID\n"
        f"POINTS 8 float\n{corners}\nCELLS 2 14\n4 0 3 2 1\n8 0 1 2 3 4 5 6 7\n"
        "CELL_TYPES 2\n9\n12\n"
    )
    made = loader(
        "MeshVTKLoader", text, "vtk", createSubelements=True, flipNormals=flipped
    ).quads.value.tolist()
    assert made[0] == ([1, 2, 3, 0] if flipped else [0, 3, 2, 1])
    assert made[1:] == [[4, 5, 6, 7], [0, 1, 5, 4], [1, 2, 6, 5], [2, 3, 7, 6], [3, 0, 4, 7]]


def test_another_place_counts_at_once(loader):
    found = loader()
    found.translation.value = [0, 0, 5]
    assert found.position.array()[0].tolist() == [0, 0, 5]


@pytest.mark.parametrize(
    ("name", "value", "counted", "count"),
    [
        ("scale", 3.0, lambda mesh: mesh.position.array()[1, 0], 27.0),
        ("triangulate", True, lambda mesh: len(mesh.triangles), 2),
        ("createSubelements", True, lambda mesh: len(mesh.edges), 4),
        ("onlyAttachedPoints", True, lambda mesh: len(mesh.position), 4),
        ("flipNormals", True, lambda mesh: mesh.quads.array()[0, 0], 4),
    ],
)
def test_another_option_counts_at_once(loader, name, value, counted, count):
    mesh = loader()
    mesh.findData(name).value = value
    assert counted(mesh) == count


def test_a_file_without_spheres_is_said_to_have_none(loader, tolerant):
    with complaints() as said:
        loader("SphereLoader", "spheres\n0 1 2 3 0.5\n", "sph")
    assert "finds no line 'sphe NUMBER X Y Z RADIUS' in" in str(said[0])


def test_normals_are_those_of_the_faces_around_a_vertex(loader):
    """In the middle of two faces at a right angle: half way between."""
    bent = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 4 2\n"
    normals = loader(text=bent).normals.array()
    assert normals[0] == pytest.approx(np.array([0, 1, 1]) / np.sqrt(2))
    assert normals[2] == pytest.approx([0, 0, 1])
    assert loader().normals.array()[0] == pytest.approx([0, 0, 1])


def test_a_gid_mesh_is_read(loader):
    text = (
        "MESH dimension 3 ElemType Tetrahedra Nnode 4\nCoordinates\n 7 0 0 0\n 8 1 0 0\n"
        "9 0 1 0\n10 0 0 1.5\nEnd Coordinates\n\nElements\n1 1 2 3 4\nEnd Elements\n"
    )
    found = loader("GIDMeshLoader", text, "gid", scale3d=[1, 1, 2])
    assert found.position.array().tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 3]]
    assert found.tetrahedra.array().tolist() == [[0, 1, 2, 3]]


def test_quadratic_elements_of_gid_keep_their_corners(loader):
    text = (
        "MESH dimension 2 ElemType Triangle Nnode 6\nCoordinates\n1 0 0\n2 1 0\n3 0 1\n4 .5 0\n"
        "5 .5 .5\n6 0 .5\nend coordinates\nelements\n1 1 2 3 4 5 6\nend elements\n"
    )
    found = loader("GIDMeshLoader", text, "gid")
    assert found.triangles.array().tolist() == [[0, 1, 2]]
    assert found.position.array()[4].tolist() == [0.5, 0.5, 0.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("MESH ElemType Tetrahedra\n", "expected a first line 'MESH dimension 3"),
        ("MESH dimension 3 ElemType Prism Nnode 6\n", "elements of kind 'Prism' cannot be used"),
        ("MESH dimension 3 ElemType Triangle Nnode 4\n", "3 or 6 nodes in each Triangle, got dim"),
        ("MESH dimension 3 ElemType Triangle Nnode 3\nCoordinates\n1 0 0 0\n", "only the first"),
        (
            "MESH dimension 3 ElemType Triangle Nnode 3\nCoordinates\n1 0 0\nEnd Coordinates\n",
            "line 3: expected 4 numbers, got",
        ),
    ],
)
def test_a_damaged_gid_mesh_is_an_error(text, message, loader):
    with pytest.raises(SceneError, match=message):
        loader("GIDMeshLoader", text, "gid")


def test_an_off_mesh_is_read(loader):
    """Comments and colours are passed over, faces of five sides too."""
    text = "OFF\n# a tent\n5 3 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n0 0 2\n4 0 1 2 3\n3 0 1 4 255 0 0\n"
    found = loader("MeshOffLoader", text + "5 0 1 2 3 4\n", "off")
    assert found.quads.array().tolist() == [[0, 1, 2, 3]]
    assert found.triangles.array().tolist() == [[0, 1, 4]]
    assert found.position.array()[4].tolist() == [0, 0, 2]


def test_an_off_mesh_that_is_cut_off_is_an_error(loader):
    with pytest.raises(SceneError, match="expected 3 points and 1 faces, one a line, got 2 lines"):
        loader("MeshOffLoader", "OFF 3 1 0\n0 0 0\n1 0 0\n", "off")


def test_spheres_are_read_with_their_radii(loader):
    """Scale, turn and shift move the centres and leave the radii, as in SOFA."""
    text = "sph 1.0\n#two\nnums 2\nsphe 0 1 0 0 0.5\nsphe 1 0 2 0 0.25\n"
    found = loader("SphereLoader", text, "sph", scale=[2, 2, 2], translation=[0, 0, 1])
    assert found.sphere_centers.array().tolist() == [[2, 0, 1], [0, 4, 1]]
    assert found.listRadius.array().tolist() == [0.5, 0.25]


def test_a_sphere_without_a_place_is_an_error(loader):
    with pytest.raises(SceneError, match=r"line 2 of .*: expected 'sphe NUMBER X Y Z RADIUS'"):
        loader("SphereLoader", "sph 1.0\nsphe 0 1 nought\n", "sph")


def test_a_string_has_the_vertices_that_it_is_told(root):
    """(also tests/parity/test_topologies.py)"""
    string = root.addObject("StringMeshCreator", resolution="3")
    assert string.position.array()[:, 0].tolist() == [0, 0.5, 1]
    string.resolution.value = 2
    assert string.edges.array().tolist() == [[0, 1]]


def test_sofas_number_for_no_transformation_is_its_inverse(loader, tolerant, monkeypatch):
    """Where its defects are asked for; a transformation is applied as ever."""
    monkeypatch.setenv("SOFTCTL_SOFA_DEFECTS", "1")
    plain = loader().position.array()
    matrix = np.diag([2.0, 4.0, 1.0, 3.0]).tolist()
    assert loader(transformation=matrix).position.array() == pytest.approx(plain / [2, 4, 1])


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        ("StringMeshCreator", {"translation": [1, 0, 0]}, "stays on the x axis from 0 to 1"),
        ("GridMeshCreator", {"flipNormals": True}, "does not turn its faces over"),
        ("GridMeshCreator", {"filename": "grid.obj"}, "has a 'filename', for which SOFA makes"),
    ],
)
def test_what_does_nothing_to_a_made_mesh_is_said(kind, values, message, root):
    with pytest.raises(SceneError, match=message):
        root.addObject(kind, **values)


@pytest.mark.parametrize(
    ("kind", "resolution", "message"),
    [
        ("StringMeshCreator", 0, "needs a 'resolution' from 1 on"),
        ("GridMeshCreator", [1, 2], r"needs a 'resolution' of two numbers from 2 on, got \[1, 2\]"),
    ],
)
def test_a_mesh_of_no_cells_is_an_error(kind, resolution, message, root):
    with pytest.raises(SceneError, match=message):
        root.addObject(kind, resolution=resolution).init()


def test_a_string_is_made_once_its_resolution_is_known(root, caplog):
    with warnings_as_errors(False):
        string = root.addObject("StringMeshCreator")
        string.init()
    assert "needs a 'resolution' from 1 on. It has no vertex" in caplog.text
    string.resolution.value = 2
    assert len(string.position.value) == 2


@pytest.mark.parametrize("pattern", [-1, 4])
def test_a_pattern_that_there_is_not_makes_no_faces(pattern, root, caplog):
    with warnings_as_errors(False):
        grid = root.addObject("GridMeshCreator", resolution=[3, 3], trianglePattern=pattern)
    assert f"has trianglePattern {pattern}, where 0 to 3 is expected" in caplog.text
    assert len(grid.triangles.value) == len(grid.quads.value) == len(grid.edges.value) == 0


def test_the_message_says_where_sofa_keeps_its_meshes(root, monkeypatch, tmp_path):
    monkeypatch.delenv("SOFA_ROOT", raising=False)
    with pytest.raises(SceneError, match="set SOFA_ROOT to the folder of a SOFA, which has them"):
        root.addObject("MeshGmshLoader", filename="mesh/no_liver.msh")


@pytest.mark.parametrize("place", ["share/sofa/mesh", "share/mesh"])
def test_meshes_of_an_installed_sofa_are_found(place, root, monkeypatch, tmp_path):
    folder = tmp_path / place
    folder.mkdir(parents=True)
    (folder / "square_of_ours.obj").write_text(SQUARE)
    monkeypatch.setenv("SOFA_ROOT", str(tmp_path))
    found = root.addObject("MeshOBJLoader", filename="mesh/square_of_ours.obj")
    assert len(found.position.value) == 5


def test_our_own_folder_comes_before_sofa(root, monkeypatch, tmp_path):
    """SOFTCTL_DATA before SOFA_ROOT, and both before what is made."""
    for name, text in (("own", SQUARE), ("share", "v 0 0 0\n")):
        (tmp_path / name / "mesh").mkdir(parents=True)
        (tmp_path / name / "mesh" / "cube.obj").write_text(text)
    monkeypatch.setenv("SOFA_ROOT", str(tmp_path))
    monkeypatch.setenv("SOFTCTL_DATA", str(tmp_path / "own"))
    assert len(root.addObject("MeshOBJLoader", filename="mesh/cube.obj").position.value) == 5
    monkeypatch.delenv("SOFTCTL_DATA")
    assert len(root.addObject("MeshOBJLoader", filename="mesh/cube.obj").position.value) == 1


PLACED = [
    (
        {"rotation": [90, 0, 0]},
        "0x1.3333333333333p-2 0x1.199999999999bp+0 0x1.6666666666664p-1 "
        "0x1.4000000000000p+1 -0x1.ccccccccccccep-1 -0x1.9999999999996p-2 "
        "-0x1.b333333333333p+0 -0x1.3333333333333p-1 0x1.999999999999fp-3",
    ),
    (
        {"rotation": [30, -90, 200], "translation": [0.1, -2.5, 7], "scale": 0.001},
        "0x1.98e6775b55afep-4 -0x1.402a5b1df48c5p+1 0x1.c004ea4a8ffffp+2 "
        "0x1.9ab6e87e8b49bp-4 -0x1.3fe0fbb86d678p+1 0x1.c028f5c2b0000p+2 "
        "0x1.9bcea87eee33cp-4 -0x1.3ff526ca64adbp+1 0x1.bfe425aecffffp+2",
    ),
    (
        {"scale3d": [1, -3, 0.1], "translation": [0.1, 0.2, 0.3]},
        "0x1.999999999999ap-2 -0x1.e666666666665p+0 0x1.851eb851eb851p-3 "
        "0x1.4cccccccccccdp+1 0x1.6666666666667p+0 0x1.8f5c28f5c28f6p-2 "
        "-0x1.9999999999999p+0 -0x1.999999999999bp-2 0x1.70a3d70a3d70ap-2",
    ),
]


@pytest.mark.parametrize(("placing", "recorded"), PLACED)
def test_a_mesh_is_placed_as_in_sofa_to_the_last_bit(root, tmp_path, placing, recorded):
    """Recorded from SOFA 25.06: whether a node lies in a region can hang on the last bit."""
    points = "v 0.3 0.7 -1.1\nv 2.5 -0.4 0.9\nv -1.7 0.2 0.6\nf 1 2 3\n"
    (tmp_path / "three.obj").write_text(points)
    loader = root.addObject("MeshOBJLoader", filename=str(tmp_path / "three.obj"), **placing)
    assert loader.position.array().ravel().tolist() == [float.fromhex(x) for x in recorded.split()]


@pytest.fixture
def leaf(tmp_path, root):
    """Makes a loader of a quadrilateral, a triangle, and a vertex that is in neither."""
    path = tmp_path / "leaf.obj"
    path.write_text(
        "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 2 0 0\nv 9 9 9\nf 1 2 3 4\nf 2 5 3\n", "utf-8"
    )
    return lambda **values: root.addObject("MeshOBJLoader", filename=str(path), **values)


def test_triangles_of_an_obj_file_stand_in_the_order_of_its_faces(leaf):
    """As in SOFA: numbers of triangles in a scene count so."""
    halves = [[0, 1, 2], [0, 2, 3]]
    assert leaf(triangulate=True).triangles.value.tolist() == [*halves, [1, 4, 2]]
    assert leaf().triangles.value.tolist() == [[1, 4, 2]]


def test_seams_that_are_not_split_are_said(leaf):
    with pytest.raises(SceneError, match="does not read 'handleSeams', with which SOFA has other"):
        leaf(handleSeams=True)


TEN_NODES = (
    "# vtk DataFile Version 4.2\nten\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 10 double\n"
    "0 0 0  2 0 0  0 2 0  0 0 2  1 0 0  1 1 0  0 1 0  0 0 1  1 0 1  0 1 1\n"
    "CELLS 1 11\n10 0 1 2 3 4 5 6 7 8 9\nCELL_TYPES 1\n24\n"
)
"""A tetrahedron with edges of length 2 along the axes, and a node in the middle of each edge."""
GMSH_TEN_NODES = (
    "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n10\n1 0 0 0\n2 2 0 0\n3 0 2 0\n4 0 0 2\n"
    "5 1 0 0\n6 1 1 0\n7 0 1 0\n8 0 0 1\n9 0 1 1\n10 1 0 1\n$EndNodes\n$Elements\n1\n"
    "1 11 2 1 1 1 2 3 4 5 6 7 8 9 10\n$EndElements\n"
)


@pytest.mark.parametrize(
    ("kind", "text"), [("MeshVTKLoader", TEN_NODES), ("MeshGmshLoader", GMSH_TEN_NODES)]
)
def test_nodes_of_ten_node_tetrahedra_without_an_element_are_said_once(
    kind, text, loader, tolerant, caplog
):
    """As in SOFA the loader has all points and the corners of the tetrahedra."""
    with complaints() as faults:
        mesh = loader(kind, text, "vtk" if kind == "MeshVTKLoader" else "msh")
    assert mesh.tetrahedra.array().tolist() == [[0, 1, 2, 3]]
    assert len(mesh.position.array()) == 10
    (fault,) = map(str, faults)
    assert "whose 1 tetrahedra have 10 nodes: as in SOFA only their corners count" in fault
    assert "and 6 nodes in the middle of edges belong to no element" in fault
    assert "softctl mesh quadratic" in fault and "quadratic=True" in fault
    mesh.reinit()
    assert sum("have 10 nodes" in record.message for record in caplog.records) == 1


def test_ten_node_tetrahedra_are_an_error_in_strict_mode(loader):
    with pytest.raises(SceneError, match="whose 1 tetrahedra have 10 nodes"):
        loader("MeshVTKLoader", TEN_NODES, "vtk")


def test_ten_node_tetrahedra_may_be_reduced_to_their_corners_on_purpose(loader):
    mesh = loader("MeshVTKLoader", TEN_NODES, "vtk", onlyAttachedPoints=True)
    assert len(mesh.position.array()) == 4 and mesh.tetrahedra.array().tolist() == [[0, 1, 2, 3]]
