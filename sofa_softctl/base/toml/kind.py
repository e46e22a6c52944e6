"""Kinds of TOML files, for messages."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sofa_softctl.errors import SoftctlError


@dataclass(frozen=True)
class FileKind:
    """One kind of file."""

    name: str
    """What it is, such as 'configuration file'."""
    error: type[SoftctlError]
    """Raised where a file is wrong."""
    tables: Collection[str] = ()
    """Its tables [NAME]."""
    named: Collection[str] = ()
    """Its tables [KIND.NAME], by their kinds."""
