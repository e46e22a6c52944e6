"""Rows of a study's CSV file, which it goes on with after a kill."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from sofa_softctl._internal.executors.again import GOES_ON, lost_workers
from sofa_softctl.errors import IdentificationError

Row = dict[str, str]
Run = TypeVar("Run")


def completed_rows(
    path: Path,
    header: list[str],
    wanted: Sequence[Run],
    run_of: Callable[[Row], Run],
    work: Callable[[list[Run]], Iterable[Row]],
    progress: Callable[[int], None] | None = None,
) -> list[Row]:
    """The rows of all runs that are wanted; those that the file lacks are appended one by one.

    Args:
        path: CSV file; continued if it exists.
        header: Names of its columns.
        wanted: Runs, in the order of the rows that are returned.
        run_of: The run of a row.
        work: Rows of runs, in any order.
        progress: Called after each row with the number of rows.

    Raises:
        IdentificationError: The file has other columns.
        WorkerError: Two worker processes died with the same run.
    """
    done = {run_of(row): row for row in _whole_rows(path, header)}
    left = [run for run in wanted if run not in done]
    count = len(wanted) - len(left)
    with lost_workers(GOES_ON), path.open("a", newline="") as file:
        writer = csv.DictWriter(file, header, lineterminator="\n")
        if not done:
            file.truncate(0)
            writer.writeheader()
        for row in work(left):
            done[run_of(row)] = row
            writer.writerow(row)
            file.flush()
            count += 1
            if progress is not None:
                progress(count)
    return [done[run] for run in wanted]


def _whole_rows(path: Path, header: list[str]) -> list[Row]:
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
