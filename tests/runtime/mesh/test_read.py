import meshio
import numpy as np
import pytest

from sofa_softctl.errors import MeshError
from sofa_softctl.runtime.mesh import check_tetrahedra, read_mesh

POINTS = np.array([[0, 0, 0], [1, 0, 1 / 3], [0, 0.1, 0], [0, 0, 1e-7], [1, 1, 1.5]])
TETRAHEDRA = np.array([[0, 1, 2, 3], [4, 1, 2, 3]])
TRIANGLES = np.array([[2, 1, 0], [1, 2, 4]])

OBJ = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"
STL = """solid part
facet normal 0 0 1
outer loop
vertex 0 0 0
vertex 1 0 0
vertex 0 0 0
endloop
endfacet
endsolid part
"""


@pytest.mark.parametrize(
    ("name", "form", "options"),
    [
        ("a.vtk", "vtk42", {"binary": False}),
        ("a.vtk", "vtk42", {"binary": True}),
        ("a.vtk", "vtk51", {"binary": True}),
        ("a.vtk", "vtu", {"binary": True}),
        ("a.vtu", "vtu", {"binary": True, "compression": "lzma"}),
        ("a.msh", "gmsh22", {"binary": False}),
        ("a.MSH", "gmsh22", {"binary": True}),
        ("a.inp", "abaqus", {}),
        ("a.mesh", "medit", {}),
    ],
)
def test_what_meshio_writes_is_read_to_the_bit(tmp_path, capsys, name, form, options):
    path = tmp_path / name
    blocks = [("tetra", TETRAHEDRA), ("triangle", TRIANGLES)]
    meshio.write(path, meshio.Mesh(POINTS, blocks), form, **options)
    mesh = read_mesh(path)
    assert mesh.positions.tobytes() == POINTS.tobytes()
    assert mesh.tetrahedra.tolist() == TETRAHEDRA.tolist()
    assert mesh.triangles.tolist() == TRIANGLES.tolist()
    check_tetrahedra(mesh, path)


def test_the_kind_counts_more_than_the_name(tmp_path):
    path = tmp_path / "part.stl"
    path.write_text(OBJ)
    assert read_mesh(path, "obj").triangles.tolist() == [[0, 1, 2]]


def test_names_that_say_nothing_need_a_kind(tmp_path):
    path = tmp_path / "part.txt"
    path.write_text(OBJ)
    assert read_mesh(path, "obj").triangles.tolist() == [[0, 1, 2]]
    with pytest.raises(MeshError, match=r"'\.txt' belongs to no known mesh format\. Known are \."):
        read_mesh(path)
    with pytest.raises(
        ValueError, match=r"kind among gid, gmsh, obj, off, stl, vtk\. Got: 'wavefront'"
    ):
        read_mesh(path, "wavefront")


def test_points_of_stl_files_are_merged_unless_asked_otherwise(tmp_path):
    path = tmp_path / "part.stl"
    path.write_text(STL)
    assert len(read_mesh(path).positions) == 2
    assert len(read_mesh(str(path), merge=False).positions) == 3


def test_a_missing_file_is_answered_with_similar_names(tmp_path):
    for name in ("finger.vtk", "fingers.stl", "notes.txt"):
        (tmp_path / name).write_text("x")
    with pytest.raises(MeshError, match=r"no such mesh file\. Did you mean 'finger\.vtk' or 'fing"):
        read_mesh(tmp_path / "Finger.vtk")
    with pytest.raises(MeshError, match=r"Meshes in that folder: finger\.vtk, fingers\.stl\."):
        read_mesh(tmp_path / "completely-different.obj")
    (tmp_path / "empty").mkdir()
    with pytest.raises(MeshError, match="There are no meshes in "):
        read_mesh(tmp_path / "empty" / "a.vtk")
    with pytest.raises(MeshError, match=r"The folder .*nowhere does not exist either"):
        read_mesh(tmp_path / "nowhere" / "a.vtk")


def test_a_folder_is_no_mesh(tmp_path):
    with pytest.raises(MeshError, match=r"cannot be read \(Is a directory\)\. Check the path"):
        read_mesh(tmp_path)


def test_an_empty_file_is_no_mesh(tmp_path):
    path = tmp_path / "a.vtk"
    path.write_text("\n\n")
    with pytest.raises(MeshError, match=r"a\.vtk: expected a mesh, got an empty file"):
        read_mesh(path)


def test_a_file_with_the_suffix_of_another_format_is_recognised(tmp_path):
    path = tmp_path / "part.vtk"
    path.write_text(STL)
    with pytest.raises(MeshError, match="first line, got 'solid part'. This is not a VTK file"):
        read_mesh(path)


def test_coordinates_that_are_no_numbers_are_refused(tmp_path):
    path = tmp_path / "part.obj"
    path.write_text(OBJ.replace("v 1 0 0", "v nan 0 0"))
    with pytest.raises(MeshError, match=r"part\.obj: expected finite coordinates, got 1 of 3"):
        read_mesh(path)


def test_indices_that_point_nowhere_are_refused(tmp_path):
    path = tmp_path / "part.obj"
    path.write_text(OBJ.replace("f 1 2 3", "f 1 2 4"))
    with pytest.raises(MeshError, match=r"1 of 1 triangles join points that do not exist"):
        read_mesh(path)


def test_a_file_that_meshio_cannot_read_is_refused_without_ending_the_process(tmp_path, capsys):
    (tmp_path / "part.mesh").write_text("MeshVersionFormatted 2\nDimension x\n")
    with pytest.raises(MeshError, match=r"part\.mesh: meshio cannot read it \(ValueError: "):
        read_mesh(tmp_path / "part.mesh")
    (tmp_path / "part.off").write_text("solid part\n")
    with pytest.raises(MeshError, match=r"part\.off: meshio cannot read it \(Expected the first"):
        read_mesh(tmp_path / "part.off")
    assert capsys.readouterr() == ("", "")


def test_cells_that_only_meshio_knows_are_refused(tmp_path):
    path = tmp_path / "part.inp"
    points = np.arange(18.0).reshape(6, 3)
    meshio.write(path, meshio.Mesh(points, [("wedge", np.array([[0, 1, 2, 3, 4, 5]]))]))
    with pytest.raises(MeshError, match=r"cells of type wedge cannot be used\. Usable are line, "):
        read_mesh(path)


def test_plane_meshes_get_a_third_coordinate(tmp_path):
    path = tmp_path / "part.mesh"
    meshio.write(path, meshio.Mesh(POINTS[:, :2], [("triangle", TRIANGLES)]))
    assert read_mesh(path).positions.tolist() == [[x, y, 0.0] for x, y, _ in POINTS.tolist()]
