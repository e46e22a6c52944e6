"""Messages between the scene's process and the device process, see `link`.

The first byte is the type. Targets and samples are packed numbers, of this computer's byte order;
what is rare is pickled. Both ends are this package.

    from the scene   T time sent, time of the scene, values     F finish, another rest pose or none
                     H a sign of life                           S reason: emergency stop
    to the scene     P a sample                                 O opened: capabilities, notes
                     R state, reason, class of the error        E error while opening
                     Z state and statistics, before the end
"""

from __future__ import annotations

import pickle
import struct
from typing import Any

import numpy as np

from sofa_softctl import errors
from sofa_softctl.bridge.course.state import Sample, StreamState
from sofa_softctl.errors import SoftctlError

TARGET, ALIVE, FINISH, STOP = b"T", b"H", b"F", b"S"
SAMPLE, OPENED, REASON, ERROR, STATISTICS = b"P", b"O", b"R", b"E", b"Z"

_TARGET = struct.Struct("=cdd")
_SAMPLE = struct.Struct("=cddBIIII")
_STATES = tuple(StreamState)


def pack_target(sent: float, time: float, values: np.ndarray) -> bytes:
    """Return the message of a target; `sent`: this computer's monotonic clock [s]."""
    return _TARGET.pack(TARGET, sent, time) + np.asarray(values, dtype=float).tobytes()


def read_target(message: bytes) -> tuple[float, float, np.ndarray]:
    """Return the arguments of `pack_target`."""
    _, sent, time = _TARGET.unpack_from(message)
    return sent, time, np.frombuffer(message, offset=_TARGET.size)


def pack_finish(rest: np.ndarray | None) -> bytes:
    """Return the message that ends a stream, with another rest pose or the configured one."""
    return FINISH if rest is None else FINISH + np.asarray(rest, dtype=float).tobytes()


def read_finish(message: bytes) -> np.ndarray | None:
    """Return the rest pose given to `pack_finish`."""
    return np.frombuffer(message, offset=1) if len(message) > 1 else None


def pack_sample(sample: Sample) -> bytes:
    """Return the message of a sample."""
    head = _SAMPLE.pack(
        SAMPLE,
        sample.time,
        sample.clock,
        _STATES.index(sample.state),
        len(sample.command),
        len(sample.sensors),
        len(sample.age),
        len(sample.sensor_age),
    )
    arrays = (
        sample.target,
        sample.command,
        sample.measured,
        sample.effort,
        sample.sensors,
        sample.age,
        sample.sensor_age,
    )
    return head + np.concatenate(arrays).tobytes()


def read_sample(message: bytes) -> Sample:
    """Return the sample of a message; its arrays are read-only."""
    _, time, clock, state, actuators, *sizes = _SAMPLE.unpack_from(message)
    numbers = np.frombuffer(message, offset=_SAMPLE.size)
    ends = np.cumsum([actuators] * 4 + sizes)
    return Sample(time, clock, _STATES[state], *np.split(numbers, ends[:-1]))


def pack_pickle(kind: bytes, content: Any) -> bytes:
    """Return a message of any content."""
    return kind + pickle.dumps(content)


def read_pickle(message: bytes) -> Any:
    """Return the content given to `pack_pickle`."""
    return pickle.loads(message[1:])


def describe_error(error: BaseException) -> tuple[type[SoftctlError] | None, str]:
    """Return class and text of an error to raise in another process; no class if foreign.

    A subclass that is not this package's becomes the class from which it is derived. Half a
    character, which no terminal takes, becomes '?'.
    """
    text = str(error).encode(errors="replace").decode()
    for kind in type(error).__mro__:
        if getattr(errors, kind.__name__, None) is kind and issubclass(kind, SoftctlError):
            return kind, text
    return None, f"{type(error).__name__}: {text}"
