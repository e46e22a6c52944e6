"""Files that are sent to computers that do not see them, by digests of their contents."""

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

SENT_BYTES_MAX = 100e6
"""Largest total size of the files that are sent [bytes]."""


def digests(files: Iterable[str]) -> dict[str, str]:
    """Return the digest of each file, by its absolute path without links.

    Raises:
        ClusterError: A file is gone.
    """
    digest_by_path = {
        path: digest_of_file(path) for path in sorted(set(map(os.path.realpath, files)))
    }
    for path, digest in digest_by_path.items():
        if not digest:
            raise ClusterError(f"'{path}' is gone. Runs on the cluster read it: restore it.")
    return digest_by_path


def read_contents(files: Mapping[str, str]) -> dict[str, bytes]:
    """Return the contents of files, by their paths.

    Args:
        files: Digest of each file, by its path.

    Raises:
        ClusterError: The files are too large to be sent, or one has changed.
    """
    sizes = {path: os.path.getsize(path) for path in files if os.path.exists(path)}
    if sum(sizes.values()) > SENT_BYTES_MAX:
        largest = sorted(sizes, key=lambda path: -sizes[path])[:5]
        names = ", ".join(f"'{path}' ({sizes[path] / 1e6:.0f} MB)" for path in largest)
        raise ClusterError(
            f"The files that runs read are {sum(sizes.values()) / 1e6:.0f} MB together; at most "
            f"{SENT_BYTES_MAX / 1e6:.0f} MB are sent to workers that do not see them. The largest: "
            f"{names}. Put them on a file system that all workers see, under the same path."
        )
    content_by_path = {}
    for path, digest in files.items():
        content = Path(path).read_bytes() if path in sizes else b""
        if hashlib.sha256(content).hexdigest() != digest:
            raise ClusterError(f"'{path}' was changed in the meantime. Start again.")
        content_by_path[path] = content
    return content_by_path


def match_digests(files: Mapping[str, str], root: str = "") -> bool:
    """Return True if files of the same contents exist on this computer, below a folder."""
    try:
        return all(digest_of_file(root + path) == digest for path, digest in files.items())
    except OSError:
        return False


def cached_root(files: Mapping[str, str], cache: str) -> str:
    """Return the folder in a cache for files of these contents."""
    text = json.dumps(sorted(files.items()))
    name = hashlib.sha256(text.encode()).hexdigest()[:32]
    return os.path.join(os.path.realpath(cache), "softctl-files", name)


def write_below(content_by_path: Mapping[str, bytes], root: str) -> None:
    """Write files below a folder, by their absolute paths: all or none."""
    folder, name = os.path.split(root)
    os.makedirs(folder, exist_ok=True)
    temporary = tempfile.mkdtemp(prefix=f".{name}-", dir=folder)
    try:
        for path, content in content_by_path.items():
            target = Path(temporary + path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        shutil.rmtree(root, ignore_errors=True)  # files of other contents: somebody changed them
        try:
            os.rename(temporary, root)
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                raise
            shutil.rmtree(temporary)  # another driver has laid out the same
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
