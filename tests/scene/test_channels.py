"""What is recorded of controllers, with and without a table of it."""

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.record.record import read_record
from sofa_softctl.scene.control.controller import SceneController
from sofa_softctl.scene.session.session import Session


@pytest.fixture
def record(tmp_path):
    """record(cls, steps) -> recording of a scene with one controller of a class, `mine`."""

    def make(cls, steps=4):
        def createScene(root):
            root.dt = 0.01
            root.addObject("DefaultAnimationLoop")
            root.addObject(cls(name="mine", root=root))

        session = Session(createScene, backend="embedded")
        with session.recording(tmp_path / "run.mcap"):
            session.step(steps)
        return read_record(tmp_path / "run.mcap")

    return make


class Outputs(SceneController):
    """A stranger's controller, without `recorded`."""

    def __init__(self, **options):
        super().__init__(**options)
        self.add_output("angle", [0.0], "Angle of the motor [rad].")
        self.add_output("mode", "rest", "What it does.")

    def onAnimateEndEvent(self, event):
        self.outputs["angle"].value = [self.time.value]
        self.outputs["mode"].value = "turn" if self.time.value > 0.025 else "rest"


def test_outputs_without_a_table_are_recorded_texts_too(record):
    found = record(Outputs)
    assert found.channels["mine.angle"].tolist() == pytest.approx(
        np.array([[0.01], [0.02], [0.03], [0.04]])
    )
    assert found.channels["mine.mode"].tolist() == ["rest", "rest", "turn", "turn"]


def test_data_of_a_plain_controller_are_recorded(record, Sofa):
    class Plain(Sofa.Core.Controller):
        def __init__(self, *args, root, **kwargs):
            Sofa.Core.Controller.__init__(self, *args, **kwargs)
            self.addData(name="gain", value=0.5, type="double", help="Gain.")
            self.addData(name="count", value=3, type="int", help="How many.")
            self.addData(name="on", value=True, type="bool", help="Whether.")
            self.addData(name="said", value="yes", type="string", help="Text.")
            self.addData(name="path", value=[[1, 2, 3]], type="vector<Vec3d>", help="Points.")
            self.addData(name="names", value=["a", "b"], type="vector<string>", help="Names.")

    found = record(Plain).channels
    own = {name: values[0].tolist() for name, values in found.items() if "mine." in name}
    assert own == {
        "mine.gain": 0.5,
        "mine.count": 3.0,
        "mine.on": 1.0,
        "mine.said": "yes",
        "mine.path": [[1.0, 2.0, 3.0]],
    }


def test_a_table_says_which_numbers_and_texts_come_besides(record):
    class Listed(Outputs):
        recorded = {"angle": ("rad", "Angle of the motor")}

        def __init__(self, **options):
            super().__init__(**options)
            self.add_output("scratch", [0.0, 0.0], "Not of interest.")

    found = record(Listed)
    assert set(found.channels) == {"mine.angle", "mine.mode"}
    assert found.units["mine.angle"] == "rad"


@pytest.mark.parametrize(
    ("help", "unit"),
    [("Time [s].", "s"), ("Torque [N m]", "N m"), ("Share [0, 1].", ""), ("A [s] b.", "")],
)
def test_a_unit_is_taken_from_the_help(record, help, unit):
    class Timed(SceneController):
        def __init__(self, **options):
            super().__init__(**options)
            self.add_output("value", [0.0], help)

    assert record(Timed).units["mine.value"] == unit


def test_a_table_with_a_name_that_there_is_not_is_refused(record):
    class Misspelt(Outputs):
        recorded = {"anlge": ("rad", "Angle of the motor")}

    with pytest.raises(SceneError, match=r"'anlge' in its `recorded`.* Did you mean 'angle'\?"):
        record(Misspelt)


def test_a_data_that_changes_its_shape_is_nan_with_one_warning(record, caplog):
    class Growing(SceneController):
        def __init__(self, **options):
            super().__init__(**options)
            self.add_output("seen", [0.0], "What was seen so far.")

        def onAnimateEndEvent(self, event):
            self.outputs["seen"].value = [1.0] * (1 + int(self.time.value > 0.025))

    found = record(Growing)
    assert np.array_equal(
        found.channels["mine.seen"], [[1.0], [1.0], [np.nan], [np.nan]], equal_nan=True
    )
    assert caplog.text.count("mine.seen] had shape (1,) when the recording began") == 1
    assert "and has (2,) now" in caplog.text


def test_siblings_of_one_name_and_nodes_without_a_name_have_channels_of_their_own(tmp_path):
    """As XML scenes may have them; the second of a name is numbered, a node without one always."""
    scene = tmp_path / "siblings.scn"
    state = "<MechanicalObject name='dofs' position='{} 0 0'/>"
    scene.write_text(
        "<Node name='root' dt='0.01'><DefaultAnimationLoop/>"
        + state.format(0)
        + "".join(f"<Node>{state.format(x)}</Node>" for x in (1, 2))
        + "".join(f"<Node name='a'><Node>{state.format(x)}</Node></Node>" for x in (3, 4))
        + "</Node>"
    )
    places = dict(zip(("", "#1/", "#2/", "a/#1/", "a#2/#1/"), range(5), strict=True))
    with Session(scene, backend="embedded") as session:
        with session.recording(tmp_path / "run.mcap"):
            session.step(1)
        present = session.positions()
    recorded = read_record(tmp_path / "run.mcap").channels
    assert set(recorded) == set(present) == {f"{place}dofs.position" for place in places}
    for place, x in places.items():
        assert recorded[f"{place}dofs.position"][0, 0, 0] == x
        assert present[f"{place}dofs.position"][0, 0] == x
