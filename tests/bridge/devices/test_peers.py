"""A lab's own program over UDP and ZeroMQ: real sockets, and a program in a thread."""

import json
import math
import socket
import threading
import time

import numpy as np
import pytest

from sofa_softctl.bridge.device import ChannelSetup, Command
from sofa_softctl.bridge.devices.udp import UdpDevice
from sofa_softctl.bridge.devices.zeromq import ZeroMqDevice
from sofa_softctl.errors import DeviceFailedError, DeviceOpenError, DeviceTimeoutError
from tests.bridge.peer import Peer, ZeroMqPeer

LEFT = ChannelSetup(0, "left", 0.0, 60.0, 40.0, 0.0)
RIGHT = ChannelSetup(3, "right", -1.0, 1.0, math.inf, 0.5)


@pytest.fixture(params=[(UdpDevice, Peer), (ZeroMqDevice, ZeroMqPeer)], ids=["udp", "zeromq"])
def pair(request):
    """A class of devices, and a program that it reaches with the program's options."""
    device, program = request.param
    with program() as peer:
        yield device, peer


@pytest.fixture
def opened(pair):
    """A device with two channels, and the program."""
    device, peer = pair
    made = device("lab", **peer.options)
    made.open([LEFT, RIGHT])
    yield made, peer
    made.close()


def send(device, sequence, *values):
    device.write(Command(sequence, time.monotonic(), np.array(values, float)))


def stream(device, sequences, *values):
    """Write at 100 Hz and read, until the last is acknowledged, mostly; returns all feedback."""
    found = []
    for sequence in sequences:
        send(device, sequence, *values)
        time.sleep(0.01)
        found.append(device.read())
    end = time.monotonic() + 0.2
    while time.monotonic() < end and (found[-1] is None or found[-1].acknowledged != sequence):
        time.sleep(0.002)
        found.append(device.read() or found[-1])
    return [feedback for feedback in found if feedback is not None]


# -- what they do -------------------------------------------------------------------------


def test_commands_arrive_by_name_and_are_acknowledged(opened):
    device, peer = opened
    found = stream(device, range(30), 12.5, 0.25)
    assert [entry[1] for entry in peer.taken] == list(range(30))
    assert peer.taken[-1][2] == {"left": 12.5, "right": 0.25}
    assert found[-1].acknowledged == 29
    assert found[-1].positions == {0: 12.5, 3: 0.25}  # by channel
    assert found[-1].stopped == "" and found[-1].device_time > 0.0


def test_the_greeting_has_the_limits(opened):
    _, peer = opened
    assert peer.hellos[0]["channels"] == {
        "left": {"channel": 0, "low": 0.0, "high": 60.0, "rest": 0.0, "rate": 40.0},
        "right": {"channel": 3, "low": -1.0, "high": 1.0, "rest": 0.5, "rate": None},
    }


def test_what_is_sent_stays_within_the_limits(opened, eventually):
    device, peer = opened
    send(device, 0, 1e9, -1e9)
    eventually(lambda: peer.taken)
    assert peer.taken[0][2] == {"left": 60.0, "right": -1.0}


def test_what_it_is(pair):
    device, peer = pair
    made = device("lab", unit="mm", watchdog=0.2, **peer.options)
    found = made.open([LEFT])
    made.close()
    assert (found.unit, found.watchdog, found.acknowledges, found.moves) == ("mm", 0.2, True, True)
    assert "JSON messages of version 1" in found.description
    made = device("lab", answers=False, **peer.options)
    found = made.open([LEFT])
    made.close()
    assert not found.acknowledges and "answers = false" in found.notes[0]


def test_stop_is_reported_and_ends_the_session(opened):
    device, peer = opened
    stream(device, range(5), 1.0, 0.0)
    device.stop()
    assert peer.stopped == "stop"
    assert all(not feedback.stopped for feedback in stream(device, range(5, 10), 2.0, 0.0))
    assert len(peer.taken) == 5
    device.stop()


def test_a_program_that_stops_by_itself_says_why(opened, eventually):
    device, peer = opened
    stream(device, range(5), 1.0, 0.0)
    peer.extra = {"stopped": "a finger in the gripper"}
    assert stream(device, range(5, 10), 1.0, 0.0)[-1].stopped == "a finger in the gripper"


def test_a_stop_counts_whatever_comes_after_it(opened, eventually):
    device, peer = opened
    stream(device, range(3), 1.0, 0.0)
    peer.silent = True
    time.sleep(0.02)
    device.read()
    peer.send(peer.feedback(stopped="a finger in the gripper"))
    peer.send(peer.feedback(stopped=""))
    peer.send(peer.feedback(signals={"end": 1.0}))
    time.sleep(0.05)
    found = eventually(device.read)
    assert found.stopped == "a finger in the gripper" and "end" in found.signals


def test_a_stop_of_an_earlier_run_is_none(pair):
    """A program that sends on its own says that it stopped until the greeting reaches it."""
    device, peer = pair
    made = device("lab", **peer.options)
    send = peer.send
    peer.send = lambda _: [send(peer.feedback(stopped=why)) for why in ("the run before", "")]
    made.open([LEFT])
    time.sleep(0.02)
    assert not made.read().stopped
    made.close()


def test_without_commands_it_is_asked_all_the_same(opened, eventually):
    device, peer = opened
    for value in (1.0, 2.0):
        peer.extra = {"signals": {"pressure": value}}
        eventually(lambda value=value: (f := device.read()) and f.signals.get("pressure") == value)
    assert not peer.taken


def test_efforts_and_signals_come_with_it(opened, eventually):
    device, peer = opened
    peer.extra = {
        "efforts": {"left": 0.7, "3": 0.1, "others": 5.0},
        "signals": {"tip": [1.0, 2, 3.5], "pressure": 7},
    }
    found = stream(device, range(5), 1.0, 0.0)[-1]
    assert found.efforts == {0: 0.7, 3: 0.1}
    assert found.signals["tip"].tolist() == [1.0, 2.0, 3.5]
    assert found.signals["pressure"].tolist() == [7.0]


def test_a_program_that_restarts_is_heard_again(opened):
    device, peer = opened
    stream(device, range(5), 1.0, 0.0)
    peer.session, peer.sequence = "again", 0
    assert stream(device, range(5, 10), 1.0, 0.0)[-1].acknowledged == 9


# -- what goes wrong ----------------------------------------------------------------------


def test_bad_messages_are_dropped_and_counted(opened, eventually):
    """Reordered, duplicated, malformed, oversized and of another version: none is taken."""
    device, peer = opened
    stream(device, range(3), 1.0, 0.0)
    bad = {"signals": {"tip": [666.0]}}
    older = peer.feedback(**bad)
    newer = peer.feedback(signals={"tip": [1.0]})
    peer.silent = True
    time.sleep(0.05)
    device.read()
    peer.send(newer)
    peer.send(older)  # late
    peer.send(newer)  # twice
    peer.send(older[:-5])  # cut
    peer.send(b"\xff\xfe not JSON")
    peer.send(b"[" * 8000)
    peer.send(older + b" " * 9000)
    peer.send(older.replace(b'"softctl": 1', b'"softctl": 2'))
    peer.send(peer.feedback(**bad).replace(b"666.0", b"NaN"))
    peer.send(peer.feedback(positions={"left": "here"}))
    last = None
    end = time.monotonic() + 0.4
    while time.monotonic() < end:
        feedback = device.read()
        if feedback is not None:
            assert feedback.signals.get("tip", np.array([1.0])).tolist() == [1.0]
            last = feedback
        time.sleep(0.005)
    assert last is not None
    peer.send(peer.feedback())
    assert eventually(device.read).signals["messages_dropped"] == 9
    counts = device._inbox.dropped
    assert counts == {"malformed": 4, "version": 1, "old": 2, "oversized": 1, "not finite": 1}


def test_a_command_that_was_never_sent_is_not_acknowledged(opened, eventually):
    device, peer = opened
    peer.extra = {}
    stream(device, range(3), 1.0, 0.0)
    peer.send(peer.feedback(acknowledged=77, to=device._session))
    peer.send(peer.feedback(acknowledged=0, to="an earlier run"))
    time.sleep(0.05)
    found = eventually(device.read)
    assert found.acknowledged == 2


def test_a_program_that_falls_silent_is_a_timeout(opened):
    device, peer = opened
    stream(device, range(5), 1.0, 0.0)
    peer.silent = True
    with pytest.raises(DeviceTimeoutError, match="'lab': .* does not answer any more"):
        stream(device, range(5, 200), 1.0, 0.0)
    with pytest.raises(DeviceTimeoutError, match="did not report in 0.3 s that it stopped"):
        device.stop()


def test_a_silent_program_is_found_when_it_is_opened(pair):
    device, peer = pair
    peer.silent = True
    with pytest.raises(DeviceTimeoutError, match=r"nothing came from .* in 0.3 s\. Does it run"):
        device("lab", timeout=0.3, **peer.options).open([LEFT])


def test_a_program_that_starts_later_is_waited_for(pair):
    device, peer = pair
    peer.silent = True
    timer = threading.Timer(0.4, setattr, [peer, "silent", False])
    timer.start()
    made = device("lab", **peer.options)
    made.open([LEFT])
    made.close()
    timer.join()


def test_another_version_is_named(pair):
    device, peer = pair
    peer.version = 2
    with pytest.raises(DeviceOpenError, match="messages of version 2, .* understands version 1"):
        device("lab", **peer.options).open([LEFT])


def test_only_garbage_is_described(pair):
    device, peer = pair
    peer.feedback = lambda **content: b"hello?"
    with pytest.raises(DeviceTimeoutError, match=r"dropped messages: \d+ malformed"):
        device("lab", timeout=0.3, **peer.options).open([LEFT])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"positions": {"left": float("nan")}}, "not finite"),
        ({"sequence": 0}, "old"),
        ({"positions": 3}, "malformed"),
    ],
)
def test_a_program_whose_answers_are_all_dropped_does_run(pair, change, reason):
    device, peer = pair
    made = device("lab", answer_timeout=0.2, **peer.options)
    made.open([LEFT])
    plain = peer.feedback
    peer.feedback = lambda **content: json.dumps(json.loads(plain(**content)) | change).encode()
    with pytest.raises(DeviceTimeoutError, match=rf"did arrive from it, but .*\d+ {reason}"):
        for sequence in range(200):
            made.write(Command(sequence, time.monotonic(), np.array([1.0])))
            time.sleep(0.01)
            made.read()
    made.close()


def test_a_closed_device_says_so(pair):
    device, peer = pair
    made = device("lab", **peer.options)
    with pytest.raises(DeviceFailedError, match="is not open"):
        made.read()
    with pytest.raises(DeviceFailedError, match="is not open"):
        send(made, 0, 1.0)
    made.stop()
    made.close()
    for _ in range(2):
        made.open([LEFT])
        made.close()


def test_a_udp_program_that_ends_has_failed():
    with Peer() as peer:
        device = UdpDevice("lab", **peer.options)
        device.open([LEFT])
        stream(device, range(3), 1.0)
        peer.close()
        with pytest.raises(DeviceFailedError, match="the program there is not running"):
            stream(device, range(3, 50), 1.0)
        device.close()
        with pytest.raises(DeviceTimeoutError, match="nobody receives at 127.0.0.1"):
            UdpDevice("lab", timeout=0.3, **peer.options).open([LEFT])


def test_udp_takes_datagrams_of_its_program_only():
    with Peer() as peer:
        device = UdpDevice("lab", **peer.options)
        device.open([LEFT])
        time.sleep(0.05)
        device.read()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            stranger.sendto(peer.feedback(stopped="ha"), device._socket.getsockname())
        end = time.monotonic() + 0.4
        while time.monotonic() < end:
            feedback = device.read()
            assert feedback is None or not feedback.stopped
        device.close()


# -- readers ------------------------------------------------------------------------------


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def pose(sequence, *tip):
    said = {"softctl": 1, "type": "feedback", "sequence": sequence, "time": sequence * 0.01}
    return json.dumps(said | {"signals": {"tip": tip}}).encode()


def test_a_cameras_poses_are_read_from_udp(eventually):
    port = free_port()
    device = UdpDevice("camera", bind=f"127.0.0.1:{port}", timeout=0.0)
    found = device.open([])
    assert not found.acknowledges and not found.moves
    assert device.read() is None
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as camera:
        for sequence in (1, 2, 3):
            camera.sendto(pose(sequence, sequence, 0.0, 5.0), ("127.0.0.1", port))
        feedback = eventually(device.read)
    assert feedback.signals["tip"].tolist() == [3.0, 0.0, 5.0]
    assert feedback.device_time == pytest.approx(0.03)
    time.sleep(0.6)  # longer than answer_timeout: a reader is owed nothing
    assert device.read() is None
    device.stop()
    device.close()


def test_a_cameras_poses_are_read_from_zeromq(eventually):
    import zmq

    context = zmq.Context()
    camera = context.socket(zmq.PUB)
    port = camera.bind_to_random_port("tcp://127.0.0.1")
    device = ZeroMqDevice("camera", receive=f"tcp://127.0.0.1:{port}", timeout=0.0)
    device.open([])
    time.sleep(0.2)
    camera.send_multipart([b"poses", pose(1, 1.0, 2.0, 3.0)])  # with a topic
    assert eventually(device.read).signals["tip"].tolist() == [1.0, 2.0, 3.0]
    device.close()
    camera.close(linger=0)
    context.term()


def test_a_camera_that_sends_nothing_is_found_when_it_is_opened():
    device = UdpDevice("camera", bind=f"127.0.0.1:{free_port()}", timeout=0.2)
    with pytest.raises(DeviceTimeoutError, match=r"nothing came from UDP at 127.0.0.1:\d+ in 0.2"):
        device.open([])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: UdpDevice("x"), "give host and port"),
        (lambda: UdpDevice("x", host="127.0.0.1"), "give host and port"),
        (lambda: UdpDevice("x", bind="nonsense"), "bind is an address and a port"),
        (lambda: UdpDevice("x", bind="203.0.113.1:9001"), "no address 203.0.113.1:9001"),
        (lambda: UdpDevice("x", host="127.0.0.1", port=70000), "no UDP with 127.0.0.1:70000"),
        (lambda: UdpDevice("x", host="no.such.host.invalid", port=9), "no computer is known as"),
        (lambda: UdpDevice("x", bind="127.0.0.1:9001"), "not say where commands go"),
        (lambda: ZeroMqDevice("x"), "give the endpoints"),
        (lambda: ZeroMqDevice("x", send="tcp://127.0.0.1:5555"), "endpoint receive of its answers"),
        (lambda: ZeroMqDevice("x", receive="tcp://127.0.0.1:5555"), "not say where commands go"),
        (lambda: ZeroMqDevice("x", send="no", receive="no"), "An endpoint is such as 'tcp://"),
    ],
)
def test_what_is_wrong_with_the_options_is_said(make, message):
    device = make()
    channels = [LEFT] if "commands go" in message else []
    with pytest.raises(DeviceOpenError, match=message):
        device.open(channels)


def test_an_address_that_is_taken_is_named():
    with Peer() as peer:
        with pytest.raises(DeviceOpenError, match="another program .* receives at 127.0.0.1:"):
            UdpDevice("x", bind=f"127.0.0.1:{peer.port}").open([])
    with ZeroMqPeer() as peer:
        with pytest.raises(DeviceOpenError, match="Another program of this computer has it"):
            ZeroMqDevice("x", receive=peer.options["receive"], bind=True).open([])
