"""Attachments of recordings: arrays that do not change, such as meshes, as NumPy's .npz."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping

import numpy as np

from sofa_softctl.errors import RecordError

MEDIA_TYPE = "application/x-npz"
"""Media type of an attachment in the MCAP file."""


def pack(arrays: Mapping[str, np.ndarray]) -> bytes:
    """Return arrays as the bytes of a compressed .npz; the same bytes for the same arrays."""
    file = io.BytesIO()
    np.savez_compressed(file, allow_pickle=False, **arrays)
    return file.getvalue()


def unpack(data: bytes, name: str, path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """Return the arrays of an attachment.

    Raises:
        RecordError: The bytes are not from `pack`.
    """
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            return dict(archive)
    except Exception as error:  # of zip, zlib, and numpy's parser of headers: damaged bytes
        raise RecordError(
            f"{path}: attachment '{name}' is not as `softctl run` writes it ({error})."
        ) from error
