"""Frames of the driver and of the emulated bus against the examples of the e-Manual.

Examples: emanual.robotis.com/docs/en/dxl/protocol2, sections Ping, Read, Write, Sync Read, Sync
Write and Fast Sync Read.
"""

import os
import random
import time
import tty

import pytest

pytest.importorskip("dynamixel_sdk")

from sofa_softctl.bridge.devices.dynamixel import registers as table
from sofa_softctl.bridge.devices.dynamixel.bus import Answer, Bus, answer_length
from sofa_softctl.bridge.devices.dynamixel.registers import Register
from tests.bridge.dynamixel_bus import Decoder, crc, fast_status, packet


def example(text):
    return bytes.fromhex(text)


PING = example("FF FF FD 00 01 03 00 01 19 4E")
PONG = example("FF FF FD 00 01 07 00 55 00 06 04 26 65 5D")
READ = example("FF FF FD 00 01 07 00 02 84 00 04 00 1D 15")
READ_1 = example("FF FF FD 00 01 08 00 55 00 A6 00 00 00 8C C0")
READ_2 = example("FF FF FD 00 02 08 00 55 00 1F 08 00 00 BA BE")
WRITE = example("FF FF FD 00 01 09 00 03 74 00 00 02 00 00 CA 89")
WRITTEN = example("FF FF FD 00 01 04 00 55 00 A1 0C")
SYNC_READ = example("FF FF FD 00 FE 09 00 82 84 00 04 00 01 02 CE FA")
SYNC_WRITE = example("FF FF FD 00 FE 11 00 83 74 00 04 00 01 96 00 00 00 02 AA 00 00 00 82 87")
FAST_READ = example("FF FF FD 00 FE 0A 00 8A 84 00 04 00 03 07 04 20 F2")
FAST_ANSWER = example(
    "FF FF FD 00 FE 19 00 55 00 03 A6 00 00 00 84 0800 07 1F 08 00 00 16 CA 00 04 FF 03 00 00 D1 9E"
)


class Wire:
    """A bus on a pseudo terminal, and the other end of it."""

    def __init__(self):
        self.end, self._other = os.openpty()
        tty.setraw(self._other)
        self.bus = Bus(os.ttyname(self._other), 1_000_000)

    def arrive(self, data):
        """Bytes that have arrived when this returns."""
        os.write(self.end, data)
        while self.bus.line._serial.in_waiting < len(data):
            time.sleep(1e-5)

    def sent(self, length):
        found = b""
        while len(found) < length:
            found += os.read(self.end, length - len(found))
        return found

    def close(self):
        self.bus.close()
        os.close(self.end)
        os.close(self._other)


@pytest.fixture
def wire():
    found = Wire()
    yield found
    found.close()


@pytest.fixture
def bus(wire):
    return wire.bus


def test_instructions_are_those_of_the_manual(bus, wire):
    wire.arrive(PONG)
    assert bus.sdk.ping(bus, 1)[0] == 1030
    wire.arrive(READ_1)
    assert bus.sdk.read4ByteTxRx(bus, 1, 132)[0] == 166
    wire.arrive(WRITTEN)
    bus.sdk.write4ByteTxRx(bus, 1, 116, 512)
    bus.sync_read(table.PRESENT_POSITION, [1, 2], fast=False, pause=0.0)
    bus.sync_write(table.GOAL_POSITION, {1: 150, 2: 170})
    bus.sync_read(table.PRESENT_POSITION, [3, 7, 4], fast=True, pause=0.0)
    wanted = PING + READ + WRITE + SYNC_READ + SYNC_WRITE + FAST_READ
    assert wire.sent(len(wanted)) == wanted


def test_answers_are_those_of_the_manual(bus, wire):
    bus.sync_read(table.PRESENT_POSITION, [1, 2], fast=False, pause=0.0)
    wire.arrive(READ_1 + READ_2)
    assert list(bus.answers()) == [
        Answer(1, 0, (166).to_bytes(4, "little")),
        Answer(2, 0, (2079).to_bytes(4, "little")),
    ]
    bus.sync_read(table.PRESENT_POSITION, [3, 7, 4], fast=True, pause=0.0)
    wire.arrive(FAST_ANSWER)
    assert [(a.id, int.from_bytes(a.data, "little")) for a in bus.answers()] == [
        (3, 166),
        (7, 2079),
        (4, 1023),
    ]


def test_the_emulated_bus_speaks_as_in_the_manual():
    assert packet(1, 0x01) == PING
    assert packet(1, 0x55, bytes([0, 0x06, 0x04, 0x26])) == PONG
    assert packet(1, 0x02, bytes([0x84, 0, 4, 0])) == READ
    assert packet(2, 0x55, bytes([0, 0x1F, 0x08, 0, 0])) == READ_2
    assert packet(1, 0x55, bytes([0])) == WRITTEN
    position = [value.to_bytes(4, "little") for value in (166, 2079, 1023)]
    assert fast_status([3, 7, 4], [0, 0, 0], position) == FAST_ANSWER
    assert list(Decoder().feed(SYNC_WRITE))[0][:2] == (0xFE, 0x83)
    assert list(Decoder().feed(SYNC_READ)) == [(0xFE, 0x82, SYNC_READ[8:-2])]


def test_lengths_on_the_line_are_those_of_the_examples():
    assert answer_length(4, 2, fast=False) == len(READ_1 + READ_2)
    assert answer_length(4, 3, fast=True) == len(FAST_ANSWER)


def test_the_crc_of_the_sdk_is_the_polynomial(bus):
    source = random.Random(1)
    for length in (0, 1, 7, 200):
        data = source.randbytes(length)
        assert bus.sdk.updateCRC(0, data, length) == crc(data)


def test_headers_in_data_are_stuffed_and_come_back(bus, wire):
    """A goal of 0x00FDFFFF holds a header: here and there it comes back as it was."""
    bus.sync_write(table.GOAL_POSITION, {1: 0x00FDFFFF, 2: -3})
    ((motor, instruction, parameters),) = Decoder().feed(os.read(wire.end, 100))
    assert (motor, instruction) == (0xFE, 0x83)
    assert parameters[4:] == bytes.fromhex("01 FF FF FD 00 02 FD FF FF FF")
    bus.sync_read(Register(116, 6), [1], fast=False, pause=0.0)
    data = bytes.fromhex("FF FF FD FF FF FD")
    wire.arrive(packet(1, 0x55, b"\0" + data))
    assert list(bus.answers()) == [Answer(1, 0, data)]


def test_answers_come_back_whatever_the_cuts_and_the_noise(bus, wire):
    """Split anywhere, with noise and broken packets between them: whole answers alone come out."""
    source = random.Random(2)
    for _ in range(100):
        bus.sync_read(table.PRESENT_POSITION, [1, 2], fast=False, pause=0.0)
        broken = bytearray(READ_1)
        broken[source.randrange(8, len(broken))] ^= 1 << source.randrange(8)
        noise = bytes(source.choice(b"\xff\xfd\x00\x01") for _ in range(source.randrange(6)))
        stream = noise + READ_1 + SYNC_READ + bytes(broken) + READ_2
        cuts = sorted(source.randrange(len(stream)) for _ in range(4))
        found = []
        for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
            wire.arrive(stream[start:end])
            found += bus.answers()
        wanted = [Answer(1, 0, READ_1[9:-2]), Answer(2, 0, READ_2[9:-2])]
        assert found[-1] == wanted[1]
        assert found == wanted or noise, "noise may look like the start of a longer packet"


def test_stuffed_bytes_are_no_header(bus, wire):
    """The rest of a packet that ended in the middle of stuffing: it has no length to wait for."""
    bus.sync_read(table.PRESENT_POSITION, [1], fast=False, pause=0.0)
    wire.arrive(bytes.fromhex("FF FF FD FD 01 10 00") + READ_1)
    assert [answer.id for answer in bus.answers()] == [1]


def test_ten_thousand_bytes_of_noise_give_no_answer(bus, wire):
    source = random.Random(3)
    bus.sync_read(table.PRESENT_POSITION, [1], fast=False, pause=0.0)
    for _ in range(100):
        wire.arrive(bytes(source.choices(b"\xff\xfd\x00\x55\x01\x02\x03", k=100)))
        assert list(bus.answers()) == []
        assert len(bus._buffer) <= 1200
