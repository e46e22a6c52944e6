"""The rows of a study on disk: Parquet files that are complete whenever a process is killed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sofa_softctl._internal.atomic_file import replacing
from sofa_softctl.batch.row import OWN, Row
from sofa_softctl.errors import StudyError

MERGED_FROM = 64
"""Small parts from which they become one."""
LARGE = 1_000_000
"""Size from which a part is not merged again [bytes]."""


def parquet() -> Any:
    """pyarrow and its module for Parquet.

    Raises:
        StudyError: It is not installed.
    """
    try:
        import pyarrow.parquet  # noqa: F401 - an attribute of pyarrow from then on
    except ImportError as error:
        raise StudyError(
            "Tables of studies are Parquet files, for which pyarrow is needed: "
            "pip install 'sofa-softctl[batch]'."
        ) from error
    return pyarrow


class Table:
    """Rows in a folder of parts, each written at once; one process writes.

    Args:
        folder: The folder; it is made with the first rows.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.pa = folder, parquet()
        self.damaged: list[str] = []
        """Parts that cannot be read, with the reason, when `read` was last called."""

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
        if not tables:
            return self.pa.table({name: self.pa.array([], self.pa.string()) for name in OWN})
        found = _each_once(self.pa, _joined(self.pa, tables))
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

        Rows of runs that it no longer has are kept without a number, and not read.
        """
        for part in self._parts():
            found = self._part(part, ("run", "index"))
            if found is None:
                continue
            new = [numbers.get(name) for name in found["run"].to_pylist()]
            if new != found["index"].to_pylist():
                whole = self._part(part, None)
                assert whole is not None, "a part that was read a moment ago"
                place = whole.schema.get_field_index("index")
                column = self.pa.array(new, self.pa.int64())
                self._write(whole.set_column(place, "index", column), part)

    def set_damaged_aside(self) -> list[str]:
        """Rename parts that cannot be read, whose runs are to be done again; in words.

        They are called damaged-part-NUMBER.parquet then.
        """
        told = []
        for part in self._parts():
            self.damaged = []
            if self._part(part, ("run", "index")) is None and self.damaged:
                aside = part.with_name(f"damaged-{part.name}")
                os.replace(part, aside)
                told.append(f"{self.damaged[0]} It is '{aside.name}' now: its runs are done again.")
        return told

    def append(self, rows: Sequence[Row]) -> None:
        """Write rows as another part; with many small parts, make them one.

        Raises:
            StudyError: They cannot be written: all that was written before is kept.
        """
        if rows:
            self._write(self.pa.Table.from_pylist(list(rows), self._schema(rows)))
        small = [part for part in self._parts() if part.stat().st_size < LARGE]
        if len(small) >= MERGED_FROM:
            self.merge(small)

    def merge(self, parts: Sequence[Path]) -> None:
        """Make parts one. Killed on the way, it leaves rows twice, of which one is read."""
        tables = {part: found for part in parts if (found := self._part(part, None))}
        if not tables:
            return
        self._write(_each_once(self.pa, _joined(self.pa, list(tables.values()))))
        for part in tables:
            part.unlink(missing_ok=True)

    def remove(self, runs: Iterable[str]) -> None:
        """Take the rows of these runs out."""
        gone = self.pa.array(list(runs), self.pa.string())
        for part in self._parts():
            found = self._part(part, None)
            if found is None:
                continue
            stays = self.pa.compute.invert(self.pa.compute.is_in(found["run"], value_set=gone))
            left = found.filter(stays)
            if len(left) == len(found):
                continue
            if len(left):
                self._write(left, part)
            else:
                part.unlink()

    def _parts(self) -> list[Path]:
        return sorted(self.folder.glob("part-*.parquet"))

    def _part(self, path: Path, columns: Sequence[str] | None) -> Any | None:
        """Rows of a part; None: it is damaged, or was merged meanwhile."""
        wanted = None if columns is None else list(columns)
        try:
            path.open("rb").close()
        except FileNotFoundError:  # it was merged meanwhile
            return None
        except OSError as error:
            raise StudyError(
                f"'{path}' cannot be read: {error.strerror}. Check its permissions."
            ) from error
        try:
            found = self.pa.parquet.read_table(
                path, columns=wanted, partitioning=None, page_checksum_verification=True
            )
        except (self.pa.ArrowException, OSError) as error:
            self.damaged.append(f"'{path}' is damaged: {str(error).splitlines()[0]:.200}.")
            return None
        if {"run", "index"} <= set(found.column_names):
            return found
        self.damaged.append(f"'{path}' is no part of a study: it has no columns 'run' and 'index'.")
        return None

    def _write(self, table: Any, path: Path | None = None) -> None:
        if path is None:
            last = max((int(part.stem[5:]) for part in self._parts()), default=0)
            path = self.folder / f"part-{last + 1:06d}.parquet"
        with replacing(path, StudyError) as temporary:
            self.pa.parquet.write_table(
                table, temporary, compression="zstd", write_page_checksum=True
            )

    def _schema(self, rows: Sequence[Mapping[str, Any]]) -> Any:
        """Columns of all rows, with whole numbers as floats: a measure may be either."""
        names = list(dict.fromkeys(name for row in rows for name in row))
        columns = {name: [row.get(name) for row in rows] for name in names}
        fields = [
            self.pa.field(name, _type(self.pa, name, values)) for name, values in columns.items()
        ]
        return self.pa.schema(fields)


def _type(pa: Any, name: str, values: Sequence[Any]) -> Any:
    if name == "index":
        return pa.int64()
    known = [value for value in values if value is not None]
    if any(isinstance(value, list) for value in known):
        entries = [each for value in known for each in (value if isinstance(value, list) else [])]
        return pa.list_(_type(pa, "", entries))
    if not known:
        return pa.null()
    if all(isinstance(value, bool) for value in known):
        return pa.bool_()
    if all(isinstance(value, bool | int | float) for value in known):
        return pa.float64()
    return pa.string()


def _joined(pa: Any, tables: Sequence[Any]) -> Any:
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowTypeError, pa.ArrowInvalid):  # a measure that is a text in one part
        return pa.concat_tables(
            [_as_texts(pa, table, tables) for table in tables], promote_options="permissive"
        )


def _as_texts(pa: Any, table: Any, tables: Sequence[Any]) -> Any:
    """With the columns as texts that are texts in any of the tables."""
    texts = {f.name for each in tables for f in each.schema if pa.types.is_string(f.type)}
    fields = [pa.field(f.name, pa.string() if f.name in texts else f.type) for f in table.schema]
    return table.cast(pa.schema(fields))


def _each_once(pa: Any, table: Any) -> Any:
    """Rows in the order of `index`, the last of each run."""
    import numpy as np

    names = np.asarray(table["run"].to_numpy(zero_copy_only=False))
    _, last = np.unique(names[::-1], return_index=True)
    kept = table.take(pa.array(np.sort(len(names) - 1 - last)))
    return kept.sort_by("index")
