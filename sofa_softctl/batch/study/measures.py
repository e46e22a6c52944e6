"""Measures of a run: numbers of its summary, or a Python function of session, summary or record."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl.base.suggestions import did_you_mean
from sofa_softctl.base.user_module import import_file
from sofa_softctl.errors import StudyError
from sofa_softctl.status import Verdict

MEASURE_ARGUMENTS = ("session", "summary", "record")
"""Names of parameters that a measure function may have."""


def is_function(measure: str) -> bool:
    """Return True if a measure is 'FILE.py:NAME'."""
    return ".py:" in measure


def check_function(measure: str) -> None:
    """Check that a function 'FILE.py:NAME' exists, with valid parameters.

    Raises:
        StudyError: The function is missing.
    """
    _parameters(measure)


def check_measures(measures: Mapping[str, str], summary: Any) -> None:
    """Check that the summary of a short run has the measures, as far as that can be known.

    Names that runs of other lengths may have, such as names of statuses, are not refused.

    Raises:
        StudyError: A measure is missing.
    """
    fields = _fields(summary)
    leaves = dict(_leaves(fields, ""))
    paths = {part for leaf in (*leaves, *_empty(fields, "")) for part in _parts(leaf)}
    for name, text in measures.items():
        if is_function(text):
            continue
        owner = text.rpartition(".")[0]
        optional = [part for part in _parts(text)[:-1] if leaves.get(part, 0) is None]
        if text in paths or optional or owner.rpartition(".")[2] in _COUNTED:
            continue
        raise StudyError(
            f"the measure '{name}': the summary of a run has no '{text}'."
            f"{did_you_mean(text, paths)} It has: {', '.join(sorted(leaves)) or 'nothing'}."
        )


_OF_RUN = ("steps", "time", "verdict")
"""Fields of the run itself, which have separate columns."""
_COUNTED = ("statuses", "limits_met", "lost")
"""Fields whose own fields differ from run to run."""


def _parts(path: str) -> list[str]:
    """Return a path and all paths that contain it, the outermost first."""
    ends = [k for k, sign in enumerate(path) if sign in ".[" and k]
    return [path[:end] for end in (*ends, len(path))]


def needs_record(measures: Mapping[str, str]) -> bool:
    """Return True if a measure asks for the record of its run."""
    return any("record" in _parameters(text) for text in measures.values() if is_function(text))


def evaluate_measures(measures: Mapping[str, str], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of all measures: numbers, texts, or lists of numbers.

    Args:
        measures: Measures by column: 'CONTROLLER.FIELD' of a summary, such as
            'inverse.error_last' or 'inverse.goal.reached[0]', a field of `RunSummary` such as
            'steps', or 'FILE.py:NAME'. With {}, every number of the summaries, by their paths.
        arguments: Values of `MEASURE_ARGUMENTS`.

    Raises:
        StudyError: A field is missing, or not a plain value.
    """
    fields = _fields(arguments["summary"])
    if not measures:
        controllers = {path: value for path, value in fields.items() if path not in _OF_RUN}
        return {path: value for path, value in _leaves(controllers, "") if _is_number(value)}
    return {
        name: to_plain(_call(text, arguments) if is_function(text) else _field(fields, text), text)
        for name, text in measures.items()
    }


def verdict_of(measures: Mapping[str, Any], success: str) -> Verdict:
    """Return the verdict of a run by a measure of success.

    Args:
        measures: Values of all measures.
        success: Name of the measure that is true or false.

    Raises:
        StudyError: The measure is missing, or neither true nor false.
    """
    if success not in measures:
        raise StudyError(
            f"there is no measure '{success}', which should say whether the run succeeded."
            f"{did_you_mean(success, measures)} It has: {', '.join(measures) or 'none'}."
        )
    if not isinstance(measures[success], bool):
        raise StudyError(
            f"the measure '{success}' should say whether the run succeeded. Expected true or "
            f"false, got {measures[success]!r:.80}."
        )
    return Verdict.REACHED if measures[success] else Verdict.NOT_REACHED


def _fields(summary: Any) -> dict[str, Any]:
    """Return summaries by path of the controller, and the fields of the run itself."""
    summary_fields: dict[str, Any] = summary.to_dict()
    controllers = {
        path.lstrip("/"): fields for path, fields in summary_fields["controllers"].items()
    }
    run_fields = {name: summary_fields[name] for name in _OF_RUN}
    return run_fields | controllers


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            yield from _leaves(item, f"{path}[{number}]")
    else:
        yield path, value


def _empty(value: Any, path: str) -> Iterator[str]:
    """Yield the paths of lists and tables without entries."""
    if isinstance(value, Mapping | list | tuple) and not value:
        yield path
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _empty(item, f"{path}.{key}" if path else str(key))


def _field(fields: Mapping[str, Any], path: str) -> Any:
    leaves = dict(_leaves(fields, ""))
    if path in leaves:
        return leaves[path]
    below = [leaf for leaf in leaves if leaf.startswith((f"{path}[", f"{path}."))]
    if below:
        return [leaves[leaf] for leaf in below]
    owner = path.rpartition(".")[0]
    if owner.rpartition(".")[2] in _COUNTED:  # it never happened
        return 0
    if path in _empty(fields, ""):
        return None
    raise StudyError(
        f"the run's summary has no '{path}'.{did_you_mean(path, leaves)} "
        f"It has: {', '.join(sorted(leaves))}."
    )


@lru_cache
def _function(measure: str) -> Callable[..., Any]:
    """Import the function of 'FILE.py:NAME'.

    Raises:
        StudyError: There is none.
    """
    file, _, name = measure.rpartition(":")
    function = getattr(import_file(Path(file), "measure"), name, None)
    if not callable(function):
        raise StudyError(f"'{file}' has no function '{name}' to measure with.")
    return function  # type: ignore[no-any-return]


def _parameters(measure: str) -> list[str]:
    names = list(inspect.signature(_function(measure)).parameters)
    unknown = [name for name in names if name not in MEASURE_ARGUMENTS]
    if unknown:
        raise StudyError(
            f"the measure '{measure}' asks for '{unknown[0]}'. Measures may ask for: "
            f"{', '.join(MEASURE_ARGUMENTS)}."
        )
    return names


def _call(measure: str, arguments: Mapping[str, Any]) -> Any:
    return _function(measure)(**{name: arguments[name] for name in _parameters(measure)})


def to_plain(value: Any, name: str) -> Any:
    """Convert the value of a measure to a plain value.

    Raises:
        StudyError: The value is not a number, text, or list of numbers or of texts.
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    entries = value if isinstance(value, list) else [value]
    if value is None or all(map(_is_number, entries)) or all(map(_is_text, entries)):
        return value
    raise StudyError(
        f"the measure '{name}' gave {value!r:.80}. Expected a number, a text, or a list of numbers "
        "or of texts."
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, int) and abs(value) < 1 << 1023)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value == value.encode(errors="replace").decode()
