"""The rows of a study on disk: Parquet files that are complete whenever a process is killed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sofa_softctl.base.files import raise_write_errors
from sofa_softctl.batch.study.row import Row, column, common_type, own_types, types_of
from sofa_softctl.errors import StudyError

MERGED_PARTS_MIN = 64
"""Number of small parts that are merged."""
SMALL_BYTES_MAX = 1_000_000
"""Maximum size of a small part [bytes]."""
_UNFINISHED = ".rows-"
"""First letters of folders of parts that are being written, outside the folder of the parts, of
which other programs read all files."""
_STUDY = b"study"
"""Key of a part's metadata: identifier of the study that it was written for."""


def parquet() -> Any:
    """Return pyarrow with its modules for Parquet and for arrays.

    Raises:
        StudyError: pyarrow is not installed.
    """
    try:
        import pyarrow.compute  # noqa: F401 - an attribute of pyarrow from then on
        import pyarrow.parquet  # noqa: F401
    except ImportError as error:
        from sofa_softctl.base.extras import install_command

        raise StudyError(
            "Tables of studies are Parquet files, for which pyarrow is needed: "
            f"{install_command('batch')}."
        ) from error
    return pyarrow


class Table:
    """Rows in a folder of parts, each written atomically, by one process.

    All parts have the same columns of the same types, also after a kill as soon as the next rows
    are written: other programs read the folder as one table.

    Args:
        folder: The folder; it is made with the first rows.
        study: Identifier of the study; parts of others are not read before `renumber`. With "",
            all are read.
    """

    def __init__(self, folder: Path, study: str = "") -> None:
        self.folder, self.study, self.pa = folder, study, parquet()
        self.damaged: list[str] = []
        """Parts that cannot be read, with the reason, when `read` was last called."""
        self._schemas: dict[Path, Any] = {}  # of parts that this object has read or written
        self._written: set[str] | None = None  # runs that have a row; None: not read yet

    def read(self, columns: Sequence[str] | None = None) -> Any:
        """Return the rows of all runs, each once, as a pyarrow.Table in the order of `index`.

        Args:
            columns: Columns to read, with `run` and `index`, or None for all.
        """
        gone = True
        while gone:  # merged meanwhile, by a process that writes
            self.damaged = []
            parts = self._parts()
            tables = [rows for part in parts if (rows := self._part(part, columns))]
            gone = not set(parts) <= set(self._parts())
        rows = self._join([table for table in tables if self._is_own(table.schema)], columns)
        return rows.filter(rows["index"].is_valid())

    def names(self) -> set[str]:
        """Return the names of all runs with a row, also if the study no longer has them."""
        parts = (self._part(part, ("run", "index")) for part in self._parts())
        return {name for part in parts if part for name in part["run"].to_pylist()}

    def status_by_run(self) -> dict[str, str]:
        """Return the status of each run with a row, by its name."""
        rows = self.read(("run", "index", "status"))
        return dict(zip(rows["run"].to_pylist(), rows["status"].to_pylist(), strict=True))

    def renumber(self, numbers: Mapping[str, int]) -> None:
        """Update the numbers of rows from their runs in the present study.

        Rows of runs that it no longer has are kept without a number, and not read. Of several rows
        of a run, which a killed writer may leave, the last stays.
        """
        visited: set[str] = set()
        for part in reversed(self._parts()):
            rows = self._part(part, ("run", "index"))
            if rows is None:
                continue
            names = rows["run"].to_pylist()
            new = [numbers.get(name) for name in names]
            stays = [name not in visited for name in names]
            visited.update(names)
            if all(stays) and new == rows["index"].to_pylist() and self._is_own(rows.schema):
                continue
            table = self._part(part, None)
            assert table is not None, "a part that was read a moment ago"
            k = table.schema.get_field_index("index")
            table = table.set_column(k, "index", self.pa.array(new, self.pa.int64()))
            self._replace(part, table.filter(self.pa.array(stays)))

    def set_damaged_aside(self) -> list[str]:
        """Move unreadable parts to the folder `damaged` next to this one, and describe them.

        Other programs read all files of this folder. The runs of these parts will be repeated.

        Raises:
            StudyError: They cannot be moved.
        """
        texts = []
        for part in self._parts():
            self.damaged = []
            if self._part(part, ("run", "index")) is None and self.damaged:
                target = self.folder.with_name("damaged") / part.name
                with raise_write_errors(target, StudyError):
                    target.parent.mkdir(exist_ok=True)
                    os.replace(part, target)
                texts.append(f"{self.damaged[0]} It is '{target}' now: its runs are done again.")
        return texts

    def append(self, rows: Sequence[Row]) -> None:
        """Write rows as another part, and remove older rows of the same runs.

        Many small parts are merged. If values of a column have several types, the column gets their
        common type, see `common_type`.

        Raises:
            StudyError: The rows cannot be written; earlier rows are kept.
        """
        for folder in self.folder.parent.glob(f"{_UNFINISHED}*"):  # of a writer that was killed
            shutil.rmtree(folder, ignore_errors=True)
        if rows:
            if self._written is None:
                self._written = self.names()
            names = {row["run"] for row in rows}
            path = self._write(self._table(rows))
            self._remove(names & self._written, (part for part in self._parts() if part != path))
            self._written |= names
        small = [part for part in self._parts() if part.stat().st_size < SMALL_BYTES_MAX]
        if len(small) >= MERGED_PARTS_MIN:
            self.merge(small)
        self._align()

    def merge(self, parts: Sequence[Path]) -> None:
        """Merge parts. If killed, it leaves rows twice, of which one is read."""
        tables = {part: rows for part in parts if (rows := self._part(part, None))}
        if not tables:
            return
        self._write(self._join(list(tables.values())))
        for part in tables:
            part.unlink(missing_ok=True)

    def remove(self, runs: Iterable[str]) -> None:
        """Remove the rows of these runs."""
        self._remove(runs, self._parts())

    def _remove(self, runs: Iterable[str], parts: Iterable[Path]) -> None:
        gone = self.pa.array(list(runs), self.pa.string())
        for part in parts if len(gone) else ():
            rows = self._part(part, None)
            if rows is None:
                continue
            stays = self.pa.compute.invert(self.pa.compute.is_in(rows["run"], value_set=gone))
            remaining = rows.filter(stays)
            if len(remaining) < len(rows):
                self._replace(part, remaining)

    def _table(self, rows: Sequence[Row]) -> Any:
        """Return a table of rows with all existing columns, of types that fit all values."""
        types = types_of(self.pa, rows)
        columns = {
            name: column(self.pa, [row.get(name) for row in rows], kind)
            for name, kind in types.items()
        }
        table = self.pa.table(columns)
        return self._cast(table, self._common_schema([*self._columns().values(), table.schema]))

    def _align(self) -> None:
        """Rewrite parts so that all have the same columns, of the same types."""
        schemas = self._columns()
        common = self._common_schema(schemas.values())
        for part, schema in schemas.items():
            if schema != common and (rows := self._part(part, None)):
                self._write(self._cast(rows, common), part)

    def _columns(self) -> dict[Path, Any]:
        """Return the columns of each part that is not damaged."""
        schemas = {part: self._schema(part) for part in self._parts()}
        return {part: schema for part, schema in schemas.items() if schema is not None}

    def _common_schema(self, schemas: Iterable[Any]) -> Any:
        """Return the columns of all parts, of types that fit all values."""
        types: dict[str, list[Any]] = {}
        for schema in _different(schemas):
            for field in schema:
                types.setdefault(field.name, []).append(field.type)
        fixed = own_types(self.pa)
        free = {name: common_type(self.pa, types[name]) for name in types if name not in fixed}
        return self.pa.schema(fixed | free)

    def _cast(self, table: Any, schema: Any) -> Any:
        """Return a table with these columns, in their order."""
        names = set(table.column_names)
        columns = [
            self.pa.nulls(len(table), field.type)
            if field.name not in names or self.pa.types.is_null(table[field.name].type)
            else table[field.name]
            if table[field.name].type == field.type
            else column(self.pa, table[field.name].to_pylist(), field.type)
            for field in schema
        ]
        return self.pa.table(columns, schema)

    def _join(self, tables: Sequence[Any], columns: Sequence[str] | None = None) -> Any:
        """Return the rows of tables in the order of `index`, the last of each run."""
        schema = self._common_schema([table.schema for table in tables])
        if columns is not None:
            schema = self.pa.schema([schema.field(name) for name in columns])
        joined = self.pa.concat_tables(
            [schema.empty_table(), *(self._cast(table, schema) for table in tables)]
        )
        return _each_once(self.pa, joined)

    def _is_own(self, schema: Any) -> bool:
        """Return True if a part was written for this study."""
        return not self.study or (schema.metadata or {}).get(_STUDY) == self.study.encode()

    def _parts(self) -> list[Path]:
        return sorted(self.folder.glob("part-*.parquet"))

    def _schema(self, path: Path) -> Any | None:
        """Return the columns of a part, or None if it is damaged."""
        if path not in self._schemas:
            self._schemas[path] = self._read(path, lambda file: file.schema_arrow)
        return self._schemas[path]

    def _part(self, path: Path, columns: Sequence[str] | None) -> Any | None:
        """Return the rows of a part, or None if it is damaged, or was merged meanwhile."""

        def read(file: Any) -> Any:
            if columns is None:
                return file.read()
            names = [name for name in columns if name in file.schema_arrow.names]
            return file.read(columns=names).select(names)

        return self._read(path, read)

    def _read(self, path: Path, take: Callable[[Any], Any]) -> Any | None:
        """Return the result of `take` for the ParquetFile of a part, or None, see `_part`."""
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
                if not (fault := self._fault_of(file.schema_arrow)):
                    return take(file)
            self.damaged.append(f"'{path}' is no part of a study: {fault}.")
        except (self.pa.ArrowException, OSError) as error:
            reason = str(error).splitlines()[0].rstrip(".")
            self.damaged.append(f"'{path}' is damaged: {reason:.200}.")
        return None

    def _fault_of(self, schema: Any) -> str:
        """Return the reason why a file with these columns is not a part, or ""."""
        if not {"run", "index"} <= set(schema.names):
            return "it has no columns 'run' and 'index'"
        for name, kind in own_types(self.pa).items():
            column_type = schema.field(name).type if name in schema.names else kind
            is_empty = self.pa.types.is_null(column_type) and name not in ("run", "index")
            if column_type != kind and not is_empty:
                return f"its column '{name}' is of the type {column_type}, not {kind}"
        return ""

    def _replace(self, part: Path, table: Any) -> None:
        """Rewrite a part, or delete it if it has no rows."""
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
            with TemporaryDirectory(prefix=_UNFINISHED, dir=self.folder.parent) as folder:
                new = Path(folder) / path.name
                self.pa.parquet.write_table(
                    table, new, compression="zstd", write_page_checksum=True
                )
                os.replace(new, path)
        self._schemas[path] = table.schema
        return path


def _different(schemas: Iterable[Any]) -> list[Any]:
    """Return each schema once; parts usually have the same."""
    schemas_once: list[Any] = []
    for schema in schemas:
        if schema not in schemas_once:
            schemas_once.append(schema)
    return schemas_once


def _each_once(pa: Any, table: Any) -> Any:
    """Return the rows in the order of `index`, the last of each run."""
    import numpy as np

    names = np.asarray(table["run"].to_numpy(zero_copy_only=False))
    _, last = np.unique(names[::-1], return_index=True)
    rows = table.take(pa.array(np.sort(len(names) - 1 - last)))
    return rows.sort_by("index")
