"""SQLite files: opening, upgrades, transactions, and errors that name the file."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Self

from sofa_softctl.errors import SoftctlError

LOCK_TIMEOUT = 30.0
"""Time to wait for another process that writes to the same file [s]."""


@dataclass(frozen=True)
class SqliteSchema:
    """A file format: application_id, version and tables."""

    name: str
    """Word for such a file in messages, such as "store"."""
    content: str
    """Description of the content, such as "a store of samples"."""
    application: int
    """SQLite's application_id of such files."""
    version: int
    """Current version of the tables, SQLite's user_version."""
    tables: str
    """Statements that create the tables."""
    error: type[SoftctlError]
    """Class of all errors of such a file."""
    upgrades: Mapping[int, str] = field(default_factory=dict)
    """Statements that bring the tables of a version to the next one."""
    outdated: str = ""
    """Advice for a file of a version without upgrade."""
    write_ahead: bool = False
    """Use of a write-ahead log, so that readers do not wait for a writer."""
    checked: bool = False
    """Whether the whole structure of a file is checked when it is opened, before it is changed."""


class SqliteFile:
    """An open file.

    Args:
        path: File; it must exist, unless `create`.
        schema: Format of the file.
        create: Create the tables if the file is missing or empty.

    Raises:
        SoftctlError: `schema.error`: the file cannot be opened, has another format, or is newer.
    """

    def __init__(
        self, path: str | os.PathLike[str], schema: SqliteSchema, *, create: bool = False
    ) -> None:
        self.path, self.schema = Path(path), schema
        with self._errors():
            self._connection = sqlite3.connect(
                self.path, timeout=LOCK_TIMEOUT, isolation_level=None, check_same_thread=False
            )
            self._connection.text_factory = partial(str, encoding="utf-8", errors="replace")
            try:
                self._open(create)
            except BaseException:
                self.close()
                raise

    def execute(self, statement: str, *arguments: Any) -> int:
        """Run a statement and return the number of changed rows."""
        with self._errors():
            return self._connection.execute(statement, arguments).rowcount

    def row(self, query: str, *arguments: Any) -> Any:
        """Return the first row of a query's result, or None."""
        with self._errors():
            return self._connection.execute(query, arguments).fetchone()

    def rows(self, query: str, *arguments: Any) -> Iterator[Any]:
        """Yield the rows of a query's result."""
        with self._errors():
            yield from self._connection.execute(query, arguments)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Run the statements of the block as one transaction."""
        with self._errors():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Close the file. A second call does nothing."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self, create: bool) -> None:
        schema = self.schema
        if self._number("application_id") != schema.application:
            if not create:
                raise self._foreign()
            with self.transaction():  # another process may create it at the same time
                self._create()
        version = self._number("user_version")
        if version > schema.version:
            raise schema.error(
                f"{self.path}: the {schema.name} has format {version}, this version of softctl "
                f"reads formats up to {schema.version}. Update softctl or choose another file."
            )
        if version < schema.version and version not in schema.upgrades:
            raise schema.error(
                f"{self.path}: the {schema.name} has format {version}, this version of softctl "
                f"reads format {schema.version}. {schema.outdated}".strip()
            )
        if schema.checked:
            self._check()
        if schema.write_ahead:
            self._write_ahead()
        if version in schema.upgrades:
            with self.transaction():  # another process may have been faster
                while (version := self._number("user_version")) in schema.upgrades:
                    self._alter(schema.upgrades[version], version + 1)

    def _create(self) -> None:
        application = self._number("application_id")
        if application == self.schema.application:
            return
        if application or self.row("SELECT 1 FROM sqlite_master"):
            raise self._foreign()
        self._alter(self.schema.tables, self.schema.version)
        self.execute(f"PRAGMA application_id = {self.schema.application}")

    def _check(self) -> None:
        """Raise an error if the structure is damaged; rebuild indices if only they are wrong."""
        query = "PRAGMA integrity_check(1)"
        if self.row(query)[0] == "ok":
            return
        with self.transaction():  # rolled back unless the indices were the only fault
            self.execute("REINDEX")
            message = self.row(query)[0]
            if message != "ok":
                raise self._error(*_MEANINGS["SQLITE_CORRUPT"], cause=message.splitlines()[-1])

    def _write_ahead(self) -> None:
        end = time.monotonic() + LOCK_TIMEOUT
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode = WAL")
                break
            except sqlite3.OperationalError as error:  # SQLite does not wait here
                if error.sqlite_errorname != "SQLITE_BUSY" or time.monotonic() > end:
                    raise
                time.sleep(0.01)
        self._connection.execute("PRAGMA synchronous = FULL")

    def _foreign(self) -> SoftctlError:
        return self.schema.error(
            f"{self.path}: expected {self.schema.content}. Choose another file."
        )

    def _alter(self, statements: str, version: int) -> None:
        for statement in filter(str.strip, statements.split(";")):
            self.execute(statement)
        self.execute(f"PRAGMA user_version = {version}")

    def _number(self, name: str) -> int:
        return int(self.row(f"PRAGMA {name}")[0])

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        """Raise SQLite's errors as `schema.error`, with the file and what to do."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorname", "")
            problem, advice = next(
                (meaning for prefix, meaning in _MEANINGS.items() if code.startswith(prefix)),
                (
                    f"cannot be used ({error})",
                    "Check the path and whether it may be written; if it is damaged, restore it "
                    "from a copy, or choose another file.",
                ),
            )
            raise self._error(problem, advice) from error
        except UnicodeDecodeError as error:  # a damaged name, in a message of SQLite
            raise self._error(*_MEANINGS["SQLITE_CORRUPT"]) from error

    def _error(self, problem: str, advice: str, *, cause: str = "") -> SoftctlError:
        because = f" ({cause})" if cause else ""
        return self.schema.error(
            f"{self.path}: the {self.schema.name} {problem}{because}. {advice}"
        )


_MEANINGS = {
    "SQLITE_FULL": (
        "cannot grow, the disk is full",
        "Free some space and continue: what was saved before is intact.",
    ),
    "SQLITE_NOTADB": ("is not a SQLite file", "Choose another file."),
    "SQLITE_CORRUPT": ("is damaged", "Restore it from a copy, or choose another file."),
    "SQLITE_IOERR": (
        "could not be read or written (disk I/O error)",
        "Check the disk, its space and limits of file sizes: what was saved before is intact.",
    ),
    "SQLITE_BUSY": (
        f"was held by another process for {LOCK_TIMEOUT:.0f} s",
        "End that process, or choose another file.",
    ),
    "SQLITE_CANTOPEN": ("cannot be opened", "Choose a folder that exists and may be written to."),
    "SQLITE_READONLY": ("may not be written", "Choose a file that may be written to."),
}
"""SQLite's error codes: meaning and advice."""
