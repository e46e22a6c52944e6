"""Files of plans: recordings with the tensions of each step, and the report of the replay."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl.acceptance import AcceptanceReport
from sofa_softctl.errors import RecordError
from sofa_softctl.record.file import RecordFile
from sofa_softctl.record.record import read_record
from sofa_softctl.record.writer import RecordWriter
from sofa_softctl.units import Units, symbol

_IN_REPLAY: ContextVar[str] = ContextVar("softctl_plan_in_replay", default="")
"""Path of the plan that is being replayed, which has no report yet."""


@dataclass(frozen=True, eq=False)
class PlanFile:
    """Content of a plan's file. Row k is the end of a step, as in recordings of runs."""

    times: np.ndarray
    """Time of each row [time], shape (K - 1,); the plan begins a step before the first one."""
    tension: np.ndarray
    """Tension of each cable in the step up to that time [force], shape (K - 1, d)."""
    spot: np.ndarray
    """Position of the task's point [length], shape (K - 1, 3)."""
    coordinates: np.ndarray
    """Coordinates a [-], shape (K - 1, d)."""
    metadata: dict[str, str]
    """Scene, task, status, versions."""
    line_stiffness: bool = True
    """Whether steps have the stiffness of the cables, see `LineStiffness`."""
    flutter: float = 0.0
    """Flutter number of steps without that stiffness, see `flutter_number` [-]."""
    robot: dict[str, list[float]] | None = None
    """Identity of the replayed robot, see `robot_identity`, or None without a replay."""
    report: AcceptanceReport | None = None
    """Report of the replay, or None without one."""

    @property
    def accepted(self) -> bool:
        """True if the plan passed its replay."""
        return self.report is not None and self.report.passed

    def delayed(self, steps: int) -> PlanFile:
        """Return the same plan, beginning some steps after the start of the run."""
        dt = self.times[1] - self.times[0]
        return replace(self, times=self.times - self.times[0] + (steps + 1) * dt)

    def write(self, path: str | Path | RecordFile) -> None:
        """Write the plan; an existing file is replaced atomically.

        Raises:
            RecordError: The file cannot be written.
        """
        d = self.tension.shape[1]
        metadata = self.metadata | {"plan.line_stiffness": json.dumps(self.line_stiffness)}
        metadata["plan.flutter"] = json.dumps(self.flutter)
        if self.robot is not None:
            metadata["plan.robot"] = json.dumps(self.robot)
        if self.report is not None:
            metadata["plan.replay"] = self.report.to_json()
        arrays = (self.times, self.tension, self.spot, self.coordinates)
        metadata["plan.digest"] = _digest(metadata, arrays)
        with RecordWriter(path, metadata) as file:
            units = self.metadata.get("units")
            force, length = (
                symbol(Units.parse(units) if units else None, quantity)
                for quantity in ("force", "length")
            )
            tensions = "Tension of each cable."
            file.add_channel("plan.tension", unit=force, shape=(d,), description=tensions)
            spot = "Position of the task's point."
            file.add_channel("plan.spot", unit=length, shape=(3,), description=spot)
            file.add_channel("plan.coordinates", shape=(d,), description="Coordinates a.")
            for time, *row in zip(
                self.times, self.tension, self.spot, self.coordinates, strict=True
            ):
                names = ("plan.tension", "plan.spot", "plan.coordinates")
                file.write(float(time), dict(zip(names, row, strict=True)))


def read_plan(path: str | os.PathLike[str]) -> PlanFile:
    """Read a plan.

    Raises:
        RecordError: The file cannot be read, is damaged, or is not a plan.
    """
    record = read_record(path)
    if "plan.tension" not in record.channels:
        raise RecordError(f"{path}: this recording is no plan. Make one with softctl plan.")
    d = record.channels["plan.tension"].shape[1:]
    shapes = {"plan.tension": d, "plan.spot": (3,), "plan.coordinates": d}
    channels = record.channels
    has_all_channels = all(n in channels and channels[n].shape[1:] == s for n, s in shapes.items())
    if not (record.complete and has_all_channels and len(record.time) > 1 and len(d) == 1):
        raise RecordError(
            f"{path}: the plan is damaged or cut short ({record.status}). Make it again with "
            "softctl plan."
        )
    metadata = dict(record.metadata)
    arrays = (record.time, *(channels[name] for name in shapes))
    if metadata.pop("plan.digest", "") != _digest(metadata, arrays):
        raise RecordError(
            f"{path}: the plan is damaged, or of an earlier version: its numbers are not those of "
            "its digest. Make it again with softctl plan."
        )
    try:
        robot = json.loads(metadata.pop("plan.robot", "null"))
        line_stiffness = bool(json.loads(metadata.pop("plan.line_stiffness", "false")))
        flutter = float(json.loads(metadata.pop("plan.flutter", "0.0")))
        report = metadata.pop("plan.replay", None)
        replay_report = None if report is None else AcceptanceReport.from_json(report)
    except ValueError as error:
        raise RecordError(
            f"{path}: what it says of its replay cannot be read ({error}). Make it again with "
            "softctl plan."
        ) from error
    times, tension, spot, coordinates = arrays
    if not np.isfinite(tension).all():
        raise RecordError(f"{path}: its tensions are not finite. Make it again with softctl plan.")
    return PlanFile(
        times, tension, spot, coordinates, metadata, line_stiffness, flutter, robot, replay_report
    )


def _digest(metadata: dict[str, str], arrays: Sequence[np.ndarray]) -> str:
    """Return the digest of the content of a file."""
    digest = hashlib.sha256(json.dumps(metadata, sort_keys=True).encode())
    for array in arrays:
        digest.update(np.ascontiguousarray(array, "<f8").tobytes())
    return digest.hexdigest()


@contextmanager
def in_replay(path: str | os.PathLike[str]) -> Iterator[None]:
    """Allow controllers to execute this plan in the block, before it is accepted."""
    token = _IN_REPLAY.set(os.fspath(path))
    try:
        yield
    finally:
        _IN_REPLAY.reset(token)


def is_in_replay(path: str | os.PathLike[str]) -> bool:
    """Return True if a plan is being replayed in this context."""
    return _IN_REPLAY.get() == os.fspath(path)


def robot_identity(root: Any, lines: list[Any]) -> dict[str, list[float]]:
    """Return numbers that identify a robot, equal on both backends.

    Keys are 'dt', 'gravity', 'lengths of the lines', and PATH.DATA for materials, masses, damping,
    fixed nodes and positions of the body of the first cable. Of more than `COMPARED_NUMBERS_MAX`
    values there are their number, smallest, mean and largest.

    Args:
        root: Root of an initialised scene, before its first step.
        lines: CableConstraints of the scene.
    """
    from sofa_softctl.scene.graph.nodes import body_of, nodes_of

    numbers = {
        "dt": [float(root.dt.value)],
        "gravity": np.asarray(root.gravity.value, float).tolist(),
        "lengths of the lines": [float(line.cableInitialLength.value) for line in lines],
    }
    bodies = [body_of(line.getContext()) for line in lines[:1]]
    for body in bodies:
        for node in nodes_of(body):
            for component in node.objects:
                path = f"{node.getPathName()}/{component.getName()}"
                for name in _PHYSICAL:
                    data = component.findData(name)
                    if data is not None:
                        numbers[f"{path}.{name}"] = _numbers(data.value)
                if component.getClassName() == "MechanicalObject":
                    numbers[f"{path}.position"] = _shape(component.position.value)
                if "ProjectiveConstraint" in component.getClassName():
                    numbers[f"{path}.indices"] = _numbers(component.indices.value)
    return numbers


_PHYSICAL = (
    "youngModulus poissonRatio ParameterSet totalMass massDensity rayleighMass rayleighStiffness "
    "stiffness"
).split()
"""Data of materials, masses and damping, by SOFA's names."""
COMPARED_NUMBERS_MAX = 16
"""Largest number of values of a Data that are compared one by one."""


def _shape(positions: Any) -> list[float]:
    """Return the number of points, and their minimum, mean, maximum and rms on each axis."""
    x = np.asarray(positions, float)
    if not len(x):
        return [0.0]
    square = np.sqrt(np.mean(x**2, axis=0))
    return [float(len(x)), *np.concatenate((x.min(0), x.mean(0), x.max(0), square)).tolist()]


def _numbers(value: Any) -> list[float]:
    numbers = np.atleast_1d(np.asarray(value, float)).ravel()
    if len(numbers) <= COMPARED_NUMBERS_MAX:
        return numbers.tolist()
    return [float(len(numbers)), float(numbers.min()), float(numbers.mean()), float(numbers.max())]


def differences(planned: dict[str, list[float]], current: dict[str, list[float]]) -> list[str]:
    """Return the differences of two robots, such as 'dt: 0.01 planned, 0.02 here'.

    Numbers of only one robot are not compared, since backends may differ in them.
    """
    return [
        f"{name}: {_text(planned[name])} planned, {_text(current[name])} here"
        for name in planned.keys() & current.keys()
        if len(planned[name]) != len(current[name])
        or not np.allclose(planned[name], current[name], rtol=1e-6, atol=_rounding(planned[name]))
    ]


def _rounding(values: list[float]) -> float:
    """Return the largest rounding difference of sums of such values."""
    return 1e-12 * max(1.0, *map(abs, values)) if values else 0.0


def _text(values: list[float]) -> str:
    return ", ".join(f"{value:.6g}" for value in values)
