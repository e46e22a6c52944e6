"""Exporters: what they write is read again by the loaders."""

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.mesh.formats.read import read_mesh
from sofa_softctl.runtime.simulation import simulation

X = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 1.0]])
TETRAHEDRA = [[0, 1, 2, 3], [1, 2, 3, 4]]


@pytest.fixture
def body(root):
    node = root.addChild("body")
    node.addObject("MeshTopology", name="mesh", position=X, tetrahedra=TETRAHEDRA)
    node.addObject("MechanicalObject", name="dofs", position=X / 3.0, velocity=X)
    return node


def run(root, count=4):
    simulation.init(root)
    simulation.animateNSteps(root, count, 0.01)


@pytest.mark.parametrize(("xml", "ending"), [(True, "vtu"), (False, "vtk")])
def test_vtk_files_hold_the_mesh_where_it_is(root, body, tmp_path, xml, ending):
    body.addObject(
        "VTKExporter",
        filename=str(tmp_path / f"out.{ending}"),
        XMLformat=xml,
        edges=False,
        triangles=True,
        tetras=True,
        exportEveryNumberOfSteps=2,
        pointsDataFields=["dofs.velocity", "place=@dofs.position"],
    )
    run(root)
    names = ["out0", "out1"] if xml else ["out_0", "out_1"]
    assert sorted(path.stem for path in tmp_path.iterdir()) == names
    mesh = read_mesh(str(tmp_path / f"{names[0]}.{ending}"), "vtk")
    assert mesh.positions == pytest.approx(X / 3.0, rel=1e-7)
    assert mesh.tetrahedra.tolist() == TETRAHEDRA
    assert len(mesh.triangles) == 7  # two tetrahedra that share a face
    text = (tmp_path / f"{names[0]}.{ending}").read_text()
    assert ('Name="velocity"' if xml else "VECTORS velocity") in text
    assert ('Name="place"' if xml else "VECTORS place") in text


def test_data_that_do_not_exist_are_told(root, body, tmp_path):
    body.addObject(
        "VTKExporter",
        filename=str(tmp_path / "out"),
        pointsDataFields=["dofs.speed"],
        exportAtBegin=True,
    )
    with pytest.raises(SceneError, match=r"finds no Data 'dofs\.speed'"):
        simulation.init(root)


@pytest.mark.usefixtures("tolerant")
def test_data_that_do_not_exist_are_told_once(root, body, tmp_path, caplog):
    file = str(tmp_path / "out")
    fields = {"pointsDataFields": ["dofs.speed"], "exportEveryNumberOfSteps": 1}
    body.addObject("VTKExporter", filename=file, **fields)
    run(root, 3)
    assert caplog.text.count("finds no Data 'dofs.speed'") == 1
    assert len(list(tmp_path.glob("*.vtu"))) == 3


@pytest.mark.parametrize("binary", [True, False])
def test_stl_files_hold_the_visual_model(root, body, tmp_path, binary):
    body.addObject("OglModel", position=X, triangles=[[0, 1, 2]], quads=[[0, 1, 4, 2]])
    body.addObject(
        "STLExporter", filename=str(tmp_path / "skin"), binaryformat=binary, exportAtBegin=True
    )
    run(root, 0)
    content = (tmp_path / "skin.stl").read_bytes()
    assert len(content) == 84 + 50 if binary else content.startswith(b"solid")
    mesh = read_mesh(str(tmp_path / "skin.stl"), "stl")
    assert mesh.positions.tolist() == X[:3].tolist()


def test_obj_files_hold_all_visual_models_below(root, body, tmp_path):
    body.addObject("OglModel", name="one", position=X[:3], triangles=[[0, 1, 2]])
    other = body.addChild("other")
    other.addObject("OglModel", name="two", position=X, quads=[[0, 1, 4, 2]])
    body.addObject("OBJExporter", filename=str(tmp_path / "new" / "skin"), exportAtEnd=True)
    run(root, 1)
    assert not (tmp_path / "new").exists()
    simulation.unload(root)
    mesh = read_mesh(str(tmp_path / "new" / "skin.obj"), "obj")
    assert mesh.triangles.tolist() == [[0, 1, 2]]
    assert mesh.quads.tolist() == [[3, 4, 7, 5]]
    assert "newmtl mat1" in (tmp_path / "new" / "skin.mtl").read_text()


def test_a_mesh_is_written_in_all_formats(root, body, tmp_path):
    body.addObject("MeshExporter", filename=str(tmp_path / "mesh_%p"), exportAtBegin=True)
    run(root, 0)
    assert {path.suffix for path in tmp_path.iterdir()} == {".vtu", ".vtk", ".gmsh", ".obj"}
    (tmp_path / "mesh_5.gmsh").rename(tmp_path / "mesh_5.msh")
    for ending, kind in (("vtu", "vtk"), ("vtk", "vtk"), ("msh", "gmsh")):
        mesh = read_mesh(str(tmp_path / f"mesh_5.{ending}"), kind)
        assert mesh.tetrahedra.tolist() == TETRAHEDRA
        assert len(mesh.edges) == 9


def test_what_is_not_written_is_told(root, body):
    body.addObject("MeshExporter", filename="x", format="netgen")
    with pytest.raises(SceneError, match="does not write format 'netgen'"):
        simulation.init(root)
    body.removeObject("MeshExporter")
    body.addObject("BlenderExporter")
    with pytest.raises(SceneError, match="writes nothing here"):
        simulation.init(root)


def test_a_folder_that_is_not_there_is_told_by_the_vtk_exporter(root, body, tmp_path):
    body.addObject("VTKExporter", filename=str(tmp_path / "no" / "x"), exportAtBegin=True)
    with pytest.raises(SceneError, match="cannot write"):
        simulation.init(root)
    body.VTKExporter.enable = False
    simulation.init(root)


@pytest.mark.parametrize("xml", [True, False])
def test_a_field_without_numbers_is_empty_in_the_file(root, body, tmp_path, xml):
    body.addObject(
        "VTKExporter",
        filename=str(tmp_path / "out"),
        XMLformat=xml,
        overwrite=True,
        edges=False,
        pointsDataFields=["dofs.externalForce"],
        exportAtBegin=True,
    )
    run(root, 0)
    assert "externalForce" in (tmp_path / "out.vtu").read_text()


def test_an_stl_exporter_shows_the_surface_that_it_follows(root, body, tmp_path):
    exporter = body.addObject("STLExporter", filename=str(tmp_path / "out"))
    run(root, 1)
    assert exporter.position.value == pytest.approx(X)
    assert len(exporter.triangle.value) == 7
