"""Crash-safe SQLite store of samples of exact maps.

Table `models`: the content hash of each model, when it was first used and by which version of the
package. Table `samples`: for a model and a point u the level of the grid that first needed it,
and either `message`, the reason of failure, or the numbers: `value` (outputs,) and
`gradient` (outputs, inputs) as raw little-endian arrays in row-major order, of 8 or 4 bytes each by
`precision`. The key is the point itself, d doubles, little-endian, never -0: so grids of any
spacing over the same model share their common points; and `branch`, 0 for the first solution at a
point, 1 and so on for others there. Write-ahead log, one transaction a sample, on disk when `put`
returns.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from sofa_softctl._internal.sqlite_file import SqliteFile, SqliteSchema
from sofa_softctl.errors import StoreError
from sofa_softctl.surrogate.grid.evaluation import Sample

FORMAT = 2
"""Version of the tables, SQLite's user_version."""
PRECISIONS: dict[str, np.dtype[Any]] = {"float64": np.dtype("<f8"), "float32": np.dtype("<f4")}

_COLUMNS = "point, level, outputs, inputs, precision, value, gradient, message"
_TABLES = """
CREATE TABLE IF NOT EXISTS models (
    id INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, created TEXT NOT NULL, version TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS samples (
    model INTEGER NOT NULL REFERENCES models, point BLOB NOT NULL, branch INTEGER NOT NULL,
    level INTEGER NOT NULL, outputs INTEGER, inputs INTEGER, precision TEXT, value BLOB,
    gradient BLOB, message TEXT, UNIQUE (model, point, branch)
);
"""
_FROM_1 = f"""
ALTER TABLE samples RENAME TO samples_1; {_TABLES}
INSERT INTO samples (model, branch, {_COLUMNS}) SELECT model, 0, {_COLUMNS} FROM samples_1;
DROP TABLE samples_1;
"""
_SCHEMA = SqliteSchema(
    name="store",
    content="a store of samples",
    application=0x736F6674,  # "soft"
    version=FORMAT,
    tables=_TABLES,
    error=StoreError,
    upgrades={1: _FROM_1},  # which had one solution a point
    write_ahead=True,
)
_PUT = f"""
INSERT INTO samples (model, branch, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (model, point, branch) DO UPDATE SET outputs = excluded.outputs,
    inputs = excluded.inputs, precision = excluded.precision, value = excluded.value,
    gradient = excluded.gradient, message = excluded.message
"""


class Stored(NamedTuple):
    """A point of a store."""

    u: np.ndarray
    """The point [input], shape (d,)."""
    level: int
    """Level of the grid that first needed it."""
    answer: Sample | str
    """Its sample, or the reason of failure."""


@dataclass(frozen=True)
class StoreInfo:
    """Content of a store for its model."""

    path: Path
    """The file."""
    model: str
    """Content hash of the model."""
    samples: dict[int, int]
    """Number of samples by level."""
    failed: int
    """Number of points where the map has no solution."""
    branching: int
    """Number of points with several solutions."""
    models: int
    """Number of models in the file."""
    size: int
    """Size of the file and its log on disk [bytes]."""
    created: datetime
    """Time of the model's first use with this file."""
    version: str
    """Version of the package then."""
    format: int
    """Version of the file's tables."""


class Store:
    """Samples of one model in a file; several models, and processes, may share the file.

    Args:
        path: The file; created if it does not exist.
        model: Content hash of the model, or another key. Samples of other models are hidden.
        precision: "float64", or "float32" for half the size: new samples are then rounded, with a
            relative error of at most 6e-8 for numbers from 1.2e-38 to 3.4e38, and of 7e-46 for
            smaller ones.

    Raises:
        StoreError: The file cannot be opened or written, is no store, or is newer.
    """

    def __init__(
        self, path: str | os.PathLike[str], model: str, *, precision: str = "float64"
    ) -> None:
        if precision not in PRECISIONS:
            known = " and ".join(PRECISIONS)
            raise ValueError(f"There is no precision '{precision}'. Known are {known}.")
        self.path, self.model, self.precision = Path(path), model, precision
        self._file = SqliteFile(self.path, _SCHEMA, create=True)
        try:
            self._file.execute(
                "INSERT OR IGNORE INTO models (hash, created, version) VALUES (?, ?, ?)",
                *(model, datetime.now(UTC).isoformat(), version("sofa-softctl")),
            )
            self._model = self._file.row("SELECT id FROM models WHERE hash = ?", model)[0]
        except BaseException:
            self.close()
            raise

    def get(self, u: np.ndarray) -> Sample | str | None:
        """The sample at a point, or the reason of failure, or None if it is unknown.

        Raises:
            StoreError: The sample is damaged.
        """
        query = f"SELECT {_COLUMNS} FROM samples WHERE model = ? AND point = ? AND branch = 0"
        row = self._file.row(query, self._model, _key(u))
        return None if row is None else self._stored(row).answer

    def further(self, u: np.ndarray) -> list[Sample]:
        """Samples at a point on other branches than the first, in the order of their solution."""
        query = (
            f"SELECT {_COLUMNS} FROM samples WHERE model = ? AND point = ? AND branch > 0 "
            "AND message IS NULL ORDER BY branch"
        )
        rows = self._file.rows(query, self._model, _key(u))
        return [answer for row in rows if isinstance(answer := self._stored(row).answer, Sample)]

    def put(self, u: np.ndarray, sample: Sample, *, level: int = 0, branch: int = 0) -> None:
        """Write the sample at a point [input], shape (d,); it is on disk when this returns.

        Args:
            u: The point.
            sample: Its sample.
            level: Level of the grid that needs it.
            branch: 0 for the first solution at the point, 1 and so on for others.

        Raises:
            StoreError: It could not be written; what was there before is as it was.
            ValueError: The sample is not finite, in the store's precision, or of a wrong shape.
        """
        dtype = PRECISIONS[self.precision]
        with np.errstate(over="ignore"):
            value = np.ascontiguousarray(sample.value, dtype)
            gradient = np.ascontiguousarray(sample.gradient, dtype)
        if gradient.shape != (len(value), np.size(u)):
            raise ValueError(
                f"The gradient of {len(value)} outputs by {np.size(u)} inputs must have shape "
                f"{(len(value), np.size(u))}. Got: {gradient.shape}"
            )
        if not (np.isfinite(value).all() and np.isfinite(gradient).all()):
            raise ValueError(f"The sample at u = {u} has numbers beyond {self.precision}.")
        blobs = self.precision, value.tobytes(), gradient.tobytes()
        self._file.execute(_PUT, self._model, branch, _key(u), level, *gradient.shape, *blobs, None)

    def failed(self, u: np.ndarray, message: str, *, level: int = 0) -> None:
        """Write that the map has no solution at a point, with the reason."""
        self._file.execute(_PUT, self._model, 0, _key(u), level, *[None] * 5, message)

    def forget_failed(self) -> int:
        """Delete failed points, so that they are tried again; returns their number."""
        return self._file.execute(
            "DELETE FROM samples WHERE model = ? AND message IS NOT NULL", self._model
        )

    def __len__(self) -> int:
        query = "SELECT COUNT(*) FROM samples WHERE model = ?"
        return int(self._file.row(query, self._model)[0])

    def __iter__(self) -> Iterator[Stored]:
        query = f"SELECT {_COLUMNS} FROM samples WHERE model = ? ORDER BY rowid"
        yield from map(self._stored, self._file.rows(query, self._model))

    def points(self) -> np.ndarray:
        """Points of all samples and failures [input], shape (m, d); (0, 0) for none."""
        query = "SELECT DISTINCT point FROM samples WHERE model = ? ORDER BY point"
        keys = [key for (key,) in self._file.rows(query, self._model)]
        return np.array([np.frombuffer(key, "<f8") for key in keys]) if keys else np.empty((0, 0))

    def info(self) -> StoreInfo:
        """Content of the store."""
        levels = dict(
            self._file.rows(
                "SELECT level, COUNT(*) FROM samples WHERE model = ? AND message IS NULL "
                "GROUP BY level ORDER BY level",
                self._model,
            )
        )
        query = "SELECT COUNT(*) FROM samples WHERE model = ? AND branch = 1"
        branching = self._file.row(query, self._model)[0]
        query = "SELECT created, version FROM models WHERE id = ?"
        created, by = self._file.row(query, self._model)
        files = (self.path, Path(f"{self.path}-wal"))
        return StoreInfo(
            path=self.path,
            model=self.model,
            samples=levels,
            failed=len(self) - sum(levels.values()),
            branching=branching,
            models=self._file.row("SELECT COUNT(*) FROM models")[0],
            size=sum(file.stat().st_size for file in files if file.exists()),
            created=datetime.fromisoformat(created),
            version=by,
            format=FORMAT,
        )

    def close(self) -> None:
        """Close the file. A second call does nothing."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _stored(self, row: tuple[Any, ...]) -> Stored:
        key, level, outputs, inputs, precision, value, gradient, message = row
        u = np.frombuffer(key, "<f8").astype(float)
        if message is not None:
            return Stored(u, level, message)
        dtype = PRECISIONS.get(precision, np.dtype("V1"))
        sizes = outputs * dtype.itemsize, outputs * inputs * dtype.itemsize
        if precision not in PRECISIONS or (len(value), len(gradient)) != sizes:
            raise StoreError(
                f"{self.path}: the sample at u = {u} is damaged: expected {outputs} outputs, "
                f"{inputs} inputs in {precision}. Got {len(value)} and {len(gradient)} bytes. "
                "Restore the file from a copy, or choose another one."
            )
        numbers = np.frombuffer(value, dtype), np.frombuffer(gradient, dtype)
        return Stored(
            u,
            level,
            Sample(numbers[0].astype(float), numbers[1].astype(float).reshape(outputs, inputs)),
        )


def models_in(path: str | os.PathLike[str]) -> list[str]:
    """Content hashes of the models in an existing store, oldest first.

    Raises:
        StoreError: There is no such file, it is no store, or it is damaged.
    """
    if not Path(path).is_file():
        what = "is a folder" if Path(path).is_dir() else "there is no such file"
        raise StoreError(f"{path}: {what}. Give one that --store made.")
    with SqliteFile(path, _SCHEMA) as file:
        return [row[0] for row in file.rows("SELECT hash FROM models ORDER BY id")]


def _key(u: np.ndarray) -> bytes:
    """The point as a key; + 0.0 turns -0 into 0."""
    return (np.asarray(u, "<f8") + 0.0).astype("<f8").tobytes()
