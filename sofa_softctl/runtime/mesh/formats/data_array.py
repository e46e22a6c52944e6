"""Arrays of VTK's XML files: text, base64 or raw, inline or appended, compressed or not.

Source: the VTK file formats, https://docs.vtk.org/en/latest/vtk_file_formats/vtkxml_file_format.html.
"""

from __future__ import annotations

import base64
import lzma
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate, pairwise
from xml.etree.ElementTree import Element

import numpy as np

from sofa_softctl.runtime.mesh.formats.cursor import Path, fault, numbers, parse_count

DTYPES = {
    "Int8": "i1",
    "UInt8": "u1",
    "Int16": "i2",
    "UInt16": "u2",
    "Int32": "i4",
    "UInt32": "u4",
    "Int64": "i8",
    "UInt64": "u8",
    "Float32": "f4",
    "Float64": "f8",
}
LZMA_MEMORY = 1 << 28
"""Memory limit [bytes]: more than VTK's blocks need; stops damaged files."""
DECOMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "vtkZLibDataCompressor": zlib.decompress,
    "vtkLZMADataCompressor": lambda data: lzma.decompress(data, memlimit=LZMA_MEMORY),
}


@dataclass(frozen=True)
class Decoder:
    """Decoder of the arrays of a file."""

    path: Path
    """The file, for messages."""
    order: str
    """Byte order, "<" or ">"."""
    header: np.dtype
    """Type of the sizes in front of each array."""
    compressor: str | None
    """VTK's name of the compressor, or None if arrays are not compressed."""
    appended: bytes
    """The appended arrays."""
    raw: bool
    """Whether the appended arrays are stored as they are; otherwise in base64."""

    @staticmethod
    def from_root(root: Element, appended: bytes, path: Path) -> Decoder:
        """Return the decoder for the attributes of a file."""
        compressor = root.get("compressor")
        if compressor not in (None, *DECOMPRESS):
            raise fault(
                path,
                f"expected the compressor {' or '.join(DECOMPRESS)}, got {compressor!r}",
                "Export it with one of these or without compression.",
            )
        order = ">" if root.get("byte_order") == "BigEndian" else "<"
        header = np.dtype(order + ("u8" if root.get("header_type") == "UInt64" else "u4"))
        tag = root.find("AppendedData")
        raw = tag is not None and tag.get("encoding") == "raw"
        return Decoder(path, order, header, compressor, appended, raw)

    def read_array(self, element: Element | None, label: str, text_dtype: str = "") -> np.ndarray:
        """Return the numbers of a DataArray, flat; `text_dtype` replaces the type of text."""
        if element is None:
            raise fault(self.path, f"the DataArray of {label} is missing")
        dtype = DTYPES.get(element.get("type", ""))
        if dtype is None:
            raise fault(self.path, f"{label} have the unknown type {element.get('type')!r}")
        if element.get("format", "ascii") == "ascii":
            words = (element.text or "").encode().split()
            return numbers(words, text_dtype or dtype, label, self.path)
        try:
            data = self._content(element)
        except (ValueError, EOFError, zlib.error, lzma.LZMAError) as error:
            raise fault(self.path, f"the numbers of {label} are damaged ({error})") from error
        size = np.dtype(dtype).itemsize
        return np.frombuffer(data[: len(data) // size * size], self.order + dtype).astype(dtype)

    def _content(self, element: Element) -> bytes:
        inline = element.get("format") == "binary"
        if inline:
            stored = b"".join((element.text or "").encode().split())
        else:
            offset = element.get("offset", "nothing").strip().encode()
            stored = self.appended[parse_count(offset, "bytes to skip", self.path) :]
        raw = self.raw and not inline
        return (_read_compressed if self.compressor else _read_bytes)(self, stored, raw)

    def sizes(self, data: bytes, count: int) -> list[int]:
        """Return the first sizes of a header."""
        if len(data) < count * self.header.itemsize:
            raise ValueError("the header is incomplete")
        return list(map(int, np.frombuffer(data, self.header, count)))


def _read_bytes(decoder: Decoder, stored: bytes, raw: bool) -> bytes:
    """Read the length in bytes, then the bytes."""
    header = decoder.header.itemsize
    head, _ = _split(stored, header, raw)
    (length,) = decoder.sizes(head, 1)
    # A header of 4 or 8 bytes that was encoded separately ends in '='; otherwise data follow.
    if raw or stored[_base64_size(header) - 1 : _base64_size(header)] != b"=":
        data = _split(stored, header + length, raw)[0][header:]
    else:
        data, _ = _split(stored[_base64_size(header) :], length, raw)
    return _check_length(data, length)


def _read_compressed(decoder: Decoder, stored: bytes, raw: bool) -> bytes:
    """Read the number of blocks, two sizes, the compressed size of each block, then the blocks."""
    header = decoder.header.itemsize
    (blocks,) = decoder.sizes(_split(stored, header, raw)[0], 1)
    head, rest = _split(stored, (3 + blocks) * header, raw)
    sizes = decoder.sizes(head, 3 + blocks)[3:]
    data = _check_length(_split(rest, sum(sizes), raw)[0], sum(sizes))
    decompress = DECOMPRESS[decoder.compressor or ""]
    return b"".join(decompress(data[a:b]) for a, b in pairwise(accumulate(sizes, initial=0)))


def _split(stored: bytes, length: int, raw: bool) -> tuple[bytes, bytes]:
    """Return the first `length` bytes decoded, and the remaining bytes as stored."""
    if raw:
        return stored[:length], stored[length:]
    return base64.b64decode(stored[: _base64_size(length)])[:length], stored[_base64_size(length) :]


def _base64_size(length: int) -> int:
    """Return the number of base64 characters for this number of bytes."""
    return -(-length // 3) * 4


def _check_length(data: bytes, length: int) -> bytes:
    if len(data) != length:
        raise ValueError(f"expected {length} bytes, got {len(data)}")
    return data
