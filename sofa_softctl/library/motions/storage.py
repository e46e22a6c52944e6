"""Crash-safe SQLite storage of libraries, without pickle.

Tables: `about`, JSON values by name: version of the package, name and digest of the problem, its
model without the formulas, state of building; `formulas`, tapes of the problem by name, as .npz
files; `entries`, one entry per row, as an .npz file; `trials`, trials on random tasks, several per
row. Each row has a checksum. New entries, trials and the state of building are written in one
transaction.
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

from sofa_softctl.base.files import replace_atomically
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
    outdated="It lacks data that this version needs to answer queries: build it again.",
    checked=True,
)


class LibraryFile:
    """File of a library, open for reading and writing.

    Args:
        path: The file; it must exist, see `create`.

    Raises:
        LibraryError: The file does not exist, is not a library, is damaged, or is newer.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if not self.path.is_file():
            reason = "is a folder" if self.path.is_dir() else "there is no such library"
            raise LibraryError(f"{path}: {reason}. Make a library with softctl library build.")
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
            replace_atomically(Path(path), LibraryError) as temporary,
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
        """Return a value by its name: version, problem, digest, model, state."""
        text = self._read_checked("SELECT value, checksum FROM about WHERE name = ?", name)
        try:
            return json.loads(text)
        except ValueError as reason:
            raise self._damage_error(name) from reason

    @cached_property
    def model(self) -> Model:
        """Model of the library's problem."""
        query = "SELECT data, checksum FROM formulas WHERE name = ?"
        try:
            tapes = {name: Tape.from_bytes(self._read_checked(query, name)) for name in FORMULAS}
            loaded_model = model_from_json(self.about("model"), tapes)
        except (KeyError, TypeError, ValueError) as reason:
            raise self._damage_error("model") from reason
        if loaded_model.digest != self.about("digest"):
            raise self._damage_error("model")
        return loaded_model

    def _read_checked(self, query: str, name: str) -> Any:
        """Return a value after checking its checksum."""
        row = self._file.row(query, name)
        if row is None or not isinstance(row[0], str | bytes) or _sum(row[0], name) != row[1]:
            raise self._damage_error(name)
        return row[0]

    def _damage_error(self, part: str) -> LibraryError:
        return LibraryError(
            f"{self.path}: the library is damaged: its {part} cannot be read. Restore the file "
            "from a copy, or build it anew."
        )

    def check(self, model: Model) -> None:
        """Raise LibraryError unless the library is for this problem and its tolerances."""
        saved_model = self.model
        if saved_model.digest != model.digest:
            raise LibraryError(
                f"{self.path}: the library is for another problem, '{saved_model.name}' with "
                f"digest {saved_model.digest[:12]}. Got: '{model.name}', {model.digest[:12]}. "
                "Build one for this problem, or take the problem that it was built for."
            )
        differences = [
            f"{name} {saved}, not {expected}"
            for (name, saved), expected in zip(
                _acceptance_terms(saved_model).items(),
                _acceptance_terms(model).values(),
                strict=True,
            )
            if saved != expected
        ]
        if differences:
            raise LibraryError(
                f"{self.path}: the library is for '{saved_model.name}' with "
                f"{'; '.join(differences)}. Give another --out for a library of this one."
            )

    def __len__(self) -> int:
        return int(self._file.row("SELECT COUNT(*) FROM entries")[0])

    def library(self) -> TrajectoryLibrary:
        """Read all entries and trials into memory."""
        loaded_library = TrajectoryLibrary(
            self.model, self._read_rows("entries", "motion", Entry.from_bytes)
        )
        parts = self._read_rows("trials", "record of trials", Trials.from_bytes)
        loaded_library.learn(Trials.concatenate(parts, len(self.model.parameters)))
        return loaded_library

    def _read_rows(self, table: str, label: str, read: Callable[[bytes], T]) -> list[T]:
        """Read all rows of a table."""
        values = []
        for number, data, checksum in self._file.rows(
            f"SELECT id, data, checksum FROM {table} ORDER BY id"
        ):
            if not isinstance(data, bytes) or _sum(data, f"{table} {number}") != checksum:
                raise self._damage_error(f"{label} {number}")
            try:
                values.append(read(data))
            except DAMAGED as reason:
                raise self._damage_error(f"{label} {number}") from reason
        return values

    def append(self, entries: Sequence[Entry], state: Any, trials: Trials) -> None:
        """Add entries and trials, and update the state of building.

        Args:
            entries: New entries.
            state: State of building, JSON-serialisable.
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
        """Counter that changes when another process, or `LibraryFile`, writes to the file."""
        return int(self._file.row("PRAGMA data_version")[0])

    @contextmanager
    def lock_for_writing(self) -> Iterator[None]:
        """Lock the file for writing by this process only.

        Raises:
            LibraryError: Another process holds the lock.
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
        LibraryError: The file does not exist, is not a library, is damaged, or is newer.
    """
    with LibraryFile(path) as file:
        return file.library()


def _sum(data: str | bytes, name: str) -> int:
    """Return the checksum of a record, including its name."""
    raw = data.encode() if isinstance(data, str) else data
    return zlib.crc32(raw, zlib.crc32(str(name).encode()))


def check_for_library(model: Model) -> None:
    """Raise LibraryError unless the problem declares an error and all tolerances."""
    requirements = {
        "error": model.tapes["error"].code.outputs == 1,
        "tolerance": np.isfinite(model.tolerance),
        "terminal_tolerances": bool(np.isfinite(model.terminal_tolerances).all()),
    }
    missing = [name for name, is_declared in requirements.items() if not is_declared]
    if missing:
        raise LibraryError(
            f"'{model.name}' needs {' and '.join(missing)}: a library tests each answer by them. "
            "Declare what an answer may miss by, in the units of the problem."
        )


def _acceptance_terms(model: Model) -> dict[str, Any]:
    """Return the tolerances and parameter ranges that answers are tested with, by name."""
    return {
        "tolerance": model.tolerance,
        "terminal_tolerances": list(model.terminal_tolerances),
        "cost_tolerance": model.cost_tolerance,
        "error of digest": model.tapes["error"].digest[:12],
        "parameters": [[parameter.lower, parameter.upper] for parameter in model.parameters],
        "plant": dict(model.plant),
    }


def model_to_json(model: Model) -> dict[str, Any]:
    """Return a model without its formulas, JSON-serialisable."""
    data = {name: getattr(model, name) for name in _JSON_FIELDS}
    for name in ("states", "inputs", "design"):
        data[name] = [
            [variable.name, _number(variable.lower), _number(variable.upper), variable.guess]
            for variable in getattr(model, name)
        ]
    data["parameters"] = [
        [variable.name, variable.lower, variable.upper] for variable in model.parameters
    ]
    data["plant"] = dict(model.plant)
    return data


def model_from_json(data: dict[str, Any], tapes: dict[str, Tape]) -> Model:
    """Return the model from `model_to_json` and its formulas."""
    plain: dict[str, Any] = {name: data[name] for name in _JSON_FIELDS}
    for name in ("terminal_tolerances", "path_scale"):
        plain[name] = tuple(plain[name])
    if plain["mirror"] is not None:
        plain["mirror"] = tuple(tuple(values) for values in plain["mirror"])
    variables: dict[str, Any] = {
        name: tuple(
            Variable(
                label, -np.inf if low is None else low, np.inf if high is None else high, guess
            )
            for label, low, high, guess in data[name]
        )
        for name in ("states", "inputs", "design")
    }
    parameters = tuple(Parameter(*values) for values in data["parameters"])
    return Model(
        **plain, **variables, parameters=parameters, plant=dict(data["plant"]), tapes=tapes
    )


_JSON_FIELDS = (
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
"""Fields of a `Model` that need no conversion to JSON."""


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
