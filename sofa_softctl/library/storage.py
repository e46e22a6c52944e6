"""Crash-safe SQLite storage of libraries, without pickle.

Table `about`: one row a name, values as JSON: version of the package, name and digest of the
problem, its parameters, limits and layout, and the state of building. Table `entries`: one row a
motion, its arrays as an .npz file and its observed error. New motions and the state of building are
written in one transaction.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self
from zipfile import BadZipFile

import numpy as np

from sofa_softctl._internal.atomic_file import replacing
from sofa_softctl._internal.sqlite_file import SqliteFile, SqliteSchema
from sofa_softctl.errors import LibraryError
from sofa_softctl.library.entry import Entry
from sofa_softctl.library.library import Shape, Signs, TrajectoryLibrary
from sofa_softctl.library.ocp.problem import Parameter

FORMAT = 1
"""Version of the tables, SQLite's user_version."""

_SCHEMA = SqliteSchema(
    name="library",
    content="a library of motions",
    application=0x6C696272,  # "libr"
    version=FORMAT,
    tables="""
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE entries (id INTEGER PRIMARY KEY, data BLOB NOT NULL, error REAL);
""",
    error=LibraryError,
)


class LibraryFile:
    """File of a library, open for reading and writing.

    Args:
        path: The file; it must exist, see `create`.

    Raises:
        LibraryError: There is no such file, it is no library, damaged, or newer.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if not self.path.is_file():
            what = "is a folder" if self.path.is_dir() else "there is no such library"
            raise LibraryError(f"{path}: {what}. Make a library with softctl library build.")
        self._file = SqliteFile(self.path, _SCHEMA)

    @staticmethod
    def create(path: str | os.PathLike[str], name: str, digest: str, shape: Shape) -> LibraryFile:
        """Create an empty library of a problem.

        Raises:
            LibraryError: The file exists, or cannot be written.
        """
        if Path(path).exists():
            raise LibraryError(f"{path} exists already. Choose another file, or go on with it.")
        about = {
            "version": version("sofa-softctl"),
            "problem": name,
            "digest": digest,
            "shape": _shape_to_json(shape),
            "state": None,
        }
        with (
            replacing(Path(path), LibraryError) as temporary,
            SqliteFile(temporary, _SCHEMA, create=True) as file,
            file.transaction(),
        ):
            for key, value in about.items():
                file.execute("INSERT INTO about VALUES (?, ?)", key, json.dumps(value))
        return LibraryFile(path)

    def about(self, name: str) -> Any:
        """A value by its name: version, problem, digest, state."""
        row = self._file.row("SELECT value FROM about WHERE name = ?", name)
        if row is None:
            raise LibraryError(f"{self.path}: the library is damaged: it has no {name}.")
        try:
            return json.loads(row[0])
        except ValueError as reason:
            raise LibraryError(
                f"{self.path}: the library is damaged: its {name} cannot be read ({reason}). "
                "Restore the file from a copy, or build it anew."
            ) from reason

    @property
    def shape(self) -> Shape:
        """Layout and limits of the problem."""
        return _shape_from_json(self.about("shape"))

    def check(self, digest: str) -> None:
        """Raise LibraryError unless the library is for the problem of this digest."""
        found = self.about("digest")
        if found != digest:
            raise LibraryError(
                f"{self.path}: the library is for another problem, '{self.about('problem')}' with "
                f"digest {found[:12]}. Got: {digest[:12]}. Build one for this problem, or take the "
                "problem that it was built for."
            )

    def __len__(self) -> int:
        return int(self._file.row("SELECT COUNT(*) FROM entries")[0])

    def library(self) -> TrajectoryLibrary:
        """All motions, in memory."""
        entries, errors = [], []
        query = "SELECT id, data, error FROM entries ORDER BY id"
        for number, data, error in self._file.rows(query):
            try:
                entries.append(Entry.from_bytes(data))
            except (ValueError, KeyError, OSError, EOFError, BadZipFile, zlib.error) as reason:
                raise LibraryError(
                    f"{self.path}: motion {number} is damaged ({reason}). Restore the file from a "
                    "copy, or build it anew."
                ) from reason
            errors.append(np.nan if error is None else error)
        return TrajectoryLibrary(self.shape, entries, errors)

    def append(self, entries: Sequence[Entry], errors: Sequence[float], state: Any) -> None:
        """Add motions, and update the errors of all and the state of building.

        Args:
            entries: New motions.
            errors: Errors of all motions of the library, these included.
            state: Values for JSON.

        Raises:
            LibraryError: It could not be written; the file is as it was.
        """
        with self._file.transaction():
            for entry in entries:
                self._file.execute("INSERT INTO entries (data) VALUES (?)", entry.to_bytes())
            for number, error in enumerate(errors, 1):
                value = None if np.isnan(error) else float(error)
                self._file.execute("UPDATE entries SET error = ? WHERE id = ?", value, number)
            self._file.execute("UPDATE about SET value = ? WHERE name = 'state'", json.dumps(state))

    def close(self) -> None:
        """Close the file. A second call does nothing."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def load(path: str | os.PathLike[str]) -> TrajectoryLibrary:
    """Load the library of a file.

    Raises:
        LibraryError: There is no such file, it is no library, damaged, or newer.
    """
    with LibraryFile(path) as file:
        return file.library()


def _shape_to_json(shape: Shape) -> dict[str, Any]:
    data: dict[str, Any] = {
        "parameters": [[each.name, each.lower, each.upper] for each in shape.parameters],
        "horizon": shape.horizon,
        "mirror": None,
        "states": list(shape.states),
        "inputs": list(shape.inputs),
    }
    for name in ("lower", "upper", "x_at", "u_at", "z_at"):
        data[name] = getattr(shape, name).tolist()
    if shape.mirror is not None:
        data["mirror"] = [shape.mirror.p.tolist(), shape.mirror.v.tolist()]
    return data


def _shape_from_json(data: dict[str, Any]) -> Shape:
    mirror = data["mirror"]
    states, inputs = (  # files of earlier versions do not name them
        data.get(name) or [f"{letter}_{k}" for k in range(len(data[places][0]))]
        for name, letter, places in (("states", "x", "x_at"), ("inputs", "u", "u_at"))
    )
    return Shape(
        parameters=tuple(Parameter(*each) for each in data["parameters"]),
        lower=np.array(data["lower"]),
        upper=np.array(data["upper"]),
        x_at=np.array(data["x_at"], int),
        u_at=np.array(data["u_at"], int),
        z_at=np.array(data["z_at"], int),
        horizon=data["horizon"],
        mirror=None if mirror is None else Signs(np.array(mirror[0]), np.array(mirror[1])),
        states=tuple(states),
        inputs=tuple(inputs),
    )
