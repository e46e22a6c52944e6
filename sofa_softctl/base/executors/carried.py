"""Files that travel to computers that do not see them, by digests of their contents."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from sofa_softctl.base.files import digest_of_file
from sofa_softctl.errors import ClusterError

LARGEST = 100e6
"""Files that are sent, all together [bytes]."""


def digests(files: Iterable[str]) -> dict[str, str]:
    """Digest of each file, by its absolute path without links.

    Raises:
        ClusterError: One is gone.
    """
    found = {path: digest_of_file(path) for path in sorted(set(map(os.path.realpath, files)))}
    for path, digest in found.items():
        if not digest:
            raise ClusterError(f"'{path}' is gone. Runs on the cluster read it: restore it.")
    return found


def contents(files: Mapping[str, str]) -> dict[str, bytes]:
    """What is in the files, by their paths.

    Args:
        files: Digest of each.

    Raises:
        ClusterError: They are too large to be sent, or one has changed.
    """
    sizes = {path: os.path.getsize(path) for path in files if os.path.exists(path)}
    if sum(sizes.values()) > LARGEST:
        largest = sorted(sizes, key=lambda path: -sizes[path])[:5]
        named = ", ".join(f"'{path}' ({sizes[path] / 1e6:.0f} MB)" for path in largest)
        raise ClusterError(
            f"The files that runs read are {sum(sizes.values()) / 1e6:.0f} MB together; at most "
            f"{LARGEST / 1e6:.0f} MB are sent to workers that do not see them. The largest: "
            f"{named}. Put them on a file system that all workers see, under the same path."
        )
    found = {}
    for path, digest in files.items():
        content = Path(path).read_bytes() if path in sizes else b""
        if hashlib.sha256(content).hexdigest() != digest:
            raise ClusterError(f"'{path}' was changed in the meantime. Start again.")
        found[path] = content
    return found


def are_here(files: Mapping[str, str], root: str = "") -> bool:
    """Whether there are files of the same contents here, below a folder."""
    try:
        return all(digest_of_file(root + path) == digest for path, digest in files.items())
    except OSError:
        return False


def root_of(files: Mapping[str, str], cache: str) -> str:
    """Folder in a cache below which files of these contents are laid out."""
    text = json.dumps(sorted(files.items()))
    name = hashlib.sha256(text.encode()).hexdigest()[:32]
    return os.path.join(os.path.realpath(cache), "softctl-files", name)


def lay_out(found: Mapping[str, bytes], root: str) -> None:
    """Write files below a folder by their absolute paths, all or none."""
    folder, name = os.path.split(root)
    os.makedirs(folder, exist_ok=True)
    temporary = tempfile.mkdtemp(prefix=f".{name}-", dir=folder)
    try:
        for path, content in found.items():
            target = Path(temporary + path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        shutil.rmtree(root, ignore_errors=True)  # of other contents: somebody changed them
        try:
            os.rename(temporary, root)
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                raise
            shutil.rmtree(temporary)  # another driver has laid out the same
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
