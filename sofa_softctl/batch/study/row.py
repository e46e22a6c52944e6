"""Row of a run: plain values, each as a column of its type has them."""

from __future__ import annotations

import json
import math
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sofa_softctl.base.executors.retry import WorkerEndedError
from sofa_softctl.base.executors.worker import LONGEST
from sofa_softctl.errors import DivergedError, SoftctlError

_NUMBERS = ("steps", "time", "seconds", "ms_per_step")
"""Columns of `OWN` that are floats; the others are texts, but for `index`."""


def own_types(pa: Any) -> dict[str, Any]:
    """Return the types of the columns that every study has."""
    types = {name: pa.float64() if name in _NUMBERS else pa.string() for name in OWN}
    return types | {"index": pa.int64()}


def types_of(pa: Any, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the types of all columns of rows, by name, see `common`."""
    names = dict.fromkeys(name for row in rows for name in row)
    types = {name: _type_of_values(pa, [row.get(name) for row in rows]) for name in names}
    return types | own_types(pa)


def type_of(pa: Any, value: Any) -> Any:
    """Return the type of a column with only this value."""
    if value is None:
        return pa.null()
    if isinstance(value, list):
        entry_type = _of_all(pa, (type_of(pa, item) for item in value))
        return pa.string() if entry_type is None else _list(pa, entry_type)
    if isinstance(value, bool):
        return pa.bool_()
    return pa.float64() if isinstance(value, int | float) else pa.string()


def common_type(pa: Any, types: Iterable[Any]) -> Any:
    """Return the type of a column that has values of several types.

    Of one type, it is this one; of numbers and truth values, a float; of lists of one of these, a
    list; of anything else, a text. No value at all is of the type null, which fits every other.
    """
    result_type = _of_all(pa, types)
    return pa.string() if result_type is None else result_type


def column(pa: Any, values: Sequence[Any], kind: Any) -> Any:
    """Return an array of a type in which no value is lost: see `stored`."""
    if pa.types.is_floating(kind):  # as below, in half the time
        return pa.array([None if value is None else _float(value) for value in values], kind)
    return pa.array([to_type(pa, value, kind) for value in values], kind)


def to_type(pa: Any, value: Any, kind: Any) -> Any:
    """Convert a value to the type of a column: numbers to floats, and to JSON in a column of texts.

    Args:
        pa: pyarrow.
        value: A number, truth value, text or None, or a list of these.
        kind: Type of the column, one that `common` gives for it.
    """
    if value is None:
        return None
    if pa.types.is_list(kind):
        return [to_type(pa, item, kind.value_type) for item in value]
    if pa.types.is_string(kind):
        text = value if isinstance(value, str) else json.dumps(_floats(value), default=str)
        return text.encode(errors="backslashreplace").decode()  # surrogates are no UTF-8
    return _float(value) if pa.types.is_floating(kind) else value


def _type_of_values(pa: Any, values: Sequence[Any]) -> Any:
    lists = [value for value in values if isinstance(value, list)]
    scalars = {type(value): value for value in values if not isinstance(value, list)}
    return common_type(pa, (type_of(pa, value) for value in (*scalars.values(), *lists)))


def _of_all(pa: Any, types: Iterable[Any]) -> Any | None:
    """Return the type of values of several types, or None for a text."""
    result = pa.null()
    for kind in types:
        result = _common_of_two(pa, result, kind)
        if result is None:
            return None
    return result


def _common_of_two(pa: Any, first: Any, second: Any) -> Any | None:
    if first == second or pa.types.is_null(second):
        return first
    if pa.types.is_null(first):
        return second
    if pa.types.is_list(first) and pa.types.is_list(second):
        entry_type = _common_of_two(pa, first.value_type, second.value_type)
        return None if entry_type is None else _list(pa, entry_type)
    numbers = (pa.bool_(), pa.int64(), pa.float64())
    return pa.float64() if first in numbers and second in numbers else None


def _list(pa: Any, entry_type: Any) -> Any:
    return pa.list_(pa.field("element", entry_type))  # the name that Parquet gives it


def _floats(value: Any) -> Any:
    """Convert numbers to floats, so that a text does not depend on earlier values."""
    if isinstance(value, list):
        return [_floats(item) for item in value]
    return value if isinstance(value, bool) or not isinstance(value, int) else _float(value)


def _float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # a whole number above 1.8e308
        return math.copysign(math.inf, 1 if value > 0 else -1)


OK, FAILED, DIVERGED, TIMEOUT, MEMORY, DIED = (
    "OK", "FAILED", "DIVERGED", "TIMEOUT", "MEMORY", "DIED",
)  # fmt: skip
STATUSES = (OK, FAILED, DIVERGED, TIMEOUT, MEMORY, DIED)
"""Ends of runs: in order; by an exception; NaN in the state; at a limit of time or memory;
its process died."""
GONE = (TIMEOUT, MEMORY, DIED)
"""Statuses of runs whose process is gone."""
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
    """Return the column of a parameter: its name, unless that is in `OWN`."""
    return f"parameter.{parameter}" if parameter in OWN else parameter


def failure(error: BaseException) -> Row:
    """Return the columns `status`, `reason` and `traceback` for an error of a run.

    Of one whose process is gone also `output`, `started`, `seconds` and `worker`, where known.
    """
    if isinstance(error, WorkerEndedError):
        details = asdict(error.task) if error.task else {"traceback": ""}
        return {"status": _ENDS[error.kind], "reason": str(error)} | details
    status = DIVERGED if isinstance(error, DivergedError) else FAILED
    words = str(error) if isinstance(error, SoftctlError) else f"{type(error).__name__}: {error}"
    if isinstance(error, SystemExit):
        words = f"the scene called exit({error.code!r})"
    text = "".join(traceback.format_exception(error))
    return {"status": status, "reason": words, "traceback": text[-LONGEST:]}
