"""Files that appear when they are complete."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sofa_softctl.errors import SoftctlError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A name to write to; what was written takes the target's place when all went well."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(path.suffix, f".{path.stem}-", path.parent)
    except OSError as error:
        raise SoftctlError(f"Cannot write '{path}': {error}.") from error
    os.close(handle)
    try:
        yield Path(name)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
