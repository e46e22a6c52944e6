"""Rows of a benchmark's CSV file, which it continues after a kill."""

from __future__ import annotations

import csv
from collections.abc import Callable, Hashable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from sofa_softctl.base.executors.retry import CONTINUE_ADVICE, raise_worker_error
from sofa_softctl.errors import SoftctlError

Row = dict[str, str]
Key = TypeVar("Key", bound=Hashable)


def completed_rows(
    path: Path,
    header: Sequence[str],
    wanted: Sequence[Key],
    key_of: Callable[[Row], Key],
    work: Callable[[list[Key]], Iterable[Row]],
    progress: Callable[[int], None] | None = None,
) -> list[Row]:
    """Return the rows of all wanted runs; those that the file lacks are appended one by one.

    Rows of the file are not computed again: after a change of the code, give another file.

    Args:
        path: CSV file; continued if it exists.
        header: Names of its columns.
        wanted: Keys of runs, in the order of the rows that are returned.
        key_of: Key of a row.
        work: Computes rows of runs, in any order.
        progress: Called after each row with the number of rows, and at the start if there are any.

    Raises:
        SoftctlError: The file has other columns.
        WorkerError: Two worker processes died with the same run.
    """
    rows = {key_of(row): row for row in _whole_rows(path, header)}
    missing = [key for key in wanted if key not in rows]
    count = len(wanted) - len(missing)
    if count and progress is not None:
        progress(count)
    with raise_worker_error(CONTINUE_ADVICE), path.open("a", newline="") as file:
        writer = csv.DictWriter(file, header, restval="", lineterminator="\n")
        if not rows:
            file.truncate(0)
            writer.writeheader()
        for row in work(missing):
            rows[key_of(row)] = dict.fromkeys(header, "") | row
            writer.writerow(row)
            file.flush()
            count += 1
            if progress is not None:
                progress(count)
    return [rows[key] for key in wanted]


def _whole_rows(path: Path, header: Sequence[str]) -> list[Row]:
    """Return the complete rows of a file; a last one that a kill cut off is removed."""
    if not path.exists() or not path.stat().st_size:
        return []
    text = path.read_text(encoding="utf-8", errors="replace")
    if not text.startswith(",".join(header) + "\n"):
        raise SoftctlError(f"'{path}' is not a file of this benchmark: give another name.")
    if not text.endswith("\n"):
        text = text[: text.rindex("\n") + 1]
        path.write_text(text)
    return list(csv.DictReader(text.splitlines()))
