"""XML scenes."""

import pytest

from sofa_softctl.errors import SceneError, UnknownComponentError
from sofa_softctl.runtime.helper.message import warnings_as_errors
from sofa_softctl.scene.session.session import Session

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


INCLUDED = """<Node name="arm">
    <MechanicalObject name="dofs" position="0 0 0"/>
    <Node name="tip"><MechanicalObject name="dofs" position="1 0 0"/></Node>
</Node>
"""


@pytest.fixture
def included(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "arm.xml").write_text(INCLUDED)


@pytest.mark.parametrize("suffix", [".scn", ".xml"])
def test_an_xml_scene_runs(Sofa, load, suffix):
    root = load(SCENE, suffix)
    assert (root.getName(), root.dt.value) == ("world", 0.005)
    assert root.body.children[0].MechanicalObject1.position.shape == (2, 3)
    Sofa.Simulation.initRoot(root)
    Sofa.Simulation.animate(root, root.dt.value)
    assert root.body.dofs.velocity.value[1].tolist() == pytest.approx([0.0, 0.0, -0.005])


def test_an_xml_scene_can_be_a_part_of_another(load, root):
    root.addChild(load(SCENE))
    assert root.world.body.dofs.getPathName() == "/world/body/dofs"


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("<Node>\n<A>", SceneError, r"scene\.scn:2: no XML: no element found"),
        ("\n<Scene/>", SceneError, r"scn:2: it starts with <Scene>; a scene starts with <Node>"),
        (
            "<Node>\n<include href='a.xml'/></Node>",
            SceneError,
            r"scn:2: <include> of 'a\.xml': there",
        ),
        ("<Node>\n\n<Nothing/></Node>", UnknownComponentError, r"scn:3: .*no component 'Nothing'"),
        ("\n<Node>\n<include href='scene.scn'/></Node>", SceneError, r"scn:3: .* includes itself"),
        ("<Node>\n" * 400 + "</Node>" * 400, SceneError, r"scn:302: nodes are nested more than"),
        ("<Node>\n<Object name='a'/></Node>", SceneError, r"scn:2: '' names no component"),
    ],
)
def test_what_is_wrong_in_an_xml_scene_is_told(load, text, error, message):
    with pytest.raises(error, match=message):
        load(text)


def test_text_that_only_strict_xml_forbids_is_read(load):
    root = load("""<Node name="arm" ><!-- one -- two -->
        <Visual3DText text="<1> &amp; 2 & 3"name='shown' />
        <MechanicalObject name="one"position="1 2 3"/></Node>
    """)
    assert root.one.position.value.tolist() == [[1.0, 2.0, 3.0]]
    assert root.shown.text.value == "<1> & 2 & 3"


def test_what_follows_the_root_node_is_not_read(load, caplog):
    with warnings_as_errors(False):
        root = load("<Node><Node name='a'/></Node>\n</Node>")
    assert [child.getName() for child in root.children] == ["a"]
    assert "scene.scn:2: the root node ends before this line" in caplog.text


def test_an_included_file_is_a_node_of_its_name_or_of_the_includes(load, included):
    root = load(
        "<Node><include href='parts/arm.xml'/>"
        "<include href='parts/arm.xml' name='left' dofs__position='2 0 0'/></Node>"
    )
    assert root.arm.tip.dofs.position.value.tolist() == [[1.0, 0.0, 0.0]]
    assert root.left.dofs.position.value.tolist() == [[2.0, 0.0, 0.0]]
    assert root.left.tip.dofs.position.value.tolist() == [[2.0, 0.0, 0.0]]


@pytest.mark.parametrize("name", ["Group", "_Group_"])
def test_of_an_included_group_only_the_content_counts(load, included, name):
    root = load(f"<Node><include href='parts/arm.xml' name='{name}'/></Node>")
    assert [child.getName() for child in root.children] == ["tip"]
    assert root.dofs.position.value.tolist() == [[0.0, 0.0, 0.0]]


def test_a_group_that_is_included_under_a_name_stays_one(load, tmp_path):
    (tmp_path / "part.xml").write_text(INCLUDED.replace("'arm'", "''").replace('"arm"', '"Group"'))
    root = load("<Node><include href='part.xml' name='left'/></Node>")
    assert [child.getName() for child in root.children] == ["tip"]


BOX = """<Node>
    <MechanicalObject name="dofs" position="0 0 0  1 0 0  2 0 0"/>
    <BoxConstraint name="held" box="-1 -1 -1  1.5 1 1"/>
</Node>
"""


def test_an_element_can_stand_for_several_components(Sofa, load):
    """SOFA makes it a BoxROI and a FixedProjectiveConstraint, in the node around it."""
    root = load(BOX)
    assert [entry.getClassName() for entry in root.objects][1:] == [
        "BoxROI",
        "FixedProjectiveConstraint",
    ]
    Sofa.Simulation.init(root)
    assert root.FixedProjectiveConstraint1.indices.toList() == [[0], [1]]


def test_an_include_can_replace_classes_and_names(load, tmp_path):
    """As in SOFA: of elements of a name."""
    text = "<Node name='Group'><CGLinearSolver name='lin' iterations='7'/></Node>"
    (tmp_path / "part.xml").write_text(text)
    values = "lin__type='PCGLinearSolver' lin__name='fast'"
    root = load(f"<Node><include href='part.xml' {values}/></Node>")
    assert root.fast.getClassName() == "PCGLinearSolver"
    assert root.fast.iterations.value == 7


def test_attributes_of_an_include_that_nothing_in_it_has_are_complained_of(load, caplog):
    with warnings_as_errors(False):
        load(BOX.replace("box=", "bax='1' _off='2' box="))
    assert "scene.scn:3: <BoxConstraint> has 'bax', which nothing in it has." in caplog.text


def test_an_element_that_no_component_has_includes_a_file_of_that_name(load, tmp_path):
    """As in SOFA, which looks in Objects beside the scene and where its data are."""
    (tmp_path / "Objects").mkdir()
    (tmp_path / "Objects" / "Arm.xml").write_text(INCLUDED)
    root = load("<Node><Arm name='left' dofs__position='2 0 0'/></Node>")
    assert root.left.tip.dofs.position.value.tolist() == [[2.0, 0.0, 0.0]]


def test_an_included_node_can_be_merged_into_the_one_around_it(load, included):
    root = load(
        "<Node><Node name='tip'><MechanicalObject name='dofs' velocity='3 0 0'/></Node>"
        "<include href='parts/arm.xml' name='_Merge_'/></Node>"
    )
    assert len(root.children) == 1
    assert root.tip.dofs.position.value.tolist() == [[1.0, 0.0, 0.0]]
    assert root.tip.dofs.velocity.value.tolist() == [[3.0, 0.0, 0.0]]


def test_unnamed_objects_are_numbered_and_disabled_attributes_left_out(load):
    root = load(
        "<Node><!-- -- --><VisualStyle _displayFlags='x'/><VisualStyle NOdisplayFlags='y'/></Node>"
    )
    assert [entry.getName() for entry in root.objects] == ["VisualStyle1", "VisualStyle2"]


def test_an_xml_scene_runs_in_a_session(tmp_path):
    (tmp_path / "scene.scn").write_text(SCENE)
    with Session(tmp_path / "scene.scn", backend="embedded") as session:
        session.step(2)
        assert session.root.time.value == pytest.approx(0.01)


def test_a_file_that_is_not_there_is_told(Sofa):
    with pytest.raises(SceneError, match="There is no scene file 'nothing.scn'"):
        Sofa.Simulation.load("nothing.scn")
