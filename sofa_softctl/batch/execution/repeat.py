"""Do a run of a study again, and compare it with its row."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from concurrent.futures import Executor
from typing import Any

from sofa_softctl.batch.execution.driver import columns_of, row_of
from sofa_softctl.batch.execution.run_one import Task, run_one
from sofa_softctl.batch.row import GONE, TIMES, Row


def repeated(task: Task, executor: Executor) -> Row:
    """The row of a run that is done again, with its columns as in the table."""
    row = row_of(executor.submit(run_one, task), task)
    row.pop("sources", None)
    return columns_of(row)


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Columns in which two rows of a run differ by a bit, but for those of time and `digest`.

    Where a process is ended at a limit, or dies, is a matter of time, too: `output` and `traceback`
    of such rows may differ.
    """
    left_out = {*TIMES, "digest", "index"}
    if before.get("status") == after.get("status") and after.get("status") in GONE:
        left_out |= {"output", "traceback"}
    names = [name for name in (*before, *after) if name not in left_out]
    return [
        name for name in dict.fromkeys(names) if bits(before.get(name)) != bits(after.get(name))
    ]


def bits(value: Any) -> Any:
    """What is equal where values are, bit for bit: NaN too, and 0 is not -0."""
    if isinstance(value, list):
        return [bits(each) for each in value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value or None  # no text is as good as an empty one
    return struct.pack("<d", value)
