"""Export of libraries and answers to CSV and NumPy files."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl.base.files import replace_atomically
from sofa_softctl.errors import SoftctlError


def write_csv(path: Path, library: Any, answer: Any) -> None:
    """Write a trajectory: time, inputs (constant for the interval), states, by their names."""
    motion, n, model = answer.motion, len(answer.motion.u), library.model
    time = np.linspace(0.0, model.horizon, n + 1)
    inputs = np.vstack((motion.u, motion.u[-1:]))
    header = ["time", *(variable.name for variable in (*model.inputs, *model.states))]
    _write_rows(path, header, np.column_stack((time, inputs, motion.x)))


def write_library(path: Path, library: Any) -> None:
    """Write all trajectories of a library: .npz of arrays, or .csv with one row each.

    Raises:
        SoftctlError: The suffix is neither; the library is empty.
    """
    check_suffix(path)
    if not library.entries:
        raise SoftctlError("The library holds no motion yet: go on with softctl library build.")
    motions = [library.model.motion(entry.v) for entry in library.entries]
    p = np.array([entry.p for entry in library.entries])
    cost = np.array([entry.cost for entry in library.entries])
    names = [parameter.name for parameter in library.model.parameters]
    if path.suffix == ".csv":
        u = np.array([motion.u.ravel() for motion in motions])
        unit = f" [{library.model.cost_unit}]" if library.model.cost_unit else ""
        header = [*names, f"cost{unit}"]
        for k in range(library.model.intervals):
            header += [_in_interval(variable.name, k) for variable in library.model.inputs]
        _write_rows(path, header, np.column_stack((p, cost, u)))
        return
    with replace_atomically(path) as name, open(name, "wb") as file:
        np.savez(
            file,
            allow_pickle=False,
            p=p,
            cost=cost,
            u=np.array([motion.u for motion in motions]),
            x=np.array([motion.x for motion in motions]),
            z=np.array([motion.z for motion in motions]),
            parameters=np.array(names),
        )


def _in_interval(name: str, interval: int) -> str:
    """Return a name such as `torque, interval 3 [N m]`."""
    label, bracket, unit = name.partition(" [")
    return f"{label}, interval {interval}{bracket}{unit}"


def check_suffix(path: Path) -> None:
    """Raise SoftctlError unless libraries can be exported to files of that suffix."""
    if path.suffix not in (".npz", ".csv"):
        raise SoftctlError(f"A library is exported to .npz or .csv, got '{path}'.")


def _write_rows(path: Path, header: list[str], rows: np.ndarray) -> None:
    with replace_atomically(path) as name, open(name, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows.tolist())
