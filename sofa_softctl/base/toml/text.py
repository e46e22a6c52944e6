"""Reading a user's file as text and as TOML."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Any

from sofa_softctl.base.suggestions import files_like
from sofa_softctl.base.toml.faults import FileKind

SIZE_MAX = 1 << 20
"""Size of the largest file that is read [bytes]."""


def read_text(path: str | os.PathLike[str], kind: FileKind) -> str:
    """Read the text of a file.

    Raises:
        SoftctlError: `kind.error`: The file is missing, too large, or not a text in UTF-8.
    """
    file = Path(path)
    try:
        if not file.is_file():
            if file.is_dir():
                raise kind.error(f"{path}: expected a file, got a folder. Name a file in it.")
            if file.exists():
                raise kind.error(f"{path}: expected a file, got a device or pipe. Name a file.")
            beside = " or ".join(files_like(file, (".toml",)))
            hint = f"Did you mean {beside}?" if beside else "Check its name and folder."
            raise kind.error(f"{path}: expected a {kind.name}, got none. {hint}")
        with file.open("rb") as opened:
            raw = opened.read(SIZE_MAX + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, kind.error):
            raise
        reason = getattr(error, "strerror", None) or error
        raise kind.error(
            f"{path}: cannot be read: {reason}. Check its name and permissions."
        ) from error
    if len(raw) > SIZE_MAX:
        raise kind.error(f"{path}: expected at most 1 MiB, got more. Is it a {kind.name}?")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise kind.error(
            f"{path}:{line}: expected a text in UTF-8, got byte 0x{raw[error.start]:02x}. Save the "
            "file as UTF-8."
        ) from error


def parse_toml(text: str, path: str, kind: FileKind) -> dict[str, Any]:
    """Parse a TOML document.

    Raises:
        SoftctlError: `kind.error`: The text is not TOML; with the line, if it is known.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        position = re.search(r" \(at (?:line (\d+), column (\d+)|end of document)\)$", message)
        reason = message[: position.start()] if position else message
        line = text.count("\n") + 1
        column = ""
        if position and position[1]:
            line, column = int(position[1]), f" at column {position[2]}"
        is_duplicate = reason.startswith(("Cannot declare", "Cannot overwrite", "Duplicate"))
        if is_duplicate:
            advice = "The table or key is there twice: rename or remove one."
        else:
            advice = "Correct this line: texts need quotes, tables [...], keys an '='."
        raise kind.error(
            f"{path}:{line}: expected TOML, got a mistake{column}: {reason}. {advice}"
        ) from error
    except (ValueError, RecursionError) as error:
        raise kind.error(
            f"{path}: expected TOML, got what cannot be read: {error}. Look for very long numbers "
            "and deeply nested lists."
        ) from error
