"""Export of libraries and answers to CSV and NumPy files."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl.base.files import replace_atomically
from sofa_softctl.errors import SoftctlError


def write_csv(path: Path, library: Any, answer: Any) -> None:
    """Write a trajectory: time, inputs (constant for the interval), states."""
    motion, n = answer.motion, len(answer.motion.u)
    time = np.linspace(0.0, library.model.horizon, n + 1)
    inputs = np.vstack((motion.u, motion.u[-1:]))
    header = ["time", *(f"u_{k}" for k in range(inputs.shape[1]))]
    header += [f"x_{k}" for k in range(motion.x.shape[1])]
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
        header = [*names, "cost", *(f"u_{k}" for k in range(u.shape[1]))]
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


def check_suffix(path: Path) -> None:
    """Raise SoftctlError unless libraries can be exported to files of that suffix."""
    if path.suffix not in (".npz", ".csv"):
        raise SoftctlError(f"A library is exported to .npz or .csv, got '{path}'.")


def _write_rows(path: Path, header: list[str], rows: np.ndarray) -> None:
    with replace_atomically(path) as name, open(name, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows.tolist())
