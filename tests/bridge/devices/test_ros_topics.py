"""What both ROS devices take for feedback, and when a topic counts as silent; no ROS, no server."""

from time import sleep

import pytest

from sofa_softctl.bridge.device import ChannelSetup
from sofa_softctl.bridge.devices.ros_topics import Topics
from sofa_softctl.errors import DeviceTimeoutError

TIMEOUT = 0.1


@pytest.fixture
def topics():
    """Two joints that were heard once, and a signal."""
    made = Topics(
        "arm",
        topic="/commands",
        type="std_msgs/Float64MultiArray",
        joints=("first", "second"),
        feedback_topic="/joint_states",
        feedback_type="sensor_msgs/JointState",
        signals={"pressure": "/pressure std_msgs/Float64"},
        answer_timeout=TIMEOUT,
    )
    made.open([ChannelSetup(k, f"joint {k}", -1.0, 1.0, 2.0, 0.0) for k in range(2)])
    made.store("", {"name": ["first", "second"], "position": [0.1, 0.2], "effort": []})
    made.wait(1.0, lambda: None)
    assert made.take_feedback().positions == {0: 0.1, 1: 0.2}
    return made


OTHER_MESSAGES = {
    "of another type": ("", {"data": [1.0]}),
    "of another robot": ("", {"name": ["third"], "position": [1.0], "effort": []}),
    "of a signal": ("pressure", {"data": 3.0}),
}


@pytest.mark.parametrize("kind", OTHER_MESSAGES)
def test_messages_without_positions_do_not_hide_that_the_feedback_is_silent(topics, kind):
    """Before, each counted as feedback of now: old positions looked new, and nobody stopped."""
    heard = topics.take_feedback()
    assert heard is None
    with pytest.raises(DeviceTimeoutError, match="on /joint_states for 0.1"):
        for _ in range(20):
            topics.store(*OTHER_MESSAGES[kind])
            topics.take_feedback()
            topics.check_silence()
            sleep(0.1 * TIMEOUT)


def test_feedback_has_the_time_of_the_positions_not_of_a_later_signal(topics):
    topics.store("", {"name": ["first"], "position": [0.3], "effort": []})
    sleep(0.02)
    topics.store("pressure", {"data": 3.0})
    feedback = topics.take_feedback()
    assert feedback.positions == {0: 0.3} and feedback.signals["pressure"].tolist() == [3.0]
    topics.store("pressure", {"data": 4.0})
    later = topics.take_feedback()
    assert later.positions == {} and later.time == feedback.time


def test_signals_alone_have_their_own_time():
    camera = Topics(
        *("camera", "", "std_msgs/Float64MultiArray", (), "", "sensor_msgs/JointState"),
        signals={"tip": "/tip std_msgs/Float64"},
        answer_timeout=TIMEOUT,
    )
    camera.open([])
    camera.store("tip", {"data": 1.0})
    first = camera.take_feedback()
    sleep(0.01)
    camera.store("tip", {"data": 2.0})
    assert camera.take_feedback().time > first.time
    sleep(2.0 * TIMEOUT)
    camera.check_silence()  # it has no feedback to be silent
