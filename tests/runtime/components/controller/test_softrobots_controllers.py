"""SoftRobots' controllers without devices."""

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.simulation import simulation


def test_small_changes_are_handed_on_and_jumps_are_made_up_in_growing_steps(root):
    """A jump of 1 in 4 steps: a step goes k / 4 of the way that is left, k = 0, 1, 2, 3."""
    limiter = root.addObject("DataVariationLimiter", input=[0.0, 5.0], maxJump=0.1, nbStep=4)
    simulation.init(root)
    assert limiter.size.value == 2
    limiter.input.value = [1.0, 5.05]
    seen = []
    for _ in range(5):
        simulation.animate(root, 0.01)
        seen.append(limiter.output.value.tolist())
    left = np.cumprod([1.0, 3 / 4, 2 / 4, 1 / 4])
    assert [row[0] for row in seen[:4]] == pytest.approx((1.0 - left).tolist())
    assert seen[4][0] == 1.0  # less than maxJump is left
    assert [row[1] for row in seen] == [5.05] * 5
    simulation.reset(root)
    assert limiter.output.value.tolist() == [0.0, 5.0]


def test_jumps_of_vectors_are_distances(root):
    limiter = root.addObject(
        "DataVariationLimiter", template="Vec3d", input=[[0, 0, 0], [1, 1, 1]], maxJump=1.0
    )
    simulation.init(root)
    limiter.input.value = [[0.9, 0.9, 0], [1.5, 1.5, 1.5]]
    simulation.animate(root, 0.01)
    assert limiter.output.value.tolist() == [0, 0, 0, 1.5, 1.5, 1.5]


def test_fewer_values_than_at_init_are_an_error(root):
    limiter = root.addObject("DataVariationLimiter", input=[1.0, 2.0])
    simulation.init(root)
    limiter.input.value = [1.0]
    with pytest.raises(SceneError, match="had 2 values in 'input' at init; now it has 1"):
        simulation.animate(root, 0.01)


def test_a_network_is_not_there_but_its_data_are(root, caplog):
    controller = root.addObject(
        "CommunicationController", job="sender", port=5558, nbDataField=2, data2="1 2", pattern=0
    )
    texts = root.addObject("CommunicationController", template="string", data1=["a", "b"])
    simulation.init(root)
    assert controller.data1.value.tolist() == []
    assert controller.data2.value.tolist() == [1, 2]
    assert texts.data1.value == ["a", "b"]
    assert "exchanges nothing" in caplog.text
    with pytest.raises(SceneError, match="no Data 'data3'"):
        root.addObject("CommunicationController", nbDataField=2, data3=[1])


def test_an_animation_editor_moves_nothing(root):
    root.addObject("MechanicalObject", name="dofs", position=[[1, 2, 3]])
    root.addObject("AnimationEditor", maxKeyFrame=100, load=True, filename="a.txt", dx=0.1)
    simulation.init(root)
    simulation.animateNSteps(root, 3, 0.01)
    assert root.dofs.position.value.tolist() == [[1, 2, 3]]
