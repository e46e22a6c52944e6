"""The CAN device with an emulated node on python-can's virtual bus."""

import math
import struct
import threading
import time

import numpy as np
import pytest

from sofa_softctl.bridge.device import ChannelSetup, Command
from sofa_softctl.bridge.devices.can_bus import CanDevice
from sofa_softctl.errors import (
    ConfigError,
    DeviceFailedError,
    DeviceOpenError,
    DeviceTimeoutError,
    DeviceUnavailableError,
)
from sofa_softctl.testing import check_device
from tests.bridge.can_node import CanNode

can = pytest.importorskip("can")

IDS = {"command_id": 0x200, "feedback_id": 0x280, "stop_id": 0x080}
VIRTUAL = {"interface": "virtual", **IDS}


def channel(number, low=-100.0, high=100.0):
    return ChannelSetup(number, f"valve_{number}", low, high, 1000.0, 0.0)


def send(device, number, *values):
    device.write(Command(number, time.monotonic(), np.array(values, float)))


def answer(device, within=2.0):
    end = time.monotonic() + within
    while time.monotonic() < end:
        if (found := device.read()) is not None:
            return found
        time.sleep(1e-3)
    raise AssertionError("no feedback")


@pytest.fixture
def opened(request):
    """A device with channels 0 and 1, and the node."""
    with CanNode(request.node.name) as node:
        device = CanDevice("valves", channel=request.node.name, **VIRTUAL)
        device.open([channel(0), channel(1)])
        yield device, node
        device.close()


@pytest.mark.real_time
@pytest.mark.parametrize(
    ("layout", "format", "per_frame", "sequence"),
    [
        ("<f", "<f", 1, False),
        ("<f", "<f", 1, True),
        ("<2h", "<h", 2, True),
        (">2i", ">i", 2, False),
    ],
)
def test_it_passes_the_contract_test(layout, format, per_frame, sequence):
    frames = 2 // per_frame
    with CanNode("contract", layout, frames, sequence, latches=False) as node:
        found = check_device(
            CanDevice,
            [channel(0), channel(1)],
            channel="contract",
            format=format,
            per_frame=per_frame,
            sequence=sequence,
            watchdog=0.1,
            bitrate=500_000,
            **VIRTUAL,
        )
    assert found.acknowledges is sequence
    assert node.stops, "it was stopped at the end"
    assert not found.measures and "on their own" in found.notes[0], "it only answers"
    bits = 67 + 9.6 * node.layout.size  # of a frame, with stuffing; both ways, half of the bus
    assert found.rate_max == pytest.approx(500_000 / bits / (2 * frames) / 2)


def test_frames_are_as_documented(opened):
    device, node = opened
    send(device, 7, 1.5, -2.25)
    assert answer(device).positions
    assert [(m.arbitration_id, bytes(m.data)) for m in node.received[:2]] == [
        (0x200, struct.pack("<f", 1.5)),
        (0x201, struct.pack("<f", -2.25)),
    ]


def test_several_channels_share_a_frame():
    with CanNode("shared", ">3h", 1, True) as node:
        device = CanDevice(
            "valves", channel="shared", format=">h", per_frame=3, sequence=True, **VIRTUAL
        )
        device.open([channel(5), channel(3), channel(4)])
        with pytest.raises(AssertionError, match="no feedback"):
            answer(device, 0.02)
        send(device, 65537, 5.4, 3.0, -4.0)
        time.sleep(0.05)
        device.close()
    (message,) = node.received
    assert message.arbitration_id == 0x201
    # Channels 3 to 5 in the second frame, rounded; the number of the command modulo 2^16.
    assert bytes(message.data) == struct.pack(">3h", 3, -4, 5) + struct.pack("<H", 1)


@pytest.mark.parametrize(
    ("format", "low", "high"), [("<h", -101, 102), ("<f", -101.9, 102.6), ("<d", -101.9, 102.6)]
)
def test_rounding_passes_no_limit(format, low, high):
    """Half a value beyond a limit is beyond it; in single precision -101.9 is 1.5e-6 less."""
    with CanNode("round", format, 1, False) as node:
        device = CanDevice("valves", channel="round", format=format, **VIRTUAL)
        device.open([channel(0, -101.9, 102.6)])
        for number, value in enumerate((-101.9, 102.6, 50.6)):
            send(device, number, value)
        time.sleep(0.05)
        device.close()
    sent = [struct.unpack(format, message.data)[0] for message in node.received[:3]]
    assert sent[:2] == pytest.approx([low, high], rel=1e-6)
    assert -101.9 <= sent[0] and sent[1] <= 102.6
    assert sent[2] == pytest.approx(51 if format == "<h" else 50.6, rel=1e-6)


def test_limits_without_a_whole_value_are_refused():
    device = CanDevice("valves", format="<h", **VIRTUAL)
    with pytest.raises(DeviceOpenError, match=r"'valve_0' goes from 10\.2 to 10\.8, where the"):
        device.open([channel(0, 10.2, 10.8)])


def test_a_place_without_an_actuator_is_refused():
    device = CanDevice("valves", per_frame=2, **VIRTUAL)
    with pytest.raises(DeviceOpenError, match="holds the channels 2 to 3, and no actuator uses 3"):
        device.open([channel(0), channel(1), channel(2)])


def test_numbers_of_commands_go_on_after_2_to_the_16():
    with CanNode("long", "<f", 1, True):
        device = CanDevice("valves", channel="long", sequence=True, **VIRTUAL)
        device.open([channel(0)])
        for number in (65535, 65536, 200_000):
            send(device, number, 1.0)
            assert answer(device).acknowledged == number
        device.close()


def test_an_acknowledgement_from_before_it_was_opened_is_none():
    with CanNode("before", "<f", 1, True) as node:
        device = CanDevice("valves", channel="before", sequence=True, **VIRTUAL)
        device.open([channel(0)])
        send(device, 30, 1.0)
        assert answer(device).acknowledged == 30
        device.stop()
        device.close()
        device.open([channel(0)])
        send(device, 100, 1.0)
        assert answer(device).acknowledged is None, "the node is stopped: its last one is 30"
        assert node.stops == 1
        device.close()


def test_a_silent_node_is_a_timeout_that_names_its_frame(opened):
    device, node = opened
    device.answer_timeout, node.silent = 0.05, True
    send(device, 0, 1.0, 2.0)
    with pytest.raises(DeviceTimeoutError, match=r"no frame 0x280 for 0.05 s\. Is its node on"):
        answer(device)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x00" * 3, "not of 4 bytes"),
        (struct.pack("<f", math.nan), "with NaN or infinite numbers"),
    ],
)
def test_frames_that_are_all_dropped_are_no_silent_node(opened, data, reason):
    device, node = opened
    device.answer_timeout, node.silent = 0.05, True
    send(device, 0, 1.0, 2.0)
    frame = can.Message(arbitration_id=0x280, data=data, is_extended_id=False)
    node.bus.send(frame)
    with pytest.raises(DeviceTimeoutError, match=rf"1 of them were dropped: 1 {reason}"):
        answer(device)


@pytest.mark.parametrize("data", [b"\x00" * 3, struct.pack("<f", float("nan"))])
def test_frames_that_make_no_sense_are_left_out(opened, data):
    device, node = opened
    node.silent = True
    send(device, 0, 1.0, 2.0)
    node.say(0x280, data)
    node.say(0x7FF, b"other")
    time.sleep(0.01)
    assert device.read() is None


def test_stop_sends_the_stop_frame_and_nodes_stay():
    with CanNode("stop") as node:
        device = CanDevice("valves", channel="stop", stop_data="01 FF", **VIRTUAL)
        device.open([channel(0), channel(1)])
        send(device, 0, 1.0, 2.0)
        answer(device)
        device.stop()
        device.stop()
        send(device, 1, 50.0, 50.0)
        time.sleep(0.05)
        device.close()
    assert bytes(node.received[2].data) == b"\x01\xff"
    assert node.values == {0: (1.0,), 1: (2.0,)}


def test_without_a_watchdog_it_says_what_happens_at_a_crash():
    with CanNode("plain"):
        device = CanDevice("valves", channel="plain", **VIRTUAL)
        note, _ = device.open([channel(0)]).notes
        device.close()
    assert "to have no watchdog" in note


def test_nodes_that_speak_on_their_own_give_their_positions_before_the_first_command():
    with CanNode("speaks") as node:
        device = CanDevice("valves", channel="speaks", **VIRTUAL)
        said = threading.Timer(
            0.05, lambda: [node.say(0x280 + i, struct.pack("<f", 7.0 + i)) for i in (0, 1)]
        )
        said.start()
        assert device.open([channel(0), channel(1)]).measures
        assert device.read().positions == {0: 7.0, 1: 8.0}
        assert device.read() is None
        device.close()
        said.join()


def test_bus_off_is_a_failure_with_what_to_do(opened):
    device, node = opened
    node.say(0x040, b"", is_error_frame=True)
    time.sleep(0.01)
    with pytest.raises(DeviceFailedError, match="off the bus.*ip link set .* type can restart"):
        device.read()


def test_other_error_frames_are_no_failure(opened):
    device, node = opened
    node.say(0x004, b"", is_error_frame=True)
    time.sleep(0.01)
    assert device.read() is None


def test_a_full_queue_is_a_timeout():
    """A node that reads nothing: the virtual bus holds 3 frames for it."""
    deaf = can.Bus(interface="virtual", channel="full", rx_queue_size=3, ignore_config=True)
    device = CanDevice("valves", channel="full", **VIRTUAL)
    device.open([channel(0)])
    with pytest.raises(DeviceTimeoutError, match="queue for frames is full: nobody acknowledges"):
        for number in range(4):
            send(device, number, 1.0)
    device.close()
    deaf.shutdown()


def test_a_bus_that_is_shut_down_is_a_failure(opened):
    device, _ = opened
    device._bus.shutdown()
    with pytest.raises(DeviceFailedError, match="closed bus"):
        send(device, 0, 1.0, 2.0)
    with pytest.raises(DeviceFailedError, match="closed bus"):
        device.read()


def test_without_the_interface_it_says_what_to_type():
    device = CanDevice("valves", channel="can77", bitrate=250000, **IDS)
    with pytest.raises((DeviceOpenError, DeviceUnavailableError)) as caught:
        device.open([channel(0)])
    if caught.type is DeviceUnavailableError:
        assert "this kernel has no SocketCAN: sudo modprobe can_raw" in str(caught.value)
    else:
        assert "sudo ip link set can77 up type can bitrate 250000" in str(caught.value)


@pytest.mark.parametrize(("number", "kind"), [(19, DeviceOpenError), (100, DeviceOpenError)])
def test_the_kernels_answers_are_explained(number, kind):
    """ENODEV and ENETDOWN; whether this kernel would say so depends on it."""
    error = CanDevice("valves", bitrate=250000, **IDS)._open_error(OSError(number, "no"))
    assert type(error) is kind
    assert "sudo ip link set can0 up type can bitrate 250000" in str(error)


def test_an_unknown_interface_is_refused():
    device = CanDevice("valves", interface="carrier_pigeon", **IDS)
    with pytest.raises(DeviceOpenError, match="python-can has no interface 'carrier_pigeon'"):
        device.open([channel(0)])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"format": "f"}, "format: expected '<' or '>' and a letter"),
        ({"format": "<s"}, "format: expected"),
        ({"per_frame": 0}, "per_frame: expected 1 or more"),
        ({"per_frame": 3}, "make frames of 12 bytes; CAN has 8"),
        ({"format": "<d", "sequence": True}, "make frames of 10 bytes"),
        ({"stop_data": "xy"}, "stop_data: expected hexadecimal, got 'xy'"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, words):
    with pytest.raises(ConfigError, match=words):
        CanDevice("valves", **{**IDS, **options})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"feedback_id": 0x201}, "two frames have one id: 0x200, 0x201, 0x201, 0x202"),
        ({"stop_id": 0x1000}, "the id 0x1000 does not fit: 0 to 0x7FF, or set extended = true"),
        ({"command_id": 0x20000000, "extended": True}, "does not fit: 0 to 0x1FFFFFFF"),
    ],
)
def test_ids_that_do_not_fit_are_refused(options, words):
    device = CanDevice("valves", **{**VIRTUAL, **options})
    with pytest.raises(DeviceOpenError, match=words):
        device.open([channel(0), channel(1)])
