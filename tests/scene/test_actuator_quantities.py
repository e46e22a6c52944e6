"""Every place that shows an actuator's numbers has its own unit; pushing cables are said."""

import csv
import json
import re

import numpy as np
import pytest

from sofa_softctl import Playback, Session
from sofa_softctl.bridge.config.scene_actuators import actuators_of
from sofa_softctl.errors import RecordError
from sofa_softctl.record.export import export_csv
from sofa_softctl.record.record import read_record
from sofa_softctl.record.writer import RecordWriter
from sofa_softctl.scene.session.run import run
from sofa_softctl.testing.scene import small_scene
from sofa_softctl.units import Units, of_columns, symbol, together
from sofa_softctl.view.pages.run import page
from sofa_softctl.view.terminal.record import record_to_dict

SCENE = """
from sofa_softctl import InverseController, add_effector
from sofa_softctl.testing.scene import small_scene

UNITS = "mm, kg, s"

def createScene(root, chamber=True, cable=True):
    scene = small_scene(root)
    hole = scene.body.addChild("chamber")
    points = [[4, 4, 12], [6, 4, 12], [4, 6, 12], [4, 4, 28]]
    hole.addObject("MechanicalObject", position=points)
    pressure = hole.addObject(
        "SurfacePressureConstraint", name="pressure", valueType="pressure", value=[0.0],
        triangles=[[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]],
    )
    hole.addObject("BarycentricMapping")
    root.addObject(InverseController(
        root=root, name="inverse", goal=[3.0, 5.0, 40.0], effort_min=0.0, effort_max=50.0,
        actuators=[*scene.cables[:1]] * cable + [pressure] * chamber,
        effectors=[add_effector(scene.body.tip)],
    ))
"""


def head_of(path):
    return next(csv.reader(path.read_text().splitlines()))


@pytest.fixture
def made(tmp_path):
    (tmp_path / "bar.py").write_text(SCENE)

    def make(**parameters):
        session = Session(tmp_path / "bar.py", backend="embedded", parameters=parameters)
        with session.recording(tmp_path / "bar.mcap"):
            summary = run(session, 3)
        return summary, read_record(tmp_path / "bar.mcap")

    return make


def test_a_chamber_has_pressures_and_volumes_everywhere(made, tmp_path):
    summary, record = made(cable=False)
    (table,) = summary.inverse[0].report(summary.units).tables
    assert table.columns[1:3] == ("effort (kPa)", "displacement (mm^3)")
    (actuator,) = summary.to_dict()["controllers"]["/inverse"]["actuators"]
    assert (actuator["effort_unit"], actuator["displacement_unit"]) == ("kPa", "mm^3")
    assert record.units["inverse.effort"] == "kPa"
    assert record_to_dict(record)["channels"]["inverse.displacement"]["unit"] == "mm^3"
    assert "<td>kPa</td>" in page(record)
    export_csv(record, tmp_path / "bar.csv")
    head = head_of(tmp_path / "bar.csv")
    named = ["inverse.effort.chamber [kPa]", "inverse.displacement.chamber [mm^3]"]
    assert head[:3] == ["time [s]", *named]


def test_mixed_actuators_have_a_unit_each(made, tmp_path):
    summary, record = made()
    (table,) = summary.inverse[0].report(summary.units).tables
    assert table.columns[1:3] == ("effort", "displacement")
    cable, chamber = table.rows
    assert cable[1].endswith(" mN") and cable[2].endswith(" mm")
    assert chamber[1].endswith(" kPa") and chamber[2].endswith(" mm^3")
    assert record.units["inverse.effort"] == "mN, kPa"
    export_csv(record, tmp_path / "bar.csv")
    head = head_of(tmp_path / "bar.csv")
    assert head[1:3] == ["inverse.effort.cable_0 [mN]", "inverse.effort.chamber [kPa]"]
    assert "[kPa]" in page(record)  # the figure's legend


def test_the_bridge_and_the_controller_have_the_same_quantities(made, tmp_path):
    session = Session(tmp_path / "bar.py")
    found = [each.quantities for each in actuators_of(session.root)]
    assert found == [tuple(each) for each in session.root.inverse.driven.quantities]


def test_units_of_columns_are_joined_where_they_differ():
    mm = Units("mm", "kg", "s")
    assert together(["force", "force"]) == "force" and together([]) == ""
    assert symbol(mm, together(["force", "volume", "angle"])) == "mN, mm^3, rad"
    assert of_columns("mN, kPa", 2) == ["mN", "kPa"] and of_columns("mm", 3) == ["mm"] * 3


def test_a_quaternion_has_no_unit_in_a_table(tmp_path):
    with RecordWriter(tmp_path / "body.mcap", {"units": "mm, kg, s"}) as writer:
        writer.add_channel("body.position", shape=(1, 7), unit="mm")
        writer.write(0.1, {"body.position": np.zeros((1, 7))})
    export_csv(read_record(tmp_path / "body.mcap"), tmp_path / "body.csv")
    head = head_of(tmp_path / "body.csv")
    assert head[3:5] == ["body.position.z [mm]", "body.position.qx"]


# Playback ----------------------------------------------------------------------------------------


def recorded(path, unit, values, channel="inverse.effort", **metadata):
    with RecordWriter(path, metadata) as writer:
        writer.add_channel(channel, shape=(len(values),), unit=unit)
        for step in range(1, 11):
            writer.write(0.01 * step, {channel: np.array(values)})
    return path


def played(file, kind="force", channel="inverse.effort", units="mm, kg, s"):
    def create_played(root):
        scene = small_scene(root)
        for cable in scene.cables:
            cable.valueType = kind
        root.addObject(Playback(root=root, actuators=scene.cables, commands=file, channel=channel))

    create_played.__globals__["UNITS"] = units
    session = Session(create_played)
    session.step(5)
    return session


@pytest.fixture(autouse=True)
def no_units_left():
    yield
    globals().pop("UNITS", None)


@pytest.mark.parametrize(
    ("unit", "metadata", "value"),
    [
        ("mN", {"units": "mm, kg, s"}, 0.01 * 40.0),  # the multiplier is dt times the force
        ("N", {"units": "m, kg, s"}, 0.01 * 40.0e3),
        ("force", {}, 0.01 * 40.0),
        ("lambda", {"units": "mm, kg, s", "dt": "0.01"}, 40.0),
    ],
)
def test_an_effort_that_is_played_becomes_a_multiplier(tmp_path, unit, metadata, value):
    session = played(recorded(tmp_path / "run.mcap", unit, [40.0, 0.0], **metadata))
    (cable,) = (node.cable for node in session.root.body.children if node.getName() == "cable_0")
    assert cable.value.value[0] == pytest.approx(value)
    assert cable.force.value == pytest.approx(value)


@pytest.mark.parametrize(
    ("unit", "kind", "message"),
    [
        ("mN", "displacement", r"is in mN, but '/body/cable_0/cable' has valueType='displacement'"),
        ("mm", "force", r"is in mm, .* valueType='force', a force in mN\. Give another channel"),
        ("lambda", "force", r"multipliers at dt = 0.02, which are other efforts at the scene's dt"),
    ],
)
def test_a_channel_of_another_quantity_is_refused(tmp_path, unit, kind, message):
    metadata = {"units": "mm, kg, s", "dt": "0.02"}
    with pytest.raises(RecordError, match=message):
        played(recorded(tmp_path / "run.mcap", unit, [1.0, 1.0], **metadata), kind)


def test_a_run_that_is_played_by_efforts_moves_as_it_did(tmp_path, made):
    """The bar of `SCENE` follows its own efforts to where the inverse controller had it."""
    _, record = made(chamber=False)
    text = SCENE.partition("    root.addObject(Inv")[0] + (
        "    from sofa_softctl import Playback\n"
        f"    root.addObject(Playback(root=root, actuators=scene.cables[:1], "
        f"commands={str(tmp_path / 'bar.mcap')!r}, channel='inverse.effort'))\n"
    )
    (tmp_path / "again.py").write_text(text)
    session = Session(tmp_path / "again.py")
    session.step(3)
    tip = session.root.body.tip.dofs.position.value[0]
    assert tip == pytest.approx(record.channels["inverse.tip"][-1, 0], abs=1e-6)


# Cables that push --------------------------------------------------------------------------------


def pushed(data=(), value=-1.0, kind="displacement"):
    def create(root):
        scene = small_scene(root)
        scene.cables[0].valueType = kind
        scene.cables[0].value = [value]
        for name, number in dict(data).items():
            scene.cables[0].findData(name).value = number

    summary = run(Session(create), 4)
    return summary


def test_a_cable_that_pushes_is_said_once_with_how_far_and_how_often():
    summary = pushed()
    (warning,) = (text for text, _ in summary.findings)
    found = re.fullmatch(
        r"/body/cable_0/cable pushed in 4 of 4 steps, with up to (\S+) force at t = \S+, which a "
        r"cable cannot\. Give it minForce=0: .*",
        warning,
    )
    assert float(found[1]) > 1.0
    assert json.loads(json.dumps(summary.to_dict()["findings"])) == [
        {"text": warning, "is_failure": False}
    ]


@pytest.mark.parametrize(
    ("data", "value"),
    [({"minForce": 0.0}, -1.0), ({"minForce": -1e9}, -1.0), ({}, 1.0)],
)
def test_cables_that_go_slack_rods_and_cables_that_pull_are_not_said(data, value):
    assert pushed(data, value).findings == []


def test_a_negative_force_that_is_imposed_is_said():
    (warning,) = (text for text, _ in pushed(kind="force", value=-2.0).findings)
    assert "up to 200 force" in warning  # a multiplier of 2 at dt = 0.01
