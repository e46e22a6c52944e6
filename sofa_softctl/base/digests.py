"""Digests of files."""

from __future__ import annotations

import hashlib
import os


def digest_of_file(path: str | os.PathLike[str]) -> str:
    """SHA-256 of a file's content; empty: it is gone."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return ""
