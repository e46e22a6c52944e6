"""Recognise files that are not what their names say: Git LFS pointers, web pages, archives."""

from __future__ import annotations

import re

_ARCHIVES = (
    (b"PK\x03\x04", "a zip archive", "unzip FILE"),
    (b"\x1f\x8b", "compressed with gzip", "gunzip FILE"),
    (b"BZh", "compressed with bzip2", "bunzip2 FILE"),
    (b"\xfd7zXZ", "compressed with xz", "unxz FILE"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd", "unzstd FILE"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "7z x FILE"),
    (b"Rar!", "a rar archive", "unrar x FILE"),
)
_OTHERS = ((b"%PDF", "a PDF"), (b"\x89PNG", "a picture"), (b"\xff\xd8\xff", "a picture"))
_DOWNLOAD = (
    "It is what a server sent in place of the file: download that itself (on GitHub: 'Download raw "
    "file')"
)
_PAGE = re.compile(rb"\s*(<!doctype html|<html|<head|404: not found|\{\s*\"message\")", re.I)
_SERVER = re.compile(rb"<(Error|Code)>\s*(<Code>)?(AccessDenied|NoSuchKey)")


def wrong_file(start: bytes) -> str:
    """Return the actual content of a file with a misleading name, and what to do, or "".

    Args:
        start: First bytes of the file, some hundred.
    """
    if start.startswith(b"version https://git-lfs"):
        size = re.search(rb"size (\d+)", start)
        of = f" of {int(size[1]):,} bytes" if size else ""
        return f"is a pointer of Git LFS to the file{of}, not the file. Get it: git lfs pull"
    if b"/annex/objects/" in start[:400]:
        return "is a pointer of git-annex to the file, not the file. Get it: git annex get FILE"
    if _PAGE.match(start) or _SERVER.search(start[:400]):
        return f"is a page of the web, not the file. {_DOWNLOAD}"
    for magic, content, unpack in _ARCHIVES:
        if start.startswith(magic):
            return f"is {content}. Unpack it: {unpack}"
    if start[257:262] == b"ustar":
        return "is a tar archive. Unpack it: tar xf FILE"
    for magic, content in _OTHERS:
        if start.startswith(magic):
            return f"is {content}"
    return ""
