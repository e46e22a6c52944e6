"""Output file of a recording: checked and locked first, renamed when it is complete."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path
from typing import IO, Self

from sofa_softctl.base.files import raise_write_errors
from sofa_softctl.errors import RecordError
from sofa_softctl.record.record import read_record

SUFFIX = ".mcap"


class RecordFile:
    """A file to record to; a context manager that releases it.

    It grows as `path_partial`, which is locked, and `finish` renames it. Reserve it before long
    work, since it checks everything that would make a recording fail. An earlier file is replaced
    only by the first bytes of a recording, or by `finish`.

    Args:
        path: The file, FILE.mcap; missing folders are created.
        overwrite: Replace an earlier recording, or the partial file of a killed run.

    Raises:
        RecordError: The file has another suffix, exists and must not be replaced, is in use by
            another run, or cannot be written.
    """

    def __init__(self, path: str | os.PathLike[str], *, overwrite: bool = True) -> None:
        self.path = Path(path)
        self.path_partial = self.path.with_name(self.path.name + ".part")
        self._path_absolute = self.path.absolute()  # a scene may change the working folder
        check_suffix(self.path)
        with raise_write_errors(self.path, RecordError):
            if self.path.is_dir():
                raise IsADirectoryError(errno.EISDIR, "it is a folder")
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.stream: IO[bytes] = self._open_locked()
        if not overwrite and (reason := self._refusal_reason()):
            self.release()
            raise RecordError(reason)

    def finish(self) -> None:
        """Sync the file to disk, rename it to its final name, and release it."""
        with raise_write_errors(self.path, RecordError):
            self.stream.flush()
            os.fsync(self.stream.fileno())
            os.replace(self._partial, self._path_absolute)  # still locked against other runs
        self.stream.close()

    def discard(self) -> None:
        """Delete the partial file and release it, if it is not released already."""
        if not self.stream.closed:
            self._partial.unlink(missing_ok=True)
            self.release()

    def release(self) -> None:
        """Unlock the partial file and delete it if it is empty. A second call does nothing."""
        if self.stream.closed:
            return
        try:
            if not os.fstat(self.stream.fileno()).st_size:
                self._partial.unlink(missing_ok=True)
            self.stream.close()
        except OSError:  # a full disk refuses what was not written yet; the file is closed
            pass

    @property
    def _partial(self) -> Path:
        return self._path_absolute.with_name(self.path_partial.name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.release()

    def _open_locked(self) -> IO[bytes]:
        """Open and lock the partial file: two writers would destroy each other's recording."""
        while True:
            file = open(self.path_partial, "ab")  # noqa: SIM115 - closed by release()
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.samestat(os.fstat(file.fileno()), os.stat(self.path_partial)):
                    return file
            except BlockingIOError:
                file.close()
                raise RecordError(
                    f"{self.path}: another run is recording to this file. Choose another name."
                ) from None
            except FileNotFoundError:
                pass
            file.close()  # another run finished in between: this is its recording, not ours

    def _refusal_reason(self) -> str:
        """Return the reason for not writing the file, or "" if it may be written."""
        if self.path.exists():
            return (
                f"'{self.path}' exists already, and would be replaced. Choose another name, or "
                "give --force."
            )
        size = os.fstat(self.stream.fileno()).st_size
        if size and not _is_empty(self.path_partial):
            return (
                f"'{self.path_partial}' is what an earlier run left that did not end "
                f"({size} bytes), and would be replaced. 'softctl info' says what is in "
                "it. Rename it, choose another name, or give --force."
            )
        return ""


def _is_empty(partial: Path) -> bool:
    """Return True if a run was killed before the end of its first step."""
    try:
        record = read_record(partial)
    except RecordError:  # another kind of file
        return False
    return not len(record.time) and not any(len(s.clock) for s in record.streams.values())


def check_suffix(path: Path) -> None:
    """Raise an error for a file name that does not end in .mcap; folders are checked elsewhere.

    Raises:
        RecordError: The path has another suffix.
    """
    if path.suffix.lower() == SUFFIX or path.is_dir():
        return
    expected = path.with_suffix(SUFFIX)
    message = f"'{path}': a recording is an MCAP file. Name it '{expected}'"
    if path.suffix.lower() in (".csv", ".npz"):
        message += f", and then: softctl record export {expected} --to {path}"
    raise RecordError(f"{message}.")
