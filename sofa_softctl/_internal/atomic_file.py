"""Files that appear when they are complete."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sofa_softctl.errors import SoftctlError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A name to write to; what was written takes the target's place when all went well."""
    with _writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(path.suffix, f".{path.stem}-", path.parent)
        os.close(handle)
        try:
            yield Path(name)
            os.chmod(name, 0o644)
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise


def check_writable(path: Path) -> None:
    """SoftctlError when no file of that name can be written: before the work, not after it."""
    with _writing(path):
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, "it is a folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path.parent).close()


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SoftctlError(
            f"Cannot write '{path}': {error.strerror or error}. Choose a folder that may be "
            "written to and has space left."
        ) from error
