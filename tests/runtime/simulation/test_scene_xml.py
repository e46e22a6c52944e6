"""XML scenes."""

import pytest

from sofa_softctl.errors import SceneError, UnknownComponentError

SCENE = """<?xml version="1.0"?>
<Node name="world" dt="0.005" gravity="0 0 -1">
    <!-- a comment -->
    <Node name="body">
        <EulerImplicitSolver/>
        <CGLinearSolver iterations="25" tolerance="1e-9" threshold="1e-9"/>
        <Object type="MechanicalObject" name="dofs" position="0 0 0  1 0 0"/>
        <UniformMass totalMass="2"/>
        <Node><MechanicalObject position="@../dofs.position"/></Node>
    </Node>
</Node>
"""


@pytest.fixture
def load(Sofa, tmp_path):
    def load(text, suffix=".scn"):
        path = tmp_path / f"scene{suffix}"
        path.write_text(text)
        return Sofa.Simulation.load(str(path))

    return load


@pytest.mark.parametrize("suffix", [".scn", ".xml"])
def test_an_xml_scene_runs(Sofa, load, suffix):
    root = load(SCENE, suffix)
    assert (root.getName(), root.dt.value) == ("world", 0.005)
    assert root.body.Node.MechanicalObject.position.shape == (2, 3)
    Sofa.Simulation.initRoot(root)
    Sofa.Simulation.animate(root, root.dt.value)
    assert root.body.dofs.velocity.value[1].tolist() == pytest.approx([0.0, 0.0, -0.005])


def test_an_xml_scene_can_be_a_part_of_another(load, root):
    root.addChild(load(SCENE))
    assert root.world.body.dofs.getPathName() == "/world/body/dofs"


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("<Node>", SceneError, r"scene\.scn' is no XML: no element found"),
        ("<Scene/>", SceneError, r"starts with <Scene>; a scene starts with <Node>"),
        ("<Node><include href='a.xml'/></Node>", SceneError, "<include> is read by SOFA only"),
        ("<Node><Nothing/></Node>", UnknownComponentError, "no component 'Nothing'"),
    ],
)
def test_what_is_wrong_in_an_xml_scene_is_told(load, text, error, message):
    with pytest.raises(error, match=message):
        load(text)


def test_a_file_that_is_not_there_is_told(Sofa):
    with pytest.raises(SceneError, match="There is no scene file 'nothing.scn'"):
        Sofa.Simulation.load("nothing.scn")
