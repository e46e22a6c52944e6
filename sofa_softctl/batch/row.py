"""What comes of a run: a row of plain values."""

from __future__ import annotations

import traceback
from dataclasses import asdict
from typing import Any

from sofa_softctl.base.executors.retry import WorkerEndedError
from sofa_softctl.base.executors.worker import LONGEST
from sofa_softctl.errors import DivergedError, SoftctlError

OK, FAILED, DIVERGED, TIMEOUT, MEMORY, DIED = (
    "OK", "FAILED", "DIVERGED", "TIMEOUT", "MEMORY", "DIED",
)  # fmt: skip
STATUSES = (OK, FAILED, DIVERGED, TIMEOUT, MEMORY, DIED)
"""How a run ended: at its end; by an exception; its state became NaN; at a limit of time or memory;
its process died."""
GONE = (TIMEOUT, MEMORY, DIED)
"""Of these, those of which the process is gone."""
OWN = (
    "run", "index", "status", "verdict", "reason", "traceback", "output", "steps", "time",
    "seconds", "ms_per_step", "started", "worker", "digest",
)  # fmt: skip
"""Columns that every study has, before its parameters and measures."""
TIMES = ("seconds", "ms_per_step", "started", "worker")
"""Columns that a second study of the same runs has differently."""
Row = dict[str, Any]
_ENDS = {"time": TIMEOUT, "memory": MEMORY, "died": DIED}


def column_of(parameter: str) -> str:
    """Column of a parameter: its name, but for those of `OWN`."""
    return f"parameter.{parameter}" if parameter in OWN else parameter


def failure(error: BaseException) -> Row:
    """Columns `status`, `reason` and `traceback` for what a run raised.

    Of one whose process is gone also `output`, `started`, `seconds` and `worker`, where known.
    """
    if isinstance(error, WorkerEndedError):
        known = asdict(error.task) if error.task else {"traceback": ""}
        return {"status": _ENDS[error.kind], "reason": str(error)} | known
    status = DIVERGED if isinstance(error, DivergedError) else FAILED
    words = str(error) if isinstance(error, SoftctlError) else f"{type(error).__name__}: {error}"
    if isinstance(error, SystemExit):
        words = f"the scene called exit({error.code!r})"
    text = "".join(traceback.format_exception(error))
    return {"status": status, "reason": words, "traceback": text[-LONGEST:]}
