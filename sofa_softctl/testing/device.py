"""Check of devices of the hardware bridge: what `bridge.device` asks of every one."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from time import monotonic, sleep
from typing import Any

import numpy as np

from sofa_softctl.bridge.device import Capabilities, ChannelSetup, Device
from sofa_softctl.errors import DeviceError, DeviceFailedError
from sofa_softctl.testing.device_answers import check_capabilities, check_signature
from sofa_softctl.testing.device_run import DeviceRun

CHANNELS = (
    ChannelSetup(0, "first", 0.0, 1.0, 10.0, 0.0),
    ChannelSetup(1, "second", -1.0, 1.0, 10.0, 0.5),
)
"""Channels of a check where none are given."""
LATE = 2**16 - 8
"""Number of the first command after the device was opened again, as in a long run: devices that
send numbers modulo 2^16 must not lose count."""
STOP_BOUND = 1.0
"""A stop or close that takes longer fails [s]."""


def check_device(
    device: Callable[..., Device], channels: Sequence[ChannelSetup] = CHANNELS, /, **options: Any
) -> Capabilities:
    """Check a device against the contract of `sofa_softctl.bridge.device`.

    It takes its options by keyword, with types; making it opens nothing. Opened, it says what it is
    and can do. Commands of a slow motion about the rest values, within the channels' limits and
    rates, are written and feedback is read without waiting; times and acknowledged numbers of
    the feedback increase. A device that measures positions gives them before the first
    command. One that acknowledges takes the last command, and its positions come to that within
    its resolution. `stop` and `close` may be repeated; a closed device refuses
    commands, lets go of its files, and can be opened again. Whatever it raises is one of the four
    situations of `DeviceError`.

    It takes about two seconds. **Motors move**, within the limits of `channels`.

    Args:
        device: The class, or a function that makes a device from a name and the options.
        channels: Channels to open; they must exist. By default 0 and 1, up to 1 device unit.
        options: Options of the device, such as its port.

    Returns:
        What the device said when it was opened.

    Raises:
        AssertionError: What is wrong, what was expected and what came; its cause is what the device
            raised, where it did.
    """
    check_signature(device, options)
    files = _open_files()
    made = device("checked", **options)
    kind = type(made).__name__
    if not isinstance(made, Device):
        raise AssertionError(f"{kind}: expected a subclass of sofa_softctl.bridge.Device.")
    check_signature(type(made), options)
    if _open_files() > files:
        raise AssertionError(
            f"{kind}: expected that making it opens nothing: that is for `open`; got "
            f"{_open_files() - files} more open files."
        )
    _check_refuses(made, channels, "before it was opened")
    found = _session(made, channels, 0)
    files = _open_files()  # what a library keeps open after its first use is its own
    _session(made, channels, LATE)
    if _open_files() > files:
        raise AssertionError(
            f"{kind}: expected `close` to let go of everything; after it was opened again and "
            f"closed, {_open_files() - files} more files are open."
        )
    _check_unknown_channel(made, channels)
    return found


def _session(device: Device, channels: Sequence[ChannelSetup], first: int) -> Capabilities:
    """Open, stream, stop and close."""
    kind = type(device).__name__
    try:
        began = monotonic()
        found = _called(kind, "open", lambda: device.open(channels))
        check_capabilities(kind, found, channels)
        run = DeviceRun(device, channels, found, first, began)
        _called(kind, "write and read", run.stream)
        for number in ("first", "second"):
            began = monotonic()
            _called(kind, f"the {number} stop", device.stop)
            if monotonic() - began > STOP_BOUND:
                raise AssertionError(
                    f"{kind}: expected stop within {STOP_BOUND:g} s, got {monotonic() - began:.2f}."
                )
        _called(kind, "read after stop", run.read_after_stop)
    finally:
        for number in ("first", "second"):
            try:
                device.close()
            except Exception as error:
                raise AssertionError(
                    f"{kind}: expected that close raises nothing; the {number} one raised {error!r}"
                ) from error
    _check_refuses(device, channels, "after close")
    return found


def _called(kind: str, what: str, call: Callable[[], Any]) -> Any:
    """What a call returns; that it raises is a failed check."""
    try:
        return call()
    except DeviceError as error:
        if type(error) is DeviceError:
            raise AssertionError(
                f"{kind}: {what}: expected one of the four situations of DeviceError, such as "
                f"DeviceFailedError, got DeviceError itself: {error}"
            ) from error
        raise AssertionError(
            f"{kind}: {what}: expected no error, got {type(error).__name__}: {error}"
        ) from error
    except AssertionError:
        raise
    except Exception as error:
        raise AssertionError(
            f"{kind}: {what}: expected errors of the kinds DeviceUnavailableError, "
            f"DeviceOpenError, DeviceFailedError and DeviceTimeoutError, got "
            f"{type(error).__name__}: {error}"
        ) from error


def _check_refuses(device: Device, channels: Sequence[ChannelSetup], when: str) -> None:
    """A device that is not open refuses commands, and `stop` and `close` do no harm."""
    kind = type(device).__name__
    rest = np.array([channel.rest for channel in channels])
    try:
        DeviceRun.write_one(device, 0, rest)
    except DeviceFailedError:
        pass
    except Exception as error:
        raise AssertionError(
            f"{kind}: write {when}: expected DeviceFailedError, got {type(error).__name__}: {error}"
        ) from error
    else:
        raise AssertionError(f"{kind}: write {when}: expected DeviceFailedError, got no error.")
    for name, call in (("stop", device.stop), ("close", device.close)):
        try:
            call()
        except Exception as error:
            if name == "close" or not isinstance(error, DeviceError):
                raise AssertionError(f"{kind}: {name} {when}: got {error!r}") from error


def _check_unknown_channel(device: Device, channels: Sequence[ChannelSetup]) -> None:
    """A channel that can hardly exist is taken or refused, not a crash."""
    one = channels[0]
    strange = ChannelSetup(10**6, one.name, one.low, one.high, one.rate, one.rest)
    try:
        device.open([strange])
    except DeviceError:
        pass
    except Exception as error:
        raise AssertionError(
            f"{type(device).__name__}: open with channel 1000000: expected that it is taken, or "
            f"DeviceOpenError, got {type(error).__name__}: {error}"
        ) from error
    finally:
        device.close()


def _open_files() -> int:
    """Open files, ports and sockets of this process; what is about to close gets a moment."""
    counts = []
    for _ in range(5):
        counts.append(len(os.listdir("/proc/self/fd")))
        sleep(0.01)
    return min(counts)
