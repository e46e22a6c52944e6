"""The scene graph: building, finding, removing, order, activation and what children inherit."""

import logging

import numpy as np
import pytest

from sofa_softctl.errors import SceneError, UnknownComponentError, UnknownDataError


@pytest.fixture
def graph(root):
    """/arm/hand, /arm/dofs and a loop at the root."""
    root.addObject("DefaultAnimationLoop", name="loop")
    arm = root.addChild("arm")
    arm.addObject("MechanicalObject", name="dofs", position="0 0 0")
    arm.addChild("hand")
    return root


def names(nodes):
    return [node.getName() for node in nodes]


# -- building ------------------------------------------------------------------------------------


def test_a_node_takes_its_data_as_arguments(Sofa):
    root = Sofa.Core.Node("root", gravity="0 -9.81 0")
    child = root.addChild("arm", dt=0.5)
    assert root.getName() == "root"
    assert root.gravity.value.tolist() == [0.0, -9.81, 0.0]
    assert child.getPathName() == "/arm"
    assert (root.dt.value, root.time.value) == (0.01, 0.0)  # SOFA's defaults


def test_an_unknown_data_of_a_node_names_those_it_has(root):
    message = r"test_node\.py:\d+: Node '/' has no Data 'gravty'\. Did you mean 'gravity'\? It has:"
    with pytest.raises(UnknownDataError, match=message):
        root.getData("gravty")
    with pytest.raises(UnknownDataError, match="has no Data 'gravty'"):
        root.addChild("arm", gravty=[0, 0, 0])


def test_objects_are_added_by_name_instance_and_class(root, Sofa):
    mass = root.addObject("UniformMass", totalMass=2.0)
    assert mass.getName() == "UniformMass"
    controller = Sofa.Core.Controller(name="mine")
    assert root.addObject(controller) is controller
    other = root.addObject(Sofa.Core.Controller, name="other")
    assert names(root.objects) == ["UniformMass", "mine", "other"]
    assert other.getContext() is root
    assert other.getPathName() == "/other"
    assert other.getLinkPath() == "@/other"


def test_objects_without_a_name_get_their_class_and_a_number(root):
    for _ in range(3):
        root.addObject("UniformMass", totalMass=1.0)
    assert names(root.objects) == ["UniformMass", "UniformMass1", "UniformMass2"]


def test_an_unknown_component_names_the_close_ones(root):
    with pytest.raises(UnknownComponentError) as caught:
        root.addObject("MechanicalObjekt")
    assert "test_node.py:" in str(caught.value)
    assert (
        "has no component 'MechanicalObjekt'. Did you mean 'MechanicalObject'? "
        "'softctl components' lists all"
    ) in str(caught.value)
    with pytest.raises(UnknownComponentError, match=r"no component 'Warp'\. 'softctl components'"):
        root.addObject("Warp")


@pytest.mark.parametrize("what", [3, object(), [1]])
def test_what_is_no_component_cannot_be_added(root, what):
    message = r"test_node\.py:\d+: node '/' takes the name of a component, or an instance of one"
    with pytest.raises(SceneError, match=message):
        root.addObject(what)


def test_addobject_of_none_adds_nothing_as_in_sofa(root, tolerant, caplog):
    assert root.addObject(None) is None
    assert "test_node.py" in caplog.text


def test_an_unknown_data_is_a_warning_with_its_line_and_the_closest_name(root, tolerant, caplog):
    mass = root.addObject("UniformMass", totalmass=2.0, totalMass=3.0)
    assert mass.totalMass.value == 3.0
    assert "UniformMass" in caplog.text
    assert "has no Data 'totalmass'. Did you mean 'totalMass'?" in caplog.text


def test_a_node_is_no_object_and_an_object_no_child(root, Sofa):
    with pytest.raises(SceneError, match=r"Add nodes with addChild"):
        root.addObject(Sofa.Core.Node("arm"))
    with pytest.raises(SceneError, match=r"addChild takes a name or a node, got <Controller"):
        root.addChild(Sofa.Core.Controller(name="mine"))


def test_a_controller_that_forgot_to_call_its_base_is_told_so(root, Sofa):
    class Forgetful(Sofa.Core.Controller):
        def __init__(self, name):
            self.label = name

    message = r"Forgetful is not ready to be added: its __init__ must first call Sofa\.Core\.Contr"
    with pytest.raises(SceneError, match=message):
        root.addObject(Forgetful("mine"))


def test_an_object_lives_in_one_node(root, Sofa):
    controller = root.addObject(Sofa.Core.Controller(name="mine"))
    with pytest.raises(SceneError, match=r"'/mine' already is in node '/'; remove it there first"):
        root.addChild("arm").addObject(controller)


def test_a_node_cannot_be_its_own_ancestor(graph):
    with pytest.raises(SceneError, match=r"node '/arm/hand' cannot hold 'arm', which is above it"):
        graph.arm.hand.addChild(graph.arm)


def test_a_child_that_is_added_twice_is_there_once(graph, tolerant, caplog):
    assert graph.addChild(graph.arm) is graph.arm
    assert [child.getName() for child in graph.children].count("arm") == 1
    assert "node '/' holds 'arm' already" in caplog.text


def test_names_that_are_taken_warn_and_the_first_one_is_found(root, caplog):
    first = root.addChild("arm")
    root.addChild("arm")
    root.addObject("UniformMass", name="mass", totalMass=1.0)
    root.addObject("UniformMass", name="mass", totalMass=2.0)
    assert root.arm is first
    assert root.mass.totalMass.value == 1.0
    assert "there already is a child named 'arm'" in caplog.text
    assert "there already is an object named 'mass'" in caplog.text
    assert {record.levelno for record in caplog.records} == {logging.WARNING}


# -- finding -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["children", "objects", "parents", "data", "links", "linkpath"])
def test_names_that_sofa_protects_are_refused(root, name):
    """SofaPython3 v25.06: `isProtectedKeyword`."""
    with pytest.raises(SceneError, match=f"'{name}' is an attribute of every node"):
        root.addChild(name)
    with pytest.raises(SceneError, match=f"'{name}' is an attribute of every node"):
        root.addObject("MechanicalObject", name=name)


def test_objects_and_nodes_are_found_in_every_way_of_sofapython3(graph):
    dofs, hand = graph.arm.dofs, graph.arm.hand
    assert graph.getChild("arm").getObject("dofs") is dofs
    assert graph["arm.dofs"] is dofs
    assert graph["arm.hand"] is hand
    assert graph["arm.dofs.position"] is dofs.position
    assert graph.arm.hasObject("dofs")
    assert graph.arm.getMechanicalState() is dofs
    assert hand.getRoot() is graph
    assert hand.getRootPath() == "../../"
    assert hand.resolve("@../dofs") is dofs
    assert hand.resolve("@/loop") is graph.loop
    assert names(graph.children) == ["arm"]
    assert names(hand.parents) == ["arm"]


def test_what_is_not_there_is_none_or_says_what_there_is(graph):
    assert graph.getChild("leg") is None
    assert graph.getObject("leg") is None
    message = r"Node '/arm' has no Data, object or child 'dof'\. Did you mean 'dofs'\? It holds: "
    with pytest.raises(AttributeError, match=message):
        _ = graph.arm.dof
    with pytest.raises(AttributeError, match=message):
        _ = graph["arm.dof"]


def test_a_node_lists_its_objects_by_kind(root, beam):
    node = beam(root, cables=1)
    assert node.forceField == [node.fem]
    assert node.getForceField(0) is node.getObject("mass")
    assert node.getForceField(1) is node.fem
    assert node.getForceField(2) is None
    assert node.getMass() is node.getObject("mass")
    assert node.cable_0.getMechanicalMapping() is node.cable_0.mapping
    assert node.hasODESolver()
    assert not root.hasODESolver()
    assert root.constraintSolver == [root.constraints]


def test_a_link_of_a_node_to_its_objects_has_the_attributes_of_the_first(root):
    """SofaPython3's Link: root.mass.totalMass; Emio's scenes write node.topology.linkpath."""
    mesh = root.addObject("MeshTopology", position=[[0, 0, 0]])
    root.addObject("MechanicalObject", name="dofs")
    root.addObject("UniformMass", totalMass=2.0)
    assert root.mass.totalMass.value == 2.0 and root.mass.getSize() == 1
    root.mass.totalMass = 3.0
    assert root.UniformMass.totalMass.value == 3.0
    assert root.topology.linkpath == mesh.linkpath
    assert root.mechanicalState.getLinkedBase() is root.dofs
    assert root.mechanicalState.getLinkedPath() == "@/dofs"
    assert (root.forceField.getLinkedBase(), root.forceField.getLinkedPath()) == (None, "")
    with pytest.raises(
        AttributeError, match="Node '/' has no object that its link 'forceField' leads to"
    ):
        _ = root.forceField.youngModulus


def test_a_link_of_a_component_has_the_attributes_of_what_it_leads_to(root):
    """SofaPython3's Link, as fem.topology.position."""
    root.addObject("MeshTopology", name="mesh", position=[[0, 0, 0]])
    fem = root.addObject("TetrahedronFEMForceField", name="fem", topology="@mesh")
    assert fem.topology.linkpath == root.mesh.linkpath
    assert fem.topology.position.toList() == [[0, 0, 0]]
    assert fem.topology.getName() == "topology"
    other = root.addObject("UniformMass", name="other", totalMass=1.0)
    with pytest.raises(AttributeError, match="link 'topology' of UniformMass .* no 'position'"):
        _ = other.topology.position


def test_a_link_to_one_object_leads_to_the_last(root):
    """SOFA's NodeSingle; the link has a name and a place of its own."""
    first = root.addObject("UniformMass", name="first", totalMass=1.0)
    second = root.addObject("UniformMass", name="second", totalMass=2.0)
    assert root.mass.totalMass.value == 2.0 and root.mass == [first, second]
    assert root.mass.getLinkedBase() is second
    assert (root.mass.getName(), root.mass.getPathName()) == ("mass", "/.mass")


def test_a_nodes_own_data_come_before_its_links(root):
    """As a prefab's parameter `mass`: SofaPython3 looks for objects, children, Data, then links."""
    node = root.addChild("node")
    node.addData(name="mass", type="double", default=3.5, value=3.5, help="")
    node.addObject("UniformMass", name="heavy", totalMass=1.0)
    assert node.mass.value == 3.5


# -- removing ------------------------------------------------------------------------------------


def test_objects_and_children_are_removed_by_name_or_as_they_are(graph):
    dofs, hand = graph.arm.dofs, graph.arm.hand
    graph.arm.removeObject(dofs)
    graph.arm.removeChild("hand")
    graph.removeObject("loop")
    graph.removeChild(graph.arm)
    assert (graph.objects, graph.children) == ([], [])
    assert dofs.getContext() is None
    assert hand.parents == []
    assert hand.getPathName() == "/"


def test_removing_what_is_not_there_is_an_error(graph):
    with pytest.raises(SceneError, match=r"test_node\.py:\d+: node '/' does not hold leg"):
        graph.removeObject("leg")
    with pytest.raises(SceneError, match=r"test_node\.py:\d+: node '/' has no child leg"):
        graph.removeChild("leg")
    with pytest.raises(SceneError, match=r"node '/' does not hold"):
        graph.removeObject(graph.arm.dofs)


def test_a_node_moves_with_all_that_it_holds(graph):
    hand = graph.arm.hand
    graph.moveChild(hand)
    assert hand.getPathName() == "/hand"
    assert names(graph.arm.children) == []
    graph.arm.moveChild(hand, graph)  # SofaPython3 wants the parent that it leaves
    assert hand.getPathName() == "/arm/hand"
    with pytest.raises(SceneError, match="node '/' has no child"):
        graph.moveChild(hand, graph)
    hand.detachFromGraph()
    assert hand.parents == []


# -- order and activation ------------------------------------------------------------------------


def diamond(root, first="left", second="right"):
    """root -> left, right -> both -> below."""
    left, right = root.addChild(first), root.addChild(second)
    both = left.addChild("both")
    right.addChild(both)
    both.addChild("below")
    return left, right, both


def test_a_node_comes_after_all_its_parents(root):
    """SOFA's order (1.1): depth first, but `both` waits for `right`."""
    diamond(root)
    root.addChild("last")
    assert names(root.walk()) == ["root", "left", "right", "both", "below", "last"]


def test_a_walk_from_inside_counts_only_the_parents_below_its_start(root):
    left, _, _ = diamond(root)
    assert names(left.walk()) == ["left", "both", "below"]


def test_what_is_switched_off_is_left_out_with_all_below_it(graph):
    graph.arm.activated = False
    assert names(graph.walk()) == ["root"]
    graph.arm.activated = True
    assert names(graph.walk()) == ["root", "arm", "hand"]


def test_a_parent_that_is_switched_off_before_does_not_hold_up_its_child(root):
    """As SOFA's traversal: a node that is switched off counts as passed, but is not followed."""
    left, right, _ = diamond(root)
    left.activated = False
    assert names(root.walk()) == ["root", "right", "both", "below"]
    left.activated, right.activated = True, False
    assert names(root.walk()) == ["root", "left"]


def test_a_body_that_is_switched_off_stands_still_and_goes_on_from_there(root, Sofa, beam):
    node = beam(root)
    Sofa.Simulation.init(root)
    positions = []
    for step in range(6):
        node.activated = step not in (2, 3)
        Sofa.Simulation.animate(root, 0.01)
        positions.append(node.dofs.position.value.copy())
    assert np.array_equal(positions[1], positions[2])
    assert np.array_equal(positions[1], positions[3])
    assert not np.array_equal(positions[3], positions[4])
    assert root.time.value == pytest.approx(0.06)


# -- what children inherit -----------------------------------------------------------------------


def test_a_child_copies_dt_gravity_and_time_when_it_is_added(root):
    root.dt, root.gravity, root.time = 0.5, [1, 2, 3], 4.0
    child = root.addChild("child")
    assert child.dt.value == 0.5
    assert child.gravity.value.tolist() == [1.0, 2.0, 3.0]
    assert child.time.value == 4.0


def test_dt_and_gravity_reach_the_children_at_init_and_at_the_end_of_a_step(root, Sofa):
    """Section 11.3: what the root gets in between, its children get with the end of the step."""
    child = root.addChild("child").addChild("grandchild")
    child.gravity = [9.0, 9.0, 9.0]
    root.gravity = [0.0, -1.0, 0.0]
    root.dt = 0.25
    assert child.gravity.value.tolist() == [9.0, 9.0, 9.0]
    Sofa.Simulation.init(root)
    assert child.gravity.value.tolist() == [0.0, -1.0, 0.0]
    assert child.dt.value == 0.25
    root.gravity, root.dt = [0.0, -2.0, 0.0], 0.5
    assert child.gravity.value.tolist() == [0.0, -1.0, 0.0]
    assert child.dt.value == 0.25
    Sofa.Simulation.animate(root, root.dt.value)
    assert child.gravity.value.tolist() == [0.0, -2.0, 0.0]
    assert child.dt.value == 0.5
    assert child.time.value == 0.5


def test_a_childs_own_gravity_lasts_until_the_end_of_the_step(root, Sofa):
    """A free mass at rest: v = dt g after a step; the second step is without gravity again."""
    child = root.addChild("child")
    child.addObject("EulerImplicitSolver")
    child.addObject("SparseLDLSolver")
    dofs = child.addObject("MechanicalObject", position=[[0, 0, 0]])
    child.addObject("UniformMass", totalMass=1.0)
    Sofa.Simulation.init(root)
    child.gravity = [0.0, 0.0, -10.0]
    for _ in range(2):
        Sofa.Simulation.animate(root, 0.01)
        assert dofs.velocity.value[0] == pytest.approx([0.0, 0.0, -0.1], rel=1e-14)


def test_time_and_steps_are_counted_and_return_with_reset(root, Sofa):
    child = root.addChild("child")
    Sofa.Simulation.init(root)
    Sofa.Simulation.animateNSteps(root, 3, 0.5)
    assert root.time.value == child.time.value == 1.5
    assert root.nbComputedSteps.value == 3
    Sofa.Simulation.reset(root)
    assert root.time.value == child.time.value == 0.0
    assert root.nbComputedSteps.value == 0


@pytest.mark.parametrize("dt", [0.0, -0.01, "0"])
def test_a_step_needs_a_positive_length(root, Sofa, dt):
    root.dt = dt
    Sofa.Simulation.init(root)
    with pytest.raises(SceneError, match=r"test_node\.py:\d+: dt must be positive, got "):
        Sofa.Simulation.animate(root)


def test_stepping_needs_init_first(root, Sofa):
    with pytest.raises(SceneError, match=r"call Sofa\.Simulation\.init\(root\) first"):
        Sofa.Simulation.animate(root)


# -- what SofaPython3's lists and contexts offer -------------------------------------------------


def test_lists_of_a_node_are_asked_by_number_and_by_name(graph):
    assert graph.children["arm"] is graph.children[0] is graph.children.at(0)
    assert graph.arm.objects["dofs"] is graph.arm.dofs
    assert "arm" in graph.children
    assert "leg" not in graph.children
    assert graph.arm in graph.children
    with pytest.raises(IndexError, match="There is no 'leg' among: arm"):
        _ = graph.children["leg"]
    with pytest.raises(IndexError):
        _ = graph.children[1]


def test_entries_of_a_list_are_removed_by_number(graph):
    graph.arm.objects.remove_at(0)
    assert not graph.arm.hasObject("dofs")
    hand = graph.arm.hand
    with pytest.raises(SceneError, match="A node leaves a parent by that parent's removeChild"):
        hand.parents.remove_at(0)
    graph.arm.children.remove_at(0)
    assert hand.parents == []


def test_a_node_is_a_context(graph, Sofa):
    assert isinstance(graph, Sofa.Core.Context | Sofa.Core.BaseNode)
    graph.setDt(0.5)
    graph.setGravity([0.0, 0.0, -1.0])
    graph.setAnimate(True)
    assert (graph.getDt(), graph.getTime(), graph.getAnimate()) == (0.5, 0.0, True)
    assert graph.getGravity().tolist() == [0.0, 0.0, -1.0]
    assert graph.arm.hand.getRootContext() is graph
    assert graph.arm.hand.getState() is graph.arm.dofs
    assert graph.getTopology() is None
    graph.arm.setActive(False)
    assert not graph.arm.isActive()
    assert not graph.isSleeping()


def test_add_takes_names_objects_nodes_and_what_makes_them(root, Sofa):
    mass = root.add("UniformMass", name="mass", totalMass=1.0)
    controller = root.add(Sofa.Core.Controller(name="mine"))
    node = root.add(Sofa.Core.Node("arm"))
    made = root.add(lambda parent, name: parent.addChild(name), name="leg")
    assert list(root.objects) == [mass, controller]
    assert list(root.children) == [node, made]


def test_old_names_still_work_and_say_so(root, caplog):
    assert root.createChild("arm") is root.arm
    assert root.createObject("UniformMass", name="mass", totalMass=1.0) is root.mass
    assert [record.getMessage().split(": ")[-1] for record in caplog.records] == [
        "createChild is now addChild.",
        "createObject is now addObject.",
    ]


def test_a_node_knows_whether_it_was_initialised(graph, Sofa):
    assert not graph.arm.isInitialized()
    Sofa.Simulation.init(graph)
    assert graph.arm.isInitialized()
    assert not graph.addChild("late").isInitialized()


def test_a_graph_is_printed(graph, Sofa, capsys):
    Sofa.Simulation.print(graph)
    assert capsys.readouterr().out.splitlines() == [
        "+-root",
        "| | AnimationLoop: loop(DefaultAnimationLoop)",
        "| +-arm",
        "| | | MechanicalState: dofs(MechanicalObject)",
        "| | +-hand",
    ]


def test_every_data_of_a_node_is_listed_and_found_by_name(graph):
    listed = [data.getName() for data in graph.getDataFields()]
    assert {"name", "dt", "gravity", "time", "bbox"} < set(listed)
    assert list(graph.__data__) == listed
    assert graph.__data__["dt"] is graph.dt
    assert graph.getTemplateName() == ""
    assert graph.arm.dofs.getTemplateName() == "Vec3d"
    assert graph.getInstanciationFileName().endswith("conftest.py")
    assert graph.arm.getInstanciationSourceFilePos() > 0


def test_adding_looks_at_no_sibling_of_another_name(root, monkeypatch):
    """So that 10^5 nodes, or objects, are made in seconds."""
    first = root.addChild("first")
    held = root.addObject("MechanicalObject", name="held")
    asked = []
    for entry in (first, held):
        monkeypatch.setattr(entry, "getName", lambda: asked.append(1), raising=False)
    root.addChild("second")
    root.addObject("MechanicalObject", name="other")
    assert not asked


def test_unnamed_objects_are_numbered_in_as_many_look_ups_as_there_are(root):
    """Not in as many as the square of their number: 10^5 are named in seconds."""

    class Counted(set):
        asked = 0

        def __contains__(self, name):
            Counted.asked += 1
            return super().__contains__(name)

    root._names = Counted(root._names)
    made = [root.addObject("UniformMass") for _ in range(50)]
    assert [mass.getName() for mass in made[:3]] == ["UniformMass", "UniformMass1", "UniformMass2"]
    assert len({mass.getName() for mass in made}) == Counted.asked == 50


def test_a_name_is_free_again_when_its_object_is_gone(root):
    root.addObject("UniformMass")
    second = root.addObject("UniformMass")
    root.addObject("UniformMass", name="UniformMass3")
    root.removeObject(second)
    names = [root.addObject("UniformMass").getName() for _ in range(3)]
    assert names == ["UniformMass1", "UniformMass2", "UniformMass4"]


def test_a_second_child_of_a_name_is_told_of_unless_the_first_is_gone(root, caplog):
    root.addChild("leg")
    root.removeChild("leg")
    root.addChild("leg")
    assert "there already is" not in caplog.text
    root.addChild("leg")
    assert "there already is a child named 'leg'" in caplog.text


def test_nodes_that_are_nested_too_deep_are_refused_at_their_line(root):
    node = root
    with pytest.raises(SceneError, match=r"test_node\.py:\d+: nodes are nested more than 300 deep"):
        while True:
            node = node.addChild("next")


def test_paths_with_dots_may_begin_with_one(graph):
    assert graph[".name"] is graph["name"] is graph.name
    dofs = graph["arm.dofs"]
    assert dofs["."] is dofs[""] is dofs and dofs[".position"] is dofs.position
    with pytest.raises(ValueError, match="names nothing in node '/'"):
        graph[""]


def test_what_is_no_component_is_a_type_error(graph):
    with pytest.raises(TypeError, match="takes the name of a component, or an instance"):
        graph.addObject([1.0, 0.0])


def test_objects_belong_to_each_other_as_a_script_says(graph):
    other = graph.arm.addObject("MechanicalObject", name="other")
    assert graph.arm.dofs.getMaster() is None and graph.arm.dofs.getSlaves() == []
    graph.arm.dofs.addSlave(other)
    assert other.getMaster() is graph.arm.dofs and graph.arm.dofs.getSlaves() == [other]
    assert graph.arm.dofs.getTarget() == "Sofa.Component.StateContainer"
    assert graph.loop.getTarget() is None


def test_a_component_takes_over_a_loaders_data_later(graph):
    source = graph.addObject("MeshTopology", name="source", position=[[1, 2, 3]], edges=[[0, 0]])
    mesh = graph.addObject("MeshTopology", name="mesh", edges=[])
    mesh.setSrc("@source", source)
    assert mesh.position.value.tolist() == [[1, 2, 3]] and len(mesh.edges) == 0
