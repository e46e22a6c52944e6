"""MCAP files, written step by step: the messages of a step are copied into one row of bytes.

In the row of a `StepRow` only times, the number of the step and the values change from one step to
the next, so that a step costs a copy for each channel and a few calls for all; the writer of the
package `mcap` makes about thirty calls for each message. Chunks are compressed with lz4: in a fifth
of zstd's time, 5 % larger.

Format: https://mcap.dev/spec.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import IO, Any

import lz4.frame
import numpy as np
from mcap.data_stream import RecordBuilder
from mcap.opcode import Opcode
from mcap.records import (
    Attachment,
    AttachmentIndex,
    Channel,
    Chunk,
    ChunkIndex,
    DataEnd,
    Footer,
    Header,
    McapRecord,
    Metadata,
    MetadataIndex,
    Schema,
    Statistics,
    SummaryOffset,
)
from mcap.writer import LIBRARY_IDENTIFIER, MCAP0_MAGIC

from sofa_softctl.record.encoding import encode_time

_MESSAGE = struct.Struct("<BQHIQQ")
"""Operation, length, channel, number, log time and publish time in front of a message's data."""
_NUMBER, _TIME = 11, _MESSAGE.size + 1
"""Places of the number and of the data's time in a message; see `encoding` for the latter."""


class StepRow:
    """Messages of a step's numbers, one behind the other.

    Args:
        channels: Number of each channel, the bytes between the time and the numbers of its
            messages, and the shape of its values.
    """

    def __init__(self, channels: Sequence[tuple[int, bytes, tuple[int, ...]]]) -> None:
        self.channels = np.array([channel for channel, _, _ in channels], np.uint16)
        self._row, starts, ends = bytearray(), [], []
        for channel, head, shape in channels:
            data = encode_time(0.0) + head + bytes(8 * math.prod(shape))
            starts.append(len(self._row))
            self._row += _MESSAGE.pack(Opcode.MESSAGE, len(data) + 22, channel, 0, 0, 0) + data
            ends.append(len(self._row))
        self.starts = np.array(starts, np.uint64)
        """Place of each message in the row [byte]."""
        self._bytes = np.frombuffer(self._row, np.uint8)  # a view
        self._values = [
            self._bytes[end - 8 * math.prod(shape) : end].view("<f8").reshape(shape)
            for end, (_, _, shape) in zip(ends, channels, strict=True)
        ]
        places = np.r_[_NUMBER : _NUMBER + 20, _TIME : _TIME + 8]
        self._places = np.array(starts, np.intp)[:, None] + places

    def fill(self, number: int, stamp: int, time: float, values: Sequence[np.ndarray]) -> bytearray:
        """Return the bytes of a step, valid until the next call.

        Args:
            number: Number of the step.
            stamp: Time for the log [ns].
            time: Time in the messages.
            values: Values of the channels, in their order.
        """
        head = struct.pack("<IQQd", number, stamp, stamp, time)
        self._bytes[self._places] = np.frombuffer(head, np.uint8)
        for target, value in zip(self._values, values, strict=True):
            target[...] = value
        return self._row


class McapFile:
    """An MCAP file that is being written to a stream, in chunks that `flush` ends."""

    def __init__(self, stream: IO[bytes], profile: str) -> None:
        self._stream = stream
        self._schemas: list[Schema] = []
        self._channels: list[Channel] = []
        self._chunks: list[bytes] = []  # indices; encoded, a tenth of their objects' memory
        self._first, self._last = 2**63, 0  # stamps
        self._attachments: list[AttachmentIndex] = []
        self._metadata: list[MetadataIndex] = []
        self._counts: Counter[int] = Counter()  # messages by channel
        self._start_chunk()
        stream.write(MCAP0_MAGIC)
        self._write(Header(profile, LIBRARY_IDENTIFIER))

    def _start_chunk(self) -> None:
        self._chunk = bytearray()
        self._messages: dict[int, list[tuple[int, int]]] = {}  # stamp and place, by channel
        self._row: StepRow | None = None
        self._steps: list[tuple[int, int]] = []  # stamp and place of each row

    @property
    def chunk_size(self) -> int:
        """Size of the chunk in progress [byte]."""
        return len(self._chunk)

    def register_schema(self, name: str, encoding: str, data: bytes) -> int:
        """Declare a kind of messages, and return its number."""
        self._schemas.append(Schema(len(self._schemas) + 1, data, encoding, name))
        self._chunk += _encode(self._schemas[-1])  # where a checksum guards it
        return len(self._schemas)

    def register_channel(
        self, topic: str, encoding: str, schema: int, metadata: Mapping[str, str]
    ) -> int:
        """Declare a channel, and return its number."""
        number = len(self._channels) + 1
        self._channels.append(Channel(number, topic, encoding, dict(metadata), schema))
        self._chunk += _encode(self._channels[-1])
        return number

    def add_message(
        self, channel: int, stamp: int, data: bytes, published: int, number: int = 0
    ) -> None:
        """Add a message to the chunk.

        Args:
            channel: Number of the channel.
            stamp: Time for the log [ns].
            data: The message.
            published: Time of publication [ns].
            number: Number of the step.
        """
        self._messages.setdefault(channel, []).append((stamp, len(self._chunk)))
        head = (Opcode.MESSAGE, len(data) + 22, channel, number, stamp, published)
        self._chunk += _MESSAGE.pack(*head) + data

    def add_step(
        self, row: StepRow, number: int, stamp: int, time: float, values: Sequence[np.ndarray]
    ) -> None:
        """Add the messages of a step to the chunk; see `StepRow.fill`."""
        if row is not self._row:
            self._end_chunk()
            self._row = row
        self._steps.append((stamp, len(self._chunk)))
        self._chunk += row.fill(number, stamp, time, values)

    def add_attachment(
        self, create_time: int, log_time: int, name: str, media_type: str, data: bytes
    ) -> None:
        """Add an attachment, with its times [ns]."""
        attachment = Attachment(create_time, log_time, name, media_type, data)
        place, length = self._write(attachment)
        index = AttachmentIndex(place, length, log_time, create_time, len(data), name, media_type)
        self._attachments.append(index)

    def add_metadata(self, name: str, metadata: Mapping[str, str]) -> None:
        """Add texts by name."""
        place, length = self._write(Metadata(name, dict(metadata)))
        self._metadata.append(MetadataIndex(place, length, name))

    def flush(self) -> None:
        """End the chunk, and pass all to the system."""
        self._end_chunk()
        self._stream.flush()

    def finish(self) -> None:
        """Write what is left, and the summary; the stream stays open."""
        self._end_chunk()
        self._write(DataEnd(0))
        begin = self._stream.tell()
        groups = {
            Opcode.SCHEMA: map(_encode, self._schemas),
            Opcode.CHANNEL: map(_encode, self._channels),
            Opcode.STATISTICS: [_encode(self._statistics())],
            Opcode.CHUNK_INDEX: self._chunks,
            Opcode.ATTACHMENT_INDEX: map(_encode, self._attachments),
            Opcode.METADATA_INDEX: map(_encode, self._metadata),
        }
        summary, offsets = bytearray(), bytearray()
        for opcode, records in groups.items():
            content = b"".join(records)
            offsets += _encode(SummaryOffset(opcode, begin + len(summary), len(content)))
            summary += content
        offsets_begin = begin + len(summary)
        summary += offsets
        head = struct.pack("<BQQQ", Opcode.FOOTER, 20, begin, offsets_begin)
        self._stream.write(summary)
        self._write(Footer(begin, offsets_begin, zlib.crc32(summary + head)))
        self._stream.write(MCAP0_MAGIC)

    def _write(self, record: McapRecord) -> tuple[int, int]:
        """Write a record, and return its place and length."""
        data, place = _encode(record), self._stream.tell()
        self._stream.write(data)
        return place, len(data)

    def _end_chunk(self) -> None:
        if not (self._steps or self._messages):
            return
        chunk, messages, row, steps = self._chunk, self._messages, self._row, self._steps
        self._start_chunk()
        stamps = [stamp for stamp, _ in steps]
        stamps += [stamp for places in messages.values() for stamp, _ in places]
        data = lz4.frame.compress(chunk)
        first, last, crc = min(stamps), max(stamps), zlib.crc32(chunk)
        place, length = self._write(Chunk("lz4", data, last, first, crc, len(chunk)))
        indices = {}
        if row is not None:
            entries = np.tile(np.array(steps, "<u8"), (len(row.channels), 1, 1))
            entries[:, :, 1] += row.starts[:, None]
            indices = dict(zip(row.channels.tolist(), entries, strict=True))
        indices |= {channel: np.array(places, "<u8") for channel, places in messages.items()}
        index_place, offsets = place + length, {}
        content = bytearray()
        for channel, entries in indices.items():
            offsets[channel] = index_place + len(content)
            size = entries.nbytes
            content += struct.pack("<BQHI", Opcode.MESSAGE_INDEX, size + 6, channel, size)
            content += entries.tobytes()
            self._counts[channel] += len(entries)
        self._stream.write(content)
        index = ChunkIndex(
            chunk_length=length,
            chunk_start_offset=place,
            compression="lz4",
            compressed_size=len(data),
            message_end_time=last,
            message_index_length=len(content),
            message_index_offsets=offsets,
            message_start_time=first,
            uncompressed_size=len(chunk),
        )
        self._chunks.append(_encode(index))
        self._first, self._last = min(self._first, first), max(self._last, last)

    def _statistics(self) -> Statistics:
        return Statistics(
            attachment_count=len(self._attachments),
            channel_count=len(self._channels),
            channel_message_counts=dict(self._counts),
            chunk_count=len(self._chunks),
            message_count=self._counts.total(),
            message_end_time=self._last,
            message_start_time=self._first if self._chunks else 0,
            metadata_count=len(self._metadata),
            schema_count=len(self._schemas),
        )


def _encode(record: Any) -> bytes:
    builder = RecordBuilder()
    record.write(builder)
    content: bytes = builder.end()
    return content
