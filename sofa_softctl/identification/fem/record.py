"""Recordings from records of simulated runs of a FEM problem's scene."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.fem.model import FemModel
from sofa_softctl.identification.fem.sensing import sensing_of
from sofa_softctl.identification.model.recording import Recording
from sofa_softctl.record.record import Record, read_record


def recording_of(problem: FemModel, path: str | Path, *, start: float = 0.0) -> Recording:
    """Return the recording that drives and sensors would have made of a run of the scene.

    Args:
        problem: Problem of the recorded scene.
        path: MCAP file that `softctl run SCENE --record` or `Session.recording` wrote.
        start: Begin of the recording [scene time]; a settled problem begins at rest.

    Raises:
        IdentificationError: The record is of another scene, ends before `start`, or does not say
            its dt.
        RecordError: The file cannot be read.
    """
    record = read_record(path)
    later = record.time >= start - 1e-9
    if later.sum() < 2:
        raise IdentificationError(
            f"'{path}' ends at {record.time[-1]:g}: it has no samples from {start:g} on."
        )
    model, sensing = problem.model, sensing_of(problem.model, problem.sensors)
    states = model.step.system.states
    x = np.concatenate(
        [_channel(record, path, f"{s.getPathName()}.position")[later] for s in states], axis=1
    )
    if x.shape[1] != model.step.size:
        raise IdentificationError(
            f"'{path}' is of another scene: its robot has {x.shape[1]} nodes, that of "
            f"'{problem.name}' has {model.step.size}."
        )
    outputs = np.array([sensing.outputs.evaluate(at)[sensing.places] for at in x])
    inputs = np.empty((len(x), len(problem.drives)))
    moves = [column for column, drive in enumerate(problem.drives) if drive.by_displacement]
    for row, at in enumerate(x if moves else ()):
        model.step.drives.measure(at)
        inputs[row, moves] = model.step.drives.displacement[moves]
    for column, drive in enumerate(problem.drives):
        if not drive.by_displacement:
            lam = _channel(record, path, f"{drive.path}.{drive.lam}")[later]
            inputs[:, column] = lam.reshape(len(x)) / _dt(record, path)  # SOFA's: an impulse
    seconds = record.time[later] * problem.second
    return Recording(str(path), seconds, inputs, outputs)


def _dt(record: Record, path: str | Path) -> float:
    """Return the time step of the recorded run, not of the model: multipliers are per step."""
    try:
        dt = float(record.metadata["dt"])
    except (KeyError, ValueError):
        dt = float("nan")
    if not dt > 0.0:
        raise IdentificationError(
            f"'{path}' does not say which dt its run had, so that its forces and pressures, "
            "impulses of a step, are not known as such. Record the scene again with `softctl run "
            "--record`."
        )
    return dt


def _channel(record: Record, path: str | Path, name: str) -> np.ndarray:
    """Return the values of a Data, whose channel is named without the first slash."""
    values = record.channels.get(name.lstrip("/"))
    if values is None:
        raise IdentificationError(
            f"'{path}' is of another scene: it has no '{name}'. It has: "
            f"{', '.join(record.channels)}."
        )
    return values
