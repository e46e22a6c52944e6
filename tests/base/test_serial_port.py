"""Serial ports on pseudo terminals; what opening says is in tests/bridge/devices."""

import errno
import os
import select
import tty

import pytest

from sofa_softctl.base.serial_port import SerialPort
from sofa_softctl.errors import DeviceFailedError, DeviceTimeoutError


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


class Asked:
    """In place of a pyserial port: each count of bytes that wait is the next answer, or raised."""

    def __init__(self, *answers):
        self.answers = list(answers)

    def answer(self):
        found = self.answers.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    in_waiting = out_waiting = property(answer)


def test_counting_is_repeated_where_a_signal_interrupts_it(line, monkeypatch):
    master, port = line
    with monkeypatch.context() as patch:
        patch.setattr(port, "_serial", Asked(InterruptedError(errno.EINTR, "Interrupted"), 0))
        port.write(b"ab")
    assert os.read(master, 4096) == b"ab"
    os.write(master, b"cd")
    with monkeypatch.context() as patch:
        patch.setattr(port, "_serial", Asked(InterruptedError(errno.EINTR, "Interrupted"), 2, 0))
        assert port.read() == b"cd"


def test_only_errors_that_mean_so_say_that_the_port_is_gone(line, monkeypatch):
    port = line[1]
    for number, words in ((errno.EIO, "is gone: it was"), (errno.ENOTTY, "failed: .*no terminal")):
        error = OSError(number, "no terminal")
        with monkeypatch.context() as patch:
            patch.setattr(port, "_serial", Asked(error, error))
            for call in (port.read, lambda: port.write(b"a")):
                with pytest.raises(DeviceFailedError, match=words):
                    call()


def test_bytes_that_wait_too_long_are_a_timeout(line, monkeypatch):
    """At 115200 bit/s, 576 bytes are the 0.05 s that may wait."""
    port = line[1]
    with monkeypatch.context() as patch:
        patch.setattr(port, "_serial", Asked(577, 576))
        with pytest.raises(DeviceTimeoutError, match="577 bytes wait in the line"):
            port.write(b"a")
        port.write(b"a")
