"""Frames of the serial protocol, against the board's own code and the examples of its page."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sofa_softctl.bridge.protocol.frames import FrameParser, decode, encode
from tests.bridge.board import cobs, frame, unframed

messages = st.binary(min_size=4, max_size=96)


def test_frames_are_those_of_the_protocols_page():
    hello = bytes.fromhex("01 01 07 00")
    command = bytes.fromhex("01 04 08 00 40 42 0F 00 03 00 DC 05 00 00 E2 04 00 00")
    assert encode(hello) == bytes.fromhex("04 01 01 07 05 89 44 7B D7 00")
    assert encode(command) == bytes.fromhex(
        "04 01 04 08 04 40 42 0F 02 03 03 DC 05 01 03 E2 04 01 05 D4 5B 6C F5 00"
    )


@settings(deadline=None)
@given(messages)
def test_a_frame_is_what_another_implementation_makes_and_reads(message):
    assert encode(message) == frame(message)
    assert unframed(encode(message)[:-1]) == message == decode(frame(message)[:-1])


@pytest.mark.parametrize("size", [0, 3, 97, 254, 1000])
def test_messages_of_other_lengths_are_no_messages(size):
    with pytest.raises(ValueError, match=f"4 to 96 bytes, got {size}"):
        encode(bytes(size))
    assert decode(frame(bytes(size))[:-1]) is None


@settings(deadline=None)
@given(st.lists(messages, max_size=6), st.lists(st.integers(0, 400), max_size=12))
def test_pieces_of_any_length_give_the_same_messages(sent, cuts):
    stream = b"".join(map(encode, sent))
    parser, found, start = FrameParser(), [], 0
    for cut in [*sorted(cuts), len(stream)]:
        found += parser.feed(stream[start : max(start, cut)])
        start = max(start, cut)
    assert found == sent
    assert (parser.accepted, parser.dropped) == (len(sent), 0)
    assert parser.received == len(stream)


@settings(deadline=None)
@given(messages, st.binary(max_size=300).map(lambda noise: noise.replace(b"\0", b"x")))
def test_after_noise_the_next_frame_is_found(message, noise):
    parser = FrameParser()
    assert parser.feed(noise + b"\0" + encode(message)) == [message]
    assert parser.dropped == bool(noise)
    assert parser.sample() == noise[:64]


def test_a_line_without_zeros_needs_no_memory():
    parser = FrameParser()
    for _ in range(1000):
        assert parser.feed(b"\xff" * 1000) == []
    assert len(parser._rest) < 200
    assert parser.sample() == b"\xff" * 64
    assert parser.feed(b"\0") == [] and parser.dropped == 1


@settings(deadline=None)
@given(messages, st.data())
def test_any_error_of_up_to_three_bits_is_found(message, data):
    """The CRC finds all errors of so few bits in so short a message; COBS must not hide them."""
    sent = bytearray(encode(message)[:-1])
    bits = data.draw(st.sets(st.integers(0, 8 * len(sent) - 1), min_size=1, max_size=3))
    for bit in bits:
        sent[bit // 8] ^= 1 << bit % 8
    assert FrameParser().feed(bytes(sent) + b"\0") == []


def test_decode_refuses_a_zero_within_a_frame():
    assert decode(b"\x03\x00" * 6) is None


def mutated(rng):
    """A frame that was damaged in one of several ways, or noise, or an overlong one."""
    whole = bytearray(frame(rng.randbytes(rng.randint(4, 96))))
    kind = rng.randrange(6)
    if kind == 0:
        whole[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
    elif kind == 1:
        del whole[rng.randrange(len(whole))]
    elif kind == 2:
        whole.insert(rng.randrange(len(whole)), rng.randrange(256))
    elif kind == 3:
        whole = bytearray(rng.randbytes(rng.randint(1, 200)))
    elif kind == 4:
        whole = bytearray(cobs(rng.randbytes(rng.randint(97, 250))) + b"\0")
    return bytes(whole)


def fuzz(count, seed):
    """Feed `count` bytes in random pieces: the parser, its messages, and those of a board."""
    rng, parser = random.Random(seed), FrameParser()
    found, expected, rest = [], [], b""
    while parser.received < count:
        stream = b"".join(mutated(rng) for _ in range(200))
        *ended, rest = (rest + stream).split(b"\0")
        expected += [m for m in map(unframed, ended) if m is not None]
        start = 0
        while start < len(stream):
            piece = stream[start : start + rng.randint(1, 300)]
            found += parser.feed(piece)
            start += len(piece)
    return parser, found, expected


def test_of_random_and_damaged_bytes_only_whole_frames_are_accepted():
    """100 kB here. `fuzz(10_000_000, seed=7)` takes 6 s: 16,384 whole frames, 90,299 others."""
    parser, found, expected = fuzz(100_000, seed=1)
    assert found == expected
    assert parser.accepted == len(found) > 100
    assert parser.dropped > 100
    assert len(parser.noise) <= 64
