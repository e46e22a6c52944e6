"""The rows of a study on disk: Parquet files that are complete whenever a process is killed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sofa_softctl.base.files import raise_write_errors
from sofa_softctl.batch.study.row import Row, column, common, own_types, types_of
from sofa_softctl.errors import StudyError

MERGED_FROM = 64
"""Small parts from which they become one."""
LARGE = 1_000_000
"""Size from which a part is not merged again [bytes]."""
_UNFINISHED = ".rows-"
"""First letters of folders of parts that are being written, outside the folder of the parts, of
which other programs read all files."""
_STUDY = b"study"
"""Of a part's metadata: identifier of the study that it was written for."""


def parquet() -> Any:
    """pyarrow, with its modules for Parquet and for arrays.

    Raises:
        StudyError: It is not installed.
    """
    try:
        import pyarrow.compute  # noqa: F401 - an attribute of pyarrow from then on
        import pyarrow.parquet  # noqa: F401
    except ImportError as error:
        raise StudyError(
            "Tables of studies are Parquet files, for which pyarrow is needed: "
            "pip install 'sofa-softctl[batch]'."
        ) from error
    return pyarrow


class Table:
    """Rows in a folder of parts, each written at once; one process writes.

    All parts have the same columns of the same types, also after a kill as soon as the next rows
    are written: other programs read the folder as one table.

    Args:
        folder: The folder; it is made with the first rows.
        study: Identifier of the study; parts of others are not read before `renumber`. Empty: all
            are read.
    """

    def __init__(self, folder: Path, study: str = "") -> None:
        self.folder, self.study, self.pa = folder, study, parquet()
        self.damaged: list[str] = []
        """Parts that cannot be read, with the reason, when `read` was last called."""
        self._schemas: dict[Path, Any] = {}  # of parts that this object has read or written
        self._written: set[str] | None = None  # runs that have a row; None: not read yet

    def read(self, columns: Sequence[str] | None = None) -> Any:
        """Rows of all runs of the study, each once, as a pyarrow.Table in the order of `index`.

        Args:
            columns: Those to read, `run` and `index` among them; None: all.
        """
        gone = True
        while gone:  # merged meanwhile, by a process that writes
            self.damaged = []
            parts = self._parts()
            tables = [found for part in parts if (found := self._part(part, columns))]
            gone = not set(parts) <= set(self._parts())
        found = self._joined([each for each in tables if self._is_own(each.schema)], columns)
        return found.filter(found["index"].is_valid())

    def names(self) -> set[str]:
        """Names of all runs that have a row, also of those that the study no longer has."""
        parts = (self._part(part, ("run", "index")) for part in self._parts())
        return {name for part in parts if part for name in part["run"].to_pylist()}

    def done(self) -> dict[str, str]:
        """Status of each run that is there, by its name."""
        found = self.read(("run", "index", "status"))
        return dict(zip(found["run"].to_pylist(), found["status"].to_pylist(), strict=True))

    def renumber(self, numbers: Mapping[str, int]) -> None:
        """Give rows the numbers that their runs have in the study now.

        Rows of runs that it no longer has are kept without a number, and not read. Of rows of the
        same run, as a writer that was killed leaves them, the last stays.
        """
        seen: set[str] = set()
        for part in reversed(self._parts()):
            found = self._part(part, ("run", "index"))
            if found is None:
                continue
            names = found["run"].to_pylist()
            new = [numbers.get(name) for name in names]
            stays = [name not in seen for name in names]
            seen.update(names)
            if all(stays) and new == found["index"].to_pylist() and self._is_own(found.schema):
                continue
            whole = self._part(part, None)
            assert whole is not None, "a part that was read a moment ago"
            place = whole.schema.get_field_index("index")
            whole = whole.set_column(place, "index", self.pa.array(new, self.pa.int64()))
            self._replace(part, whole.filter(self.pa.array(stays)))

    def set_damaged_aside(self) -> list[str]:
        """Move parts that cannot be read, whose runs are to be done again; in words.

        They are in the folder `damaged` beside this one then: other programs read all files of it.

        Raises:
            StudyError: They cannot be moved.
        """
        told = []
        for part in self._parts():
            self.damaged = []
            if self._part(part, ("run", "index")) is None and self.damaged:
                aside = self.folder.with_name("damaged") / part.name
                with raise_write_errors(aside, StudyError):
                    aside.parent.mkdir(exist_ok=True)
                    os.replace(part, aside)
                told.append(f"{self.damaged[0]} It is '{aside}' now: its runs are done again.")
        return told

    def append(self, rows: Sequence[Row]) -> None:
        """Write rows as another part, in place of those of the same runs that are there.

        With many small parts, make them one. Values of a column that are of other types than those
        that are there, or among each other, change the column's type, see `common`.

        Raises:
            StudyError: They cannot be written: all that was written before is kept.
        """
        for rest in self.folder.parent.glob(f"{_UNFINISHED}*"):  # of a writer that was killed
            shutil.rmtree(rest, ignore_errors=True)
        if rows:
            if self._written is None:
                self._written = self.names()
            names = {row["run"] for row in rows}
            path = self._write(self._table(rows))
            self._remove(names & self._written, (part for part in self._parts() if part != path))
            self._written |= names
        small = [part for part in self._parts() if part.stat().st_size < LARGE]
        if len(small) >= MERGED_FROM:
            self.merge(small)
        self._align()

    def merge(self, parts: Sequence[Path]) -> None:
        """Make parts one. Killed on the way, it leaves rows twice, of which one is read."""
        tables = {part: found for part in parts if (found := self._part(part, None))}
        if not tables:
            return
        self._write(self._joined(list(tables.values())))
        for part in tables:
            part.unlink(missing_ok=True)

    def remove(self, runs: Iterable[str]) -> None:
        """Take the rows of these runs out."""
        self._remove(runs, self._parts())

    def _remove(self, runs: Iterable[str], parts: Iterable[Path]) -> None:
        gone = self.pa.array(list(runs), self.pa.string())
        for part in parts if len(gone) else ():
            found = self._part(part, None)
            if found is None:
                continue
            stays = self.pa.compute.invert(self.pa.compute.is_in(found["run"], value_set=gone))
            left = found.filter(stays)
            if len(left) < len(found):
                self._replace(part, left)

    def _table(self, rows: Sequence[Row]) -> Any:
        """Rows with all columns that are there, of types that have the values of both."""
        types = types_of(self.pa, rows)
        columns = {
            name: column(self.pa, [row.get(name) for row in rows], kind)
            for name, kind in types.items()
        }
        found = self.pa.table(columns)
        return self._cast(found, self._common([*self._known().values(), found.schema]))

    def _align(self) -> None:
        """Give all parts the same columns, of the same types."""
        schemas = self._known()
        whole = self._common(schemas.values())
        for part, schema in schemas.items():
            if schema != whole and (found := self._part(part, None)):
                self._write(self._cast(found, whole), part)

    def _known(self) -> dict[Path, Any]:
        """Columns of each part that is not damaged."""
        found = {part: self._schema(part) for part in self._parts()}
        return {part: schema for part, schema in found.items() if schema is not None}

    def _common(self, schemas: Iterable[Any]) -> Any:
        """Columns of all parts, each of the type that has all of its values."""
        types: dict[str, list[Any]] = {}
        for schema in _different(schemas):
            for field in schema:
                types.setdefault(field.name, []).append(field.type)
        own = own_types(self.pa)
        others = {name: common(self.pa, types[name]) for name in types if name not in own}
        return self.pa.schema(own | others)

    def _cast(self, table: Any, schema: Any) -> Any:
        """A table with these columns, in their order."""
        there = set(table.column_names)
        columns = [
            self.pa.nulls(len(table), field.type)
            if field.name not in there or self.pa.types.is_null(table[field.name].type)
            else table[field.name]
            if table[field.name].type == field.type
            else column(self.pa, table[field.name].to_pylist(), field.type)
            for field in schema
        ]
        return self.pa.table(columns, schema)

    def _joined(self, tables: Sequence[Any], columns: Sequence[str] | None = None) -> Any:
        """Rows of tables in the order of `index`, the last of each run."""
        schema = self._common([table.schema for table in tables])
        if columns is not None:
            schema = self.pa.schema([schema.field(name) for name in columns])
        whole = self.pa.concat_tables(
            [schema.empty_table(), *(self._cast(table, schema) for table in tables)]
        )
        return _each_once(self.pa, whole)

    def _is_own(self, schema: Any) -> bool:
        """Whether a part was written for this study."""
        return not self.study or (schema.metadata or {}).get(_STUDY) == self.study.encode()

    def _parts(self) -> list[Path]:
        return sorted(self.folder.glob("part-*.parquet"))

    def _schema(self, path: Path) -> Any | None:
        """Columns of a part; None: it is damaged."""
        if path not in self._schemas:
            self._schemas[path] = self._opened(path, lambda file: file.schema_arrow)
        return self._schemas[path]

    def _part(self, path: Path, columns: Sequence[str] | None) -> Any | None:
        """Rows of a part; None: it is damaged, or was merged meanwhile."""

        def read(file: Any) -> Any:
            if columns is None:
                return file.read()
            there = [name for name in columns if name in file.schema_arrow.names]
            return file.read(columns=there).select(there)

        return self._opened(path, read)

    def _opened(self, path: Path, take: Callable[[Any], Any]) -> Any | None:
        """What is taken of the ParquetFile of a part; None: see `_part`."""
        try:
            path.open("rb").close()
        except FileNotFoundError:  # it was merged meanwhile
            return None
        except OSError as error:
            raise StudyError(
                f"'{path}' cannot be read: {error.strerror}. Check its permissions."
            ) from error
        try:
            with self.pa.parquet.ParquetFile(path, page_checksum_verification=True) as file:
                if not (wrong := self._wrong(file.schema_arrow)):
                    return take(file)
            self.damaged.append(f"'{path}' is no part of a study: {wrong}.")
        except (self.pa.ArrowException, OSError) as error:
            why = str(error).splitlines()[0].rstrip(".")
            self.damaged.append(f"'{path}' is damaged: {why:.200}.")
        return None

    def _wrong(self, schema: Any) -> str:
        """Why a file with these columns is no part, in words; empty: it is one."""
        if not {"run", "index"} <= set(schema.names):
            return "it has no columns 'run' and 'index'"
        for name, kind in own_types(self.pa).items():
            found = schema.field(name).type if name in schema.names else kind
            empty = self.pa.types.is_null(found) and name not in ("run", "index")
            if found != kind and not empty:
                return f"its column '{name}' is of the type {found}, not {kind}"
        return ""

    def _replace(self, part: Path, table: Any) -> None:
        """Write a part anew; one without rows goes."""
        if len(table):
            self._write(table, part)
        else:
            part.unlink()

    def _write(self, table: Any, path: Path | None = None) -> Path:
        if path is None:
            last = max((int(part.stem[5:]) for part in self._parts()), default=0)
            path = self.folder / f"part-{last + 1:06d}.parquet"
        table = table.replace_schema_metadata({_STUDY: self.study})
        with raise_write_errors(path, StudyError):
            self.folder.mkdir(parents=True, exist_ok=True)
            with TemporaryDirectory(prefix=_UNFINISHED, dir=self.folder.parent) as beside:
                new = Path(beside) / path.name
                self.pa.parquet.write_table(
                    table, new, compression="zstd", write_page_checksum=True
                )
                os.replace(new, path)
        self._schemas[path] = table.schema
        return path


def _different(schemas: Iterable[Any]) -> list[Any]:
    """Each schema once: parts have the same ones, as a rule."""
    found: list[Any] = []
    for schema in schemas:
        if schema not in found:
            found.append(schema)
    return found


def _each_once(pa: Any, table: Any) -> Any:
    """Rows in the order of `index`, the last of each run."""
    import numpy as np

    names = np.asarray(table["run"].to_numpy(zero_copy_only=False))
    _, last = np.unique(names[::-1], return_index=True)
    kept = table.take(pa.array(np.sort(len(names) - 1 - last)))
    return kept.sort_by("index")
