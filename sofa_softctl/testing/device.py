"""Check of devices of the hardware bridge against the contract of `bridge.device`."""

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
"""Default channels of a check."""
LATE_NUMBER = 2**16 - 8
"""Number of the first command after the second opening, as in a long run: devices that send
numbers modulo 2^16 must not lose count."""
STOP_TIME_MAX = 1.0
"""Longest accepted time of a stop or close [s]."""


def check_device(
    device: Callable[..., Device], channels: Sequence[ChannelSetup] = CHANNELS, /, **options: Any
) -> Capabilities:
    """Check a device against the contract of `sofa_softctl.bridge.device`.

    The device takes its options by keyword, with types; creating it opens nothing; `open` returns
    its capabilities. Commands of a slow motion about the rest values, within the channels' limits
    and rates, are written and feedback is read without waiting; times and acknowledged numbers of
    the feedback increase. If the device measures positions, it returns them before the first
    command. If it acknowledges commands, it acknowledges the last one, and its positions reach it
    within the resolution. `stop` and `close` may be repeated; a closed device refuses commands,
    closes its files, and can be opened again. All errors are one of the four subclasses of
    `DeviceError`.

    It takes about two seconds. **Motors move**, within the limits of `channels`.

    Args:
        device: The class, or a function that makes a device from a name and the options.
        channels: Channels to open; they must exist. By default 0 and 1, up to 1 device unit.
        options: Options of the device, such as its port.

    Returns:
        The capabilities that the device returned when it was opened.

    Raises:
        AssertionError: The device breaks a rule; the message names it.
    """
    check_signature(device, options)
    open_before = _open_files()
    instance = device("checked", **options)
    kind = type(instance).__name__
    if not isinstance(instance, Device):
        raise AssertionError(f"{kind}: expected a subclass of sofa_softctl.bridge.Device.")
    check_signature(type(instance), options)
    if _open_files() > open_before:
        raise AssertionError(
            f"{kind}: expected that making it opens nothing: that is for `open`; got "
            f"{_open_files() - open_before} more open files."
        )
    _check_refuses(instance, channels, "before it was opened")
    capabilities = _session(instance, channels, 0)
    open_before = _open_files()  # what a library keeps open after its first use is its own
    _session(instance, channels, LATE_NUMBER)
    if _open_files() > open_before:
        raise AssertionError(
            f"{kind}: expected `close` to let go of everything; after it was opened again and "
            f"closed, {_open_files() - open_before} more files are open."
        )
    _check_unknown_channel(instance, channels)
    return capabilities


def _session(device: Device, channels: Sequence[ChannelSetup], first: int) -> Capabilities:
    """Open, stream, stop and close the device."""
    kind = type(device).__name__
    try:
        start = monotonic()
        capabilities = _call(kind, "open", lambda: device.open(channels))
        check_capabilities(kind, capabilities, channels)
        run = DeviceRun(device, channels, capabilities, first, start)
        _call(kind, "write and read", run.stream)
        for number in ("first", "second"):
            start = monotonic()
            _call(kind, f"the {number} stop", device.stop)
            if monotonic() - start > STOP_TIME_MAX:
                raise AssertionError(
                    f"{kind}: expected stop within {STOP_TIME_MAX:g} s, got "
                    f"{monotonic() - start:.2f}."
                )
        _call(kind, "read after stop", run.read_after_stop)
    finally:
        for number in ("first", "second"):
            try:
                device.close()
            except Exception as error:
                raise AssertionError(
                    f"{kind}: expected that close raises nothing; the {number} one raised {error!r}"
                ) from error
    _check_refuses(device, channels, "after close")
    return capabilities


def _call(kind: str, action: str, call: Callable[[], Any]) -> Any:
    """Return the result of a call; any exception fails the check."""
    try:
        return call()
    except DeviceError as error:
        if type(error) is DeviceError:
            raise AssertionError(
                f"{kind}: {action}: expected one of the four situations of DeviceError, such as "
                f"DeviceFailedError, got DeviceError itself: {error}"
            ) from error
        raise AssertionError(
            f"{kind}: {action}: expected no error, got {type(error).__name__}: {error}"
        ) from error
    except AssertionError:
        raise
    except Exception as error:
        raise AssertionError(
            f"{kind}: {action}: expected errors of the kinds DeviceUnavailableError, "
            f"DeviceOpenError, DeviceFailedError and DeviceTimeoutError, got "
            f"{type(error).__name__}: {error}"
        ) from error


def _check_refuses(device: Device, channels: Sequence[ChannelSetup], when: str) -> None:
    """Check that a closed device refuses commands, and that `stop` and `close` do no harm."""
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
    """Check that a channel that cannot exist is accepted or refused, without a crash."""
    channel = channels[0]
    strange = ChannelSetup(
        10**6, channel.name, channel.low, channel.high, channel.rate, channel.rest
    )
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
    """Count open files, ports and sockets of this process; wait a moment for closing ones."""
    counts = []
    for _ in range(5):
        counts.append(len(os.listdir("/proc/self/fd")))
        sleep(0.01)
    return min(counts)
