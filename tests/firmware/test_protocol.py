"""The portable core on the host: fuzzed under sanitizers, the page's frames, what is refused."""

import re
import shutil
import subprocess

import pytest

from tests.firmware import wire
from tests.firmware.emulator import FIRMWARE, HERE, Host, require

PAGE = FIRMWARE.parents[1] / "docs" / "reference" / "bridge-protocol.md"
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


def compile_fuzzer(compiler, folder):
    require(compiler)
    sources = [HERE / "fuzz.c", *FIRMWARE.glob("protocol/*.c"), *FIRMWARE.glob("core/*.c")]
    include = [f"-I{FIRMWARE / name}" for name in ("protocol", "core", "boards/host")]
    command = [compiler, "-std=c99", "-O1", "-g", *SANITIZERS, *include, *sources]
    subprocess.run([*command, "-o", folder / "fuzz"], check=True)
    return folder / "fuzz"


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_ten_million_bytes_crash_nothing_and_move_nothing_that_they_may_not(compiler, tmp_path):
    """Noise, damaged frames and a working host; fuzz.c says what must hold."""
    fuzz = compile_fuzzer(compiler, tmp_path)
    done = subprocess.run([fuzz, "10000000", "7"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    sent, answers, taken, moves = map(int, done.stdout.split())
    assert sent >= 10_000_000
    # What it must have reached to mean anything.
    assert answers > 100_000 and taken > 10_000 and moves > 100_000


def examples():
    """(message, frame) of each example of the page."""
    text = PAGE.read_text().split("## Examples")[1]
    found = re.findall(r"^ {4}message +(.+)\n {4}on the wire +(.+)$", text, re.MULTILINE)
    return [tuple(bytes.fromhex(part) for part in pair) for pair in found]


def test_the_frames_of_the_page_are_what_the_tests_send():
    assert len(examples()) == 2
    for message, frame in examples():
        assert wire.frame(message) == frame
        assert wire.unframe(frame[:-1]) == message


@pytest.fixture
def line(built):
    require("make", "cc")
    with Host(built("host") / "firmware-host") as board:
        found = wire.Line(board)
        yield found
        found.close()


def test_the_frames_of_the_page_are_understood(line):
    (_, hello), (_, command) = examples()
    line.write(hello)
    type_, sequence, info = line.receive()
    assert (type_, sequence, info.name, info.channels) == (wire.INFO, 7, "host", 8)
    for channel in (0, 1):
        line.ask(wire.CONFIGURE, wire.configure(channel, 1000, 2000, 1500))
    line.ask(wire.ARM, b"\1")
    line.write(command)
    type_, sequence, feedback = line.receive()
    assert (type_, sequence, feedback.result, feedback.taken) == (wire.FEEDBACK, 8, 0, 8)
    assert feedback.outputs == (1500, 1250, *[wire.OFF] * 6)


def test_damaged_frames_are_counted_and_the_next_is_read(line):
    good = wire.frame(wire.message(wire.PING, 1))
    flipped = bytes([*good[:3], good[3] ^ 2, *good[4:]])  # else a PING with another sequence
    damaged = [flipped, good[:5] + b"\0", b"\x05\x01\0"]
    too_long = b"\x02" * 300 + b"\0"
    for bad in [*damaged, too_long]:
        line.write(bad)
    line.write(b"\0\0\0")  # empty frames count nothing
    line.send(wire.PING, sequence=9)
    _, sequence, feedback = line.receive()
    assert (sequence, feedback.dropped) == (9, 4)


def test_messages_that_are_none_are_counted_and_not_answered(line):
    other = [
        wire.message(wire.PING, 1, version=2),
        wire.message(0x33, 1),
        wire.message(wire.INFO, 1),
        wire.message(wire.PING, 1, b"x"),
        wire.message(wire.HELLO, 1, b"x"),
        wire.message(wire.ARM, 1, b"\2"),
        wire.message(wire.CONFIGURE, 1, wire.configure(0, 600, 900, 700)[:-1]),
        wire.message(wire.COMMAND, 1, wire.command({0: 1500})[:-1]),
        wire.message(wire.COMMAND, 1, wire.command({0: 1500}) + b"\1"),
    ]
    for message in other:
        line.write(wire.frame(message))
    assert line.ask(wire.PING).dropped == len(other)
    line.write(wire.frame(wire.message(wire.HELLO, 9, b"anything", version=7)))
    assert line.receive()[:2] == (wire.INFO, 9)


def test_limits_that_contradict_each_other_are_refused(line):
    for channel, low, high, rest, result in [
        (0, 500, 2400, 500, 0),
        (7, 1000, 1000, 1000, 0),
        (8, 1000, 2000, 1500, 1),
        (0, 499, 2000, 1500, 2),
        (0, 500, 2401, 1500, 2),
        (0, 2000, 1000, 1500, 2),
        (0, 1000, 2000, 999, 2),
        (0, 1000, 2000, 2001, 2),
        (0, -(2**31), 2**31 - 1, 1500, 2),
    ]:
        content = wire.configure(channel, low, high, rest)
        assert line.ask(wire.CONFIGURE, content) == (wire.CONFIGURE, result), (channel, low, high)


def test_the_firmware_of_every_board_compiles_without_a_warning(tmp_path):
    """The Makefile's warnings are errors; it builds the boards whose compiler is here."""
    require("make", "cc")
    made = subprocess.run(
        ["make", "-C", FIRMWARE, f"BUILD={tmp_path}"], capture_output=True, text=True
    )
    assert made.returncode == 0, made.stderr
    assert (tmp_path / "firmware-host").exists()
    assert (tmp_path / "atmega328p-servo.hex").exists() == bool(shutil.which("avr-gcc"))
