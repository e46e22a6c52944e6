"""Check of what a controller shows of a run: summary, plot, markers, recorded Data."""

from __future__ import annotations

import io
import json
from dataclasses import asdict, is_dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from sofa_softctl.errors import SoftctlError
from sofa_softctl.record.record import read_record
from sofa_softctl.scene.report import History, Markers, Report
from sofa_softctl.scene.session import Session

LEVELS = ("plain", "good", "doubt")


def check_shown(controller: Any, history: History) -> None:
    """Check what a SceneController returns from `summary`, `plot` and `markers` after a run.

    Raises:
        AssertionError: What it returns is not what `SceneController` says.
    """
    _check_summary(controller, controller.summary(history))
    _check_plot(controller, history)
    _check_markers(controller, controller.markers())
    controller.hold()


def _check_summary(controller: Any, summary: Any) -> None:
    if summary is None:
        return
    what = f"{type(controller).__name__}.summary"
    _expect(is_dataclass(summary), f"{what}: expected a dataclass or None", summary)
    try:
        json.dumps(asdict(summary))
    except (TypeError, ValueError) as error:
        raise AssertionError(f"{what}: expected fields that JSON knows; {error}.") from error
    report = summary.report({"length": "mm", "time": "s", "force": "mN"})
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
        drawn = controller.plot(figure, history)
    except SoftctlError:
        return  # there is nothing to draw yet
    _expect(isinstance(drawn, bool), f"{what}: expected True or False", drawn)
    _expect(bool(figure.axes) == drawn, f"{what}: expected axes just where it returns True", drawn)
    figure.savefig(io.BytesIO())


def _check_markers(controller: Any, markers: Any) -> None:
    if markers is None:
        return
    what = f"{type(controller).__name__}.markers"
    _expect(isinstance(markers, Markers), f"{what}: expected Markers or None", markers)
    for names in (("goals", "tips"), ("points", "forces")):
        one, other = (np.asarray(getattr(markers, name), dtype=float) for name in names)
        fits = one.shape == other.shape and one.shape[1:] == (3,)
        shapes = f"{one.shape} and {other.shape}"
        _expect(fits, f"{what}: expected {' and '.join(names)} of one shape (n, 3)", shapes)


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
    place = controller.getPathName().lstrip("/")
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
