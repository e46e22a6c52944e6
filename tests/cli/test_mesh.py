"""`softctl mesh quadratic`: what it writes, what it says, and what it refuses."""

import json

import meshio
import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.mesh.formats.read import read_mesh
from sofa_softctl.runtime.mesh.mesh import Mesh
from sofa_softctl.runtime.mesh.split import quadratic_nodes, split


@pytest.fixture
def files(tmp_path, box):
    """finger.vtk of 4-node tetrahedra, ten.vtk of 10-node ones, box.stl with the same surface."""
    positions, tetrahedra = box(2, 2, 3, size=(10.0, 10.0, 30.0))
    parts = split(Mesh(positions, tetrahedra=tetrahedra))
    nodes = quadratic_nodes(parts.tetrahedra)[:, [0, 1, 2, 3, 4, 7, 5, 6, 8, 9]]
    files = {
        "finger.vtk": meshio.Mesh(positions, [("tetra", tetrahedra)]),
        "ten.vtk": meshio.Mesh(parts.positions, [("tetra10", nodes)]),
    }
    for name, mesh in files.items():
        meshio.write(tmp_path / name, mesh, file_format="vtk42")
    return tmp_path


def test_four_and_ten_nodes_give_the_same_eighths(softctl, files):
    outputs = {}
    for name in ("finger", "ten"):
        target = files / f"{name}_eighths.vtk"
        status, out, err = softctl("mesh", "quadratic", files / f"{name}.vtk", target)
        assert (status, err) == (0, "")
        assert "12 10-node tetrahedra in 96 eighths, 45 nodes, " in out
        outputs[name] = out, read_mesh(target)
    assert "33 of them new.\nWritten" in outputs["finger"][0]
    assert "0 of them new. The middle nodes of 12 tetrahedra are those of" in outputs["ten"][0]
    np.testing.assert_array_equal(outputs["finger"][1].tetrahedra, outputs["ten"][1].tetrahedra)
    np.testing.assert_array_equal(outputs["finger"][1].positions, outputs["ten"][1].positions)
    target = files / "finger_eighths.vtk"
    assert target.read_bytes().startswith(b"# vtk DataFile Version 4.2")  # SOFA reads no 5.1


def test_moved_nodes_and_those_that_stay_are_counted(softctl, files):
    """The surface is the upper half of the finger's, with 17 of the 30 edges."""
    mesh = read_mesh(files / "finger.vtk")
    ends = np.array([[0, 0, 15], [10, 0, 15], [10, 10, 15], [0, 10, 15.0]])
    points = np.concatenate([ends, ends + [0, 0, 15.0]])
    quads = [[0, 1, 5, 4], [1, 2, 6, 5], [2, 3, 7, 6], [3, 0, 4, 7], [4, 5, 6, 7]]
    triangles = np.array([[t[:3], [t[0], t[2], t[3]]] for t in quads]).reshape(-1, 3)
    meshio.write(files / "half.stl", meshio.Mesh(points, [("triangle", triangles)]))
    command = ("mesh", "quadratic", files / "finger.vtk", files / "out.vtk")
    status, out, err = softctl(*command, "--onto", files / "half.stl")
    assert status == 0, err
    assert "17 new nodes moved onto" in out and "by 0.0% of the edge at most." in out
    assert "13 on the skin stay in the middle: an end of their edge is more than 5% of its" in out
    assert len(read_mesh(files / "out.vtk").positions) == len(mesh.positions) + 33


def test_info_says_what_the_eighths_are_of(softctl, files, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    softctl("mesh", "quadratic", files / "ten.vtk", files / "out.vtk")
    status, out, _ = softctl("info", files / "out.vtk")
    assert status == 0
    assert "12, in eighths here; nodes at most 0.0% of the edge from its middle" in out
    status, out, _ = softctl("info", files / "ten.vtk")
    assert status == 1  # a scene leaves nodes without an element
    assert "12, of which scenes take the corners; nodes at most 0.0% of the edge" in out
    assert "error: 12 tetrahedra have 10 nodes. A scene takes their corners only, and 33 no" in out
    assert "belong to no tetrahedron" not in out
    status, out, _ = softctl("info", files / "ten.vtk", "--json")
    assert json.loads(out)["quadratic"] == {
        "tetrahedra": 12,
        "loose_nodes": 33,
        "offset_max": 0.0,
        "far_nodes": 0,
        "folded": 0,
    }


def test_info_counts_middle_nodes_that_are_far_and_elements_that_fold(softctl, files):
    ten = meshio.read(files / "ten.vtk")
    ten.points[ten.cells[0].data[0, 4]] += (
        0.45 * np.diff(ten.points[ten.cells[0].data[0, :2]], 1, 0)[0]
    )
    meshio.write(files / "far.vtk", ten, file_format="vtk42")
    status, out, _ = softctl("info", files / "far.vtk", "--json")
    numbers = json.loads(out)
    assert status == 1 and numbers["quadratic"]["far_nodes"] == 1
    assert numbers["quadratic"]["offset_max"] == pytest.approx(0.45)
    assert any(
        "more than a quarter of the edge from its middle" in f["text"] for f in numbers["findings"]
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("finger.vtk", "out.msh"), "OUT: expected FILE.vtk, which SOFA reads too. Got:"),
        (("finger.vtk", "finger.vtk"), "which the command reads."),
        (("absent.vtk", "out.vtk"), "there is no such mesh file."),
        (("flat.vtk", "out.vtk"), "1 of 1 tetrahedra have no volume: 0 (0, 1, 2, 3)"),
        (("surface.vtk", "out.vtk"), "expected tetrahedra, got 1 triangles."),
        (("cube.vtk", "out.vtk"), "Only tetrahedra can be split in eight; the mesh has 1 hexa"),
        (("far.vtk", "out.vtk"), "far.vtk: The mesh has 1 nodes of 10-node tetrahedra that are"),
        (("ten.vtk", "out.vtk", "--onto", "ten.vtk"), "--onto moves new nodes, and the tetrah"),
        (("finger.vtk", "out.vtk", "--onto", "line.vtk"), "no triangles with an area"),
        (("finger.vtk", "out.vtk", "--onto", "absent.stl"), "there is no such mesh file."),
    ],
)
def test_what_cannot_become_ten_nodes_is_named(softctl, files, arguments, message):
    corner = np.eye(4, 3, k=-1)
    ten = meshio.read(files / "ten.vtk")
    ten.points[ten.cells[0].data[0, 4]] += 4.0
    cube = np.array([[x, y, z] for z in (0, 1) for y in (0, 1) for x in (0, 1)], dtype=float)
    for name, mesh in {
        "flat.vtk": meshio.Mesh(corner * [1, 1, 0], [("tetra", [[0, 1, 2, 3]])]),
        "surface.vtk": meshio.Mesh(corner, [("triangle", [[0, 1, 2]])]),
        "line.vtk": meshio.Mesh(corner, [("line", [[0, 1]])]),
        "far.vtk": ten,
        "cube.vtk": meshio.Mesh(
            np.concatenate([cube, corner + 5.0]),
            [("hexahedron", [[0, 1, 3, 2, 4, 5, 7, 6]]), ("tetra", [[8, 9, 10, 11]])],
        ),
    }.items():
        meshio.write(files / name, mesh, file_format="vtk42")
    paths = [word if word.startswith("--") else files / word for word in arguments]
    status, _, err = softctl("mesh", "quadratic", *paths)
    assert status in (1, 2) and message in err
    assert not (files / "out.vtk").exists()


def test_the_eighths_bend_in_a_scene_as_theory_says(softctl, files, Sofa):
    """One element across, two along: 0.89 of beam theory, of which the clamp takes 3 %."""
    softctl("mesh", "quadratic", files / "finger.vtk", files / "out.vtk")
    with pytest.raises(SceneError, match="quadratic=True, but its 12 tetrahedra are not"):
        tip_deflection(Sofa, files / "finger.vtk")
    assert tip_deflection(Sofa, files / "out.vtk") == pytest.approx(0.9, abs=0.05)


def tip_deflection(Sofa, path):
    """Static tip deflection of the cantilever of 30 x 10 x 10 over Timoshenko's."""
    from sofa_softctl import add_elasticity

    root = Sofa.Core.Node("root", dt=0.01, gravity=[0.0, -1.0, 0.0])
    root.addObject("DefaultAnimationLoop")
    body = root.addChild("body")
    body.addObject("StaticSolver", newton_iterations=20)
    body.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
    loader = body.addObject("MeshVTKLoader", name="loader", filename=str(path))
    body.addObject("MeshTopology", src="@loader")
    body.addObject("MechanicalObject", name="dofs")
    body.addObject("MeshMatrixMass", totalMass=3.0, lumping=True)
    add_elasticity(body, young_modulus=500.0, poisson_ratio=0.3, quadratic=True)
    x = loader.position.array()
    body.addObject("FixedProjectiveConstraint", indices=np.flatnonzero(x[:, 2] == 0.0))
    Sofa.Simulation.init(root)
    Sofa.Simulation.animate(root, 0.01)
    is_tip = x[:, 2] == 30.0
    deflection = (x - body.dofs.position.array())[is_tip, 1].mean()
    bending = 0.1 * 30.0**4 / (8.0 * 500.0 * 10.0**4 / 12.0)
    shear = 0.1 * 30.0**2 / (2.0 * 5.0 / 6.0 * 500.0 / 2.6 * 100.0)
    return deflection / (bending + shear)
