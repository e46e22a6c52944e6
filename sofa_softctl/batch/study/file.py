"""Reader of study files, with checks."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import replace
from glob import glob
from pathlib import Path
from typing import Any

from sofa_softctl.base.toml.faults import Faults, FileKind
from sofa_softctl.base.toml.fields import Fields
from sofa_softctl.base.toml.locate import locate
from sofa_softctl.base.toml.text import parse_toml, read_text
from sofa_softctl.batch.study.axes import Axis, read_axis
from sofa_softctl.batch.study.design import METHODS
from sofa_softctl.batch.study.measures import is_function
from sofa_softctl.batch.study.row import OWN
from sofa_softctl.batch.study.study import Limits, Scenario, Study
from sofa_softctl.errors import StudyError

STUDY = FileKind(
    "study file",
    StudyError,
    tables=("sampling", "warmup", "measures", "limits", "keep"),
    named=("parameters",),
)
"""Kind of file, for messages."""
RUNS_MAX = 10_000_000
"""Maximum number of runs of a study."""


def read_study(path: str | os.PathLike[str]) -> Study:
    """Read the file of a study, see docs/reference/batch-studies.md.

    Raises:
        StudyError: The file cannot be read, or has faults: up to ten errors, one per line,
            each with the line of the file.
    """
    return parse_study(read_text(path, STUDY), os.fspath(path), Path(path).absolute().parent)


def parse_study(text: str, path: str, folder: Path) -> Study:
    """Return the study of a file's text.

    Args:
        text: Content of the file.
        path: Path of the file, for messages.
        folder: Folder to which file names are relative.

    Raises:
        StudyError: As `read_study`.
    """
    data = parse_toml(text, path, STUDY)
    return study_of(data, Faults(path, locate(text), STUDY), folder, text, Path(path).stem)


def study_of(data: Any, faults: Faults, folder: Path, text: str, name: str) -> Study:
    """Return the study of a TOML document.

    Args:
        data: The document.
        faults: Collects its errors.
        folder: Folder to which file names are relative.
        text: Text of the document.
        name: Default name of the study.

    Raises:
        StudyError: As `read_study`.
    """
    root = Fields(faults, (), data)
    name = root.text("name", "the study's name", default=name)
    if not name.strip() or not name.isprintable():
        root.wrong("name", "a readable name", "Write one.")
    axes = _axes(root)
    method, count, seed = _sampling(_table(root, "sampling"), axes)
    scenario = _scenario(root, folder, axes)
    limits, steps_most = _limits(_table(root, "limits"), scenario)
    scenario = replace(scenario, steps_most=steps_most)
    record, movie = _read_keep(_table(root, "keep"))
    plugins = _files(root, "plugins", folder)
    files = _matching_files(root, "files", folder)
    if scenario.function:
        _check_function(root, scenario, record, movie)
    root.close("a study")
    faults.raise_any()
    return Study(
        name=name,
        scenario=scenario,
        axes=axes,
        method=method,
        count=count,
        seed=seed,
        limits=limits,
        record=record,
        movie=movie,
        plugins=plugins,
        files=files,
        text=text,
        folder=str(folder),
    )


def _table(root: Fields, key: str) -> Fields:
    return Fields(root.faults, (key,), root.get(key, "", {}))


def _axes(root: Fields) -> dict[str, Axis]:
    tables = _table(root, "parameters")
    axes: dict[str, Axis] = {}
    for name, values in tables.values.items():
        axis = read_axis(Fields(root.faults, ("parameters", name), values))
        if axis is not None:
            axes[name] = axis
    return axes


def _sampling(fields: Fields, axes: Mapping[str, Axis]) -> tuple[str, int | None, int]:
    method = fields.text("method", "one of", known=METHODS, default="grid")
    seed = fields.whole(
        "seed", "a whole number from 0", "Any will do.", fits=lambda value: value >= 0, default=0
    )
    count = None
    if method in ("grid", "list"):
        if "count" in fields.values:
            fields.get("count", "")
            fields.wrong(
                "count",
                f"no count here: a {method} has as many runs as its parameters have values",
                "Remove it, or choose another method: random, latin or sobol.",
            )
        _check_grid(fields.faults, axes, method)
    elif method:
        count = fields.whole(
            "count",
            f"a whole number from 1 to {RUNS_MAX:,}: runs",
            "Usual are 100 to 10,000.",
            fits=lambda value: 1 <= value <= RUNS_MAX,
            example="count = 1000",
        )
        if not axes and not fields.faults.found:
            fields.add("method", f"expected parameters for '{method}', got none. Add some.")
    fields.close("the sampling")
    return method, count, seed


def _check_grid(faults: Faults, axes: Mapping[str, Axis], method: str) -> None:
    """Check that each parameter has values, and in a list the same number of them."""
    lengths = {}
    for name, axis in axes.items():
        try:
            lengths[name] = len(axis.grid())
        except ValueError as missing:
            advice = "random, latin or sobol as the method of [sampling]"
            if str(missing) == "count":
                advice = f"add: count = 5; or choose {advice}"
            else:
                advice = f"choose {advice}"
            faults.add(
                ("parameters", name, str(missing)),
                f"expected the values of a {method}, got none. To have some, {advice}.",
            )
    if method == "list" and len(set(lengths.values())) > 1:
        counts = ", ".join(f"{length} of '{name}'" for name, length in lengths.items())
        faults.add(
            ("sampling", "method"),
            f"expected as many values of each parameter, since they form a list; got {counts}. "
            'Complete them, or choose method = "grid".',
        )
    if method == "grid" and (runs := math.prod(lengths.values())) > RUNS_MAX:
        faults.add(
            ("parameters",),
            f"expected at most {RUNS_MAX:,} runs, got a grid of {runs:,}. Sample instead: "
            '[sampling] method = "sobol", count = 10000.',
        )


def _scenario(root: Fields, folder: Path, axes: Mapping[str, Axis]) -> Scenario:
    scene = root.text("scene", "a scene file", default="")
    function = root.text("function", "'FILE.py:NAME'", default="")
    if bool(scene) == bool(function):
        root.faults.add(
            ("function",) if scene else (),
            "expected either a scene or a function, got "
            + ("both. Remove one." if scene else 'none. Add: scene = "FILE.py"'),
        )
    if function and not is_function(function):
        root.wrong("function", "'FILE.py:NAME'", "Name the file and the function in it.")
        function = ""
    steps = root.whole(
        "steps",
        "a whole number from 1",
        "Usual are 100 to 1000.",
        fits=lambda value: value >= 1,
        default=0,
    )
    duration = root.number(
        "duration",
        "a time above 0",
        "It is simulated time.",
        fits=lambda value: value > 0.0,
        default=0.0,
    )
    if "steps" in root.values and "duration" in root.values:
        root.faults.add(("duration",), "expected either steps or a duration, got both. Remove one.")
    warmup = _table(root, "warmup")
    warm_steps = warmup.whole(
        "steps", "a whole number from 0", "0: no warm-up.", fits=lambda value: value >= 0, default=0
    )
    warmup.close("the warm-up")
    for key, name in (("scene", scene), ("function", function.rpartition(":")[0])):
        if name and not (folder / name).is_file():
            root.wrong(key, "a file that there is", f"There is none at '{folder / name}'.")
    measures = _read_measures(_table(root, "measures"), folder, axes)
    success = root.text("success", "the name of a measure", default="")
    if success and measures and success not in measures:
        root.wrong("success", f"one of the measures: {', '.join(measures)}", "Name that one.")
    return Scenario(
        scene=_path_in(folder, scene),
        function=_path_in(folder, function),
        steps=steps or None,
        duration=duration or None,
        warmup=warm_steps,
        backend=root.text("backend", "one of", known=("embedded", "sofa"), default="embedded"),
        measures=measures,
        success=success,
    )


def _read_measures(fields: Fields, folder: Path, axes: Mapping[str, Axis]) -> dict[str, str]:
    measures = {}
    for name in fields.values:
        text = fields.text(name, "what is measured, such as 'inverse.error_last',")
        if name in OWN or name in axes:
            owner = "a parameter" if name in axes else "every table of a study"
            fields.add(
                name, f"expected a column of its own, got '{name}', which {owner} has. Rename it."
            )
        if is_function(text):
            file = text.rpartition(":")[0]
            if not (folder / file).is_file():
                fields.wrong(name, "a file that there is", f"There is none at '{folder / file}'.")
            text = _path_in(folder, text)
        measures[name] = text
    return measures


def _limits(fields: Fields, scenario: Scenario) -> tuple[Limits, int | None]:
    """Read the limits of the executor, and the maximum number of steps of a run."""
    seconds = fields.number(
        "seconds",
        "a time above 0 [s]",
        "Usual are 60 to 600.",
        fits=lambda value: value > 0.0,
        default=math.inf,
    )
    memory = fields.number(
        "memory",
        "at least 300 MB: so much a process needs before it loads a scene",
        "Write megabytes, such as 2000.",
        fits=lambda value: value >= 300.0,
        default=math.inf,
    )
    steps = fields.whole(
        "steps",
        "a whole number from 1, not below the steps of a run",
        "It is for runs whose duration and dt give their steps.",
        fits=lambda value: value >= max(1, scenario.steps or 1),
        default=0,
    )
    if steps and scenario.function:
        fields.add("steps", "expected no limit of steps with a function. Remove it.")
    fields.close("the limits")
    return Limits(_finite_or_none(seconds), _finite_or_none(memory * 1e6)), steps or None


def _finite_or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _read_keep(fields: Fields) -> tuple[Any, Any]:
    record = fields.text("record", "one of", known=("none", "failures", "all"), default="none")
    movie = fields.text("movie", "one of", known=("none", "failures"), default="none")
    fields.close("what is kept")
    return record, movie


def _files(root: Fields, key: str, folder: Path) -> tuple[str, ...]:
    names = root.get(key, "", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        root.wrong(key, "a list of files", 'Write them in [...], such as ["my_plugin.py"].')
        return ()
    return tuple(_path_in(folder, name) for name in names)


def _matching_files(root: Fields, key: str, folder: Path) -> tuple[str, ...]:
    """Return the files that match patterns such as 'meshes/*.vtk'."""
    files: list[str] = []
    for pattern in _files(root, key, folder):
        matches = [path for path in sorted(glob(pattern, recursive=True)) if os.path.isfile(path)]
        if not matches:
            root.wrong(key, "files that there are", f"There is none at '{pattern}'.")
        files += matches
    return tuple(dict.fromkeys(files))


def _check_function(root: Fields, scenario: Scenario, record: str, movie: str) -> None:
    """Check that a function is given without steps, warm-up, measures and recordings."""
    values = {
        "steps": scenario.steps,
        "duration": scenario.duration,
        "warmup": scenario.warmup,
        "measures": scenario.measures,
        "keep": record != "none" or movie != "none",
    }
    for key, value in values.items():
        if value:
            root.faults.add(
                (key,),
                f"expected no '{key}' with a function, which does its runs and returns its "
                "measures itself. Remove it.",
            )


def _path_in(folder: Path, name: str) -> str:
    return os.path.normpath(folder / name) if name else ""
