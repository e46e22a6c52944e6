"""Messages of the serial protocol."""

import random
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sofa_softctl.bridge.protocol.messages import (
    TYPES,
    Ack,
    Arm,
    Configure,
    Hello,
    Info,
    OtherVersionError,
    Ping,
    Report,
    SetValues,
    Stop,
    parse,
)

u8, u16, u32 = (st.integers(0, 2**bits - 1) for bits in (8, 16, 32))
i32 = st.integers(-(2**31), 2**31 - 1)
any_message = st.one_of(
    st.builds(Hello, u16),
    st.builds(Configure, u16, u8, i32, i32, i32, u32),
    st.builds(Arm, u16, u8),
    st.builds(SetValues, u16, u32, st.dictionaries(st.integers(0, 15), i32)),
    st.builds(Stop, u16),
    st.builds(Ping, u16),
    st.builds(
        Info, u16, u8, u8, u8, u8, u16, u16, u8, i32, i32, st.binary(min_size=16, max_size=16)
    ),
    st.builds(Ack, u16, u8, u8),
    st.builds(
        Report,
        *(u16, u8, u8, u16, u32, u16, u16),
        st.lists(i32, max_size=16).map(tuple),
        st.lists(u16, max_size=7).map(tuple),
    ),
)


@settings(deadline=None)
@given(any_message)
def test_a_message_survives_its_bytes(message):
    sent = message.to_bytes()
    assert 4 <= len(sent) <= 96
    assert parse(sent) == message


def test_a_command_is_the_one_of_the_protocols_page():
    command = SetValues(8, 1_000_000, {1: 1250, 0: 1500})
    assert command.to_bytes() == bytes.fromhex(
        "01 04 08 00 40 42 0F 00 03 00 DC 05 00 00 E2 04 00 00"
    )
    assert Hello(7).to_bytes() == bytes.fromhex("01 01 07 00")


def test_lengths_of_contents_are_those_of_the_protocols_page():
    lengths = {kind: kind.layout.size for kind in TYPES.values()}
    assert lengths == {
        Hello: 0,
        Configure: 1 + 4 + 4 + 4 + 4,
        Arm: 1,
        SetValues: 4 + 2,
        Stop: 0,
        Ping: 0,
        Info: 1 + 1 + 1 + 1 + 2 + 2 + 1 + 1 + 4 + 4 + 16,
        Ack: 1 + 1,
        Report: 1 + 1 + 2 + 4 + 2 + 2 + 1 + 1,
    }


@settings(deadline=None)
@given(any_message, st.integers(1, 40))
def test_a_message_of_another_length_is_refused(message, more):
    sent = message.to_bytes()
    with pytest.raises(ValueError, match=type(message).__name__):
        parse(sent + bytes(more))
    if len(sent) > 4:
        with pytest.raises(ValueError, match=type(message).__name__):
            parse(sent[: max(4, len(sent) - more)])


def test_other_versions_and_types_are_refused():
    with pytest.raises(OtherVersionError, match="version 2"):
        parse(bytes([2, 0x81, 0, 0]))
    with pytest.raises(ValueError, match="0x07"):
        parse(bytes([1, 0x07, 0, 0]))
    with pytest.raises(ValueError, match="3 bytes"):
        parse(bytes([1, 1, 0]))


def test_random_messages_are_refused_or_survive():
    """Nothing but a ValueError, and what is accepted has the bytes that it came from."""
    rng, accepted = random.Random(2), 0
    for _ in range(20_000):
        kind = rng.choice(list(TYPES))
        sent = struct.pack("<BBH", 1, kind, rng.randrange(65536)) + rng.randbytes(
            rng.choice((0, 1, 2, 10, 17, 34, 14, rng.randrange(93)))
        )
        try:
            message = parse(sent)
        except ValueError:
            continue
        accepted += 1
        again = bytearray(message.to_bytes())
        if isinstance(message, Info):
            again[4 + 9] = sent[4 + 9]  # reserved
        assert bytes(again) == sent
    assert accepted > 1000
