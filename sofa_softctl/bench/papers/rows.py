"""Rows of a study's CSV file, which it goes on with after a kill."""

from __future__ import annotations

import csv
from pathlib import Path

from sofa_softctl.errors import IdentificationError


def whole_rows(path: Path, header: list[str]) -> list[dict[str, str]]:
    """Complete lines of a file; a kill may have truncated the last one."""
    if not path.exists() or not path.stat().st_size:
        return []
    text = path.read_text(encoding="utf-8", errors="replace")
    lines = list(csv.reader(text.splitlines()))
    if lines[0] != header:
        raise IdentificationError(f"{path} is not a file of this benchmark: give another name.")
    whole = lines[1:] if text.endswith("\n") else lines[1:-1]
    if len(whole) + 1 < len(lines):
        path.write_text("\n".join(",".join(line) for line in [header, *whole]) + "\n")
    return [dict(zip(header, line, strict=True)) for line in whole]
