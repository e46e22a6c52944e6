"""States of bodies (Rigid3) and joints (Vec1)."""

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.simulation import simulation, snapshot

QUARTER = [0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)]
"""A quarter of a turn about z."""


def add(root, template, **values):
    return root.addObject("MechanicalObject", name="dofs", template=template, **values)


@pytest.mark.parametrize(
    ("template", "name", "position", "width"),
    [
        ("Rigid3", "Rigid3d", [[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]], 6),
        ("Rigid3d", "Rigid3d", [[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]], 6),
        ("Rigid", "Rigid3d", [[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]], 6),
        ("Vec1", "Vec1d", [[0.0]], 1),
    ],
)
def test_without_positions_there_is_one_node_at_rest(root, template, name, position, width):
    """As in SOFA."""
    dofs = add(root, template)
    simulation.init(root)
    assert dofs.getTemplateName() == name
    assert dofs.position.value.tolist() == position
    assert dofs.velocity.value.tolist() == [[0.0] * width]
    assert dofs.size.value == 1


def test_a_script_may_place_a_state_before_it_is_initialised(root):
    """SOFA's MechanicalObject has one node from the start; splib3's RigidDof sets it so."""
    from splib3.numerics import RigidDof

    state = root.addObject("MechanicalObject", template="Rigid3")
    assert state.position.toList() == [[0, 0, 0, 0, 0, 0, 1]] and state.velocity.toList() == [
        [0] * 6
    ]
    RigidDof(state).translate([1.0, 2.0, 3.0])
    simulation.init(root)
    assert state.position.toList() == state.rest_position.toList() == [[1, 2, 3, 0, 0, 0, 1]]


def test_bodies_at_the_points_of_a_topology_are_not_turned(root):
    points = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    root.addObject("PointSetTopologyContainer", position=points)
    dofs = add(root, "Rigid3")
    simulation.init(root)
    assert dofs.position.value.tolist() == [[*p, 0.0, 0.0, 0.0, 1.0] for p in points]


def test_a_body_is_scaled_turned_and_shifted_like_a_point_and_its_frame_turns_too(root):
    """Numbers of SOFA v25.06 for this scene, which prints six digits."""
    dofs = add(
        root, "Rigid3", position=[[1, 0, 0, 0, 0, 0, 1]], translation=[1, 2, 3],
        rotation=[30, 40, 50],
    )  # fmt: skip
    simulation.init(root)
    expected = [1.4924, 2.58682, 2.35721, 0.0808047, 0.402198, 0.303372, 0.860042]
    assert dofs.position.value[0] == pytest.approx(expected, abs=5e-6)
    assert (dofs.rest_position.value == dofs.position.value).all()


def test_a_joint_is_shifted_along_x(root):
    """In space a joint's coordinate lies on the x axis, as in SOFA."""
    dofs = add(root, "Vec1", position=[[2.0]], scale3d=[3, 1, 1], translation=[1, 5, 5])
    simulation.init(root)
    assert dofs.position.value.tolist() == [[7.0]]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"position": [[0, 0, 0]]}, "takes a list of vectors of 7 numbers"),
        (
            {"position": [[0, 0, 0, 0, 0, 0, 0]]},
            "quaternion .* has length 0 instead of 1 at node 0",
        ),
        ({"velocity": [[1, 2, 3]]}, "takes a list of vectors of 6 numbers"),
    ],
)
def test_a_body_that_is_none_is_an_error(root, values, message):
    with pytest.raises(SceneError, match=message):
        add(root, "Rigid3", **values)
        simulation.init(root)


def test_a_quaternion_of_zeros_is_no_rotation(root, tolerant):
    """SOFA reads so where a scene gives eight numbers; by its formulas zeros turn nothing."""
    dofs = add(root, "Rigid3", position=[[1, 2, 3, 0, 0, 0, 0]])
    simulation.init(root)
    assert dofs.position.value.tolist() == [[1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0]]


def test_reset_and_snapshots_bring_turns_back(root):
    node = root.addChild("body")
    node.addObject("EulerImplicitSolver")
    node.addObject("SparseLDLSolver")
    dofs = add(node, "Rigid3", velocity=[[1, 0, 0, 0, 0, 3]])
    node.addObject("UniformMass", totalMass=1.0)
    simulation.init(root)
    first = dofs.position.value.copy()
    simulation.animateNSteps(root, 5)
    kept, later = snapshot.take_snapshot(root), dofs.position.value.copy()
    simulation.animateNSteps(root, 5)
    again = dofs.position.value.copy()
    snapshot.put_back(root, kept)
    assert (dofs.position.value == later).all()
    simulation.animateNSteps(root, 5)
    assert (dofs.position.value == again).all()
    simulation.reset(root)
    assert (dofs.position.value == first).all()
    assert dofs.velocity.value.tolist() == [[1, 0, 0, 0, 0, 3]]


def test_one_pose_can_be_set_in_place(root):
    dofs = add(root, "Rigid3", position=[[0, 0, 0, 0, 0, 0, 1]] * 2)
    simulation.init(root)
    dofs.position[1] = [1, 2, 3, *QUARTER]
    assert dofs.position.value[1].tolist() == [1, 2, 3, *QUARTER]
    assert dofs.position.value[0].tolist() == [0, 0, 0, 0, 0, 0, 1]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7])
def test_joints_share_rows_of_three_and_the_rest_stays_still(root, count):
    """Each falls along x by g h^2 (1 + 2 + ... + n), whatever lies beside it in its row."""
    root.gravity = [-2.0, -9.81, 5.0]
    node = root.addChild("joints")
    node.addObject("EulerImplicitSolver")
    node.addObject("SparseLDLSolver", name="solver")
    start = np.arange(count, dtype=float)[:, None]
    dofs = add(node, "Vec1", position=start)
    node.addObject("UniformMass", totalMass=3.0)
    simulation.init(root)
    simulation.animateNSteps(root, 4)
    assert dofs.position.value == pytest.approx(start - 2.0 * 0.01**2 * 10, abs=1e-14)
    rows = 3 * -(-count // 3)
    assert node.solver.A().shape == (rows, rows)
    assert node.solver.A().diagonal()[:count] == pytest.approx(3.0 / count)
    assert (node.solver.A().diagonal()[count:] == 1.0).all()


@pytest.mark.parametrize(
    ("component", "values"),
    [
        ("BarycentricCenterEffector", {}),
        ("DiagonalMass", {"totalMass": 1.0}),
        ("CableConstraint", {"indices": [0]}),
        ("JointConstraint", {}),
    ],
)
def test_a_component_that_knows_no_bodies_says_so(root, component, values):
    node = root.addChild("body")
    node.addObject("EulerImplicitSolver")
    node.addObject("SparseLDLSolver")
    add(node, "Rigid3")
    node.addObject(component, **values)
    with pytest.raises(SceneError, match=f"{component}.* acts on states of template .* Rigid3d"):
        simulation.init(root)
