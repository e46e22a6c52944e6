import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import meshio
import numpy as np
import pytest

from sofa_softctl import Session, read_record
from sofa_softctl.errors import RecordError
from sofa_softctl.record.writer import RecordWriter
from sofa_softctl.view.paraview.collection import export_pvd
from sofa_softctl.view.paraview.pieces import pieces_of

STEPS = 7


@pytest.fixture(scope="module")
def record(tmp_path_factory, beam):
    """Of a beam that two cables bend, one of them by 5 mN s."""

    def scene(root):
        node = beam(root, cables=2, value=5.0)
        node.cable_1.cable.value.value = [0.0]

    path = tmp_path_factory.mktemp("runs") / "run.mcap"
    session = Session(scene)
    with session.recording(path):
        session.step(STEPS)
    return read_record(path)


def listed(path):
    """Attributes of every entry of a collection."""
    return [entry.attrib for entry in ElementTree.parse(path).getroot().iter("DataSet")]


def test_cables_that_come_later_leave_no_nan(record):
    """The second one is not there in the first three steps."""
    channels = {name: values.copy() for name, values in record.channels.items()}
    for name, values in channels.items():
        if name.startswith("beam/cable_1/"):
            values[:3] = np.nan
    (cables,) = [p for p in pieces_of(replace(record, channels=channels)) if p.name == "cables"]
    for step, lines in ((2, 3), (3, 6)):
        grid = cables.grid(step)
        assert np.isfinite(grid.points).all() and len(grid.cells) == lines
        assert len(grid.points) == 4 * lines // 3 and grid.cells.max() == len(grid.points) - 1
        assert {len(values) for values in grid.cell_data.values()} == {lines}


def test_every_step_has_a_file_for_each_part_and_its_time(tmp_path, record):
    parts = export_pvd(record, tmp_path / "out" / "run.pvd")
    assert parts == ["beam/dofs", "cables"]
    entries = listed(tmp_path / "out" / "run.pvd")
    assert [float(e["timestep"]) for e in entries] == np.repeat(record.time, 2).tolist()
    assert [(e["part"], e["name"]) for e in entries[:2]] == [("0", "beam/dofs"), ("1", "cables")]
    files = sorted(str(file.relative_to(tmp_path / "out")) for file in tmp_path.rglob("*.vtu"))
    assert files == sorted(entry["file"] for entry in entries)


def test_a_body_has_displacements_and_stresses(tmp_path, record):
    export_pvd(record, tmp_path / "run.pvd")
    mesh = meshio.read(tmp_path / "run" / f"beam.dofs_{STEPS - 1:04}.vtu")
    positions = record.channels["beam/dofs.position"]
    rest = record.attachments["bodies/beam/dofs"]["rest"]
    assert np.array_equal(mesh.points, positions[-1])
    assert np.array_equal(mesh.point_data["displacement"], positions[-1] - rest)
    assert mesh.cells_dict["tetra"].shape == (18, 4)
    stress = mesh.cell_data["von_mises"][0]
    assert stress.shape == (18,)
    assert stress.max() > 1.0
    first = meshio.read(tmp_path / "run" / "beam.dofs_0000.vtu").cell_data["von_mises"][0]
    assert first.max() < stress.max()  # it bends more and more


def test_cables_have_their_force_in_the_scenes_unit(tmp_path, record):
    """The multiplier 5 is 500 mN in steps of 0.01 s; three points and the pull point each."""
    export_pvd(record, tmp_path / "run.pvd")
    mesh = meshio.read(tmp_path / "run" / "cables_0003.vtu")
    assert mesh.cells_dict["line"].tolist() == [[0, 1], [1, 2], [2, 3], [4, 5], [5, 6], [6, 7]]
    assert mesh.cell_data["force"][0] == pytest.approx([500.0] * 3 + [0.0] * 3)
    assert mesh.cell_data["cable"][0].tolist() == [0] * 3 + [1] * 3
    pulled = record.channels["beam/cable_0/cable.displacement"][3]
    assert mesh.cell_data["displacement"][0][:3] == pytest.approx(np.full(3, pulled))


def test_every_third_step_ends_with_the_last(tmp_path, record):
    export_pvd(record, tmp_path / "run.pvd", interval=3)
    times = [float(entry["timestep"]) for entry in listed(tmp_path / "run.pvd")[::2]]
    assert times == record.time[[0, 3, 6]].tolist()
    export_pvd(record, tmp_path / "run.pvd", interval=100)
    assert [float(entry["timestep"]) for entry in listed(tmp_path / "run.pvd")[::2]] == [
        record.time[-1]
    ]


def test_vtk_reads_what_is_written(tmp_path, record):
    pyvista = pytest.importorskip("pyvista")
    export_pvd(record, tmp_path / "run.pvd")
    reader = pyvista.get_reader(tmp_path / "run.pvd")
    assert reader.time_values == pytest.approx(record.time)
    reader.set_active_time_value(reader.time_values[-1])
    body, cables = reader.read()
    assert (body.n_cells, cables.n_cells) == (18, 6)
    assert np.array_equal(body.points, record.channels["beam/dofs.position"][-1])
    assert (body.compute_cell_sizes()["Volume"] > 0.0).all()


def test_goals_and_contacts_are_points(tmp_path):
    """As many points in every step: those without a contact have no force."""
    path = tmp_path / "a.mcap"
    with RecordWriter(path, {}) as writer:
        writer.add_channel("inverse.goal", shape=(1, 3))
        writer.add_channel("inverse.error", shape=(1,))
        writer.add_channel("inverse.contact_point", shape=(4, 3))
        writer.add_channel("inverse.contact_force", shape=(4, 3))
        writer.attach("scene", {"gravity": np.zeros(3)})
        for step, count in enumerate((0, 2, 1)):
            values = np.zeros((2, 4, 3))
            values[:, :count] = [[[1.0, 2.0, 3.0]], [[0.0, 9.0, 0.0]]]
            point, force = values
            goal, error = [[5.0, 6.0, 7.0]], [0.5]
            found = dict(zip(("goal", "error"), (goal, error), strict=True))
            found |= {"contact_point": point, "contact_force": force}
            writer.write(0.1 * step, {f"inverse.{name}": value for name, value in found.items()})
    parts = export_pvd(read_record(path), tmp_path / "a.pvd")
    assert parts == ["inverse.contacts", "inverse.goals"]
    for step, count in enumerate((0, 2, 1)):
        mesh = meshio.read(tmp_path / "a" / f"inverse.contacts_{step:04}.vtu")
        assert mesh.points.tolist() == [[1.0, 2.0, 3.0]] * 2
        assert mesh.point_data["force"][:, 1].tolist() == [9.0] * count + [0.0] * (2 - count)
    goals = meshio.read(tmp_path / "a" / "inverse.goals_0000.vtu")
    assert (goals.points.tolist(), goals.point_data["error"].tolist()) == ([[5, 6, 7]], [0.5])


def test_what_cannot_be_exported_is_refused(tmp_path, record):
    with pytest.raises(RecordError, match="Expected 1 or more. Got: 0"):
        export_pvd(record, tmp_path / "run.pvd", interval=0)
    with RecordWriter(tmp_path / "empty.mcap", {}):
        pass
    with pytest.raises(RecordError, match="the recording has no steps"):
        export_pvd(read_record(tmp_path / "empty.mcap"), tmp_path / "run.pvd")
    with RecordWriter(tmp_path / "none.mcap", {}) as writer:
        writer.attach("scene", {"gravity": np.zeros(3)})
        writer.add_channel("x", shape=())
        writer.write(0.1, {"x": 1.0})
    with pytest.raises(RecordError, match="nothing to export: the recorded scene has no body"):
        export_pvd(read_record(tmp_path / "none.mcap"), tmp_path / "run.pvd")
    assert not (tmp_path / "run.pvd").exists()


@pytest.mark.processes
def test_the_command_names_the_parts(tmp_path, softctl, beam, monkeypatch):
    (tmp_path / "scene.py").write_text(
        "def createScene(root):\n"
        "    root.addObject('MeshTopology', position=[[0, 0, 0], [1, 0, 0], [0, 1, 0]],\n"
        "                   triangles=[[0, 1, 2]])\n"
        "    root.addObject('MechanicalObject', name='dofs')\n"
    )
    run = ("run", tmp_path / "scene.py", "--steps", 4, "--record", tmp_path / "a.mcap")
    assert softctl(*run)[0] == 0
    export = ("record", "export", tmp_path / "a.mcap", "--to")
    status, out, _ = softctl(*export, tmp_path / "a.pvd", "--every", 2)
    assert status == 0
    assert "dofs" in out.splitlines()[0]
    assert len(list((tmp_path / "a").iterdir())) == 2
    status, _, err = softctl(*export, tmp_path / "b.pvd", "--channel", "dofs.position")
    assert status == 2
    assert "--channel" in err
