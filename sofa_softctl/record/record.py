"""Recordings: values of Data at every step of a run, in an MCAP file, and streams beside them.

One channel for each Data, one for each stream. A message, in protobuf (`encoding`), has the time of
the simulation [scene time] and the numbers in row-major order, to the bit, or a text; one of a
stream also has the computer's monotonic clock. The metadata of a channel give `unit`, `shape`
(JSON) and `description`; the metadata record `run` holds the writer's metadata, the record `end`
the status. MCAP's own stamps are the time in billionths; `publish_time` of a stream is the clock.
Chunks are compressed with lz4. What does not change, such as meshes, is in attachments
(`attachment`). Recordings of earlier versions, in JSON and with zstd, are read too.

Format: https://mcap.dev/spec.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO

import numpy as np
from mcap.records import Attachment, Channel, Footer, Header, McapRecord, Message, Metadata, Schema
from mcap.stream_reader import StreamReader
from mcap.writer import MCAP0_MAGIC

from sofa_softctl.errors import RecordError
from sofa_softctl.record import encoding
from sofa_softctl.record.attachment import MEDIA_TYPE, unpack
from sofa_softctl.record.file import COMPLETE

PROFILE = "softctl"
"""Profile in MCAP's header."""
TRUNCATED = "truncated: the file ends before it was closed"


@dataclass(frozen=True)
class RecordStream:
    """Rows with times of their own, such as the commands that a device was sent."""

    time: np.ndarray
    """Time of the simulation that each row belongs to, NaN where none [scene time], shape (n,)."""
    clock: np.ndarray
    """Monotonic clock of the computer at each row [s], shape (n,)."""
    values: np.ndarray
    """Values of each row, shape (n, ...); texts as str."""
    unit: str
    """Unit of the values; empty: none."""


@dataclass(frozen=True)
class Record:
    """A recording that was read."""

    metadata: dict[str, str]
    """Metadata of the writer: backend, versions, scene, parameters, ..."""
    time: np.ndarray
    """Time of the simulation at each step [scene time], shape (n_steps,), increasing."""
    channels: dict[str, np.ndarray]
    """Values of each Data at each step, shape (n_steps, *shape of the Data); texts as str."""
    units: dict[str, str]
    """Unit of each channel; empty where it has none."""
    complete: bool
    """Whether the recording was closed normally and is undamaged."""
    status: str
    """How the run ended: "complete", another status of `close`, or that the file is truncated."""
    streams: dict[str, RecordStream] = field(default_factory=dict)
    """Rows beside those of the steps, by the name of their channel."""
    attachments: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)
    """Arrays that do not change, by the attachment's name and their own; see `scene.geometry`."""


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


def column_names(name: str, shape: tuple[int, ...]) -> list[str]:
    """Names of the numbers of a Data: `tip.position[0].x`, `motor.force[2]`, `time`."""
    if len(shape) == 2 and shape[1] in _COMPONENTS:
        return [f"{name}[{i}].{each}" for i in range(shape[0]) for each in _COMPONENTS[shape[1]]]
    return [name + "".join(f"[{i}]" for i in index) for index in np.ndindex(*shape)]


_COMPONENTS = {3: ("x", "y", "z"), 7: ("x", "y", "z", "qx", "qy", "qz", "qw")}


def _read(file: IO[bytes], path: str | os.PathLike[str]) -> Record:
    magic = file.read(len(MCAP0_MAGIC))
    if not magic:
        raise RecordError(f"{path}: expected an MCAP file. Got an empty one.")
    if magic != MCAP0_MAGIC:
        raise RecordError(f"{path}: expected an MCAP file. Got a file that begins with {magic!r}.")
    file.seek(-len(MCAP0_MAGIC), os.SEEK_END)
    closed = file.tell() >= len(MCAP0_MAGIC) and file.read() == MCAP0_MAGIC
    file.seek(0)
    metadata: dict[str, str] = {}
    channels: dict[int, Channel] = {}
    messages: dict[int, list[bytes]] = {}
    kinds: dict[int, str] = {}
    attachments: dict[str, dict[str, np.ndarray]] = {}
    status, profile, footer = TRUNCATED, PROFILE, False
    for record in _undamaged(file):
        if isinstance(record, Header):
            profile = record.profile
        elif isinstance(record, Metadata):
            if record.name == "run":
                metadata = record.metadata
            elif record.name == "end":
                status = record.metadata.get("status", TRUNCATED)
        elif isinstance(record, Schema):
            kinds[record.id] = record.name
        elif isinstance(record, Channel):
            channels[record.id] = record
            messages.setdefault(record.id, [])
        elif isinstance(record, Message):
            messages[record.channel_id].append(record.data)
        elif isinstance(record, Attachment) and record.media_type == MEDIA_TYPE:
            attachments[record.name] = unpack(record.data, record.name, path)
        footer = footer or isinstance(record, Footer)
    if profile != PROFILE:
        raise RecordError(
            f"{path}: expected an MCAP file of the profile '{PROFILE}', as `softctl run` writes. "
            f"Got: '{profile}'"
        )
    streaming = {i for i, c in channels.items() if kinds.get(c.schema_id) in encoding.OF_STREAMS}
    counts = [len(found) for i, found in messages.items() if i not in streaming]
    steps = min(counts, default=0)  # the last step may be incomplete
    if not closed:
        status = TRUNCATED
    elif not footer:
        status = f"damaged: what comes after {steps} steps cannot be read"
    series = {
        c.topic: _series(c, kinds.get(c.schema_id, ""), messages[c.id][:steps], path)
        for c in channels.values()
        if c.id not in streaming
    }
    time = next((times for times, _ in series.values()), _frozen(np.empty(0)))
    return Record(
        metadata=metadata,
        time=time,
        channels={name: values for name, (_, values) in series.items()},
        units={c.topic: _unit(c) for c in channels.values() if c.id not in streaming},
        complete=status == COMPLETE,
        status=status,
        streams={
            c.topic: _stream(c, kinds[c.schema_id], messages[c.id], path)
            for c in channels.values()
            if c.id in streaming
        },
        attachments=attachments,
    )


def _undamaged(file: IO[bytes]) -> Iterator[McapRecord]:
    """The records of a file, up to its end or to the first that is damaged."""
    size = os.fstat(file.fileno()).st_size  # upper bound of a record's length
    records = StreamReader(file, validate_crcs=True, record_size_limit=size).records
    while True:
        try:
            record = next(records)
        except Exception:  # the end, or damaged bytes
            return
        yield record


def _series(
    channel: Channel, kind: str, messages: list[bytes], path: str | os.PathLike[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Times of shape (n_steps,), and values of shape (n_steps, *shape)."""
    with _as_written(channel, path):
        if channel.message_encoding == "json":
            times, values = encoding.decode_json(messages, _shape(channel))
        elif kind == encoding.TEXT:
            times, values = encoding.decode_texts(messages)
        else:
            times, values = encoding.decode_numbers(messages, _shape(channel))
    return _frozen(times), _frozen(values)


def _stream(
    channel: Channel, kind: str, messages: list[bytes], path: str | os.PathLike[str]
) -> RecordStream:
    with _as_written(channel, path):
        if kind == encoding.EVENT:
            found = encoding.decode_events(messages)
        else:
            found = encoding.decode_rows(messages, _shape(channel))
    time, clock, values = map(_frozen, found)
    return RecordStream(time, clock, values, _unit(channel))


@contextmanager
def _as_written(channel: Channel, path: str | os.PathLike[str]) -> Iterator[None]:
    """RecordError where the messages of a channel are not those of its schema."""
    try:
        yield
    except (ValueError, KeyError, TypeError) as error:
        raise RecordError(
            f"{path}: channel '{channel.topic}' is not as `softctl run` writes it ({error})."
        ) from error


def _unit(channel: Channel) -> str:
    return channel.metadata.get("unit", "")


def _shape(channel: Channel) -> tuple[int, ...]:
    return tuple(json.loads(channel.metadata["shape"]))


def _frozen(array: np.ndarray) -> np.ndarray:
    array.setflags(write=False)
    return array
