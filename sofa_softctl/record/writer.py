"""Writer of recordings, step by step; see `record` for the format."""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from time import monotonic
from typing import NoReturn, Self

import numpy as np

from sofa_softctl.base.files import raise_write_errors
from sofa_softctl.errors import RecordError
from sofa_softctl.record import encoding
from sofa_softctl.record.attachment import MEDIA_TYPE, pack
from sofa_softctl.record.file import RecordFile
from sofa_softctl.record.mcap_file import McapFile, StepRow
from sofa_softctl.record.record import PROFILE
from sofa_softctl.record.status import COMPLETE

FLUSH_INTERVAL = 1.0
"""Interval of flushes: a killed run loses at most this much [s of the clock]."""
CHUNK_SIZE = 1 << 18
"""Bytes per compressed chunk: larger ones save no more space, and delay the step that ends one."""
_STAMP_MAX = 2**63 / 1e9
"""Largest stamp of MCAP that other programs can read [s]."""
RESERVED = ("time", "metadata")
"""Names reserved for exports."""


class RecordWriter:
    """Writer of a recording; a context manager.

    The file grows as `path_partial` and is renamed when it is closed. If the process dies, the disk
    is full, or the `with` block raises, it keeps the partial name, and `read_record` reads its
    complete steps.

    Args:
        path: File to write, FILE.mcap, or a reserved file.
        metadata: Origin of the recording: backend, versions, scene, parameters.
        overwrite: Replace an earlier recording, or the partial file of a killed run.

    Raises:
        RecordError: The file cannot be written, or the metadata are not text.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | RecordFile,
        metadata: Mapping[str, str],
        *,
        overwrite: bool = True,
    ) -> None:
        for key, value in metadata.items():
            if not (isinstance(key, str) and isinstance(value, str)):
                raise RecordError(f"{path}: metadata must be text. Got: {key!r}: {value!r}")
        if not isinstance(path, RecordFile):
            path = RecordFile(path, overwrite=overwrite)
        self.file = path
        self.path, self.path_partial = path.path, path.path_partial
        self.step_count = 0
        """Steps written."""
        self.saved_step_count = 0
        """Steps that were passed to the system: a killed process does not lose them."""
        self.failed = False
        """Whether writing failed; the partial file has the saved steps."""
        self.is_empty = True
        """True until the first step or the first row of a stream is written."""
        self.attached: set[str] = set()
        """Names of the attachments."""
        self._channels: dict[str, tuple[int, tuple[int, ...] | None, bytes]] = {}
        self._streams: dict[str, tuple[int, tuple[int, ...] | None]] = {}
        self._schemas: dict[str, int] = {}
        self._row: StepRow | None = None
        self._time = -math.inf
        stream = self.file.stream
        with raise_write_errors(self.path, RecordError):
            stream.truncate(0)
            self._writer = McapFile(stream, PROFILE)
            self._writer.add_metadata("run", {k: _utf8(v) for k, v in metadata.items()})
            stream.flush()
        self._flushed = monotonic()

    def add_channel(
        self, name: str, *, unit: str = "", shape: tuple[int, ...] | None, description: str = ""
    ) -> None:
        """Declare a Data. After the first step, earlier values are missing.

        Args:
            name: For example `trunk/tip/dofs.position`.
            unit: Unit of the numbers, or "".
            shape: Shape of its value at each step; () for a single number, None for a text.
            description: Meaning, in a sentence.
        """
        if self.step_count and not self._channels:
            raise RecordError(f"{self.path}: channel '{name}' comes after the first step.")
        channel = self._register(name, encoding.message_name(shape), unit, shape, description)
        head = b"" if shape is None else encoding.encode_head(shape)
        self._channels[name] = (channel, shape, head)
        self._row = None

    def add_stream(
        self, name: str, *, unit: str = "", shape: tuple[int, ...] | None, description: str = ""
    ) -> None:
        """Declare a stream, with rows at any times; allowed at any time.

        Args:
            name: For example `bridge.robot.command`.
            unit: Unit of the numbers, or "".
            shape: Shape of the value of a row; () for a single number, None for a text.
            description: Meaning, in a sentence.
        """
        kind = encoding.EVENT if shape is None else encoding.ROW
        self._streams[name] = (self._register(name, kind, unit, shape, description), shape)

    def attach(self, name: str, arrays: Mapping[str, np.ndarray]) -> None:
        """Add constant arrays, such as a mesh; allowed at any time.

        Args:
            name: For example `bodies/trunk/dofs`.
            arrays: Numbers and texts by name.

        Raises:
            RecordError: The file cannot be written any more.
        """
        self._flush()
        self.attached.add(name)
        with self._release_on_error():
            self._writer.add_attachment(0, 0, name, MEDIA_TYPE, pack(arrays))

    @property
    def streams(self) -> Iterable[str]:
        """Names of the streams."""
        return self._streams.keys()

    def _register(
        self, name: str, kind: str, unit: str, shape: tuple[int, ...] | None, description: str
    ) -> int:
        """Register a channel and return its number."""
        if name in self._channels or name in self._streams or name in RESERVED or not name:
            raise RecordError(
                f"{self.path}: '{name}' cannot be a channel: expected a name that is not empty, "
                f"not {' or '.join(RESERVED)}, and not used yet; do two "
                "nodes or components have one name?"
            )
        if kind not in self._schemas:
            schema = self._writer.register_schema(kind, "protobuf", encoding.schema())
            self._schemas[kind] = schema
        shape_text = json.dumps(list(shape or ()))
        metadata = {"unit": unit, "shape": shape_text, "description": description}
        if self.step_count:
            metadata["begin"] = str(self.step_count)
        return self._writer.register_channel(name, "protobuf", self._schemas[kind], metadata)

    def write(self, time: float, values: Mapping[str, np.ndarray | str]) -> None:
        """Write one step.

        Args:
            time: Time of the simulation [scene time], at least 0 and later than the last.
            values: The value of every channel.

        Raises:
            RecordError: A channel is unknown or missing, a value has another shape than declared,
                or time does not advance: nothing of the step is written then. Or the file cannot
                be written any more: the message says how many steps are in the partial file.
        """
        time = float(time)
        if not (time >= 0 and self._time < time < _STAMP_MAX):
            raise RecordError(
                f"{self.path}: expected a time from 0 and later than {self._time}. Got: {time}"
            )
        numbers, texts = self._sort(time, values)
        if self._row is None:
            channels = [
                (c, head, shape) for c, shape, head in self._channels.values() if shape is not None
            ]
            self._row = StepRow(channels)
        stamp, begin = round(time * 1e9), encoding.encode_time(time)
        if numbers:
            self._writer.add_step(self._row, self.step_count, stamp, time, numbers)
        for channel, text in texts:
            data = begin + encoding.encode_text(text)
            self._writer.add_message(channel, stamp, data, stamp, self.step_count)
        self.step_count += 1
        self.is_empty = False
        self._time = time
        self._flush_if_due()

    def write_stream(
        self,
        name: str,
        time: np.ndarray,
        clock: np.ndarray,
        values: np.ndarray | Sequence[str],
    ) -> None:
        """Write rows of a stream.

        Args:
            name: The stream.
            time: Time of the simulation of each row, or NaN [scene time], shape (n,).
            clock: Monotonic clock of the computer [s], shape (n,).
            values: Shape (n, *shape of the stream), or n texts.

        Raises:
            RecordError: The stream is unknown, or a shape does not fit: nothing is written then. Or
                the file cannot be written any more.
        """
        if name not in self._streams:
            names = ", ".join(self._streams) or "none"
            raise RecordError(f"{self.path}: there is no stream '{name}'. Known are {names}.")
        channel, shape = self._streams[name]
        time, clock = np.asarray(time, dtype=float), np.asarray(clock, dtype=float)
        count = len(values)
        table = None if shape is None else np.asarray(values, dtype=float)
        has_wrong_shape = table is not None and table.shape[1:] != shape
        if has_wrong_shape or time.shape != (count,) or clock.shape != (count,):
            raise RecordError(
                f"{self.path}: rows of '{name}' need a time, a clock and values of shape {shape} "
                f"each. Got: {time.shape}, {clock.shape} and {np.shape(values)}"
            )
        if not count:
            return
        if table is None:
            rows = zip(time.tolist(), clock.tolist(), values, strict=True)
            messages = [encoding.encode_event(t, c, str(text)) for t, c, text in rows]
        else:
            messages = encoding.encode_rows(time, clock, table)
        stamps = zip(_stamps(time), messages, _stamps(clock), strict=True)
        for stamp, message, published in stamps:
            self._writer.add_message(channel, stamp, message, published)
        self.is_empty = False
        self._flush_if_due()

    def _flush_if_due(self) -> None:
        if self._writer.chunk_size > CHUNK_SIZE or monotonic() - self._flushed > FLUSH_INTERVAL:
            self._flush()

    def close(self, *, status: str = COMPLETE) -> None:
        """Finish and rename the file. A second call, or a call after a full disk, does nothing.

        A recording that is not complete and empty leaves no file, and an earlier one as it was.

        Args:
            status: End of the run; any other text than "complete" marks the recording incomplete.
        """
        if status != COMPLETE and self.is_empty:
            self.file.discard()
        elif self._finish(status):
            self.file.finish()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None:
            self.close()
        else:
            with contextlib.suppress(RecordError):  # the error that ended the run matters more
                if not self.is_empty:
                    self._finish(f"failed: {type(error).__name__}: {error}")
            if self.is_empty:
                self.file.discard()
            self.file.release()

    def _sort(
        self, time: float, values: Mapping[str, np.ndarray | str]
    ) -> tuple[list[np.ndarray], list[tuple[int, str]]]:
        """Return the numbers of a step and its texts with their channels, as declared."""
        if values.keys() != self._channels.keys():
            self._refuse(time, values)
        numbers: list[np.ndarray] = []
        texts: list[tuple[int, str]] = []
        for name, (channel, shape, _) in self._channels.items():
            if shape is None:
                texts.append((channel, str(values[name])))
            else:
                numbers.append(self._array(name, values[name], shape))
        return numbers, texts

    def _array(self, name: str, value: np.ndarray | str, shape: tuple[int, ...]) -> np.ndarray:
        array = np.asarray(value, dtype="<f8")
        if array.shape != shape:
            raise RecordError(
                f"{self.path}: values of '{name}' must have shape {shape}. Got: {array.shape}"
            )
        return array

    def _refuse(self, time: float, values: Mapping[str, np.ndarray | str]) -> NoReturn:
        """Raise the error of values whose names are not those of the channels."""
        for name, value in values.items():
            if name not in self._channels:
                names = ", ".join(self._channels) or "none"
                raise RecordError(f"{self.path}: there is no channel '{name}'. Known are {names}.")
            _, shape, _ = self._channels[name]
            if shape is not None:
                self._array(name, value, shape)
        missing = ", ".join(sorted(self._channels.keys() - values.keys()))
        raise RecordError(f"{self.path}: at time {time} there is no value for {missing}.")

    def _flush(self) -> None:
        """Write the waiting messages as a chunk."""
        with self._release_on_error():
            self._writer.flush()
        self.saved_step_count, self._flushed = self.step_count, monotonic()

    def _finish(self, status: str) -> bool:
        """Finish the partial file; return False if it was finished before, or cannot be."""
        if self.file.stream.closed or self.failed:
            return False
        self._flush()
        with self._release_on_error():
            self._writer.add_metadata("end", {"status": status, "steps": str(self.step_count)})
            self._writer.finish()
            self.file.stream.flush()
        return True

    @contextlib.contextmanager
    def _release_on_error(self) -> Iterator[None]:
        """End the recording if the file cannot be written; name the saved steps in the error."""
        try:
            yield
        except OSError as reason:
            self.failed = True
            self.file.release()
            raise RecordError(
                f"Cannot write '{self.path}' any more: {reason.strerror or reason}. The first "
                f"{self.saved_step_count} of {self.step_count} steps are safe in "
                f"'{self.path_partial}', which 'softctl info' and read_record read. Free some "
                "space, or choose another folder, before the next run."
            ) from reason


def _stamps(seconds: np.ndarray) -> list[int]:
    """Return times in billionths, as MCAP's stamps are; 0 for those that are not finite."""
    finite = np.where(np.isfinite(seconds), seconds, 0.0).clip(0.0, _STAMP_MAX)
    return [round(second * 1e9) for second in finite.tolist()]


def _utf8(text: str) -> str:
    """Return a text that UTF-8 can encode; file names may have bytes that their locale lacks."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
