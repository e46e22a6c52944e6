"""Firmware of SoftRobots: bytes on a pseudo terminal, read as its Arduino sketch reads them."""

import math
import os
import select
import time
import tty

import numpy as np
import pytest

from sofa_softctl.bridge.device import ChannelSetup, Command
from sofa_softctl.bridge.devices.softrobots_packets import SoftRobotsDevice
from sofa_softctl.errors import DeviceFailedError, DeviceOpenError, DeviceTimeoutError


@pytest.fixture
def line():
    """The other end of a port, and the port's path."""
    master, slave = os.openpty()
    tty.setraw(slave)
    os.set_blocking(master, False)
    yield master, os.ttyname(slave)
    os.close(slave)
    try:
        os.close(master)
    except OSError:  # a test unplugged it
        pass


def arrived(line):
    found = b""
    while select.select([line[0]], [], [], 0.03)[0]:
        found += os.read(line[0], 4096)
    return list(found)


def channel(number, low=0.0, high=180.0, rest=90.0):
    return ChannelSetup(number, f"servo_{number}", low, high, math.inf, rest)


def opened(line, channels=3, **options):
    device = SoftRobotsDevice("robot", **{"port": line[1], "settle": 0.0, **options})
    device.open([channel(i) for i in range(channels)])
    return device


def send(device, *values, sequence=0):
    device.write(Command(sequence, time.monotonic(), np.array(values, float)))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [255, 1, 2, 180]),
        ({"header": 200}, [200, 1, 2, 180]),
        ({"redundancy": 2}, [255, 1, 2, 180] * 2),
        ({"size": 5, "fill": 9}, [255, 1, 2, 180, 9, 9]),
        ({"precise": True}, [255, 0, 1, 0, 2, 0, 180]),
        ({"precise": True, "split_packet": True}, [255, 0, 1, 0, 254, 2, 0, 180]),
    ],
)
def test_packets_are_those_that_sofa_sends(line, options, expected):
    """tests/sofa compares the same packets with SOFA's."""
    device = opened(line, **options)
    assert arrived(line) == []
    send(device, 1.2, 1.6, 180.0)
    assert arrived(line) == expected
    device.close()


def test_precise_values_have_16_bits(line):
    device = SoftRobotsDevice("robot", port=line[1], settle=0.0, precise=True)
    device.open([channel(0, 0.0, 65535.0), channel(1, 0.0, 65535.0)])
    send(device, 0x1234, 65535)
    assert arrived(line) == [255, 0x12, 0x34, 255, 255]
    device.close()


def test_the_sketch_of_the_tripod_finds_each_packet(line):
    """Its loop: wait for 255, then take three bytes; also when it begins within a packet."""
    device = opened(line)
    sent = [[i, 180 - i, 90] for i in range(100)]
    for values in sent:
        send(device, *values)
    stream = iter(arrived(line)[2:])
    found = []
    for byte in stream:
        if byte == 255:
            found.append([next(stream), next(stream), next(stream)])
    assert found == sent[1:]
    device.close()


def test_it_says_that_nothing_watches_over_it(line):
    device = SoftRobotsDevice("robot", port=line[1], settle=0.0)
    found = device.open([channel(0), channel(1)])
    device.close()
    assert found.watchdog is None and not found.acknowledges
    assert found.range == (0.0, 254.0) and found.resolution == 1.0
    assert found.rate_max == 11520 / 3
    assert "no watchdog" in found.notes[0]


def test_what_it_sends_is_a_signal(line):
    device = opened(line)
    assert device.read() is None
    os.write(line[0], b"\x01\x02\x2a")
    time.sleep(0.05)
    assert device.read().signals["packet_in"].tolist() == [42.0]
    device.close()


def test_after_stop_nothing_is_sent(line):
    device = opened(line)
    send(device, 1, 2, 3)
    device.stop()
    device.stop()
    send(device, 4, 5, 6)
    assert arrived(line) == [255, 1, 2, 3]
    device.close()


@pytest.mark.parametrize(
    ("options", "low", "high", "message"),
    [
        ({}, 0.0, 255.0, "values go from 0 to 254, below the header"),
        ({}, -1.0, 100.0, "limits -1 to 100"),
        ({"precise": True}, 0.0, 70000.0, "values go from 0 to 65535"),
        ({"size": 2}, 0.0, 180.0, "on channel 2, but a packet has 2 values: channels 0 to 1"),
        ({}, 1.2, 1.8, "no whole value from 1.2 to 1.8"),
        ({"split_packet": True}, 0.0, 180.0, "split_packet needs precise = true"),
        ({"header": 256}, 0.0, 180.0, "bytes from 1 to 255"),
        ({"redundancy": 0}, 0.0, 180.0, "redundancy is at least 1"),
        ({"fill": 255}, 0.0, 180.0, "fill is from 0 to 254"),
        ({"port": "/dev/ttyNO0"}, 0.0, 180.0, "there is no port /dev/ttyNO0"),
    ],
)
def test_what_does_not_fit_is_said_before_anything_is_sent(line, options, low, high, message):
    device = SoftRobotsDevice("robot", **{"port": line[1], "settle": 0.0, **options})
    with pytest.raises(DeviceOpenError, match=message):
        device.open([channel(0), channel(1), channel(2, low, high, low)])
    assert arrived(line) == []


def test_failures_of_the_line(line):
    device = opened(line)
    with pytest.raises(DeviceTimeoutError, match="fit into the line|fits into the line"):
        for _ in range(100_000):
            send(device, 1, 2, 3)
    os.close(line[0])
    with pytest.raises(DeviceFailedError, match="is gone"):
        device.read()
    device.stop()
    device.close()
    with pytest.raises(DeviceFailedError, match="is not open"):
        send(device, 1, 2, 3)
