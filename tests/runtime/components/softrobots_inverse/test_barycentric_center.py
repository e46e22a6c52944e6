"""BarycentricCenterEffector: the old name of its directions."""

import pytest

from sofa_softctl.runtime.simulation import simulation


@pytest.mark.parametrize("spelling", [{"axis": [1, 0, 1]}, {"useDirections": [1, 0, 1]}])
def test_axis_is_the_old_name_of_the_used_directions(root, spelling):
    root.addObject("MechanicalObject", position=[[0, 0, 0], [2, 4, 6]])
    effector = root.addObject("BarycentricCenterEffector", effectorGoal=[[1, 1, 1]], **spelling)
    simulation.init(root)
    assert effector.row_count == 2
    assert effector.barycenter.value.tolist() == [[1, 2, 3]]
    assert effector.violation().tolist() == [0, 2]


@pytest.mark.parametrize(("defects", "goal"), [("0", [1, 2, 3]), ("1", [0, 0, 0])])
def test_without_a_goal_the_mean_stays(root, monkeypatch, defects, goal):
    """SOFA's goal is the origin."""
    monkeypatch.setenv("SOFTCTL_SOFA_DEFECTS", defects)
    root.addObject("MechanicalObject", position=[[0, 0, 0], [2, 4, 6]])
    effector = root.addObject("BarycentricCenterEffector")
    simulation.init(root)
    assert effector.effectorGoal.value.tolist() == [goal]
