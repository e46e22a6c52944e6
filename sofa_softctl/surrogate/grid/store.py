"""Crash-safe SQLite store of samples of exact maps, each with a checksum.

Table `models`: content hash of each model, time of its first use and version of the package.

Table `samples`: for a model and a point u the level of the grid that first needed it, and either
`message`, the reason of failure, or the numbers: `value` (outputs,) and `gradient` (outputs,
inputs) as raw little-endian arrays in row-major order, of 8 or 4 bytes per number by `precision`.
The key is the point, d little-endian doubles, never -0, so that grids of any spacing over the same
model share points; and `branch`, the number of the solution at the point. `checksum` covers the row
and the model's hash: damaged samples count as unknown.

Write-ahead log, one transaction per sample, on disk when `write_sample` returns.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

import numpy as np

from sofa_softctl.base.sqlite_file import SqliteFile, SqliteSchema
from sofa_softctl.errors import StoreError
from sofa_softctl.surrogate.grid.content import StoredPoint, StoreInfo
from sofa_softctl.surrogate.grid.evaluation import MapSample

FORMAT = 3
"""Version of the tables, SQLite's user_version."""
PRECISIONS: dict[str, np.dtype[Any]] = {"float64": np.dtype("<f8"), "float32": np.dtype("<f4")}

_COLUMNS = "point, branch, level, outputs, inputs, precision, value, gradient, message"
_SCHEMA = SqliteSchema(
    name="store",
    content="a store of samples",
    application=0x736F6674,  # "soft"
    version=FORMAT,
    tables="""
CREATE TABLE models (
    id INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, created TEXT NOT NULL, version TEXT NOT NULL
);
CREATE TABLE samples (
    model INTEGER NOT NULL REFERENCES models, point BLOB NOT NULL, branch INTEGER NOT NULL,
    level INTEGER NOT NULL, outputs INTEGER, inputs INTEGER, precision TEXT, value BLOB,
    gradient BLOB, message TEXT, checksum BLOB NOT NULL, UNIQUE (model, point, branch)
);
""",
    error=StoreError,
    outdated="Earlier formats have no checksums, and their models were told apart by less than "
    "their equilibria depend on. Give another file, or delete this one; they are solved anew.",
    write_ahead=True,
    checked=True,
)
_PUT = f"""
INSERT INTO samples (model, {_COLUMNS}, checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (model, point, branch) DO UPDATE SET level = excluded.level,
    outputs = excluded.outputs, inputs = excluded.inputs, precision = excluded.precision,
    value = excluded.value, gradient = excluded.gradient, message = excluded.message,
    checksum = excluded.checksum
"""


class Store:
    """Samples of one model in a file; several models, and processes, may share the file.

    Args:
        path: The file; created if it does not exist.
        model: Content hash of the model, or another key. Samples of other models are not visible.
        precision: "float64", or "float32" for half the size: new samples are then rounded, with a
            relative error of at most 6e-8 for numbers from 1.2e-38 to 3.4e38, and of 7e-46 for
            smaller ones.

    A sample that was damaged on disk is unknown, and counts in `damaged_count`.

    Raises:
        StoreError: The file cannot be opened or written, is not a store, is newer or older, or
            SQLite finds its structure damaged; the check takes a second per gigabyte.
    """

    def __init__(
        self, path: str | os.PathLike[str], model: str, *, precision: str = "float64"
    ) -> None:
        if precision not in PRECISIONS:
            names = " and ".join(PRECISIONS)
            raise ValueError(f"There is no precision '{precision}'. Known are {names}.")
        self.path, self.model, self.precision = Path(path), model, precision
        self._damaged: set[tuple[str, int]] = set()
        self._file = SqliteFile(self.path, _SCHEMA, create=True)
        try:
            self._file.execute(
                "INSERT OR IGNORE INTO models (hash, created, version) VALUES (?, ?, ?)",
                *(model, datetime.now(UTC).isoformat(), version("sofa-softctl")),
            )
            self._model = self._file.row("SELECT id FROM models WHERE hash = ?", model)[0]
            stored_hash = self._file.row("SELECT hash FROM models WHERE id = ?", self._model)
            if stored_hash != (model,):
                raise self._damage_error("models")
        except BaseException:
            self.close()
            raise

    @property
    def damaged_count(self) -> int:
        """Number of damaged samples so far."""
        return len(self._damaged)

    def get(self, u: np.ndarray) -> MapSample | str | None:
        """Return the sample at a point or the reason of failure; None if unknown or damaged."""
        answers = self._read_point(u, "branch = 0")
        return answers[0] if answers else None

    def other_branches(self, u: np.ndarray) -> list[MapSample]:
        """Return the samples of all branches at a point except the first, in order of solution."""
        return [
            sample for sample in self._read_point(u, "branch > 0") if isinstance(sample, MapSample)
        ]

    def write_sample(
        self, u: np.ndarray, sample: MapSample, *, level: int = 0, branch: int = 0
    ) -> None:
        """Write the sample at a point [input], shape (d,); it is on disk when this returns.

        Args:
            u: Point.
            sample: Sample at the point.
            level: Level of the grid that needs the point.
            branch: Number of the solution at the point, 0 for the first.

        Raises:
            StoreError: The sample could not be written; the file is unchanged.
            ValueError: The sample is not finite, in the store's precision, or of a wrong shape.
        """
        dtype = PRECISIONS[self.precision]
        with np.errstate(over="ignore"):
            value = np.ascontiguousarray(sample.value, dtype)
            gradient = np.ascontiguousarray(sample.gradient, dtype)
        if gradient.shape not in ((len(value), np.size(u)), (len(value), 0)):
            raise ValueError(
                f"The gradient of {len(value)} outputs by {np.size(u)} inputs must have shape "
                f"{(len(value), np.size(u))}, or no columns. Got: {gradient.shape}"
            )
        if not (np.isfinite(value).all() and np.isfinite(gradient).all()):
            raise ValueError(f"The sample at u = {u} has numbers beyond {self.precision}.")
        blobs = self.precision, value.tobytes(), gradient.tobytes()
        self._write(_key(u), branch, level, *gradient.shape, *blobs, None)

    def write_failure(self, u: np.ndarray, message: str, *, level: int = 0) -> None:
        """Write the reason why the map has no solution at a point."""
        self._write(_key(u), 0, level, *[None] * 5, message)

    def forget_failed(self) -> int:
        """Delete failed points, so that they are evaluated again; return their number."""
        return self._file.execute(
            "DELETE FROM samples WHERE model = ? AND message IS NOT NULL", self._model
        )

    def __len__(self) -> int:
        query = "SELECT COUNT(*) FROM samples WHERE model = ?"
        return int(self._file.row(query, self._model)[0])

    def __iter__(self) -> Iterator[StoredPoint]:
        """Iterate over all samples that are not damaged."""
        query = f"SELECT {_COLUMNS}, checksum FROM samples WHERE model = ? ORDER BY rowid"
        for row in self._file.rows(query, self._model):
            if self._is_intact(row[0], row):
                yield _point_from_row(row)

    def points(self) -> np.ndarray:
        """Return the points of all samples and failures [input], shape (m, d), (0, 0) if empty."""
        query = "SELECT DISTINCT point FROM samples WHERE model = ? ORDER BY point"
        keys = [key for (key,) in self._file.rows(query, self._model)]
        return np.array([np.frombuffer(key, "<f8") for key in keys]) if keys else np.empty((0, 0))

    def info(self) -> StoreInfo:
        """Summarise the store; all samples are read."""
        points = [(point.level, point.branch, isinstance(point.answer, str)) for point in self]
        query = "SELECT created, version FROM models WHERE id = ?"
        created, creator_version = self._file.row(query, self._model)
        files = (self.path, Path(f"{self.path}-wal"))
        return StoreInfo(
            path=self.path,
            model=self.model,
            samples=dict(
                sorted(Counter(level for level, _, failed in points if not failed).items())
            ),
            failed=sum(failed for _, _, failed in points),
            branching=sum(branch == 1 for _, branch, _ in points),
            damaged=len(self) - len(points),
            models=self._file.row("SELECT COUNT(*) FROM models")[0],
            size=sum(file.stat().st_size for file in files if file.exists()),
            created=_date(created),
            version=creator_version,
            format=FORMAT,
        )

    def close(self) -> None:
        """Close the file. A second call does nothing."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, *row: Any) -> None:
        self._file.execute(_PUT, self._model, *row, self._checksum(row))

    def _read_point(self, u: np.ndarray, branch: str) -> list[MapSample | str]:
        query = (
            f"SELECT {_COLUMNS}, checksum FROM samples WHERE model = ? AND point = ? AND {branch} "
            "ORDER BY branch"
        )
        rows = self._file.rows(query, self._model, key := _key(u))
        return [_point_from_row(row).answer for row in rows if self._is_intact(key, row)]

    def _is_intact(self, key: bytes, row: tuple[Any, ...]) -> bool:
        """Return True if a row is unchanged since it was written, at the point of this key."""
        intact = row[-1] == self._checksum((key, *row[1:-1]))
        if not intact:
            self._damaged.add((repr(key), row[1]))
        return intact

    def _checksum(self, row: tuple[Any, ...]) -> bytes:
        """Return the checksum of the model's hash and all columns, with types and lengths."""
        digest = blake2b(self.model.encode(), digest_size=16)
        for value in row:
            data = value if isinstance(value, bytes) else repr(value).encode("utf-8", "replace")
            digest.update(f"{type(value).__name__} {len(data)} ".encode() + data)
        return digest.digest()

    def _damage_error(self, table: str) -> StoreError:
        return StoreError(
            f"{self.path}: the store is damaged (table '{table}'). Restore it from a copy, or "
            "choose another file."
        )


def _date(text: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None


def _point_from_row(row: tuple[Any, ...]) -> StoredPoint:
    """Convert an intact row."""
    key, branch, level, outputs, inputs, precision, value, gradient, message, _ = row
    u = np.frombuffer(key, "<f8").astype(float)
    if message is not None:
        return StoredPoint(u, level, branch, message)
    value_array, gradient_array = (
        np.frombuffer(b, PRECISIONS[precision]).astype(float) for b in (value, gradient)
    )
    return StoredPoint(
        u, level, branch, MapSample(value_array, gradient_array.reshape(outputs, inputs))
    )


def models_in(path: str | os.PathLike[str]) -> list[str]:
    """Return the content hashes of the models in an existing store, oldest first.

    Raises:
        StoreError: The file does not exist, is not a store, or is damaged.
    """
    if not Path(path).is_file():
        problem = "is a folder" if Path(path).is_dir() else "there is no such file"
        raise StoreError(f"{path}: {problem}. Give one that --store made.")
    with SqliteFile(path, _SCHEMA) as file:
        return [row[0] for row in file.rows("SELECT hash FROM models ORDER BY id")]


def _key(u: np.ndarray) -> bytes:
    """Return the key of a point; + 0.0 turns -0 into 0."""
    return (np.asarray(u, "<f8") + 0.0).astype("<f8").tobytes()
