"""Crash-safe SQLite storage of libraries, without pickle.

Table `about`: one row a name, values as JSON: version of the package, name and digest of the
problem, its model without the formulas, and the state of building. Table `formulas`: the tapes of
the problem, each an .npz file. Table `entries`: one row a motion, its arrays as an .npz file. Table
`trials`: its motions' trials on random tasks, some a row. Each row has a checksum. New motions,
trials and the state of building are written in one transaction.
"""

from __future__ import annotations

import fcntl
import json
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np

from sofa_softctl.base.files import replacing
from sofa_softctl.base.sqlite_file import SqliteFile, SqliteSchema
from sofa_softctl.errors import LibraryError
from sofa_softctl.library.motions.entry import Entry
from sofa_softctl.library.motions.library import TrajectoryLibrary
from sofa_softctl.library.motions.trials import Trials
from sofa_softctl.library.ocp.model import FORMULAS, Model
from sofa_softctl.library.ocp.problem import Parameter, Variable
from sofa_softctl.library.ocp.tape import DAMAGED, Tape

T = TypeVar("T")

FORMAT = 3
"""Version of the tables, SQLite's user_version."""

_SCHEMA = SqliteSchema(
    name="library",
    content="a library of motions",
    application=0x6C696272,  # "libr"
    version=FORMAT,
    tables="""
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL, checksum INTEGER NOT NULL);
CREATE TABLE formulas (name TEXT PRIMARY KEY, data BLOB NOT NULL, checksum INTEGER NOT NULL);
CREATE TABLE entries (id INTEGER PRIMARY KEY, data BLOB NOT NULL, checksum INTEGER NOT NULL);
CREATE TABLE trials (id INTEGER PRIMARY KEY, data BLOB NOT NULL, checksum INTEGER NOT NULL);
""",
    error=LibraryError,
    outdated="It lacks what answers need now: build it anew.",
    checked=True,
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
    def create(path: str | os.PathLike[str], model: Model) -> LibraryFile:
        """Create an empty library of a problem.

        Raises:
            LibraryError: The file exists, or cannot be written; the problem lacks what tests of
                answers need.
        """
        check_for_library(model)
        if Path(path).exists():
            raise LibraryError(f"{path} exists already. Choose another file, or go on with it.")
        about = {
            "version": version("sofa-softctl"),
            "problem": model.name,
            "digest": model.digest,
            "model": model_to_json(model),
            "state": None,
        }
        with (
            replacing(Path(path), LibraryError) as temporary,
            SqliteFile(temporary, _SCHEMA, create=True) as file,
            file.transaction(),
        ):
            for key, value in about.items():
                text = json.dumps(value)
                file.execute("INSERT INTO about VALUES (?, ?, ?)", key, text, _sum(text, key))
            for key, tape in model.tapes.items():
                data = tape.to_bytes()
                file.execute("INSERT INTO formulas VALUES (?, ?, ?)", key, data, _sum(data, key))
        return LibraryFile(path)

    def about(self, name: str) -> Any:
        """A value by its name: version, problem, digest, model, state."""
        text = self._checked("SELECT value, checksum FROM about WHERE name = ?", name)
        try:
            return json.loads(text)
        except ValueError as reason:
            raise self._damaged(name) from reason

    @cached_property
    def model(self) -> Model:
        """Model of its problem."""
        query = "SELECT data, checksum FROM formulas WHERE name = ?"
        try:
            tapes = {name: Tape.from_bytes(self._checked(query, name)) for name in FORMULAS}
            found = model_from_json(self.about("model"), tapes)
        except (KeyError, TypeError, ValueError) as reason:
            raise self._damaged("model") from reason
        if found.digest != self.about("digest"):
            raise self._damaged("model")
        return found

    def _checked(self, query: str, name: str) -> Any:
        """A value whose checksum is right."""
        row = self._file.row(query, name)
        if row is None or not isinstance(row[0], str | bytes) or _sum(row[0], name) != row[1]:
            raise self._damaged(name)
        return row[0]

    def _damaged(self, what: str) -> LibraryError:
        return LibraryError(
            f"{self.path}: the library is damaged: its {what} cannot be read. Restore the file "
            "from a copy, or build it anew."
        )

    def check(self, model: Model) -> None:
        """Raise LibraryError unless the library is for this problem and its tolerances."""
        own = self.model
        if own.digest != model.digest:
            raise LibraryError(
                f"{self.path}: the library is for another problem, '{own.name}' with digest "
                f"{own.digest[:12]}. Got: '{model.name}', {model.digest[:12]}. Build one for this "
                "problem, or take the problem that it was built for."
            )
        unlike = [
            f"{name} {ours}, not {theirs}"
            for (name, ours), theirs in zip(
                _promised(own).items(), _promised(model).values(), strict=True
            )
            if ours != theirs
        ]
        if unlike:
            raise LibraryError(
                f"{self.path}: the library is for '{own.name}' with {'; '.join(unlike)}. Give "
                "another --out for a library of this one."
            )

    def __len__(self) -> int:
        return int(self._file.row("SELECT COUNT(*) FROM entries")[0])

    def library(self) -> TrajectoryLibrary:
        """All motions, in memory, and what is known of them."""
        found = TrajectoryLibrary(self.model, self._all("entries", "motion", Entry.from_bytes))
        parts = self._all("trials", "record of trials", Trials.from_bytes)
        found.learn(Trials.joined(parts, len(self.model.parameters)))
        return found

    def _all(self, table: str, what: str, read: Callable[[bytes], T]) -> list[T]:
        """All rows of a table."""
        found = []
        for number, data, checksum in self._file.rows(
            f"SELECT id, data, checksum FROM {table} ORDER BY id"
        ):
            if not isinstance(data, bytes) or _sum(data, f"{table} {number}") != checksum:
                raise self._damaged(f"{what} {number}")
            try:
                found.append(read(data))
            except DAMAGED as reason:
                raise self._damaged(f"{what} {number}") from reason
        return found

    def append(self, entries: Sequence[Entry], state: Any, trials: Trials) -> None:
        """Add motions and trials, and update the state of building.

        Args:
            entries: New motions.
            state: Values for JSON.
            trials: New trials.

        Raises:
            LibraryError: It could not be written; the file is as it was.
        """
        with self._file.transaction():
            for entry in entries:
                self._add("entries", entry.to_bytes())
            if len(trials):
                self._add("trials", trials.to_bytes())
            text = json.dumps(state)
            self._file.execute(
                "UPDATE about SET value = ?, checksum = ? WHERE name = 'state'",
                text,
                _sum(text, "state"),
            )

    def _add(self, table: str, data: bytes) -> None:
        """Add a row to a table."""
        number = 1 + int(self._file.row(f"SELECT COUNT(*) FROM {table}")[0])
        checksum = _sum(data, f"{table} {number}")
        self._file.execute(f"INSERT INTO {table} VALUES (?, ?, ?)", number, data, checksum)

    @property
    def changes(self) -> int:
        """A number that changes when another process, or `LibraryFile`, writes to the file."""
        return int(self._file.row("PRAGMA data_version")[0])

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Be its only writer.

        Raises:
            LibraryError: Another process is.
        """
        with open(self.path, "rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise LibraryError(
                    f"{self.path}: another process builds this library. Wait until it ends, or "
                    "give another --out."
                ) from error
            yield

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


def _sum(data: str | bytes, name: str) -> int:
    """Checksum of a record, its name included."""
    raw = data.encode() if isinstance(data, str) else data
    return zlib.crc32(raw, zlib.crc32(str(name).encode()))


def check_for_library(model: Model) -> None:
    """Raise LibraryError unless the problem has what tests of its answers need."""
    missing = {
        "error": model.tapes["error"].code.outputs == 1,
        "tolerance": np.isfinite(model.tolerance),
        "terminal_tolerances": bool(np.isfinite(model.terminal_tolerances).all()),
    }
    lacking = [name for name, there in missing.items() if not there]
    if lacking:
        raise LibraryError(
            f"'{model.name}' needs {' and '.join(lacking)}: a library tests each answer by them. "
            "Declare what an answer may miss by, in the units of the problem."
        )


def _promised(model: Model) -> dict[str, Any]:
    """What answers of a library are tested by, and for which tasks, by names."""
    return {
        "tolerance": model.tolerance,
        "terminal_tolerances": list(model.terminal_tolerances),
        "cost_tolerance": model.cost_tolerance,
        "error of digest": model.tapes["error"].digest[:12],
        "parameters": [[each.lower, each.upper] for each in model.parameters],
        "plant": dict(model.plant),
    }


def model_to_json(model: Model) -> dict[str, Any]:
    """A model without its formulas, for JSON."""
    data = {name: getattr(model, name) for name in _PLAIN}
    for name in ("states", "inputs", "design"):
        data[name] = [
            [each.name, _number(each.lower), _number(each.upper), each.guess]
            for each in getattr(model, name)
        ]
    data["parameters"] = [[each.name, each.lower, each.upper] for each in model.parameters]
    data["plant"] = dict(model.plant)
    return data


def model_from_json(data: dict[str, Any], tapes: dict[str, Tape]) -> Model:
    """The model from `model_to_json` and its formulas."""
    plain: dict[str, Any] = {name: data[name] for name in _PLAIN}
    for name in ("terminal_tolerances", "path_scale"):
        plain[name] = tuple(plain[name])
    if plain["mirror"] is not None:
        plain["mirror"] = tuple(tuple(each) for each in plain["mirror"])
    variables: dict[str, Any] = {
        name: tuple(
            Variable(word, -np.inf if low is None else low, np.inf if high is None else high, guess)
            for word, low, high, guess in data[name]
        )
        for name in ("states", "inputs", "design")
    }
    parameters = tuple(Parameter(*each) for each in data["parameters"])
    return Model(
        **plain, **variables, parameters=parameters, plant=dict(data["plant"]), tapes=tapes
    )


_PLAIN = (
    "name",
    "horizon",
    "intervals",
    "steps",
    "tolerance",
    "terminal_tolerances",
    "cost_tolerance",
    "margin",
    "path_scale",
    "mirror",
    "error_unit",
    "cost_unit",
)
"""Fields of a `Model` that are JSON as they are."""


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
