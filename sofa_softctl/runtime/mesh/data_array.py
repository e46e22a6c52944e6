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

from sofa_softctl.runtime.mesh.cursor import Path, fault, numbers, whole

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
LZMA_MEMORY = (
    1 << 28
)  # [bytes]; more than VTK's blocks need, and a damaged file cannot ask for more
DECOMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "vtkZLibDataCompressor": zlib.decompress,
    "vtkLZMADataCompressor": lambda data: lzma.decompress(data, memlimit=LZMA_MEMORY),
}


@dataclass(frozen=True)
class Decoder:
    """Decoder of the arrays of one file."""

    path: Path
    """The file, for messages."""
    order: str
    """Byte order, "<" or ">"."""
    header: np.dtype
    """Type of the sizes in front of each array."""
    compressor: str | None
    """VTK's name of the compressor; None: not compressed."""
    appended: bytes
    """The appended arrays."""
    raw: bool
    """Whether the appended arrays are stored as they are; otherwise in base64."""

    @staticmethod
    def of(root: Element, appended: bytes, path: Path) -> Decoder:
        """The decoder that the attributes of a file ask for."""
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

    def array(self, element: Element | None, what: str, text_dtype: str = "") -> np.ndarray:
        """The numbers of a DataArray, flat; `text_dtype` replaces the type that text declares."""
        if element is None:
            raise fault(self.path, f"the DataArray of {what} is missing")
        dtype = DTYPES.get(element.get("type", ""))
        if dtype is None:
            raise fault(self.path, f"{what} have the unknown type {element.get('type')!r}")
        if element.get("format", "ascii") == "ascii":
            words = (element.text or "").encode().split()
            return numbers(words, text_dtype or dtype, what, self.path)
        try:
            data = self._content(element)
        except (ValueError, EOFError, zlib.error, lzma.LZMAError) as error:
            raise fault(self.path, f"the numbers of {what} are damaged ({error})") from error
        size = np.dtype(dtype).itemsize
        return np.frombuffer(data[: len(data) // size * size], self.order + dtype).astype(dtype)

    def _content(self, element: Element) -> bytes:
        inline = element.get("format") == "binary"
        if inline:
            stored = b"".join((element.text or "").encode().split())
        else:
            offset = element.get("offset", "nothing").strip().encode()
            stored = self.appended[whole(offset, "bytes to skip", self.path) :]
        raw = self.raw and not inline
        return (_compressed if self.compressor else _plain)(self, stored, raw)

    def sizes(self, data: bytes, count: int) -> list[int]:
        """The first sizes of a header."""
        if len(data) < count * self.header.itemsize:
            raise ValueError("the header is incomplete")
        return list(map(int, np.frombuffer(data, self.header, count)))


def _plain(decoder: Decoder, stored: bytes, raw: bool) -> bytes:
    """The length in bytes, then as many bytes."""
    header = decoder.header.itemsize
    head, _ = _split(stored, header, raw)
    (length,) = decoder.sizes(head, 1)
    # A header of 4 or 8 bytes that was encoded on its own ends in '='; otherwise data go on.
    if raw or stored[_encoded(header) - 1 : _encoded(header)] != b"=":
        data = _split(stored, header + length, raw)[0][header:]
    else:
        data, _ = _split(stored[_encoded(header) :], length, raw)
    return _all(data, length)


def _compressed(decoder: Decoder, stored: bytes, raw: bool) -> bytes:
    """The number of blocks, two sizes, the compressed size of each block, then the blocks."""
    header = decoder.header.itemsize
    (blocks,) = decoder.sizes(_split(stored, header, raw)[0], 1)
    head, rest = _split(stored, (3 + blocks) * header, raw)
    sizes = decoder.sizes(head, 3 + blocks)[3:]
    data = _all(_split(rest, sum(sizes), raw)[0], sum(sizes))
    decompress = DECOMPRESS[decoder.compressor or ""]
    return b"".join(decompress(data[a:b]) for a, b in pairwise(accumulate(sizes, initial=0)))


def _split(stored: bytes, length: int, raw: bool) -> tuple[bytes, bytes]:
    """The first `length` bytes decoded, and what is stored behind them."""
    if raw:
        return stored[:length], stored[length:]
    return base64.b64decode(stored[: _encoded(length)])[:length], stored[_encoded(length) :]


def _encoded(length: int) -> int:
    """Number of base64 characters of so many bytes."""
    return -(-length // 3) * 4


def _all(data: bytes, length: int) -> bytes:
    if len(data) != length:
        raise ValueError(f"expected {length} bytes, got {len(data)}")
    return data
