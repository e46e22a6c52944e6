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


def target(sent: float, time: float, values: np.ndarray) -> bytes:
    """A target; `sent`: this computer's monotonic clock [s]."""
    return _TARGET.pack(TARGET, sent, time) + np.asarray(values, dtype=float).tobytes()


def read_target(message: bytes) -> tuple[float, float, np.ndarray]:
    """What `target` was given."""
    _, sent, time = _TARGET.unpack_from(message)
    return sent, time, np.frombuffer(message, offset=_TARGET.size)


def finish(rest: np.ndarray | None) -> bytes:
    """The end, at another rest pose than that of the configuration, or not."""
    return FINISH if rest is None else FINISH + np.asarray(rest, dtype=float).tobytes()


def read_finish(message: bytes) -> np.ndarray | None:
    """What `finish` was given."""
    return np.frombuffer(message, offset=1) if len(message) > 1 else None


def sample(of: Sample) -> bytes:
    """A sample."""
    head = _SAMPLE.pack(
        SAMPLE,
        of.time,
        of.clock,
        _STATES.index(of.state),
        len(of.command),
        len(of.sensors),
        len(of.age),
        len(of.sensor_age),
    )
    arrays = (of.target, of.command, of.measured, of.effort, of.sensors, of.age, of.sensor_age)
    return head + np.concatenate(arrays).tobytes()


def read_sample(message: bytes) -> Sample:
    """What `sample` was given; its arrays are read-only."""
    _, time, clock, state, actuators, *others = _SAMPLE.unpack_from(message)
    numbers = np.frombuffer(message, offset=_SAMPLE.size)
    ends = np.cumsum([actuators] * 4 + others)
    return Sample(time, clock, _STATES[state], *np.split(numbers, ends[:-1]))


def pickled(kind: bytes, content: Any) -> bytes:
    """A message of any content."""
    return kind + pickle.dumps(content)


def read_pickled(message: bytes) -> Any:
    """What `pickled` was given."""
    return pickle.loads(message[1:])


def described(error: BaseException) -> tuple[type[SoftctlError] | None, str]:
    """Class and text of an error that another process is to raise; None: a foreign one.

    A subclass that is not this package's becomes the class from which it is derived. Half a
    character, which no terminal takes, becomes '?'.
    """
    text = str(error).encode(errors="replace").decode()
    for kind in type(error).__mro__:
        if getattr(errors, kind.__name__, None) is kind and issubclass(kind, SoftctlError):
            return kind, text
    return None, f"{type(error).__name__}: {text}"
