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
    """Types of the columns that every study has, whatever is in them."""
    found = {name: pa.float64() if name in _NUMBERS else pa.string() for name in OWN}
    return found | {"index": pa.int64()}


def types_of(pa: Any, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Types of all columns of rows, by name, see `common`."""
    names = dict.fromkeys(name for row in rows for name in row)
    found = {name: _type_of_values(pa, [row.get(name) for row in rows]) for name in names}
    return found | own_types(pa)


def type_of(pa: Any, value: Any) -> Any:
    """The type of a column that has this value alone."""
    if value is None:
        return pa.null()
    if isinstance(value, list):
        entry = _of_all(pa, (type_of(pa, each) for each in value))
        return pa.string() if entry is None else _list(pa, entry)
    if isinstance(value, bool):
        return pa.bool_()
    return pa.float64() if isinstance(value, int | float) else pa.string()


def common(pa: Any, types: Iterable[Any]) -> Any:
    """The type of a column that has values of several types.

    Of one type, it is this one; of numbers and truth values, a float; of lists of one of these, a
    list; of anything else, a text. No value at all is of the type null, which fits every other.
    """
    found = _of_all(pa, types)
    return pa.string() if found is None else found


def column(pa: Any, values: Sequence[Any], kind: Any) -> Any:
    """An array of a type in which no value is lost: see `stored`."""
    if pa.types.is_floating(kind):  # as below, in half the time
        return pa.array([None if value is None else _float(value) for value in values], kind)
    return pa.array([stored(pa, value, kind) for value in values], kind)


def stored(pa: Any, value: Any, kind: Any) -> Any:
    """A value as a column has it: numbers as floats, and as JSON in a column of texts.

    Args:
        pa: pyarrow.
        value: A number, truth value, text or None, or a list of these.
        kind: Type of the column, one that `common` gives for it.
    """
    if value is None:
        return None
    if pa.types.is_list(kind):
        return [stored(pa, each, kind.value_type) for each in value]
    if pa.types.is_string(kind):
        text = value if isinstance(value, str) else json.dumps(_floats(value), default=str)
        return text.encode(errors="backslashreplace").decode()  # surrogates are no UTF-8
    return _float(value) if pa.types.is_floating(kind) else value


def _type_of_values(pa: Any, values: Sequence[Any]) -> Any:
    lists = [value for value in values if isinstance(value, list)]
    others = {type(value): value for value in values if not isinstance(value, list)}
    return common(pa, (type_of(pa, value) for value in (*others.values(), *lists)))


def _of_all(pa: Any, types: Iterable[Any]) -> Any | None:
    """The type of values of several types; None: they have no other than a text."""
    found = pa.null()
    for each in types:
        found = _common(pa, found, each)
        if found is None:
            return None
    return found


def _common(pa: Any, first: Any, second: Any) -> Any | None:
    if first == second or pa.types.is_null(second):
        return first
    if pa.types.is_null(first):
        return second
    if pa.types.is_list(first) and pa.types.is_list(second):
        entry = _common(pa, first.value_type, second.value_type)
        return None if entry is None else _list(pa, entry)
    numbers = (pa.bool_(), pa.int64(), pa.float64())
    return pa.float64() if first in numbers and second in numbers else None


def _list(pa: Any, entry: Any) -> Any:
    return pa.list_(pa.field("element", entry))  # the name that Parquet gives it


def _floats(value: Any) -> Any:
    """With numbers as floats, so that a text does not depend on what was stored before."""
    if isinstance(value, list):
        return [_floats(each) for each in value]
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
