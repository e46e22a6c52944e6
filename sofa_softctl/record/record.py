"""Recordings: an MCAP file with the values of Data at every step of a run, and with streams.

There is one channel for each Data and one for each stream. A message, in protobuf (`encoding`), has
the time of the simulation [scene time] and the numbers in row-major order, to the bit, or a text;
a message of a stream also has the computer's monotonic clock. The metadata of a channel give
`unit`, `shape` (JSON) and `description`; the metadata record `run` holds the writer's metadata, the
record `end` the status. MCAP's own stamps are the time in billionths, its sequence is the number
of the step; `publish_time` of a stream is the clock. A Data that appears later has its first step
as `begin`. Chunks are compressed with lz4. Constant arrays, such as meshes, are in attachments
(`attachment`). Recordings of earlier versions, in JSON and with zstd, are read too.

Format: https://mcap.dev/spec.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, Any
from zlib import crc32

import numpy as np
from mcap.reader import make_reader
from mcap.records import (
    Attachment,
    Channel,
    Chunk,
    DataEnd,
    Header,
    McapRecord,
    Message,
    Metadata,
    Schema,
)
from mcap.stream_reader import CRCValidationError, StreamReader, breakup_chunk
from mcap.summary import Summary
from mcap.writer import MCAP0_MAGIC

from sofa_softctl.base.files import wrong_file
from sofa_softctl.errors import RecordError
from sofa_softctl.record import encoding
from sofa_softctl.record.attachment import MEDIA_TYPE, unpack
from sofa_softctl.record.status import COMPLETE, TRUNCATED

PROFILE = "softctl"
"""Profile in MCAP's header."""
_FOOTER_SIZE = 29
"""Bytes of the last record of an MCAP file."""


@dataclass(frozen=True)
class RecordStream:
    """Rows at times other than the steps, such as the commands sent to a device."""

    time: np.ndarray
    """Time of the simulation that each row belongs to, NaN where none [scene time], shape (n,)."""
    clock: np.ndarray
    """Monotonic clock of the computer at each row [s], shape (n,)."""
    values: np.ndarray
    """Values of each row, shape (n, ...); texts as str."""
    unit: str
    """Unit of the values, or ""."""


@dataclass(frozen=True)
class Record:
    """Contents of a recording."""

    metadata: dict[str, str]
    """Metadata of the writer: backend, versions, scene, parameters, ..."""
    time: np.ndarray
    """Time of the simulation at each step [scene time], shape (n_steps,), increasing."""
    channels: dict[str, np.ndarray]
    """Values of each Data at each step, shape (n_steps, *shape of the Data); texts as str. NaN or
    "" before the Data existed."""
    units: dict[str, str]
    """Unit of each channel, or ""."""
    complete: bool
    """Whether the recording was closed normally and is undamaged."""
    status: str
    """Status of `close`, such as "complete"; or a sentence for a truncated or damaged file."""
    streams: dict[str, RecordStream] = field(default_factory=dict)
    """Rows in addition to the steps, by the name of their channel."""
    attachments: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)
    """Constant arrays, by the attachment's name and their own; see `scene.geometry`."""

    def columns_of(self, channel: str, shape: tuple[int, ...]) -> list[str]:
        """Return the names of a channel's numbers: `inverse.effort.left`, `tip/dofs.position.x`.

        Names of actuators, effectors and parameters are in place of the first index; a single row
        needs none.

        Args:
            channel: Name of a channel or stream.
            shape: Shape of its value at an instant.
        """
        names = column_names(channel, shape)
        rows = self.names_of(channel, shape[0]) if shape else []
        if not rows and shape[:1] != (1,):
            return names
        starts = [f"{channel}.{row}" for row in rows] or [channel]
        per_row = len(names) // len(starts)
        return [
            starts[k // per_row] + name.removeprefix(f"{channel}[{k // per_row}]")
            for k, name in enumerate(names)
        ]

    def names_of(self, channel: str, count: int) -> list[str]:
        """Return the names of a channel's actuators, effectors or parameters, or [] if unknown.

        Args:
            channel: Name of a channel or stream, such as `inverse.effort`.
            count: Number of its values, or of its points.
        """
        owner, _, data = channel.rpartition(".")
        kind = next((kind for kind, listed in DATA_BY_KIND.items() if data in listed), "")
        try:
            listed = json.loads(self.metadata.get(f"{owner}.{kind}", "[]"))
        except ValueError:  # text of another controller
            return []
        if not isinstance(listed, list) or len(listed) != count:
            return []
        names = _nodes_of(listed) if kind == "effectors" else list(map(str, listed))
        return names if len({*names}) == count else []


def _nodes_of(effectors: list[Any]) -> list[str]:
    """Return the shortest distinct ends of the paths of the effectors' nodes.

    Args:
        effectors: Paths of the components of each effector.
    """
    nodes = [str(paths[0]).strip("/").split("/")[:-1] for paths in effectors if paths]
    names = ["/".join(node) for node in nodes]
    for depth in range(1, max(map(len, nodes), default=1)):
        ends = ["/".join(node[-depth:]) for node in nodes]
        if len(set(ends)) == len(ends):
            return ends
    return names


def read_record(path: str | os.PathLike[str]) -> Record:
    """Read a recording; from a damaged or truncated file, the steps that can be read.

    Args:
        path: The file, possibly one that ends in `.part`.

    Raises:
        RecordError: The file is missing, or is not a recording of this package in MCAP.
    """
    try:
        with open(path, "rb") as file:
            return _read(file, path)
    except OSError as error:
        raise RecordError(
            f"{path}: the recording cannot be read ({error.strerror}). Check the path."
        ) from error


def column_names(name: str, shape: tuple[int, ...]) -> list[str]:
    """Return the names of the numbers of a Data: `tip.position[0].x`, `motor.force[2]`, `time`."""
    if len(shape) == 2 and shape[1] in _COMPONENTS:
        return [f"{name}[{i}].{axis}" for i in range(shape[0]) for axis in _COMPONENTS[shape[1]]]
    return [name + "".join(f"[{i}]" for i in index) for index in np.ndindex(*shape)]


DATA_BY_KIND = {
    "actuators": ("effort", "displacement", "action", "command", "measured", "age", "tension"),
    "effectors": ("goal", "tip", "error"),
    "parameters": ("parameters", "half_width"),
}
"""Data of controllers with a number or point for each name that `about` lists under a kind."""
_COMPONENTS = {3: ("x", "y", "z"), 7: ("x", "y", "z", "qx", "qy", "qz", "qw")}


class _Contents:
    """Contents of a file, record by record."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = path
        self.metadata: dict[str, str] = {}
        self.channels: dict[int, Channel] = {}
        self.messages: dict[int, list[bytes]] = {}  # by channel
        self.step_numbers: dict[int, list[int]] = {}  # by channel
        self.kinds: dict[int, str] = {}  # names of schemas
        self.attachments: dict[str, dict[str, np.ndarray]] = {}
        self.is_damaged = False
        self.status, self.profile, self.step_count = TRUNCATED, PROFILE, 0

    def add(self, record: object) -> None:
        """Take a record, or None in place of a damaged part."""
        match record:
            case None:
                self.is_damaged = True
            case Header():
                self.profile = record.profile
            case Metadata(name="run"):
                self.metadata = record.metadata
            case Metadata(name="end"):
                self.status = record.metadata.get("status", TRUNCATED)
                self.step_count = int(record.metadata.get("steps", "0"))
            case Schema():
                self.kinds.setdefault(record.id, record.name)
            case Channel():
                self.channels.setdefault(record.id, record)
                self.messages.setdefault(record.id, [])
                self.step_numbers.setdefault(record.id, [])
            case Message():
                self.messages[record.channel_id].append(record.data)
                self.step_numbers[record.channel_id].append(record.sequence)
            case Attachment() if record.media_type == MEDIA_TYPE:
                self.attachments[record.name] = unpack(record.data, record.name, self._path)


def _read(file: IO[bytes], path: str | os.PathLike[str]) -> Record:
    magic = file.read(len(MCAP0_MAGIC))
    if not magic:
        raise RecordError(f"{path}: expected an MCAP file. Got an empty one.")
    if wrong := wrong_file(magic + file.read(1024)):
        raise RecordError(f"{path}: expected an MCAP file, but this {wrong}.")
    if magic != MCAP0_MAGIC:
        raise RecordError(f"{path}: expected an MCAP file. Got a file that begins with {magic!r}.")
    file.seek(-len(MCAP0_MAGIC), os.SEEK_END)
    is_closed = file.tell() >= len(MCAP0_MAGIC) and file.read() == MCAP0_MAGIC
    file.seek(0)
    contents = _Contents(path)
    for record in _intact_records(file, is_closed):
        try:
            contents.add(record)
        except KeyError as error:
            raise RecordError(
                f"{path}: it is damaged: a message belongs to channel {error}, whose description "
                "is missing."
            ) from error
    channels, kinds = contents.channels, contents.kinds
    messages, step_numbers = contents.messages, contents.step_numbers
    if contents.profile != PROFILE:
        raise RecordError(
            f"{path}: expected an MCAP file of the profile '{PROFILE}', as `softctl run` writes. "
            f"Got: '{contents.profile}'"
        )
    streaming = {
        i for i, c in channels.items() if kinds.get(c.schema_id) in encoding.STREAM_MESSAGES
    }
    step_channels = [channel for channel in channels.values() if channel.id not in streaming]
    for channel in step_channels:
        if (np.diff(step_numbers[channel.id]) <= 0).any():  # an earlier version, without numbers
            step_numbers[channel.id] = list(range(len(step_numbers[channel.id])))
    steps = _complete_steps([(step_numbers[c.id], _begin(c)) for c in step_channels])
    series = {
        c.topic: _series(
            c, kinds.get(c.schema_id, ""), step_numbers[c.id], messages[c.id], steps, path
        )
        for c in step_channels
    }
    time = next((series[c.topic][0] for c in step_channels if not _begin(c)), _freeze(np.empty(0)))
    status = contents.status
    if not is_closed:
        status = TRUNCATED
    elif contents.is_damaged or len(steps) < contents.step_count:  # of an unknown kind: skipped
        status = _damage_status(steps, time, contents.step_count)
    return Record(
        metadata=contents.metadata,
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
        attachments=contents.attachments,
    )


def _intact_records(file: IO[bytes], is_closed: bool) -> Iterator[McapRecord | None]:
    """Yield the records of a file that can be read; None in place of damaged ones.

    Every chunk has a checksum, so damage costs only that chunk. If the file's structure is damaged,
    reading continues at the next part that the summary at its end lists.
    """
    size = os.fstat(file.fileno()).st_size  # upper bound of a record's length
    summary = _summary(file) if is_closed else None
    starts: list[int] = []
    if summary is not None:
        yield from summary.schemas.values()  # otherwise they are only in the first chunk
        yield from summary.channels.values()
        starts += [part.chunk_start_offset for part in summary.chunk_indexes]
        starts += [part.offset for part in summary.attachment_indexes]
        starts += [part.offset for part in summary.metadata_indexes]
    elif is_closed:
        yield None
    position: int | None = 0
    while position is not None:
        file.seek(position)
        records = StreamReader(
            file, position > 0, emit_chunks=True, validate_crcs=True, record_size_limit=size
        ).records
        try:
            for record in records:
                position = file.tell()
                if isinstance(record, DataEnd):
                    return
                yield from _in_chunk(record) if isinstance(record, Chunk) else [record]
        except CRCValidationError:  # the checksum of all records, which were read
            position = None
        except Exception:  # the end, or damaged bytes
            position = min((start for start in starts if start > position), default=None)
        if is_closed:
            yield None


def _summary(file: IO[bytes]) -> Summary | None:
    """Return the index of parts at the end of a file, or None if it is damaged."""
    try:
        file.seek(-_FOOTER_SIZE - len(MCAP0_MAGIC), os.SEEK_END)
        end = file.read(_FOOTER_SIZE)
        begin, _, checksum = struct.unpack("<QQI", end[9:])
        file.seek(begin)
        content = file.read()[: -_FOOTER_SIZE - len(MCAP0_MAGIC)]
        file.seek(0)
        return make_reader(file).get_summary() if crc32(content + end[:-4]) == checksum else None
    except Exception:  # damaged bytes
        return None


def _in_chunk(chunk: Chunk) -> list[McapRecord | None]:
    try:
        return list(breakup_chunk(chunk, validate_crc=True))
    except Exception:  # damaged bytes
        return [None]


def _begin(channel: Channel) -> int:
    """Return the number of the step at which a Data appeared."""
    return int(channel.metadata.get("begin", "0"))


def _complete_steps(channels: list[tuple[list[int], int]]) -> np.ndarray:
    """Return the numbers of the steps for which every channel has a value, increasing.

    Args:
        channels: For each channel, step numbers of its values, and the number of its first step.
    """
    steps_by_channel = [np.array(steps, dtype=int) for steps, _ in channels]  # increasing
    steps = (
        np.unique(np.concatenate(steps_by_channel)) if steps_by_channel else np.empty(0, dtype=int)
    )
    for channel_steps, (_, begin) in zip(steps_by_channel, channels, strict=True):
        steps = steps[(steps < begin) | np.isin(steps, channel_steps)]
    return steps


def _damage_status(steps: np.ndarray, time: np.ndarray, step_count: int) -> str:
    """Return the status of a damaged recording."""
    lost = np.setdiff1d(np.arange(max(step_count, int(steps.max(initial=-1)) + 1)), steps)
    if not step_count and not len(lost) or len(lost) and lost[0] == len(steps):
        return f"damaged: what comes after {len(steps)} steps cannot be read"
    if not len(lost):
        return "damaged, but all steps can be read"
    first, last = (np.searchsorted(steps, number) for number in (lost[0], lost[-1]))
    begin = f"t = {time[first - 1]:.6g}" if first else "the start"
    end = f"t = {time[last]:.6g}" if last < len(time) else "the end"
    count = f"{len(lost)} of {len(lost) + len(steps)} steps"
    return f"damaged: {count} cannot be read, between {begin} and {end}"


def _series(
    channel: Channel,
    kind: str,
    numbers: list[int],
    messages: list[bytes],
    steps: np.ndarray,
    path: str | os.PathLike[str],
) -> tuple[np.ndarray, np.ndarray]:
    """Return times of shape (n,) and values of shape (n_steps, *shape) of a channel.

    A channel that appeared later has fewer times: n is less than n_steps then.
    """
    if len(messages) != len(steps) or numbers != steps.tolist():
        complete = set(steps.tolist())
        messages = [m for m, number in zip(messages, numbers, strict=True) if number in complete]
    with _check_format(channel, path):
        if kind == encoding.TEXT:
            times, values = encoding.decode_texts(messages)
            missing = np.full(len(steps) - len(values), "")
        else:
            times, values = encoding.decode_numbers(messages, _shape(channel))
            missing = np.full((len(steps) - len(values), *values.shape[1:]), np.nan)
    return _freeze(times), _freeze(np.concatenate([missing, values]) if len(missing) else values)


def _stream(
    channel: Channel, kind: str, messages: list[bytes], path: str | os.PathLike[str]
) -> RecordStream:
    with _check_format(channel, path):
        if kind == encoding.EVENT:
            rows = encoding.decode_events(messages)
        else:
            rows = encoding.decode_rows(messages, _shape(channel))
    time, clock, values = map(_freeze, rows)
    return RecordStream(time, clock, values, _unit(channel))


@contextmanager
def _check_format(channel: Channel, path: str | os.PathLike[str]) -> Iterator[None]:
    """Raise RecordError if the messages of a channel do not fit its schema."""
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


def _freeze(array: np.ndarray) -> np.ndarray:
    array.setflags(write=False)
    return array
