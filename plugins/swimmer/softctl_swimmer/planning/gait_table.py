"""Gaits as tables of joint angles, in CSV files."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from scipy.interpolate import CubicSpline

from sofa_softctl.errors import SceneError

TIME, ANGLE, TORQUE = "time [s]", "hinge {} [rad]", "torque {} [N m]"
"""Columns, hinges counted from 1."""


@dataclass(frozen=True, eq=False)
class GaitTable:
    """Joint angles at some instants, from rest, interpolated by cubic splines.

    Raises:
        SceneError: They are not a valid motion; the message says why.
    """

    time: np.ndarray
    """Instants [s], shape (K,), increasing."""
    angles: np.ndarray
    """Joint angles [rad], shape (K, n)."""
    torques: np.ndarray | None = None
    """Torques after each instant [N m], shape (K, n), only for information."""

    def __post_init__(self) -> None:
        _check(self.time, self.angles)
        if self.torques is not None and self.torques.shape != self.angles.shape:
            raise SceneError(
                f"A gait's torques have shape {self.torques.shape}; expected that of its angles, "
                f"{self.angles.shape}."
            )

    def __call__(self, time: np.ndarray) -> np.ndarray:
        """Return angles [rad] at times [s], shapes (m, n) and (m,)."""
        angles: np.ndarray = self._spline(np.clip(time, self.time[0], self.time[-1]))
        return angles

    def save(self, path: str | Path) -> None:
        """Write a CSV file atomically.

        Raises:
            SceneError: It cannot be written.
        """
        names = [TIME, *(ANGLE.format(j + 1) for j in range(self.angles.shape[1]))]
        columns = [self.time, *self.angles.T]
        if self.torques is not None:
            names += [TORQUE.format(j + 1) for j in range(self.torques.shape[1])]
            columns += [*self.torques.T]
        path = Path(path)
        rows = [[repr(float(x)) for x in row] for row in zip(*columns, strict=True)]
        new = path.with_name(f".{path.name}.new")
        try:
            with new.open("w", newline="") as file:
                csv.writer(file).writerows([names, *rows])
            new.replace(path)
        except OSError as error:
            raise SceneError(f"The gait '{path}' cannot be written: {error}.") from error
        finally:
            new.unlink(missing_ok=True)

    @classmethod
    def load(cls, path: str | Path, hinges: int) -> GaitTable:
        """Read a CSV file of `save`, for a swimmer with this number of hinges.

        Raises:
            SceneError: The file cannot be read, columns are missing, or the motion is invalid.
        """
        try:
            with Path(path).open(newline="", encoding="utf-8-sig") as file:
                rows = [row for row in csv.reader(file) if row]
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise SceneError(f"The gait '{path}' cannot be read: {error}.") from error
        names = [TIME, *(ANGLE.format(j + 1) for j in range(hinges))]
        head = rows[0] if rows else []
        missing = [name for name in names if name not in head]
        extra_name = ANGLE.format(hinges + 1)
        if missing or extra_name in head:
            problem = f"lacks {missing}" if missing else f"has '{extra_name}'"
            raise SceneError(
                f"The gait '{path}' {problem}; expected the columns {names} of a swimmer with "
                f"{hinges} hinges. Got: {head}."
            )
        column_index = [head.index(name) for name in names]
        for k, row in enumerate(rows[1:]):
            if len(row) != len(head):
                raise SceneError(
                    f"The gait '{path}' has {len(head)} columns. Row {k + 1} of its "
                    f"{len(rows) - 1} has {len(row)} numbers: {row}. Is the file whole?"
                )
        try:
            numbers = [[float(row[i]) for i in column_index] for row in rows[1:]]
            table = np.array(numbers).reshape(len(numbers), len(column_index))
            return cls(table[:, 0], table[:, 1:])
        except SceneError as error:
            raise SceneError(f"The gait '{path}': {error}") from error
        except ValueError as error:
            raise SceneError(f"The gait '{path}' has a row that is no numbers: {error}.") from error

    @cached_property
    def _spline(self) -> CubicSpline:
        return CubicSpline(self.time, self.angles, bc_type=("clamped", "not-a-knot"))


def _check(time: np.ndarray, angles: np.ndarray) -> None:
    """Check that instants and angles form a motion.

    Raises:
        SceneError: There are not two or more instants, starting at 0, with finite angles.
    """
    if len(time) < 2 or angles.ndim != 2 or len(angles) != len(time):
        raise SceneError(
            f"A gait needs two instants or more, and angles of each. Got: {len(time)} instants, "
            f"angles of shape {np.shape(angles)}."
        )
    bad = ~np.isfinite(np.column_stack((time, angles))).all(axis=1)
    bad[1:] |= ~(np.diff(time) > 0.0)
    bad[0] |= bool(time[0] != 0.0)
    if bad.any():
        k = int(bad.argmax())
        raise SceneError(
            "A gait must have finite numbers, and increasing times from 0 on. Row "
            f"{k + 1} of {len(time)} is {[float(time[k]), *np.asarray(angles[k]).tolist()]}."
        )
