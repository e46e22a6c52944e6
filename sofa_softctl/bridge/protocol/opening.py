"""What a board is, whether a configuration fits it, and why it does not answer."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sofa_softctl.bridge.device import ChannelSetup
from sofa_softctl.bridge.protocol.conversation import Conversation
from sofa_softctl.bridge.protocol.messages import CHANNELS_MAX, VERSION, Configure, Hello, Info
from sofa_softctl.errors import DeviceError, DeviceOpenError, DeviceTimeoutError

BAUD_RATES = (1_000_000, 500_000, 250_000, 115_200, 57_600, 9_600)
"""At which a board that did not answer is looked for [bit/s]."""
_RATE_MAX = 2**32 - 1
_PROBE = 0.15
"""Time for another rate [s]: at 9600 bit/s question and answer take 60 ms."""
_ATTEMPT = 0.25
"""Time for one attempt [s]: a board that is up answers within milliseconds."""


def greet(talk: Conversation, where: str, timeout: float) -> Info:
    """What the board says of itself.

    Args:
        talk: With the board.
        where: Device and port, for messages.
        timeout: Time in which it must answer [s]; it may just be starting.

    Raises:
        DeviceOpenError: It speaks another version, at another rate, or something else.
        DeviceTimeoutError: Nothing comes from it.
    """
    info = talk.ask(Hello(0), Info, within=timeout, every=_ATTEMPT)
    if info is None:
        raise _reason(talk, where, timeout)
    return info


def whole_limits(channels: Sequence[ChannelSetup], info: Info, where: str) -> list[Configure]:
    """Limits of channels in whole units of the board, within those that are asked for.

    Rates are rounded up: the limits of the bridge are the ones that are felt, these are behind it.

    Raises:
        DeviceOpenError: The board has no such channel, or not that range.
    """
    count = min(info.channels, CHANNELS_MAX)
    found = []
    for channel in channels:
        who = f"{where}: actuator '{channel.name}'"
        if not 0 <= channel.number < count:
            has = f"channels 0 to {count - 1}" if count else "no channel"
            raise DeviceOpenError(f"{who} is on channel {channel.number}, but the board has {has}.")
        if channel.low < info.low or channel.high > info.high:
            raise DeviceOpenError(
                f"{who} has the limits {channel.low:g} to {channel.high:g}, but the board takes "
                f"{info.low} to {info.high} only: give it a smaller range of positions, or another "
                "map."
            )
        low, high = math.ceil(channel.low), math.floor(channel.high)
        if low > high:
            raise DeviceOpenError(
                f"{who} has the limits {channel.low:g} to {channel.high:g}, but the board takes "
                "whole numbers only, and there is none between."
            )
        rest = min(max(round(channel.rest), low), high)
        rate = max(1, math.ceil(channel.rate)) if channel.rate < _RATE_MAX else 0  # 0: no limit
        found.append(Configure(0, channel.number, low, high, rest, rate))
    return found


def _reason(talk: Conversation, where: str, timeout: float) -> DeviceError:
    if talk.other_version is not None:
        return DeviceOpenError(
            f"{where} speaks version {talk.other_version} of the protocol, this program version "
            f"{VERSION}: load the firmware that belongs to this program (hardware/firmware)."
        )
    parser, rate = talk.parser, talk.port.baud_rate
    heard, frames, sample = parser.received, parser.accepted, parser.sample()
    other_rate = _rate_with_answer(talk)
    if other_rate:
        return DeviceOpenError(
            f"{where} answers at {other_rate} bit/s, not at {rate}: set baud_rate = {other_rate}."
        )
    if frames:
        return DeviceOpenError(
            f"{where} sends {frames} frames in {timeout:g} s, but does not answer HELLO: its "
            "firmware is another one, or another program asks it as well."
        )
    if heard and _is_text(sample):
        return DeviceOpenError(
            f"{where} sends text, {sample[:40].decode(errors='replace')!r}, no frames: it has "
            "other firmware. Load one that speaks the protocol (hardware/firmware)."
        )
    if heard:
        return DeviceOpenError(
            f"{where} sends noise: {heard} bytes, such as {sample[:8].hex(' ')}, but no frame. "
            f"baud_rate = {rate} is not the rate of its firmware, or it has other firmware."
        )
    return DeviceTimeoutError(
        f"{where} is silent: no byte in {timeout:g} s. Is it powered, has it the firmware of "
        f"hardware/firmware, is it this port, and is {rate} the firmware's baud rate?"
    )


def _rate_with_answer(talk: Conversation) -> int | None:
    """The common rate at which it answers, if there is one."""
    own = talk.port.baud_rate
    for rate in BAUD_RATES:
        if rate == own:
            continue
        try:
            talk.port.set_baud_rate(rate)
        except (OSError, ValueError):  # the port cannot run at this rate
            continue
        if talk.ask(Hello(0), Info, within=_PROBE, every=_PROBE) is not None:
            return rate
    return None


def _is_text(sample: bytes) -> bool:
    printable = sum(32 <= byte < 127 or byte in b"\r\n\t" for byte in sample)
    return printable > 0.9 * len(sample)
