"""Check of what a controller shows of a run: summary, plot, markers, recorded Data."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from sofa_softctl.errors import SoftctlError
from sofa_softctl.record.record import read_record
from sofa_softctl.scene.control.report import History, Markers, Report
from sofa_softctl.scene.graph.nodes import path_of
from sofa_softctl.scene.session.session import Session
from sofa_softctl.status import Verdict
from sofa_softctl.testing.declaration import QUANTITIES
from sofa_softctl.units import DIMENSIONS, LENGTHS, MASSES, PREFIXES, TIMES, Units
from sofa_softctl.units import QUANTITIES as SCENE_QUANTITIES

LEVELS = ("plain", "good", "doubt")
WORDS = (*{*QUANTITIES, *SCENE_QUANTITIES}, "lambda")
"""Quantities of units in words; 'lambda' is a multiplier as SOFA has it."""
SYMBOLS = {
    *(*LENGTHS, *MASSES, *TIMES, "min", "h", "rad", "deg", "K"),
    *(
        prefix + unit
        for prefix in PREFIXES.values()
        for unit in (*(unit for unit, *_ in DIMENSIONS.values()), "A", "Hz", "V", "W", "bar")
    ),
}
"""Units that do not depend on the scene's, such as 's' of a wall time."""


def check_shown(controller: Any, history: History) -> None:
    """Check what a SceneController returns from `summary`, `plot` and `markers` after a run.

    Raises:
        AssertionError: What it returns is not what `SceneController` says.
    """
    name = type(controller).__name__
    with _runs(f"{name}.summary"):
        summary = controller.summary(history)
    if summary is not None:
        _check_summary(f"{name}.summary", summary)
    _check_plot(controller, history)
    with _runs(f"{name}.markers"):
        markers = controller.markers()
    if markers is not None:
        _check_markers(f"{name}.markers", markers)
    with _runs(f"{name}.hold"):
        controller.hold()


@contextmanager
def _runs(what: str) -> Iterator[None]:
    """AssertionError where a method of the controller raises anything."""
    try:
        yield
    except Exception as error:
        raise AssertionError(
            f"{what}: expected it to return, but it raised {type(error).__name__}: {error}"
        ) from error


def _check_summary(what: str, summary: Any) -> None:
    fits = is_dataclass(summary) and not isinstance(summary, type)
    _expect(fits, f"{what}: expected a dataclass or None", summary)
    try:
        entries = asdict(summary)
    except TypeError as error:
        raise AssertionError(f"{what}: expected fields that JSON knows; {error}.") from error
    for name, value in entries.items():
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise AssertionError(
                f"{what}.{name}: expected fields that JSON knows, which has no NaN and no inf; "
                f"{error}. Got: {value!r}."
            ) from error
    with _runs(f"{what}.verdict"):
        verdict = getattr(summary, "verdict", None)
    fits = verdict is None or isinstance(verdict, Verdict)
    _expect(fits, f"{what}.verdict: expected a Verdict or None", verdict)
    with _runs(f"{what}.report"):
        report = summary.report(
            {name: Units("mm", "kg", "s").symbol(name) for name in SCENE_QUANTITIES}
        )
    _expect(isinstance(report, Report), f"{what}: expected a Report of report(units)", report)
    for table in report.tables:
        for row in table.rows:
            fits = len(row) == len(table.columns) and all(isinstance(text, str) for text in row)
            _expect(fits, f"{what}: expected {len(table.columns)} texts in each row", row)
    for line in report.lines:
        _expect(line.level in LEVELS, f"{what}: expected a level of {LEVELS}", line.level)


def _check_plot(controller: Any, history: History) -> None:
    from matplotlib.figure import Figure

    what = f"{type(controller).__name__}.plot"
    figure = Figure()
    try:
        with _runs(what):
            drawn = controller.plot(figure, history)
    except AssertionError as error:
        if isinstance(error.__cause__, SoftctlError):
            return  # there is nothing to draw yet
        raise
    _expect(isinstance(drawn, bool), f"{what}: expected True or False", drawn)
    _expect(bool(figure.axes) == drawn, f"{what}: expected axes just where it returns True", drawn)
    figure.savefig(io.BytesIO())


def _check_markers(what: str, markers: Any) -> None:
    _expect(isinstance(markers, Markers), f"{what}: expected Markers or None", markers)
    for names in (("goals", "tips"), ("points", "forces")):
        with _runs(f"{what}, as arrays of numbers"):
            one, other = (np.asarray(getattr(markers, name), dtype=float) for name in names)
        same = one.shape == other.shape or (names[1] == "tips" and other.shape == (0, 3))
        fits = same and one.shape[1:] == (3,)
        shapes = f"{one.shape} and {other.shape}"
        _expect(fits, f"{what}: expected {' and '.join(names)} of one shape (n, 3)", shapes)
        for name, array in zip(names, (one, other), strict=True):
            finite = np.isfinite(array).all()
            _expect(finite, f"{what}: expected {name} that are finite", array.tolist())


def check_recorded(session: Session, controller: Any, steps: int) -> None:
    """Record a run, and compare the file with the Data that `recorded` lists.

    Raises:
        AssertionError: An entry of `recorded` is not as `scene.channels` says, or its Data is not
            in the recording.
    """
    what = f"{type(controller).__name__}.recorded"
    recorded = getattr(type(controller), "recorded", {})
    _expect(isinstance(recorded, dict), f"{what}: expected a dict", recorded)
    for name, entry in recorded.items():
        texts = isinstance(entry, tuple) and all(isinstance(text, str) for text in entry[:2])
        fits = texts and len(entry) in (2, 3)
        _expect(fits, f"{what}['{name}']: expected (unit, meaning) or with a number", entry)
        words = re.findall(r"[^\W\d_]+", entry[0])
        known = set(words) <= {*WORDS, *SYMBOLS}
        expected = f"{what}['{name}']: expected a unit in words, of {', '.join(WORDS)}"
        _expect(known, f"{expected}, or a symbol such as 's' or 'rad'", entry[0])
        _expect(controller.findData(name), f"{what}: expected a Data '{name}' for it", None)
    seen: dict[str, list[np.ndarray]] = {name: [] for name in recorded}
    session.reset()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "checked.mcap"
        with session.recording(path):
            for _ in range(steps):
                session.step()
                for name in recorded:
                    seen[name].append(np.array(controller.findData(name).value, dtype=float))
        channels = read_record(path).channels
    place = path_of(controller)
    for name, values in seen.items():
        shapes = {value.shape for value in values}
        constant = len(shapes) == 1 or len(recorded[name]) == 3
        _expect(constant, f"{what}['{name}']: expected one shape, or how many are kept", shapes)
        found = channels[f"{place}.{name}"]
        if len(shapes) == 1 and found[0].shape in shapes:
            same = np.array_equal(found, np.array(values), equal_nan=True)
            _expect(same, f"{what}['{name}']: expected its values in the recording", found)


def _expect(condition: Any, expected: str, got: Any) -> None:
    if not condition:
        raise AssertionError(f"{expected}. Got: {got!r}.")
