"""Visual models: nobody draws them, but they are where SOFA would draw them."""

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.simulation import simulation

X = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 1.0]])
TETRAHEDRA = [[0, 1, 2, 3], [1, 2, 3, 4]]
MOVE = np.array([[1.1, 0.2, -0.1], [0.0, 0.9, 0.3], [-0.2, 0.1, 1.2]])
INSIDE = np.array([[0.1, 0.2, 0.3], [0.3, 0.3, 0.3], [2.0, 0.0, 0.0]])


@pytest.fixture
def body(root, integrated):
    node = integrated(root, "body", X)
    node.addObject("MeshTopology", name="mesh", tetrahedra=TETRAHEDRA)
    node.addObject("UniformMass", totalMass=1.0)
    return node


@pytest.mark.parametrize("output", ["@skin", "@../visual/skin", ""])
def test_a_visual_model_follows_the_mapping_that_has_it_as_output(root, body, output):
    visual = body.addChild("visual")
    visual.addObject("OglModel", name="skin", position=INSIDE, triangles=[[0, 1, 2]])
    visual.addObject(
        "BarycentricMapping", input="@../dofs", **({"output": output} if output else {})
    )
    simulation.init(root)
    assert visual.skin.position.array() == pytest.approx(INSIDE, abs=1e-14)
    body.dofs.position.value = X @ MOVE.T
    assert visual.skin.position.array() == pytest.approx(INSIDE @ MOVE.T, abs=1e-14)


def test_its_place_in_the_body_is_that_at_init_whenever_somebody_asks_first(root, body):
    visual = body.addChild("visual")
    visual.addObject("OglModel", name="skin", position=INSIDE)
    visual.addObject("BarycentricMapping", output="@skin")
    simulation.init(root)
    body.dofs.position.value = X @ MOVE.T
    assert visual.skin.position.array() == pytest.approx(INSIDE @ MOVE.T, abs=1e-14)
    assert body.dofs.position.array() == pytest.approx(X @ MOVE.T)


def test_identity_gives_a_visual_model_the_size_of_the_body(root, body):
    visual = body.addChild("visual")
    visual.addObject("OglModel", name="skin")
    visual.addObject("IdentityMapping", input="@..", output="@skin")
    simulation.init(root)
    body.dofs.position.value = X + 2.0
    assert visual.skin.position.array().tolist() == (X + 2.0).tolist()


def test_a_rigid_body_carries_a_visual_model(root):
    frame = root.addChild("frame")
    frame.addObject(
        "MechanicalObject", name="dofs", template="Rigid3", position=[[1, 0, 0, 0, 0, 0, 1]]
    )
    frame.addObject("OglModel", name="skin", position=[[1.0, 0.0, 0.0]])
    visual = frame.addChild("visual")
    visual.addObject("OglModel", name="skin", position=[[1.0, 0.0, 0.0]])
    visual.addObject("RigidMapping", output="@skin")
    simulation.init(root)
    quarter = [0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)]  # about z
    frame.dofs.position.value = [[1.0, 2.0, 3.0, *quarter]]
    assert visual.skin.position.array() == pytest.approx(np.array([[1.0, 3.0, 3.0]]), abs=1e-14)


def test_a_link_to_positions_is_followed_until_a_mapping_takes_over(root, body):
    free = body.addChild("free")
    free.addObject("OglModel", name="skin", position="@../dofs.position", triangles=[[0, 1, 2]])
    simulation.init(root)
    body.dofs.position.value = X + 1.0
    assert free.skin.position.array().tolist() == (X + 1.0).tolist()


def test_it_takes_the_topology_of_its_node_and_is_put_in_place_at_init(root, body):
    visual = body.addChild("visual")
    visual.addObject("MeshTopology", position=X, triangles=[[0, 1, 2]], quads=[[0, 1, 4, 2]])
    skin = visual.addObject(
        "OglModel", scale=2.0, rotation=[0.0, 0.0, 90.0], dx=1.0, color="red", su=2.0
    )
    simulation.init(root)
    expected = 2.0 * X @ [[0, 1, 0], [-1, 0, 0], [0, 0, 1]] + [1.0, 0.0, 0.0]
    assert skin.position.array() == pytest.approx(expected, abs=1e-15)
    assert skin.triangles.array().tolist() == [[0, 1, 2]]
    assert skin.quads.array().tolist() == [[0, 1, 4, 2]]
    assert skin.scale3d.array().tolist() == [1.0, 1.0, 1.0]  # it acts once, as in SOFA
    assert skin.scaleTex.array().tolist() == [2.0, 1.0]


def test_texture_coordinates_are_those_on_a_sphere_where_none_are_given(root):
    """As in SOFA: longitude and latitude about the middle of the bounding box; scripts fill them
    in by vertex."""
    root.addObject(
        "MeshTopology",
        position=[[3, 0, 0], [-1, 0, 0], [1, 2, 0], [1, -2, 0], [1, 0, 2], [1, 0, -2], [1, 0, 0]],
        triangles=[[0, 2, 4], [1, 5, 3], [4, 5, 6]],
    )
    skin = root.addObject("OglModel", translation=[7, 0, 0])
    simulation.init(root)
    expected = [[0.5, 0.5], [1, 0.5], [0.75, 0.5], [0.25, 0.5], [0.5, 0], [0.5, 1], [0.5, 0.5]]
    assert skin.texcoords.array() == pytest.approx(np.array(expected), abs=1e-15)
    with skin.texcoords.writeable() as texcoords:
        texcoords[[1, 2]] = [0.1, 0.2]
    assert skin.texcoords.array()[2].tolist() == [0.1, 0.2]


def test_texture_coordinates_that_are_given_stay(root):
    root.addObject("MeshTopology", position=X, triangles=[[0, 1, 2]])
    skin = root.addObject("OglModel", texcoords=[[0.25, 0.5]] * len(X))
    simulation.init(root)
    assert skin.texcoords.array().tolist() == [[0.25, 0.5]] * len(X)


def test_it_reads_its_own_file(root, tmp_path):
    (tmp_path / "flat.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 2 0\nf 1 2 3\n")
    skin = root.addObject("OglModel", fileMesh=str(tmp_path / "flat.obj"), scale3d=[2, 2, 2])
    simulation.init(root)
    assert skin.position.array().tolist() == [[0, 0, 0], [2, 0, 0], [0, 4, 0]]
    assert skin.normal.array().tolist() == [[0, 0, 1]] * 3


def test_a_file_that_is_not_there_is_told_and_the_rest_goes_on(root, tolerant, caplog):
    root.addObject("OglModel", filename="nowhere.obj")
    simulation.init(root)
    assert "nowhere.obj" in caplog.text


def test_normals_are_weighed_by_area_and_follow(root, body):
    """Two right triangles of a box's edge, one twice as large: the normal between them is their
    sum of cross products, (0, 0, 1) + (0, -2, 0), of length one."""
    points = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 2]]
    skin = body.addObject("OglModel", position=points, triangles=[[0, 1, 2], [0, 1, 3]])
    simulation.init(root)
    assert skin.normal.array()[0] == pytest.approx(np.array([0, -2, 1]) / np.sqrt(5.0))
    skin.position.value = np.array(points) * [1, 1, -1]
    assert skin.normal.array()[0] == pytest.approx(np.array([0, 2, 1]) / np.sqrt(5.0))


def test_a_mapping_that_cannot_draw_says_so_and_the_simulation_goes_on(root, integrated, caplog):
    node = integrated(root, "body", X)
    node.addObject("UniformMass", totalMass=1.0)
    visual = node.addChild("visual")
    visual.addObject("OglModel", name="skin", position=INSIDE)
    visual.addObject("BarycentricMapping", output="@skin")
    simulation.init(root)
    simulation.animate(root)
    assert visual.skin.position.array().tolist() == INSIDE.tolist()
    assert "needs a topology beside" in caplog.text


def test_a_mapping_onto_what_cannot_follow_is_an_error(root, body):
    body.addObject("VisualStyle", name="style")
    body.addChild("child").addObject("IdentityMapping", output="@../style")
    with pytest.raises(SceneError, match="neither a state nor a visual model"):
        simulation.init(root)


def test_a_box_holds_what_is_in_a_node_and_below(root, body):
    """As SOFA's `bbox`: smallest and largest corner; nothing before the scene is initialised."""
    assert body.bbox.value[0, 0] == np.finfo(float).max
    body.addChild("visual").addObject("OglModel", position=[[0.0, -3.0, 0.0]])
    simulation.init(root)
    assert root.bbox.value.tolist() == [[0, -3, 0], [1, 1, 1]]
    body.dofs.position.value = X + 1.0
    assert body.dofs.bbox.getMin() == [1, 1, 1]
    assert body.dofs.bbox.getMax() == [2, 2, 2]
    root.bbox = [[-9, 0, 0], [0, 0, 0]]
    assert root.bbox.value.tolist() == [[-9, -3, 0], [2, 2, 2]]


def test_models_are_merged_one_after_the_other(root):
    root.addObject("OglModel", name="one", position=X[:3], triangles=[[0, 1, 2]])
    root.addObject("OglModel", name="two", position=X, quads=[[0, 1, 4, 2]])
    both = root.addObject("MergeVisualModels", nb=2, input1="@one", input2="@two", color="red")
    simulation.init(root)
    assert both.position.array().tolist() == [*X[:3].tolist(), *X.tolist()]
    assert both.triangles.value.tolist() == [[0, 1, 2]]
    assert both.quads.value.tolist() == [[3, 4, 7, 5]]
