"""Links as scripts use them: of nodes to what they hold, and of components to each other."""

import logging

import pytest

from sofa_softctl.errors import LinkError, SceneError


@pytest.fixture
def arm(root):
    """/arm with two states, and springs that act on the second."""
    arm = root.addChild("arm")
    arm.addObject("MechanicalObject", name="base", position=[[0, 0, 0]])
    arm.addObject("MechanicalObject", name="dofs", position=[[0, 0, 0], [1, 0, 0]])
    arm.addObject("RestShapeSpringsForceField", name="springs", mstate="@dofs", points=[0])
    arm.addChild("hand")
    return arm


def test_a_node_has_links_to_its_children_objects_and_parents(root, arm):
    child = root.findLink("child")
    assert (child.getSize(), child.isMultiLink()) == (1, True)
    assert child.getLinkedBase(0) is arm and child.getLinkedBase(1) is None
    assert child.getLinkedPath(0) == child.getValueString() == "@/arm"
    assert child.getOwnerBase() is root and child.getValueTypeString() == "Node"
    assert arm.findLink("object").getValueString() == "@/arm/base @/arm/dofs @/arm/springs"
    assert arm.findLink("parents").getLinkedBase() is root
    assert arm.findLink("nothing") is None
    assert {"child", "mass", "mechanicalState"} <= {link.getName() for link in arm.getLinks()}


def test_a_link_to_one_object_of_a_kind(arm):
    """The last that was added, as in SOFA; what a node holds is saved by itself."""
    link = arm.findLink("mechanicalState")
    assert link.getLinkedBase() is arm.dofs and not link.isMultiLink()
    assert (link.isPersistent(), link.isReadOnly()) == (False, True)
    assert "MechanicalState" in link.getHelp()
    link.setName("state")
    link.setHelp("Mine.")
    link.setPersistent(True)
    assert (link.getName(), link.getHelp(), link.isReadOnly()) == ("state", "Mine.", False)
    assert arm.findLink("forceField").getValueTypeString() == "BaseObject"


def test_a_link_of_a_component_is_as_the_object_at_its_end(arm):
    link = arm.springs.mstate
    assert link.getLinkedBase() is arm.dofs and link.getLinkedPath(0) == "@dofs"
    assert link.getLinkedPath(1) == ""
    assert (link.isPersistent(), link.isReadOnly()) == (True, False)
    assert link.getValueTypeString() == "BaseMechanicalState"
    link.position = [[2.0, 3.0, 4.0]]
    assert arm.dofs.position.value.tolist() == [[2.0, 3.0, 4.0]]
    link.setName("target")
    link.setHelp("Mine.")
    assert (link.getPathName(), link.getHelp()) == ("/arm/springs.target", "Mine.")
    link.setLinkedBase(arm.base)
    assert arm.springs.findLink("mstate").getLinkedBase() is arm.base
    with pytest.raises(AttributeError, match="leads to nothing"):
        arm.addObject("BarycentricMapping", name="map").input_topology.position = []


def test_addData_says_where_its_link_breaks(arm):
    with pytest.raises(LinkError, match="'limits' is not in node '/arm'"):
        arm.dofs.addData("t", value="@limits.high")
    with pytest.raises(TypeError, match="addData needs a type"):
        arm.dofs.addData("t", value="high")
    with pytest.raises(SceneError, match="already has an attribute 'links'"):
        arm.addData("links", type="int", value=1)
    assert arm.addData("mine", type="int", value=1).isPersistent()


def body(root):
    root.addObject("DefaultAnimationLoop")
    body = root.addChild("body")
    body.addObject("EulerImplicitSolver")
    body.addObject("CGLinearSolver", iterations=25, tolerance=1e-9, threshold=1e-20)
    body.addObject("RegularGridTopology", n=[2, 2, 3], min=[0, 0, 0], max=[1, 1, 2])
    body.addObject("MechanicalObject", name="dofs")
    body.addObject("UniformMass", totalMass=1.0)
    return body


def region(body):
    body.addObject("BoxROI", name="roi", box=[-1, -1, -1, 2, 2, 0.5], position="@lost.position")


def elements(body):
    body.addObject("BoxROI", name="roi", box=[-1, -1, -1, 2, 2, 0.5], hexahedra="@lost.hexahedra")


def carrier(body):
    skin = body.addChild("skin")
    skin.addObject("MechanicalObject", position=[[0.5, 0.5, 0.5]])
    skin.addObject("BarycentricMapping", input_topology="@../lost")


def surface(body):
    skin = body.addChild("skin")
    skin.addObject("MeshTopology", position=[[0, 0, 0]], triangles="@../lost.triangles")


@pytest.mark.parametrize("add", [region, elements, carrier, surface])
def test_a_link_that_leads_nowhere_counts_as_not_given(Sofa, root, tolerant, caplog, add):
    """As in SOFA: a region looks at its node's state, a mapping at the topology above, once."""
    holder = body(root)
    add(holder)
    Sofa.Simulation.init(root)
    Sofa.Simulation.animate(root, 0.01)
    assert caplog.text.count("'lost' is not in node '/body'") == 1
    assert "It counts as not given, as in SOFA." in caplog.text
    if add in (region, elements):
        assert holder.roi.indices.value.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("add", [region, elements, carrier, surface])
def test_a_link_that_leads_nowhere_is_an_error_where_it_is_strict(Sofa, root, add):
    add(body(root))
    with pytest.raises(LinkError, match="'lost' is not in node '/body'"):
        Sofa.Simulation.init(root)


@pytest.mark.parametrize("first", ["holder", "follower"])
@pytest.mark.parametrize("engine", [False, True])
def test_a_state_follows_a_region_wherever_that_is(Sofa, root, first, engine):
    """Also by way of an engine; before, it had no nodes where the region came later."""
    root.addObject("DefaultAnimationLoop")
    nodes = {name: root.addChild(name) for name in sorted(("follower", "holder"), key=first.__ne__)}
    source = "@/holder/roi.pointsInROI"
    if engine:
        shift = nodes["follower"].addObject(
            "TransformEngine", name="shift", input_position=source, translation=[0, 0, 1]
        )
        source = shift.output_position.getLinkPath()
    points = nodes["follower"].addObject("MechanicalObject", name="points", position=source)
    nodes["holder"].addObject("RegularGridTopology", n=[3, 1, 2], min=[0, 0, 0], max=[2, 0, 1])
    nodes["holder"].addObject("MechanicalObject")
    nodes["holder"].addObject("BoxROI", name="roi", box=[-0.5, -1, -1, 1.5, 1, 0.5])
    Sofa.Simulation.init(root)
    Sofa.Simulation.animate(root, 0.01)
    assert points.position.value.tolist() == [[0, 0, engine], [1, 0, engine]]
    assert len(points.velocity.value) == 2


def test_a_state_keeps_its_nodes_in_a_run(Sofa, root):
    """Kernels would read beyond their arrays."""
    root.addObject("DefaultAnimationLoop")
    root.addObject("MeshTopology", name="mesh", position=[[0, 0, 0]])
    node = root.addChild("node")
    node.addObject("MechanicalObject", name="dofs", position="@../mesh.position")
    Sofa.Simulation.init(root)
    with pytest.raises(SceneError, match="position of '/node/dofs' has 1 nodes, got 2"):
        root.mesh.position = [[0, 0, 0], [1, 0, 0]]
    assert len(node.dofs.position) == 1


def test_a_link_to_values_that_do_not_fit_is_not_followed(Sofa, root, tolerant, caplog):
    root.addObject("MeshTopology", name="mesh", position=[[0, 0, 0]] * 2, edges=[[0, 1]])
    node = root.addChild("node")
    node.addObject("MeshTopology", name="copy", position="@../mesh.edges", edges="@../mesh.edges")
    with caplog.at_level(logging.WARNING):
        Sofa.Simulation.init(root)
    assert "It is not followed and counts as []." in caplog.text
    assert node.copy.getNbPoints() == 2  # those that the edges name
