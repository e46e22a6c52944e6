"""Mesh files that are wrong: `softctl info` says what, with status 1, or with a warning."""

import json
import sys

import meshio
import numpy as np
import pytest

from sofa_softctl.cli.app import main

PAGE = "docs/how-to/make-a-mesh.md"


@pytest.fixture
def info(monkeypatch, capsys):
    """info(file, *options) -> (status, out, err) of `softctl info`, in this process."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["softctl", "info", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", "200")
        with pytest.raises(SystemExit) as done:
            main()
        said = capsys.readouterr()
        return done.value.code or 0, said.out, said.err

    return call


@pytest.fixture
def block(box):
    """Points and tetrahedra of a sound mesh of 20 mm, four elements across."""
    return box(5, 5, 5, size=(20.0, 20.0, 20.0))


def skin(points, rows):
    from sofa_softctl.runtime.mesh import Mesh
    from sofa_softctl.runtime.mesh.skin import skin_of

    return skin_of(Mesh(points, tetrahedra=rows)).triangles


def write(path, points, **elements):
    cells = [(name, np.asarray(rows)) for name, rows in elements.items()]
    meshio.write(path, meshio.Mesh(points, cells), file_format="vtk42")


def no_file(path, points, rows):
    write(path.with_name("meshes.vtk"), points, tetra=rows)


def folder(path, points, rows):
    path.mkdir()


def empty(path, points, rows):
    path.write_bytes(b"")


def noise(path, points, rows):
    path.write_bytes(np.random.default_rng(0).bytes(4000))


def noise_after_a_heading(path, points, rows):
    head = b"# vtk DataFile Version 3.0\nx\nBINARY\nDATASET UNSTRUCTURED_GRID\nPOINTS 9000 double\n"
    path.write_bytes(head + np.random.default_rng(0).bytes(4000))


def cut_short(path, points, rows):
    write(path, points, tetra=rows)
    path.write_bytes(path.read_bytes()[:-2000])


def no_vtk(path, points, rows):
    path.write_text("solid finger\nendsolid\n")


def no_points(path, points, rows):
    path.write_text(
        "# vtk DataFile Version 3.0\nx\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 0 double\n"
    )


def points_alone(path, points, rows):
    path.write_text(
        "# vtk DataFile Version 3.0\nx\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 2 double\n"
        "0 0 0 1 1 1\n"
    )


def not_a_number(path, points, rows):
    points[3, 1] = np.nan
    write(path, points, tetra=rows)


def infinite(path, points, rows):
    points[3] = np.inf
    write(path, points, tetra=rows)


def no_such_point(path, points, rows):
    rows[2, 0] = 4321
    write(path, points, tetra=rows)


def prisms(path, points, rows):
    write(path, points, wedge=[[0, 1, 2, 3, 4, 5]])


def cubes(path, points, rows):
    corners = [[x, y, z] for x, y, z in np.ndindex(2, 2, 2)]
    write(path, corners, hexahedron=[[0, 4, 6, 2, 1, 5, 7, 3]])


def lines(path, points, rows):
    write(path, points, line=[[0, 1], [1, 2]])


def open_surface(path, points, rows):
    write(path, points, triangle=skin(points, rows)[1:])


def twisted_surface(path, points, rows):
    triangles = skin(points, rows)
    triangles[0] = triangles[0, ::-1]
    write(path, points, triangle=triangles)


def inner_wall(path, points, rows):
    """Two boxes side by side, each with its own wall at x = 10, on the same points."""
    middle = points[rows].mean(axis=1)[:, 0]
    sides = [skin(points, rows[middle < 10]), skin(points, rows[middle > 10])]
    write(path, points, triangle=np.concatenate(sides))


def unmerged_surface(path, points, rows):
    corners = points[skin(points, rows)].reshape(-1, 3)
    write(path, corners, triangle=np.arange(len(corners)).reshape(-1, 3))


def inward_surface(path, points, rows):
    write(path, points, triangle=skin(points, rows)[:, ::-1])


def flat_element(path, points, rows):
    write(path, points, tetra=[*rows, [0, 1, 5, 6]])


def point_twice(path, points, rows):
    write(path, points, tetra=[*rows, [0, 0, 1, 5]])


def element_twice(path, points, rows):
    write(path, points, tetra=[*rows, rows[0][::-1]])


def folded_element(path, points, rows):
    points[62] = [35.0, 10.0, 10.0]  # the middle of the block, now outside of it
    write(path, points, tetra=rows)


def unused_points(path, points, rows):
    write(path, [*points, [40.0, 0, 0], [50.0, 0, 0]], tetra=rows)


def other_order(path, points, rows):
    write(path, points, tetra=rows[:, [1, 0, 2, 3]])


def sliver(path, points, rows):
    points[:, 2] *= 0.01
    write(path, points, tetra=rows)


def thin_wall(path, points, rows):
    below = points[rows].mean(axis=1)[:, 2] < 5.0
    used, again = np.unique(rows[below], return_inverse=True)
    write(path, points[used], tetra=again.reshape(-1, 4))


def two_parts(path, points, rows):
    write(path, [*points, *(points + 50.0)], tetra=[*rows, *(rows + len(points))])


def seam(path, points, rows):
    write(path, [*points, *(points + [20.0, 0, 0])], tetra=[*rows, *(rows + len(points))])


def hinge(path, points, rows):
    """Two of four quarters that meet in the edge x = y = 10."""
    x, y, _ = points[rows].mean(axis=1).T
    kept = (x < 10) == (y < 10)
    used, again = np.unique(rows[kept], return_inverse=True)
    write(path, points[used], tetra=again.reshape(-1, 4))


UNREADABLE = {
    no_file: "there is no such mesh file. Did you mean 'meshes.vtk'?",
    folder: "the mesh file cannot be read (Is a directory). Check the path.",
    empty: "expected a mesh, got an empty file. Export it again.",
    noise: "expected '# vtk DataFile Version' or '<VTKFile' on the first line, got",
    noise_after_a_heading: "POINTS",
    cut_short: "The file is cut short or damaged: copy or export it again.",
    no_vtk: "got 'solid finger'. This is not a VTK file: take the loader of its format",
    no_points: "expected points, got none. Export the mesh again.",
    not_a_number: "expected finite coordinates, got 1 of 125 points that are not (point 3 at",
    infinite: "expected finite coordinates, got 1 of 125 points that are not (point 3 at",
    no_such_point: "1 of 384 tetrahedra join points that do not exist (expected indices from 0 to",
    prisms: "1 of 1 cells cannot be used (1 of type 13)",
}
"""What cannot be read: the message."""

WRONG = {
    points_alone: "error: there are neither tetrahedra nor a surface. Export the surface of the",
    lines: "error: there are neither tetrahedra nor a surface. Export the surface of the body.",
    cubes: "error: there are hexahedra only; force fields need tetrahedra. Mesh again",
    open_surface: "error: the surface is open: 3 edges belong to one triangle only. Close the",
    unmerged_surface: "error: the surface is open: 576 edges belong to one triangle only.",
    twisted_surface: "error: triangles are wound against each other at 3 edges: inside and",
    inner_wall: "error: 56 edges belong to three triangles or more: surfaces meet inside",
    flat_element: "error: 1 of 385 tetrahedra have no volume. Mesh the surface again.",
    point_twice: "error: 1 of 385 tetrahedra have no volume. Mesh the surface again.",
    element_twice: "error: 1 of 385 tetrahedra are in the file twice. Mesh the surface again.",
    folded_element: "error: tetrahedra overlap at ",
    unused_points: "error: 2 of 127 points belong to no tetrahedron: they would fall freely.",
}
"""What is read but cannot be simulated or filled: what the table is followed by, status 1."""

DOUBTFUL = {
    inward_surface: "warning: the surface is wound inwards: its volume is negative. Flip its",
    other_order: "warning: 384 of 384 tetrahedra have a negative volume: their points are in",
    sliver: "warning: the smallest dihedral angle is 0.57 degrees: slivers below 5 degrees are",
    thin_wall: f"walls one element thick are several times too stiff in bending. Take shorter "
    f"edges ({PAGE}).",
    two_parts: "warning: 2 parts share no node: they move apart. Unite the bodies before",
    seam: "warning: 25 points lie where another one lies: elements are not joined there. Merge",
    hinge: "warning: parts touch along 4 edges only, which are hinges. Unite the bodies in CAD",
}
"""What makes answers worse: a warning, status 0."""


@pytest.mark.parametrize("make", UNREADABLE, ids=lambda make: make.__name__)
def test_a_file_that_cannot_be_read_is_named_with_its_fault(make, info, block, tmp_path):
    make(tmp_path / "mesh.vtk", *block)
    status, out, err = info(tmp_path / "mesh.vtk")
    assert (status, out) == (1, "")
    assert err.startswith(f"Error: {tmp_path}/mesh.vtk: ")
    assert UNREADABLE[make] in err
    assert "Traceback" not in err and len(err.splitlines()) == 1


@pytest.mark.parametrize("make", WRONG, ids=lambda make: make.__name__)
def test_a_mesh_that_cannot_be_used_is_an_error(make, info, block, tmp_path):
    make(tmp_path / "mesh.vtk", *block)
    status, out, err = info(tmp_path / "mesh.vtk")
    assert (status, err) == (1, "")
    assert out.startswith(f"{tmp_path}/mesh.vtk\nnodes") and WRONG[make] in out
    assert "hinges" not in out  # what follows from an error is not listed beside it


def test_errors_come_before_warnings(info, block, tmp_path):
    """Whatever their texts begin with."""
    block[0][62] = [35.0, 10.0, 10.0]
    seam(tmp_path / "mesh.vtk", *block)
    _, out, _ = info(tmp_path / "mesh.vtk", "--json")
    levels = [one["level"] for one in json.loads(out)["findings"]]
    assert levels == sorted(levels) and {*levels} == {"error", "warning"}


@pytest.mark.parametrize("make", DOUBTFUL, ids=lambda make: make.__name__)
def test_a_mesh_that_answers_badly_is_a_warning(make, info, block, tmp_path):
    make(tmp_path / "mesh.vtk", *block)
    status, out, err = info(tmp_path / "mesh.vtk")
    assert (status, err) == (0, "")
    assert DOUBTFUL[make] in out and "error:" not in out


def test_a_suffix_that_no_reader_knows_lists_those_that_are(info, tmp_path):
    (tmp_path / "finger.step").write_text("ISO-10303-21;")
    status, _, err = info(tmp_path / "finger.step")
    assert status == 1
    assert "finger.step: '.step' is a format of CAD programs, not of meshes" in err and PAGE in err
    (tmp_path / "finger.xyzw").write_text("0 0 0")
    assert (
        "(.gid, .gidmsh, .gmsh, .msh, .obj, .stl, .vtk, .vtu, those of meshio). Got a file that "
        "begins with b'0 0 0'." in info(tmp_path / "finger.xyzw")[2]
    )


def test_json_has_the_findings_and_the_same_status(info, block, tmp_path):
    unused_points(tmp_path / "mesh.vtk", *block)
    status, out, err = info(tmp_path / "mesh.vtk", "--json")
    found = json.loads(out)
    assert (status, err) == (1, "")
    assert [one["level"] for one in found["findings"]] == ["error"]
    assert (found["nodes"], found["elements"]["tetrahedra"], found["unused"]) == (127, 384, 2)
    assert found["volume"] == pytest.approx(8000.0)
    assert found["likely_unit"] == "mm" and found["skin"]["triangles"] == 192
    assert found["shapes"]["dihedral_angle"][0] == pytest.approx(45.0)


def test_a_sound_mesh_is_a_table_without_findings(info, block, tmp_path):
    write(tmp_path / "mesh.vtk", block[0], tetra=block[1])
    status, out, err = info(tmp_path / "mesh.vtk")
    assert (status, err) == (0, "")
    assert "20 x 20 x 20, likely mm (the diagonal is then 0.0346 m)" in out
    assert "warning" not in out and "error" not in out
    assert "192 triangles, closed" in out and "45.0 to 90.0 degrees" in out


def test_help_shows_an_example(info):
    status, out, _ = info("--help")
    assert status == 0 and "softctl info finger.stl" in out
