"""SoftRobots' controllers without devices."""

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.core.event import key_pressed
from sofa_softctl.runtime.simulation import simulation

ONE = {"template": "Vec1d", "listening": True}


def test_a_limiter_that_does_not_listen_hands_nothing_on(root, caplog):
    """SOFA's does not by default; numbers out of range are the next ones in it."""
    limiter = root.addObject("DataVariationLimiter", input=[0, 0, 0], maxJump=-1.0, nbStep=0)
    simulation.init(root)
    assert "'listening' is False" in caplog.text
    assert (limiter.size.value, limiter.maxJump.value, limiter.nbStep.value) == (1, 0.0, 1)
    limiter.input.value = [0.0, 0.0, 0.01]
    simulation.animate(root, 0.01)
    assert limiter.output.value.tolist() == [0.0, 0.0, 0.0]


def test_small_changes_are_handed_on_and_jumps_are_made_up_in_growing_steps(root):
    """A jump of 1 in 4 steps: a step goes k / 4 of the way that is left, k = 0, 1, 2, 3."""
    limiter = root.addObject("DataVariationLimiter", input=[0.0, 5.0], maxJump=0.1, nbStep=4, **ONE)
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


def test_after_a_reset_a_jump_begins_anew(root):
    """In the midst of a jump, whose next step would go 2 / 4 of the way."""
    limiter = root.addObject("DataVariationLimiter", input=[0.0], maxJump=0.1, nbStep=4, **ONE)
    simulation.init(root)
    limiter.input.value = [1.0]
    simulation.animateNSteps(root, 2)
    assert limiter.output.value.tolist() == [0.25]
    simulation.reset(root)
    limiter.input.value = [1.0]
    simulation.animateNSteps(root, 1)
    assert limiter.output.value.tolist() == [0.0]
    simulation.animateNSteps(root, 1)
    assert limiter.output.value.tolist() == [0.25]


def test_jumps_of_vectors_are_distances(root):
    limiter = root.addObject(
        "DataVariationLimiter", input=[[0, 0, 0], [1, 1, 1]], maxJump=1.0, listening=True
    )
    simulation.init(root)
    limiter.input.value = [[0.9, 0.9, 0], [1.5, 1.5, 1.5]]
    simulation.animate(root, 0.01)
    assert limiter.output.value.tolist() == [0, 0, 0, 1.5, 1.5, 1.5]


def test_fewer_values_than_at_init_are_an_error(root):
    limiter = root.addObject("DataVariationLimiter", input=[1.0, 2.0], **ONE)
    simulation.init(root)
    limiter.input.value = [1.0]
    with pytest.raises(SceneError, match="had 2 values in 'input'; now it has 1"):
        simulation.animate(root, 0.01)


def test_an_input_counts_in_whole_vectors(root, tolerant, caplog):
    limiter = root.addObject("DataVariationLimiter", input=[1.0, 2.0, 3.0, 4.0], listening=True)
    simulation.init(root)
    assert "takes vectors of 3 numbers in 'input', got 4 numbers" in caplog.text
    assert (limiter.size.value, len(limiter.output.value)) == (1, 3)
    other = root.addObject("DataVariationLimiter", name="other", output=[1.0, 2.0, 3.0])
    other.init()
    assert other.size.value == 0  # nothing is followed without an input


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
    for count in (-1, 10**9):
        with pytest.raises(SceneError, match="needs nbDataField from 0 to 1000"):
            root.addObject("CommunicationController", nbDataField=count)


FRAMES = """Type: Vec3d
Number of frame: 5
Number of effector: 1
KeyFrames: 0 4
0 0 0
1 0 0
2 0 0
4 0 0
8 0 0
"""


@pytest.fixture
def edited(root, tmp_path, monkeypatch):
    """A node with a file of frames beside it, and where it is after each of some steps."""
    (tmp_path / "frames.txt").write_text(FRAMES)
    monkeypatch.chdir(tmp_path)

    def run(steps, keys=(), **values):
        root.addObject("MechanicalObject", name="dofs", position=[[7, 0, 0]])
        root.addObject("AnimationEditor", name="editor", filename="frames.txt", **values)
        simulation.init(root)
        seen = []
        for step in range(steps):
            if step in keys:
                root.send(key_pressed("M"))
            simulation.animate(root, 0.01)
            seen.append(root.dofs.position.value[0, 0])
        return seen

    return run


def test_the_first_frame_of_a_file_counts_without_a_key(edited):
    assert edited(3) == [0, 0, 0]


def test_a_key_plays_the_frames_and_pauses(edited):
    assert edited(6, keys=(1, 3), frameTime=0.01) == [0, 1, 2, 2, 2, 2]


def test_frames_last_their_time_and_begin_anew(edited):
    """Of 0.02 in steps of 0.01: two steps each; after the last key frame the first one."""
    seen = edited(12, keys=(0,), frameTime=0.02, loop=True)
    assert seen == [0, 1, 1, 2, 2, 4, 4, 8, 8, 0, 0, 1]


def test_frames_go_on_by_displacement_without_a_key(edited):
    """Frames at 0 1 2 4 8 by 1.5: 1 is the last one before 1.5, 2 the last one before 2.5; then
    SoftRobots counts 3, twice 1.5, and 4 is not so far: the last frame comes."""
    assert edited(4, dx=1.5) == [1, 2, 8, 8]


def test_a_file_that_is_not_to_be_read_moves_nothing(edited):
    assert edited(2, load=False) == [7, 7]


def test_a_missing_file_of_frames_moves_nothing_and_it_says_so(root, caplog):
    root.addObject("MechanicalObject", name="dofs", position=[[7, 0, 0]])
    root.addObject("AnimationEditor", filename="nowhere.txt")
    simulation.init(root)
    simulation.animate(root, 0.01)
    assert root.dofs.position.value.tolist() == [[7, 0, 0]]
    assert "no file" in caplog.text and "it moves nothing" in caplog.text


def test_frames_of_other_nodes_are_a_fault(root, tmp_path):
    path = tmp_path / "frames.txt"
    path.write_text(FRAMES)
    root.addObject("MechanicalObject", position=[[0, 0, 0], [1, 0, 0]])
    root.addObject("AnimationEditor", filename=str(path))
    with pytest.raises(SceneError, match="frames of 1 nodes, but there are 2"):
        simulation.init(root)
