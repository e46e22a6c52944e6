"""Files: atomic writing, errors of writing, digests, and what is not what its name says."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sofa_softctl.errors import SoftctlError

_UMASK = os.umask(0o022)
os.umask(_UMASK)  # it can only be read by setting it


@contextmanager
def replace_atomically(path: Path, error: type[SoftctlError] = SoftctlError) -> Iterator[Path]:
    """Yield a temporary name next to `path`; its file replaces `path` if the block succeeds.

    Args:
        path: The file to write; missing folders are created.
        error: Error to raise if it cannot be written.
    """
    with raise_write_errors(path, error):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(path.suffix, f".{path.stem}-", path.parent)
        os.close(handle)
        try:
            yield Path(name)
            os.chmod(name, 0o666 & ~_UMASK)
            os.replace(name, path)
        except BaseException:
            Path(name).unlink(missing_ok=True)  # the block may have removed it
            raise


def check_writable(path: Path) -> None:
    """Raise SoftctlError if no file of that name can be written; call it before long work.

    Missing folders are created.
    """
    with raise_write_errors(path):
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, "it is a folder")
        if path.is_file():
            path.open("ab").close()
        elif path.exists():
            raise OSError(errno.EINVAL, "it is not a file that can be replaced")
        folder = next(parent for parent in path.absolute().parents if parent.exists())
        if not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, f"'{folder}' is not a folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path.parent).close()


@contextmanager
def raise_write_errors(path: Path, error: type[SoftctlError] = SoftctlError) -> Iterator[None]:
    """Raise an OSError of the block as `error`, which names the file and what to do."""
    try:
        yield
    except OSError as reason:
        raise error(
            f"Cannot write '{path}': {reason.strerror or reason}. Choose a folder that may be "
            "written to and has space left."
        ) from reason


def digest_of_file(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file's content, or "" if the file is gone."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return ""


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
