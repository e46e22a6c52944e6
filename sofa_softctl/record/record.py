"""Recordings: what Data were at every step of a run, in an MCAP file that other tools open too.

One channel for each Data. A message is `{"time": t, "value": [...]}`: the time of the simulation
[scene time] and the numbers in row-major order, so that every double comes back to the bit. Numbers
that JSON lacks are the strings "NaN", "Infinity" and "-Infinity". The metadata of a channel give
`unit`, `shape` (JSON) and `description`; the metadata record `run` holds what the writer was given,
the record `end` how the run ended. MCAP's own stamps are the time in billionths. Chunks are
compressed with zstd.

Format: https://mcap.dev/spec.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math
import os
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import IO, Any, Self

import numpy as np
from mcap.records import Channel, Footer, Header, McapRecord, Message, Metadata
from mcap.stream_reader import StreamReader
from mcap.writer import MCAP0_MAGIC, Writer

from sofa_softctl.errors import RecordError

PROFILE = "softctl"
"""What MCAP's header says of the meaning of channels and metadata."""
COMPLETE = "complete"
"""The status of a recording that was closed as planned."""
TRUNCATED = "truncated: the file ends before it was closed"

FLUSH_INTERVAL = 1.0
"""A run that is killed loses at most this much of its recording [s of the clock]."""
CHUNK = 1 << 20
"""Bytes that are compressed together: larger saves nothing more, and a damaged byte costs one."""
RESERVED = ("time", "metadata")
"""Names that the exports need for themselves."""

_JSON = json.JSONEncoder(separators=(",", ":"), allow_nan=False)


@dataclass(frozen=True)
class Record:
    """A recording that was read."""

    metadata: dict[str, str]
    """What the writer was given: backend, versions, scene, parameters, ..."""
    time: np.ndarray
    """Time of the simulation at each step [scene time], shape (n_steps,), increasing."""
    channels: dict[str, np.ndarray]
    """Values of each Data at each step, shape (n_steps, *shape of the Data)."""
    units: dict[str, str]
    """Unit of each channel; empty where it has none."""
    complete: bool
    """Whether the recording was closed as planned and is undamaged."""
    status: str
    """How the run ended: "complete", what else `close` was told, or that the file is truncated."""


class RecordWriter:
    """Writes a recording; a context manager.

    The file grows under the name `path_partial` and gets its own name when it is closed, at once.
    If the process dies, or the `with` block ends in an exception, it stays under the partial name
    and `read_record` reads it as far as it goes.

    Args:
        path: The file to write; one that exists is replaced on `close`.
        metadata: What produced the recording: backend, versions, scene, parameters.

    Raises:
        RecordError: The file cannot be written there, or the metadata are not text.
    """

    def __init__(self, path: str | os.PathLike[str], metadata: Mapping[str, str]) -> None:
        self.path = Path(path)
        self.path_partial = _partial(self.path)
        for key, value in metadata.items():
            if not (isinstance(key, str) and isinstance(value, str)):
                raise RecordError(f"{path}: metadata must be text. Got: {key!r}: {value!r}")
        self._channels: dict[str, tuple[int, tuple[int, ...]]] = {}
        self._schemas: dict[int, int] = {}
        self._steps = 0
        self._time = -math.inf
        with _storing(self.path):
            self._file = open(self.path_partial, "wb")  # noqa: SIM115 - closed by close()
            self._writer = Writer(self._file, chunk_size=CHUNK)
            self._writer.start(PROFILE)
            self._writer.add_metadata("run", dict(metadata))
            self._file.flush()
        self._flushed = monotonic()

    def add_channel(
        self, name: str, *, unit: str = "", shape: tuple[int, ...], description: str = ""
    ) -> None:
        """Announce a Data. All channels come before the first step.

        Args:
            name: For example `trunk/tip/dofs.position`.
            unit: Unit of its numbers; empty: none.
            shape: Shape of its value at each step; () for a single number.
            description: What it means, in a sentence.
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
            RecordError: A channel is unknown or missing, a value has another shape than announced,
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
        with _storing(self.path):
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
        """Finish the file and give it its name. A second call does nothing.

        Args:
            status: How the run ended; anything but "complete" marks the recording incomplete.
        """
        if self._finish(status):
            with _storing(self.path):
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
            with contextlib.suppress(RecordError):  # the error that ended the run says more
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
        """Write the end of the file, under its partial name; False if that was done before."""
        if self._file.closed:
            return False
        with _storing(self.path), self._file:
            self._writer.add_metadata("end", {"status": status, "steps": str(self._steps)})
            self._writer.finish()  # type: ignore[no-untyped-call]
            self._file.flush()
            os.fsync(self._file.fileno())
        return True


def read_record(path: str | os.PathLike[str]) -> Record:
    """The recording in a file; of a damaged or truncated one, the steps before the damage.

    Args:
        path: The file, possibly one that ends in `.part`.

    Raises:
        RecordError: The file is missing, no MCAP file, or no recording of this package.
    """
    try:
        with open(path, "rb") as file:
            return _read(file, path)
    except OSError as error:
        raise RecordError(
            f"{path}: the recording cannot be read ({error.strerror}). Check the path."
        ) from error


def export_csv(record: Record, path: str | os.PathLike[str]) -> None:
    """Write a recording as a table: a row for each step, a column for each number.

    The first column is `time`; the others are named like `trunk/tip/dofs.position[0].x`. Numbers
    come back to the bit.

    Args:
        record: The recording.
        path: The file to write; it appears when it is complete.
    """
    names, columns = ["time"], [record.time[:, None]]
    for name, values in record.channels.items():
        names += column_names(name, values.shape[1:])
        columns.append(values.reshape(len(values), math.prod(values.shape[1:])))
    with _replacing(path) as file:
        text = io.TextIOWrapper(file, "utf-8", newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(np.concatenate(columns, axis=1).tolist())
        text.detach()  # which flushes, and leaves the file open


def export_npz(record: Record, path: str | os.PathLike[str]) -> None:
    """Write a recording for `numpy.load`: arrays `time`, one for each channel, and `metadata`.

    The latter is JSON text with the metadata, the units and the status.

    Args:
        record: The recording.
        path: The file to write; it appears when it is complete.
    """
    metadata = {"metadata": record.metadata, "units": record.units, "status": record.status}
    arrays = {
        "time": record.time,
        **record.channels,
        "metadata": np.array(json.dumps(metadata)),
    }
    with _replacing(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


# -- writing ------------------------------------------------------------------------------


def _partial(path: Path) -> Path:
    return path.with_name(path.name + ".part")


@contextlib.contextmanager
def _storing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Say which file it was that could not be written."""
    try:
        yield
    except OSError as error:
        raise RecordError(
            f"{path}: cannot be written ({error.strerror}). "
            "Choose a folder that exists, may be written to and has space left."
        ) from error


@contextlib.contextmanager
def _replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file that takes its name only once it is complete."""
    partial = _partial(Path(path))
    with _storing(path):
        try:
            with open(partial, "wb") as file:
                yield file
            os.replace(partial, path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise


def _plain(value: np.ndarray) -> Any:
    """The numbers as JSON can hold them."""
    flat = value.ravel().tolist()
    if not np.isfinite(value).all():
        flat = [x if math.isfinite(x) else _WORDS[str(x)] for x in flat]
    return flat if value.ndim else flat[0]


_WORDS = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def _schema(size: int | None) -> bytes:
    """The JSON schema of a message with so many numbers; None: a single one, in no list."""
    number = {"type": "number", "description": 'or "NaN", "Infinity", "-Infinity"'}
    several = {"type": "array", "items": number, "minItems": size, "maxItems": size}
    properties = {"time": {"type": "number"}, "value": number if size is None else several}
    schema = {"type": "object", "properties": properties, "required": ["time", "value"]}
    return json.dumps(schema).encode()


def column_names(name: str, shape: tuple[int, ...]) -> list[str]:
    """What the numbers of a Data are called: `tip.position[0].x`, `motor.force[2]`, `time`."""
    if len(shape) == 2 and shape[1] in _COMPONENTS:
        return [f"{name}[{i}].{each}" for i in range(shape[0]) for each in _COMPONENTS[shape[1]]]
    return [name + "".join(f"[{i}]" for i in index) for index in np.ndindex(*shape)]


_COMPONENTS = {3: ("x", "y", "z"), 7: ("x", "y", "z", "qx", "qy", "qz", "qw")}


# -- reading ------------------------------------------------------------------------------


def _read(file: IO[bytes], path: str | os.PathLike[str]) -> Record:
    magic = file.read(len(MCAP0_MAGIC))
    if magic != MCAP0_MAGIC:
        raise RecordError(f"{path}: expected an MCAP file. Got a file that begins with {magic!r}.")
    file.seek(-len(MCAP0_MAGIC), os.SEEK_END)
    closed = file.read() == MCAP0_MAGIC
    file.seek(0)
    metadata: dict[str, str] = {}
    channels: dict[int, Channel] = {}
    messages: dict[int, list[bytes]] = {}
    status, profile, footer = TRUNCATED, PROFILE, False
    for record in _undamaged(file):
        if isinstance(record, Header):
            profile = record.profile
        elif isinstance(record, Metadata):
            if record.name == "run":
                metadata = record.metadata
            elif record.name == "end":
                status = record.metadata.get("status", TRUNCATED)
        elif isinstance(record, Channel):
            channels[record.id] = record
            messages.setdefault(record.id, [])
        elif isinstance(record, Message):
            messages[record.channel_id].append(record.data)
        footer = footer or isinstance(record, Footer)
    if profile != PROFILE:
        raise RecordError(
            f"{path}: expected an MCAP file of the profile '{PROFILE}', as `softctl run` writes. "
            f"Got: '{profile}'"
        )
    if not (closed and footer):
        status = TRUNCATED
    steps = min(map(len, messages.values()), default=0)  # the last step may be there in part
    series = {c.topic: _series(c, messages[c.id][:steps], path) for c in channels.values()}
    time = next((times for times, _ in series.values()), _frozen(np.empty(0)))
    return Record(
        metadata=metadata,
        time=time,
        channels={name: values for name, (_, values) in series.items()},
        units={c.topic: c.metadata.get("unit", "") for c in channels.values()},
        complete=status == COMPLETE,
        status=status,
    )


def _undamaged(file: IO[bytes]) -> Iterator[McapRecord]:
    """The records of a file, up to its end or to the first that is damaged."""
    size = os.fstat(file.fileno()).st_size  # no record is longer, whatever it says
    records = StreamReader(file, validate_crcs=True, record_size_limit=size).records
    while True:
        try:
            record = next(records)
        except Exception:  # the end, or whatever damage makes of the bytes before it
            return
        yield record


def _series(
    channel: Channel, messages: list[bytes], path: str | os.PathLike[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Times of shape (n_steps,), and values of shape (n_steps, *shape)."""
    try:
        shape = tuple(json.loads(channel.metadata["shape"]))
        times = np.empty(len(messages))
        values = np.empty((len(messages), *shape))
        for step, message in enumerate(messages):
            content = json.loads(message)
            times[step] = content["time"]
            values[step] = np.array(content["value"], dtype=np.float64).reshape(shape)
    except (ValueError, KeyError, TypeError) as error:
        raise RecordError(
            f"{path}: channel '{channel.topic}' is not as `softctl run` writes it ({error})."
        ) from error
    return _frozen(times), _frozen(values)


def _frozen(array: np.ndarray) -> np.ndarray:
    array.setflags(write=False)
    return array
