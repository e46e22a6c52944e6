"""Studies defined in Python, with the same document and checks as study files."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from sofa_softctl.base.toml.faults import Faults
from sofa_softctl.base.toml.write import toml_text
from sofa_softctl.batch.study.axes import Normal, Range, Value, Values
from sofa_softctl.batch.study.file import STUDY, study_of
from sofa_softctl.batch.study.study import Study
from sofa_softctl.errors import StudyError

FileName = str | os.PathLike[str]
Function = str | Callable[..., Any]
"""'FILE.py:NAME', or a function at the top level of a Python file."""


def make_study(
    *,
    scene: FileName = "",
    function: Function = "",
    parameters: Mapping[str, Range | Normal | Sequence[Value]] | None = None,
    measures: Mapping[str, Function] | None = None,
    success: str = "",
    steps: int | None = None,
    duration: float | None = None,
    warmup: int = 0,
    method: Literal["grid", "list", "random", "latin", "sobol"] = "grid",
    count: int | None = None,
    seed: int = 0,
    seconds: float | None = None,
    memory: float | None = None,
    steps_most: int | None = None,
    record: Literal["none", "failures", "all"] = "none",
    backend: Literal["embedded", "sofa"] = "embedded",
    plugins: Sequence[FileName] = (),
    name: str = "",
) -> Study:
    """Make a study. Names of files are relative to the working directory.

    Args:
        scene: Scene file; or
        function: function to call instead, with the parameters by keyword; it returns a dict of
            measures.
        parameters: Values of each parameter of createScene, or of each Data, by its path with a
            dot, such as "finger/cable.value": a list, a `Range`, or a `Normal`. Vectors are lists
            of numbers.
        measures: Measures, by column: "CONTROLLER.FIELD" of a controller's summary, such as
            "inverse.error_last", or a function of `session`, `summary` or `record`. By default,
            every number of the summaries.
        success: Measure that is true if a run succeeded; by default, controllers decide.
        steps: Steps of a run, or
        duration: simulated time of a run [time]; by default, the scene's DURATION.
        warmup: Steps before a run begins, done once for runs that differ only in Data.
        method: Combination of values: every combination; the first values of all, then the
            second ones ...; or samples.
        count: Number of samples.
        seed: Seed of the samples.
        seconds: Maximum computing time of a run, with loading and compiling [s].
        memory: Maximum resident memory of its process [MB]; Linux only.
        steps_most: Number of steps above which a run fails before it begins.
        record: Runs with a recording.
        backend: Backend that runs the scene.
        plugins: Plugin files that workers load.
        name: Name of the study; by default from the file.

    Returns:
        The study. `run` writes it to its folder as a file, so that `softctl batch` and `softctl
        report` know it too.

    Raises:
        StudyError: The study has faults: up to ten errors, one per line, with the table of a study
            file and the key; or a function is not at the top level of a file.
    """
    if callable(scene):
        raise StudyError(
            f"the scene: expected a scene file, got the function {scene!r:.80}. A study repeats "
            "its runs from files: write it to one. In a notebook, a cell that begins with "
            "%%writefile FILE.py does."
        )
    function_name = _reference(function, "the function")
    measure_texts = {
        key: _reference(value, f"the measure '{key}'") for key, value in (measures or {}).items()
    }
    file = os.fspath(scene) or function_name.rpartition(":")[0]
    document = _toml_values(
        {
            "name": name or Path(file).stem or "study",
            "scene": scene or None,
            "function": function_name or None,
            "success": success or None,
            "steps": steps,
            "duration": duration,
            "backend": backend,
            "plugins": plugins or None,
            "parameters": {key: _axis_table(axis) for key, axis in (parameters or {}).items()},
            "sampling": {"method": method, "count": count, "seed": seed},
            "warmup": {"steps": warmup or None},
            "measures": measure_texts,
            "limits": {"seconds": seconds, "memory": memory, "steps": steps_most},
            "keep": {"record": record},
        }
    )
    document = {key: value for key, value in document.items() if value != {}}
    faults = Faults("The study", None, STUDY)
    return study_of(document, faults, Path.cwd(), toml_text(document), "")


def _axis_table(axis: Any) -> Any:
    """Return the table [parameters.NAME] of an axis."""
    if isinstance(axis, Range):
        flags = {"log": axis.log, "whole": axis.whole}
        return {"range": [axis.low, axis.high], "count": axis.count} | flags
    if isinstance(axis, Normal):
        return {"normal": [axis.mean, axis.deviation]}
    return {"values": axis.values if isinstance(axis, Values) else axis}


def _toml_values(value: Any) -> Any:
    """Convert a value to types of a TOML document, without keys of None."""
    if isinstance(value, Mapping):
        return {str(key): _toml_values(item) for key, item in value.items() if item is not None}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, list | tuple | range):
        return [_toml_values(item) for item in value]
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def _reference(function: Any, label: str) -> str:
    """Return 'FILE.py:NAME' of a function, as workers import it; texts stay unchanged.

    Raises:
        StudyError: It is not at the top level of a file.
    """
    if isinstance(function, str):
        return function
    name = getattr(function, "__qualname__", "")
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    file = getattr(module, "__file__", None) or ""
    if not name or getattr(module, name, None) is not function or not os.path.isfile(file):
        reason = "got one that is in no file" if not os.path.isfile(file) else "it is not there"
        if "<lambda>" in name:
            reason = "got a lambda"
        elif "<locals>" in name:
            reason = f"got one within '{name.partition('.')[0]}'"
        raise StudyError(
            f"{label}: expected a function at the top level of a Python file, from which workers "
            f"import it; {reason}: {function!r:.80}. Write it there with 'def', or name it as "
            "'FILE.py:NAME'. In a notebook, a cell that begins with %%writefile FILE.py writes it."
        )
    path = os.path.realpath(file)
    relative = os.path.relpath(path)
    return f"{path if relative.startswith(os.pardir) else relative}:{name}"
