"""Serial ports on pseudo terminals; what opening says is in tests/bridge/devices."""

import os
import select
import tty

import pytest

from sofa_softctl._internal.serial_port import SerialPort
from sofa_softctl.errors import DeviceTimeoutError


@pytest.fixture
def line():
    """The other end, and the port."""
    master, slave = os.openpty()
    tty.setraw(slave)
    port = SerialPort(os.ttyname(slave), 115200)
    yield master, port
    port.close()
    os.close(master)
    os.close(slave)


def test_bytes_go_both_ways_without_waiting(line):
    master, port = line
    assert port.read() == b""
    port.write(bytes(range(256)))
    found = b""
    while len(found) < 256 and select.select([master], [], [], 1.0)[0]:
        found += os.read(master, 4096)
    assert found == bytes(range(256))
    os.write(master, b"\x00\x03\x11\x13\r\n")
    select.select([port._fd], [], [], 1.0)
    assert port.read() == b"\x00\x03\x11\x13\r\n"  # nothing is taken for a control character


def test_a_part_that_does_not_fit_is_an_error(line):
    with pytest.raises(DeviceTimeoutError, match=r"\d+ of 1000000 bytes fit into the line"):
        line[1].write(bytes(1_000_000))
    with pytest.raises(DeviceTimeoutError, match="into the line"):
        for _ in range(100):
            line[1].write(bytes(1000))


def test_another_rate_needs_no_new_port(line):
    import termios

    master, port = line
    port.set_baud_rate(9600)
    assert termios.tcgetattr(master)[5] == termios.B9600
    port.close()
    port.close()
