"""Atomic writing of files, errors of writing, and digests of files."""

from __future__ import annotations

import errno
import hashlib
import os
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
