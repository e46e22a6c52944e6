import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.testing import check_force_field

POINTS = np.arange(12.0).reshape(4, 3)


def test_the_total_force_is_shared_by_all_nodes(body, force_of):
    field = body("ConstantForceField", POINTS, totalForce=[4, -8, 2])
    assert force_of(field).tolist() == [[1, -2, 0.5]] * 4
    assert field.forces.value.tolist() == [[1, -2, 0.5]] * 4


def test_one_force_is_that_of_each_node_listed(body, force_of):
    field = body("ConstantForceField", POINTS, indices=[3, 1], forces=[1, 2, 3])
    assert force_of(field).tolist() == [[0, 0, 0], [1, 2, 3], [0, 0, 0], [1, 2, 3]]
    assert field.totalForce.value.tolist() == [2, 4, 6]


def test_each_node_can_have_its_own(body, force_of):
    field = body("ConstantForceField", POINTS, indices=[3, 1], forces=[[1, 2, 3], [4, 5, 6]])
    assert force_of(field).tolist() == [[0, 0, 0], [4, 5, 6], [0, 0, 0], [1, 2, 3]]


def test_indices_can_be_counted_from_the_end(body, force_of):
    field = body("ConstantForceField", POINTS, indices=[0], indexFromEnd=True, forces=[1, 2, 3])
    assert np.flatnonzero(force_of(field).any(axis=1)).tolist() == [3]


def test_the_total_may_change_between_steps(body, force_of):
    field = body("ConstantForceField", POINTS, totalForce=[4, 0, 0])
    field.totalForce.value = [8, 0, 0]
    assert force_of(field)[:, 0].tolist() == [2] * 4


def test_forces_may_change_between_steps(body, force_of):
    field = body("ConstantForceField", POINTS, indices=[1], forces=[4, 0, 0])
    field.forces.value = [[5, 0, 0]]
    assert force_of(field)[1].tolist() == [5, 0, 0]
    assert field.totalForce.value.tolist() == [5, 0, 0]


def test_a_body_is_pushed_and_turned(root, force_of):
    from sofa_softctl.runtime.simulation import simulation

    node = root.addChild("body")
    node.addObject("EulerImplicitSolver")
    node.addObject("SparseLDLSolver")
    node.addObject("MechanicalObject", template="Rigid3d")
    node.addObject("UniformMass", totalMass=1.0)
    field = node.addObject("ConstantForceField", indices=0, totalForce=[1, 2, 3, 4, 5, 6])
    simulation.init(root)
    assert force_of(field).tolist() == [[1, 2, 3, 4, 5, 6]]


def test_a_free_body_gains_force_times_time_over_mass(body, root, run):
    field = body("ConstantForceField", POINTS, totalForce=[4, 0, 0])
    run(root, 10)
    assert field.state.velocity.value == pytest.approx(np.tile([4 * 0.1 / 2, 0, 0], (4, 1)))


def test_its_stiffness_is_zero(body):
    check_force_field(body("ConstantForceField", POINTS, totalForce=[4, -8, 2]))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "has no force: give 'forces' or 'totalForce'"),
        ({"indices": [4], "totalForce": [1, 0, 0]}, "has 4 in 'indices', but there are 4 nodes"),
        ({"totalForce": [1, 0]}, "takes 3 numbers, got"),
        ({"indices": [1, 2], "forces": [[0, 0, 0]] * 3}, "has 3 'forces' for 2 nodes"),
        ({"forces": [1, 0, 0], "totalForce": [1, 0, 0]}, "has both 'forces' and 'totalForce'"),
    ],
)
def test_what_does_not_fit_is_a_fault(values, message, body):
    with pytest.raises(SceneError, match=message):
        body("ConstantForceField", POINTS, **values)


def test_forces_that_do_not_fit_do_nothing_where_scenes_are_tolerated(body, force_of, tolerant):
    field = body("ConstantForceField", POINTS, indices=[1, 2], forces=[[1, 1, 1]] * 3)
    assert not force_of(field).any()


def test_forces_by_time_are_interpolated(body, root, force_of):
    """From the last time on the factor is left out, as in SOFA."""
    field = body(
        "LinearForceField", POINTS, points=[2], force=2.0, times=[1, 2, 4],
        forces=[[1, 0, 0], [3, 0, 0], [0, 0, 8]],
    )  # fmt: skip
    found = {}
    for time in (0.0, 1.0, 1.5, 3.0, 4.0, 9.0):
        root.time = time
        root.inherit()
        found[time] = force_of(field)[2].tolist()
    assert found == {
        0.0: [0, 0, 0],
        1.0: [2, 0, 0],
        1.5: [4, 0, 0],
        3.0: [3, 0, 8],
        4.0: [0, 0, 8],
        9.0: [0, 0, 8],
    }


def test_times_and_forces_must_fit(body):
    with pytest.raises(SceneError, match="needs ascending 'times'"):
        body("LinearForceField", POINTS, points=[2], times=[1, 1], forces=[[1, 0, 0]] * 2)


def test_without_indices_it_acts_on_as_many_nodes_as_its_topology_has_points(
    body, root, tolerant, force_of, caplog
):
    """As in SOFA: the force is shared by them."""
    mesh = root.addChild("mesh")
    mesh.addObject("MeshTopology", name="mesh", position=POINTS[:2])
    field = body("ConstantForceField", POINTS, totalForce=[4, 0, 0], topology="@/mesh/mesh")
    assert force_of(field)[:, 0].tolist() == [2, 2, 0, 0]
    assert "has points for 2: these count, as in SOFA. Give 'indices'." in caplog.text
