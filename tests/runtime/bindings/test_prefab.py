"""Prefabs: nodes that build themselves from parameters."""

import pytest

from sofa_softctl.errors import SceneError


@pytest.fixture
def Leg(Sofa):
    class Leg(Sofa.Prefab):
        """A leg."""

        prefabParameters = [{"name": "n", "type": "int", "help": "Toes.", "default": 2}]
        prefabData = [{"name": "angle", "type": "double", "help": "Of the knee.", "default": 0.5}]

        def __init__(self, *args, **kwargs):
            Sofa.Prefab.__init__(self, *args, **kwargs)

        def init(self):
            self.toes = [self.addChild(f"toe{i}") for i in range(self.n.value)]

    return Leg


def test_a_prefab_is_built_from_its_parameters(root, Leg):
    leg = root.addChild(Leg(name="left", n=3, unknown="is ignored"))
    assert [child.getName() for child in leg.children] == ["toe0", "toe1", "toe2"]
    assert leg.toes[2] is root.left.toe2
    assert leg.n.getHelp() == "Toes."
    assert (leg.prefabname.value, leg.docstring.value, leg.angle.value) == ("Leg", "A leg.", 0.5)
    assert Leg().getName() == "Leg"
    assert len(Leg().children) == 2


def test_a_parameter_may_be_a_link_and_the_parent_be_given(root, Leg):
    root.addData("toes", type="int", value=4)
    assert len(Leg(parent=root, n="@/.toes").children) == 4
    assert len(Leg(parents=[root], name="other", n=root.toes.linkpath).children) == 4
    assert [child.getName() for child in root.children] == ["Leg", "other"]


def test_parameters_stay_and_data_change_once_it_is_built(root, Leg):
    leg = root.addChild(Leg(name="left"))
    leg.angle = 0.7
    assert leg.angle.value == 0.7
    message = r"test_prefab\.py:\d+: Prefab '/left' is built already, so its parameter 'n' cannot"
    with pytest.raises(SceneError, match=message):
        leg.n = 3


def test_a_prefab_is_stepped_as_any_node(Sofa, root, Leg):
    root.addObject("DefaultAnimationLoop")
    leg = root.addChild(Leg())
    Sofa.Simulation.init(root)
    Sofa.Simulation.animate(root, 0.5)
    assert leg.time.value == 0.5
    assert leg.isInitialized()


def test_a_parameter_may_be_a_data_that_every_node_has(Sofa, root):
    """`name` is the node's own: as a parameter it names the prefab."""

    class Named(Sofa.Prefab):
        prefabParameters = [
            {"name": "name", "type": "string", "help": "Name.", "default": "Arm"},
            {"name": "gravity", "type": "Vec3d", "help": "Gravity.", "default": [0, 0, -1]},
        ]

        def init(self):
            self.addChild(f"{self.name.value}Tip")

    assert root.addChild(Named()).getName() == "Arm"
    named = root.addChild(Named(name="Leg"))
    assert named.children[0].getName() == "LegTip"
    named.name.value = "Other"
    assert root.getChild("Other") is named


def test_parameters_have_the_types_of_states(Sofa, root):
    class Posed(Sofa.Prefab):
        properties = [
            {"name": "poses", "type": "Rigid3::VecCoord", "help": "", "default": [[0] * 7] * 2},
            {"name": "pushes", "type": "Rigid3d::VecDeriv", "help": "", "default": [[0] * 6]},
            {"name": "pose", "type": "Rigid3d::Coord", "help": ""},
            {"name": "points", "type": "Vec3d::VecCoord", "default": [[1, 2, 3]]},
            {"name": "others", "type": "Rigid3d::VecCoord", "help": "", "default": None},
        ]

    posed = root.addChild(Posed())
    assert posed.poses.shape == (2, 7)
    assert posed.pushes.shape == (1, 6)
    assert posed.others.shape == (0, 7)
    assert posed.pose.shape == (7,)
    assert posed.points.value.tolist() == [[1, 2, 3]]


def test_a_constructor_sets_parameters_of_its_own_before_it_builds(Sofa, root):
    """SOFA empties the node whenever a parameter is set, which does nothing while it is empty."""

    class Rod(Sofa.Prefab):
        prefabParameters = [{"name": "parts", "type": "int", "help": "Parts.", "default": 1}]

        def __init__(self, *args, **kwargs):
            Sofa.Prefab.__init__(self, *args, **kwargs)
            self.parts = kwargs["geometry"]["parts"]
            for number in range(self.parts.value):
                self.addChild(f"part{number}")

    rod = root.addChild(Rod(geometry={"parts": 3}))
    assert len(rod.children) == 3
    with pytest.raises(SceneError, match="is built already"):
        rod.parts = 4
