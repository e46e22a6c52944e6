"""No exporter, monitor or WriteState overwrites what it has written in the same run."""

import logging
from pathlib import Path

import numpy as np
import pytest

from sofa_softctl.runtime.components.exporter import exporters
from sofa_softctl.runtime.components.playback.files import FileComponent
from sofa_softctl.runtime.core import COMPONENTS
from sofa_softctl.runtime.helper.message import warnings_as_errors
from sofa_softctl.runtime.simulation import simulation

WRITERS = {
    "VTKExporter": {"XMLformat": False},
    "MeshExporter": {"format": "vtk"},
    "STLExporter": {},
    "VisualModelOBJExporter": {},
}
MONITORS = {
    "Monitor": {"fileName": "out", "ExportPositions": True},
    "WriteState": {"filename": "out.txt", "writeV": True},
}
READ_OR_INERT = {
    "ReadState",
    "CompareState",
    "AnimationEditor",
    "BlenderExporter",
    "InputEventReader",
    "Exporter",
}


@pytest.fixture
def moving(root, tmp_path, monkeypatch):
    """A tetrahedron that moves by 1 a step, below a root in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    node = root.addChild("body")
    node.addObject("EulerExplicitSolver")
    x = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    node.addObject("MeshTopology", name="mesh", position=x, tetrahedra=[[0, 1, 2, 3]])
    node.addObject("MechanicalObject", name="dofs", position=x, velocity=[[100.0, 0, 0]] * 4)
    node.addObject("UniformMass", totalMass=1.0)
    skin = node.addChild("skin")
    skin.addObject("OglModel", position=x, triangles=[[0, 2, 1]])
    skin.addObject("IdentityMapping")
    return node


def written(monkeypatch):
    """Contents of every file that an exporter writes, in their order."""
    contents = {}
    plain = exporters.replace

    def replace(path, content):
        contents.setdefault(str(path), []).append(content)
        plain(path, content)

    monkeypatch.setattr(exporters, "replace", replace)
    return contents


def test_every_component_that_writes_files_is_tested_here():
    kinds = {name for name in COMPONENTS.names() if _writes(COMPONENTS.find(name))}
    assert kinds - READ_OR_INERT <= {*WRITERS, *MONITORS, "ObjExporter", "OBJExporter"}
    assert {*WRITERS, *MONITORS} <= kinds


def _writes(kind):
    return isinstance(kind, type) and issubclass(kind, FileComponent)


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize(
    ("when", "files"),
    [
        ({"exportEveryNumberOfSteps": 3}, 3),
        ({"exportEveryNumberOfSteps": 3, "exportAtBegin": True, "exportAtEnd": True}, 5),
        ({"exportAtBegin": True, "exportAtEnd": True}, 2),
    ],
)
def test_each_writing_has_a_file_of_its_own(root, moving, monkeypatch, kind, when, files):
    contents = written(monkeypatch)
    where = moving.skin if kind == "VisualModelOBJExporter" else moving
    given = {} if kind != "STLExporter" else {"triangle": [[0, 2, 1]], "position": "@dofs.position"}
    where.addObject(kind, filename="out", **WRITERS[kind], **when, **given)
    simulation.init(root)
    simulation.animateNSteps(root, 10, 0.01)
    simulation.unload(root)
    meshes = {path: texts for path, texts in contents.items() if not path.endswith(".mtl")}
    assert [len(texts) for texts in meshes.values()] == [1] * files
    if kind != "STLExporter":  # its 'position' is a copy
        assert len({texts[0] for texts in meshes.values()}) == files


def test_mesh_exporter_numbers_its_files_as_sofa_does(root, moving):
    moving.addObject("MeshExporter", filename="sag", format="vtk", exportEveryNumberOfSteps=10)
    simulation.init(root)
    simulation.animateNSteps(root, 35, 0.01)
    names = sorted(path.name for path in Path.cwd().iterdir())
    assert names == ["sag00001.vtk", "sag00002.vtk", "sag00003.vtk"]


@pytest.mark.parametrize("kind", MONITORS)
def test_a_file_goes_on_when_its_writer_is_initialised_again(root, moving, kind):
    monitor = moving.addObject(kind, **MONITORS[kind])
    simulation.init(root)
    simulation.animateNSteps(root, 3, 0.01)
    (path,) = Path.cwd().iterdir()
    before = path.read_text()
    monitor.reinit()
    monitor.init()
    simulation.animateNSteps(root, 2, 0.01)
    assert path.read_text().startswith(before) and len(path.read_text()) > len(before)


@pytest.mark.parametrize(("kind", "data"), [*MONITORS.items(), *WRITERS.items()])
def test_a_file_that_two_components_write_is_said_once(root, moving, caplog, kind, data):
    given = {"filename": "out", "exportEveryNumberOfSteps": 1} if kind in WRITERS else {}
    where = moving.skin if kind == "VisualModelOBJExporter" else moving
    given |= {"overwrite": True} if kind == "VTKExporter" else {}
    for name in ("one", "two"):
        where.addObject(kind, name=name, **data, **given)
    with warnings_as_errors(False), caplog.at_level(logging.WARNING, "sofa_softctl"):
        simulation.init(root)
        simulation.animateNSteps(root, 3, 0.01)
    (warning,) = [entry.message for entry in caplog.records if "writes nothing" in entry.message]
    assert "/two" in warning and "/one writes it" in warning


@pytest.mark.parametrize("kind", ["VTKExporter", "MeshExporter"])
def test_an_exporter_that_is_added_anew_goes_on_counting(root, moving, monkeypatch, kind):
    contents = written(monkeypatch)
    given = {"filename": "out", "exportEveryNumberOfSteps": 2, **WRITERS[kind]}
    exporter = moving.addObject(kind, name="exporter", **given)
    simulation.init(root)
    simulation.animateNSteps(root, 4, 0.01)
    moving.removeObject(exporter)
    moving.addObject(kind, name="exporter", **given).init()
    simulation.animateNSteps(root, 4, 0.01)
    assert [len(texts) for texts in contents.values()] == [1] * 4
