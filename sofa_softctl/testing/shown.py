"""Check of a controller's output: summary, plot, markers, recorded Data."""

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
"""Quantities that units may name; 'lambda' is a multiplier in SOFA's sense."""
SYMBOLS = {
    *(*LENGTHS, *MASSES, *TIMES, "min", "h", "rad", "deg", "K"),
    *(
        prefix + unit
        for prefix in PREFIXES.values()
        for unit in (*(unit for unit, *_ in DIMENSIONS.values()), "A", "Hz", "V", "W", "bar")
    ),
}
"""Units that do not depend on the scene, such as 's' of a wall time."""


def check_shown(controller: Any, history: History) -> None:
    """Check the results of `summary`, `plot` and `markers` of a SceneController after a run.

    Raises:
        AssertionError: A result breaks the contract of `SceneController`.
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
def _runs(label: str) -> Iterator[None]:
    """Raise AssertionError if a method of the controller raises anything."""
    try:
        yield
    except Exception as error:
        raise AssertionError(
            f"{label}: expected it to return, but it raised {type(error).__name__}: {error}"
        ) from error


def _check_summary(label: str, summary: Any) -> None:
    fits = is_dataclass(summary) and not isinstance(summary, type)
    _expect(fits, f"{label}: expected a dataclass or None", summary)
    try:
        entries = asdict(summary)
    except TypeError as error:
        raise AssertionError(f"{label}: expected fields that JSON knows; {error}.") from error
    for name, value in entries.items():
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise AssertionError(
                f"{label}.{name}: expected fields that JSON knows, which has no NaN and no inf; "
                f"{error}. Got: {value!r}."
            ) from error
    with _runs(f"{label}.verdict"):
        verdict = getattr(summary, "verdict", None)
    fits = verdict is None or isinstance(verdict, Verdict)
    _expect(fits, f"{label}.verdict: expected a Verdict or None", verdict)
    with _runs(f"{label}.report"):
        report = summary.report(
            {name: Units("mm", "kg", "s").symbol(name) for name in SCENE_QUANTITIES}
        )
    _expect(isinstance(report, Report), f"{label}: expected a Report of report(units)", report)
    for table in report.tables:
        for row in table.rows:
            fits = len(row) == len(table.columns) and all(isinstance(text, str) for text in row)
            _expect(fits, f"{label}: expected {len(table.columns)} texts in each row", row)
    for line in report.lines:
        _expect(line.level in LEVELS, f"{label}: expected a level of {LEVELS}", line.level)


def _check_plot(controller: Any, history: History) -> None:
    from matplotlib.figure import Figure

    label = f"{type(controller).__name__}.plot"
    figure = Figure()
    try:
        with _runs(label):
            drawn = controller.plot(figure, history)
    except AssertionError as error:
        if isinstance(error.__cause__, SoftctlError):
            return  # there is nothing to draw yet
        raise
    _expect(isinstance(drawn, bool), f"{label}: expected True or False", drawn)
    _expect(bool(figure.axes) == drawn, f"{label}: expected axes just where it returns True", drawn)
    figure.savefig(io.BytesIO())


def _check_markers(label: str, markers: Any) -> None:
    _expect(isinstance(markers, Markers), f"{label}: expected Markers or None", markers)
    for names in (("goals", "tips"), ("points", "forces")):
        with _runs(f"{label}, as arrays of numbers"):
            first_array, second_array = (
                np.asarray(getattr(markers, name), dtype=float) for name in names
            )
        have_same_shape = first_array.shape == second_array.shape or (
            names[1] == "tips" and second_array.shape == (0, 3)
        )
        fits = have_same_shape and first_array.shape[1:] == (3,)
        shapes = f"{first_array.shape} and {second_array.shape}"
        _expect(fits, f"{label}: expected {' and '.join(names)} of one shape (n, 3)", shapes)
        for name, array in zip(names, (first_array, second_array), strict=True):
            is_finite = np.isfinite(array).all()
            _expect(is_finite, f"{label}: expected {name} that are finite", array.tolist())


def check_recorded(session: Session, controller: Any, steps: int) -> None:
    """Record a run, and compare the file with the Data that `recorded` lists.

    Raises:
        AssertionError: An entry of `recorded` breaks the rules of `scene.channels`, or its Data is
            not in the recording.
    """
    label = f"{type(controller).__name__}.recorded"
    recorded = getattr(type(controller), "recorded", {})
    _expect(isinstance(recorded, dict), f"{label}: expected a dict", recorded)
    for name, declaration in recorded.items():
        texts = isinstance(declaration, tuple) and all(
            isinstance(text, str) for text in declaration[:2]
        )
        fits = texts and len(declaration) in (2, 3)
        _expect(fits, f"{label}['{name}']: expected (unit, meaning) or with a number", declaration)
        words = re.findall(r"[^\W\d_]+", declaration[0])
        is_known = set(words) <= {*WORDS, *SYMBOLS}
        expected = f"{label}['{name}']: expected a unit in words, of {', '.join(WORDS)}"
        _expect(is_known, f"{expected}, or a symbol such as 's' or 'rad'", declaration[0])
        _expect(controller.findData(name), f"{label}: expected a Data '{name}' for it", None)
    values_by_name: dict[str, list[np.ndarray]] = {name: [] for name in recorded}
    session.reset()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "checked.mcap"
        with session.recording(path):
            for _ in range(steps):
                session.step()
                for name in recorded:
                    values_by_name[name].append(
                        np.array(controller.findData(name).value, dtype=float)
                    )
        channels = read_record(path).channels
    controller_path = path_of(controller)
    for name, values in values_by_name.items():
        shapes = {value.shape for value in values}
        constant = len(shapes) == 1 or len(recorded[name]) == 3
        _expect(constant, f"{label}['{name}']: expected one shape, or how many are kept", shapes)
        recorded_values = channels[f"{controller_path}.{name}"]
        if len(shapes) == 1 and recorded_values[0].shape in shapes:
            is_equal = np.array_equal(recorded_values, np.array(values), equal_nan=True)
            _expect(
                is_equal,
                f"{label}['{name}']: expected its values in the recording",
                recorded_values,
            )


def _expect(condition: Any, expected: str, got: Any) -> None:
    if not condition:
        raise AssertionError(f"{expected}. Got: {got!r}.")
