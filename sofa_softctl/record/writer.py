"""Writer of recordings, step by step; see `record` for the format."""

from __future__ import annotations

import contextlib
import fcntl
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import IO, Any, Self

import numpy as np
from mcap.writer import Writer

from sofa_softctl._internal.atomic_file import writing
from sofa_softctl.errors import RecordError
from sofa_softctl.record.record import COMPLETE, PROFILE

FLUSH_INTERVAL = 1.0
"""Interval of flushes: a killed run loses at most this much [s of the clock]."""
CHUNK = 1 << 20
"""Bytes per compressed chunk: larger ones save nothing more, and damage costs a whole one."""
RESERVED = ("time", "metadata")
"""Names reserved for exports."""

_JSON = json.JSONEncoder(separators=(",", ":"), allow_nan=False)


class RecordWriter:
    """Writes a recording; a context manager.

    The file grows as `path_partial` and is renamed when it is closed. If the process dies, or the
    `with` block raises, it keeps the partial name, and `read_record` reads its complete steps.

    Args:
        path: The file to write; one that exists is replaced on `close`.
        metadata: What produced the recording: backend, versions, scene, parameters.

    Raises:
        RecordError: The file cannot be written there, or the metadata are not text.
    """

    def __init__(self, path: str | os.PathLike[str], metadata: Mapping[str, str]) -> None:
        self.path = Path(path)
        self.path_partial = self.path.with_name(self.path.name + ".part")
        for key, value in metadata.items():
            if not (isinstance(key, str) and isinstance(value, str)):
                raise RecordError(f"{path}: metadata must be text. Got: {key!r}: {value!r}")
        self._channels: dict[str, tuple[int, tuple[int, ...]]] = {}
        self._schemas: dict[int, int] = {}
        self._steps = 0
        self._time = -math.inf
        with writing(self.path, RecordError):
            self._file = self._opened()
            self._writer = Writer(self._file, chunk_size=CHUNK)
            self._writer.start(PROFILE)
            self._writer.add_metadata("run", dict(metadata))
            self._file.flush()
        self._flushed = monotonic()

    def _opened(self) -> IO[bytes]:
        """The partial file, empty and locked: two writers would destroy each other's recording."""
        file = open(self.path_partial, "ab")  # noqa: SIM115 - closed by close()
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise RecordError(
                f"{self.path}: another run is recording to this file. Choose another name."
            ) from None
        file.truncate(0)
        return file

    def add_channel(
        self, name: str, *, unit: str = "", shape: tuple[int, ...], description: str = ""
    ) -> None:
        """Declare a Data. All channels come before the first step.

        Args:
            name: For example `trunk/tip/dofs.position`.
            unit: Unit of its numbers; empty: none.
            shape: Shape of its value at each step; () for a single number.
            description: Its meaning, in a sentence.
        """
        if self._steps:
            raise RecordError(f"{self.path}: channel '{name}' comes after the first step.")
        if name in self._channels or name in RESERVED or not name:
            raise RecordError(
                f"{self.path}: '{name}' cannot be a channel: expected a name that is not empty, "
                f"not {' or '.join(RESERVED)}, and not used yet."
            )
        size = math.prod(shape) if shape else 0
        if size not in self._schemas:
            self._schemas[size] = self._writer.register_schema(
                f"{PROFILE}.values{size or ''}", "jsonschema", _schema(size if shape else None)
            )
        metadata = {"unit": unit, "shape": json.dumps(list(shape)), "description": description}
        channel = self._writer.register_channel(name, "json", self._schemas[size], metadata)
        self._channels[name] = (channel, tuple(shape))

    def write(self, time: float, values: Mapping[str, np.ndarray]) -> None:
        """Write one step.

        Args:
            time: Time of the simulation [scene time], from 0 and later than the last.
            values: The value of every channel.

        Raises:
            RecordError: A channel is unknown or missing, a value has another shape than declared,
                or time does not advance. Nothing of the step is written then.
        """
        time = float(time)
        if not (time >= 0 and self._time < time < 2**64 / 1e9):
            raise RecordError(
                f"{self.path}: expected a time from 0 and later than {self._time}. Got: {time}"
            )
        step = {name: self._checked(name, value) for name, value in values.items()}
        if len(step) != len(self._channels):
            missing = ", ".join(sorted(self._channels.keys() - step.keys()))
            raise RecordError(f"{self.path}: at time {time} there is no value for {missing}.")
        stamp = round(time * 1e9)
        with writing(self.path, RecordError):
            for name, value in step.items():
                message = _JSON.encode({"time": time, "value": _plain(value)}).encode()
                self._writer.add_message(
                    self._channels[name][0], stamp, message, stamp, self._steps
                )
            if monotonic() - self._flushed > FLUSH_INTERVAL:
                self._writer.flush()  # type: ignore[no-untyped-call]
                self._flushed = monotonic()
        self._steps += 1
        self._time = time

    def close(self, *, status: str = COMPLETE) -> None:
        """Finish and rename the file. A second call does nothing.

        Args:
            status: How the run ended; anything but "complete" marks the recording incomplete.
        """
        if self._finish(status):
            with writing(self.path, RecordError):
                os.replace(self.path_partial, self.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()
        else:
            with contextlib.suppress(RecordError):  # the error that ended the run matters more
                self._finish(f"failed: {type(error).__name__}: {error}")

    def _checked(self, name: str, value: np.ndarray) -> np.ndarray:
        if name not in self._channels:
            known = ", ".join(self._channels) or "none"
            raise RecordError(f"{self.path}: there is no channel '{name}'. Known are {known}.")
        array = np.asarray(value, dtype=np.float64)
        shape = self._channels[name][1]
        if array.shape != shape:
            raise RecordError(
                f"{self.path}: values of '{name}' must have shape {shape}. Got: {array.shape}"
            )
        return array

    def _finish(self, status: str) -> bool:
        """Finish the partial file; False if it was finished before."""
        if self._file.closed:
            return False
        with writing(self.path, RecordError), self._file:
            self._writer.add_metadata("end", {"status": status, "steps": str(self._steps)})
            self._writer.finish()  # type: ignore[no-untyped-call]
            self._file.flush()
            os.fsync(self._file.fileno())
        return True


def _plain(value: np.ndarray) -> Any:
    """The numbers as JSON values."""
    flat = value.ravel().tolist()
    if not np.isfinite(value).all():
        flat = [x if math.isfinite(x) else _WORDS[str(x)] for x in flat]
    return flat if value.ndim else flat[0]


_WORDS = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def _schema(size: int | None) -> bytes:
    """JSON schema of a message with so many numbers; None: a single one, without a list."""
    number = {"type": "number", "description": 'or "NaN", "Infinity", "-Infinity"'}
    several = {"type": "array", "items": number, "minItems": size, "maxItems": size}
    properties = {"time": {"type": "number"}, "value": number if size is None else several}
    schema = {"type": "object", "properties": properties, "required": ["time", "value"]}
    return json.dumps(schema).encode()
