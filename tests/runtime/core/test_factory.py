"""The table of components: every one of them documented, unique, and accepted by a scene."""

import json
import logging
import re

import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime import components
from sofa_softctl.runtime.components.aliases import ALIASES
from sofa_softctl.runtime.core import COMPONENTS, factory
from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data import types as data_types
from sofa_softctl.runtime.core.node import Node
from sofa_softctl.testing.declaration import check_data, check_declaration

CLASSES = [getattr(components, name) for name in components.__all__]
every_class = pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)


@every_class
def test_every_class_is_declared_as_that_of_a_plugin_must_be(kind):
    check_declaration(kind)


def test_the_data_of_nodes_are_declared_as_well():
    check_data(Node)


def test_names_of_components_are_unique():
    names = [name for kind in CLASSES for name in (kind.__name__, *vars(kind).get("aliases", ()))]
    assert len(names) == len(set(names))
    assert set(names) == set(factory.components())


def test_the_table_of_aliases_is_that_of_the_classes():
    aliases = {name: kind.__name__ for kind in CLASSES for name in vars(kind).get("aliases", ())}
    assert aliases == ALIASES


def test_components_are_imported_when_they_are_named(fresh):
    """By their name or a former one: importing all of them takes half a second."""
    code = """
        import sys
        from sofa_softctl.runtime.core import factory

        print(*(factory.find(kind).__name__ for kind in ("UniformMass", "FixedConstraint")))
        print("sofa_softctl.runtime.components.elasticity.hexahedron_fem" in sys.modules)
        print(factory.find("Nothing"))
        print("sofa_softctl.runtime.components.elasticity.hexahedron_fem" in sys.modules)
    """
    done = fresh(code, SOFTCTL_PLUGINS=0)
    expected = "UniformMass FixedProjectiveConstraint", "False", "None", "False"
    assert (done.stdout.splitlines(), done.stderr) == (list(expected), "")


@every_class
def test_a_component_alone_works_or_says_what_it_needs(Sofa, root, kind):
    """Named by its line, and no assertion, KeyError or AttributeError of ours."""
    if kind.category == "animation loop":
        return
    root.addObject(kind.__name__, name="alone")
    try:
        Sofa.Simulation.init(root)
        Sofa.Simulation.animate(root, 0.01)
        Sofa.Simulation.reset(root)
    except SceneError as error:
        assert "test_factory.py:" in str(error)
        assert f"{kind.__name__} '/alone'" in str(error)


@every_class
def test_a_component_in_a_scene_works_or_says_what_it_needs(Sofa, root, beam, kind):
    """The same beside a body, under both kinds of loop."""
    if kind.category == "animation loop":
        return
    node = beam(root, cables=1)
    node.addObject(kind.__name__, name="other")
    try:
        Sofa.Simulation.init(root)
        Sofa.Simulation.animate(root, 0.01)
        Sofa.Simulation.reset(root)
    except SceneError as error:
        assert re.search(r"(test_factory|conftest)\.py:\d+: ", str(error))


# The component library of SOFA v25.06 as far as the first version covers it, and the spellings
# of scenes written before it.
OLD_NAMES = {
    "EulerImplicit": "EulerImplicitSolver",
    "FixedConstraint": "FixedProjectiveConstraint",
    "PartialFixedConstraint": "PartialFixedProjectiveConstraint",
    "BlockGaussSeidelConstraintSolver": "GenericConstraintSolver",
    "TetrahedronFEM": "TetrahedronFEMForceField",
    "MeshObjLoader": "MeshOBJLoader",
    "DefaultPipeline": "CollisionPipeline",
    "DefaultContactManager": "CollisionResponse",
    "Mesh": "MeshTopology",
}


@pytest.mark.parametrize(("old", "new"), OLD_NAMES.items())
def test_older_names_are_translated(root, old, new):
    assert root.addObject(old).getClassName() == new


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("GenericConstraintSolver", "maxIt", "maxIterations"),
        ("TriangleCollisionModel", "proximity", "contactDistance"),
        ("RestShapeSpringsForceField", "indices", "points"),
        ("UniformMass", "mass", "vertexMass"),
    ],
)
def test_older_names_of_data_are_the_same_data(root, kind, old, new):
    component = root.addObject(kind, **{old: "3"})
    assert component.findData(old) is component.findData(new)
    assert component.findData(new).isSet()


@pytest.fixture
def own_table():
    """What a test registers is unknown again after it."""
    with COMPONENTS.kept():
        yield


def test_a_component_of_a_plugin_is_known_by_its_names(root, own_table):
    class Balloon(Component):
        """A balloon."""

        aliases = ("OldBalloon",)
        pressure = data_types.Real(1.0, "Pressure.")

    factory.register(Balloon)
    factory.register(Balloon)  # the same one again is no collision
    assert root.addObject("OldBalloon", pressure=2.0).pressure.value == 2.0
    other = type("Balloon", (Component,), {"__doc__": "Another."})
    with pytest.raises(SceneError, match="There already is a component named 'Balloon'"):
        factory.register(other)
    built_in = type("UniformMass", (Component,), {"__doc__": "Another."})
    with pytest.raises(SceneError, match="There already is a component named 'UniformMass'"):
        factory.register(built_in)
    with pytest.raises(SceneError, match="'Half' is no subclass of Component"):
        factory.register(type("Half", (), {}))


def test_a_component_that_refines_a_built_in_one_has_names_of_its_own(root, own_table):
    kind = type("SoftClamp", (factory.find("FixedProjectiveConstraint"),), {"__doc__": "Soft."})
    factory.register(kind)
    assert root.addObject("SoftClamp", indices=[1]).getClassName() == "SoftClamp"
    assert root.addObject("FixedConstraint").getClassName() == "FixedProjectiveConstraint"


def test_a_collision_leaves_nothing_of_the_newcomer_behind():
    newcomer = type("Newcomer", (Component,), {"__doc__": "New.", "aliases": ("UniformMass",)})
    with pytest.raises(SceneError, match="'UniformMass'"):
        factory.register(newcomer)
    assert factory.find("Newcomer") is None


@pytest.mark.parametrize(
    "given",
    [
        {"pluginName": "Sofa.Component SoftRobots"},
        {"pluginName": ["Sofa.Component", "SoftRobots"]},
        {"name": "SoftRobots"},
        {"name": "SoftRobots", "pluginName": "SoftRobots", "printLog": False},
    ],
)
def test_required_plugins_are_accepted_in_every_form(root, Sofa, given):
    root.addObject("RequiredPlugin", **given)
    root.addObject("RequiredPlugin", pluginName="SofaPython3")
    Sofa.Simulation.init(root)
    Sofa.Simulation.animate(root, 0.01)


def soft_robot(root, box):
    """A scene as SoftRobots' tutorials write them, with all that a GUI and contacts want."""
    root.addObject("RequiredPlugin", name="plugins", pluginName=["SoftRobots", "SofaPython3"])
    root.addObject("VisualStyle", displayFlags="showVisualModels hideBehaviorModels")
    root.addObject("BackgroundSetting", color=[0, 0.168627, 0.211765, 1.0])
    root.addObject("OglSceneFrame", style="Arrows", alignment="TopRight")
    root.addObject("LightManager")
    root.addObject("PositionalLight", name="light", color=[0.8, 0.8, 0.8], position="0 60 -50")
    root.addObject("DirectionalLight", direction="0 -1 0")
    root.addObject("InteractiveCamera", position=[0, 0, 300], lookAt="0 0 0")
    root.addObject("VisualGrid", size=100, nbSubdiv=10)
    root.addObject("DefaultVisualManagerLoop")
    root.addObject("AttachBodyButtonSetting", stiffness=10)
    root.addObject("AddDataRepository", path=".")
    root.gravity = "0 -9810 0"
    root.dt = 0.01
    root.addObject("FreeMotionAnimationLoop")
    root.addObject("CollisionPipeline", verbose=0)
    root.addObject("BruteForceBroadPhase")
    root.addObject("BVHNarrowPhase")
    root.addObject("CollisionResponse", response="FrictionContactConstraint", responseParams="mu=1")
    root.addObject("LocalMinDistance", alarmDistance=5, contactDistance=1, angleCone=0.1)
    root.addObject("GenericConstraintSolver", tolerance="1e-6", maxIterations="1000")

    positions, tetrahedra = box(2, 2, 4)
    finger = root.addChild("finger")
    finger.addObject("EulerImplicitSolver", name="odesolver", rayleighStiffness="0.1")
    finger.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
    finger.addObject(
        "TetrahedronSetTopologyContainer", name="tetras", position=positions, tetrahedra=tetrahedra
    )
    finger.addObject("TetrahedronSetTopologyModifier")
    finger.addObject("TetrahedronSetGeometryAlgorithms", template="Vec3d")
    finger.addObject("MechanicalObject", name="dofs", template="Vec3", showObject=True)
    finger.addObject("MeshMatrixMass", totalMass=0.04)
    finger.addObject("TetrahedronFEMForceField", template="Vec3", method="large", youngModulus=400)
    finger.addObject("BoxROI", name="roi", box="-1 -1 -1 21 21 1", drawBoxes=True)
    finger.addObject(
        "RestShapeSpringsForceField",
        points="@roi.indices",
        stiffness=1e4,
        angularStiffness=1e4,
    )
    finger.addObject("GenericConstraintCorrection")

    cable = finger.addChild("cable")
    cable.addObject("MechanicalObject", position="10 5 20 10 5 50 10 5 85")
    cable.addObject(
        "CableConstraint",
        name="aCable",
        indices=list(range(3)),
        pullPoint="10 5 0",
        valueType="displacement",
        value=[5],
    )
    cable.addObject("BarycentricMapping")

    for name, models in (("collision", ("Triangle", "Line", "Point")), ("visual", ())):
        child = finger.addChild(name)
        child.addObject("TriangleSetTopologyContainer", position=positions, triangles="0 4 1 1 4 5")
        for model in models:
            child.addObject("MechanicalObject" if model == "Triangle" else "RequiredPlugin")
            child.addObject(f"{model}CollisionModel", group=1, selfCollision=False, moving="1")
        if not models:
            child.addObject(
                "OglModel", src="@TriangleSetTopologyContainer", color="0.7 0.7 0.7 0.6"
            )
        child.addObject("BarycentricMapping" if models else "RequiredPlugin")
    return finger


def test_a_scene_with_all_that_guis_and_contacts_want_loads_and_steps(root, Sofa, box, caplog):
    """The cable is pulled by 5 mm: once at rest, its path is 5 mm shorter."""
    finger = soft_robot(root, box)
    root.gravity = [0, 0, 0]
    Sofa.Simulation.init(root)
    for _ in range(10):
        Sofa.Simulation.animate(root, root.dt.value)
    cable = finger.cable.aCable
    # one step behind, and to the solver's tolerance of 1e-6 mm
    assert cable.displacement.value == pytest.approx(5.0, abs=0.05)
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.parametrize("given", ["@..", "@../dofs", "@/beam/dofs", "@../"])
def test_mappings_take_a_node_or_its_state_as_input(root, Sofa, beam, given):
    """SOFA's scenes write input='@..' and output='@.': the states of those nodes."""
    node = beam(root)
    tip = node.addChild("tip")
    tip.addObject("MechanicalObject", name="point", position=[[10, 10, 85]])
    tip.addObject("BarycentricMapping", input=given, output="@.")
    Sofa.Simulation.init(root)
    Sofa.Simulation.animate(root, 0.01)
    assert tip.point.position.value[0, 1] < 10.0


def test_the_factory_is_dumped_as_json(Sofa):
    found = {entry["className"]: entry for entry in json.loads(Sofa.Core.ObjectFactory.dump_json())}
    state = found["MechanicalObject"]
    assert {"position": "length"}.items() <= {e["name"]: e["unit"] for e in state["data"]}.items()
    assert state["categories"] == ["MechanicalState"]
    assert "StiffSpringForceField" in found["SpringForceField"]["aliases"]
    entry = Sofa.Core.ObjectFactory.getComponent("SpringForceField")
    assert entry.dataAlias["springsIndices1"] == ["indices1"]
