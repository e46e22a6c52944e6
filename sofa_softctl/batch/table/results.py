"""Results of a study, read from its folder, also during its runs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl.base.suggestions import did_you_mean
from sofa_softctl.batch.study.file import parse_study
from sofa_softctl.batch.study.row import OK, OWN, STATUSES, column_of, common_type, to_type, type_of
from sofa_softctl.batch.study.study import Run, Study
from sofa_softctl.batch.table.folder import SUFFIX, read_about
from sofa_softctl.batch.table.table import Table, parquet
from sofa_softctl.errors import StudyError

ENTRIES_MAX = 6
"""Maximum number of entries of a vector that are shown separately."""


@dataclass(frozen=True)
class Results:
    """The rows of a study."""

    path: Path
    """Folder of the study."""
    name: str
    """Name of the study."""
    runs: int
    """Number of runs; some may have no row yet."""
    rows: Any
    """pyarrow.Table with a row for each completed run, in the order of their numbers."""
    parameters: tuple[str, ...]
    """Columns of the parameters."""
    measures: tuple[str, ...]
    """Columns of the measures."""
    damaged: tuple[str, ...]
    """Descriptions of files of rows that cannot be read."""
    about: Mapping[str, Any]
    """Versions, and digests of files, that the rows are based on."""

    def numbers(self, column: str) -> np.ndarray:
        """Return the values of a column as numbers, NaN if missing, shape (n,).

        Args:
            column: Name of the column; of vectors 'NAME[0]' is the first entry.

        Raises:
            StudyError: The column is unknown, or has no numbers.
        """
        name, position = self._entry(column)
        if name not in self.rows.column_names:
            hint = did_you_mean(column, self.rows.column_names)
            raise StudyError(
                f"'{self.path}' has no column '{column}'.{hint} It has: "
                f"{', '.join((*self.parameters, *self.measures))}."
            )
        values = self.rows[name].to_pylist()
        if position is not None and self._lists_numbers(name):
            values = [v[position] if v is not None and len(v) > position else None for v in values]
        elif not self.numeric(name):
            several = f" Name an entry, such as '{name}[0]'." * self._lists_numbers(name)
            raise StudyError(f"The column '{column}' of '{self.path}' holds no numbers.{several}")
        return np.array([np.nan if value is None else float(value) for value in values])

    def numeric(self, column: str) -> bool:
        """Return True if a column has numbers, or truth values."""
        kind = str(self.rows.schema.field(column).type)
        return kind in ("double", "float", "int64", "bool")

    @property
    def number_columns(self) -> tuple[str, ...]:
        """Measures that are numbers, and the first entries of those that are vectors."""
        names: list[str] = []
        for name in self.measures:
            if self.numeric(name):
                names.append(name)
            elif self._lists_numbers(name):
                longest = max((len(v) for v in self.rows[name].to_pylist() if v), default=0)
                names += [f"{name}[{k}]" for k in range(min(longest, ENTRIES_MAX))]
        return tuple(names)

    def idle_parameters(self) -> list[str]:
        """Return parameters that change nothing: runs that differ only in them have equal rows."""
        ended = [k for k, s in enumerate(self.rows["status"].to_pylist()) if s == OK]
        columns = [self.numbers(name)[ended] for name in self.number_columns]
        if not columns or not ended:
            return []
        results = [row.tobytes() for row in np.column_stack(columns)]
        columns_by_name = {name: self.rows[name].to_pylist() for name in self.parameters}
        values = {
            name: [repr(column[k]) for k in ended] for name, column in columns_by_name.items()
        }
        return [name for name in values if _is_idle(name, values, results)]

    @property
    def logarithmic(self) -> frozenset[str]:
        """Columns of parameters that are spaced evenly in their logarithms."""
        return frozenset(map(column_of, self.about.get("log", ())))

    def _lists_numbers(self, column: str) -> bool:
        kind = str(self.rows.schema.field(column).type)
        return kind.startswith("list") and kind.endswith((" double>", " int64>", " bool>"))

    def _entry(self, column: str) -> tuple[str, int | None]:
        """Split 'NAME[0]' into name and number, unless that is itself a column."""
        match = re.fullmatch(r"(.+)\[(\d+)\]", column)
        if column in self.rows.column_names or match is None:
            return column, None
        return match[1], int(match[2])

    @property
    def failed(self) -> np.ndarray:
        """Runs that did not end in order, or did not reach their goals, shape (n,)."""
        status = self.rows["status"].to_pylist()
        verdict = self.rows["verdict"].to_pylist()
        return np.array(
            [s != OK or v not in (None, "REACHED") for s, v in zip(status, verdict, strict=True)],
            dtype=bool,
        )

    def pick(self, indices: np.ndarray) -> list[dict[str, Any]]:
        """Return the rows at indices of the table, shape (m,), in that order."""
        return self.rows.take(np.asarray(indices, dtype=np.int64)).to_pylist()  # type: ignore[no-any-return]

    def counts(self) -> dict[str, int]:
        """Return the number of rows by status, or by verdict if the status is OK."""
        status, verdict = (self.rows[name].to_pylist() for name in ("status", "verdict"))
        kinds = [s if s != OK or v is None else v for s, v in zip(status, verdict, strict=True)]
        kinds_in_order = [
            OK,
            "REACHED",
            *sorted({*kinds} - {OK, "REACHED", *STATUSES}),
            *STATUSES[1:],
        ]
        return {kind: kinds.count(kind) for kind in kinds_in_order if kind in kinds}

    def reasons(self) -> list[tuple[str, str, list[int]]]:
        """Return status and first line of the reasons of failure, with runs; most frequent first.

        Reasons that differ only in numbers count as one.
        """
        groups: dict[tuple[str, str], tuple[str, list[int]]] = {}
        columns = (self.rows[name].to_pylist() for name in ("status", "reason", "index"))
        for status, reason, index in zip(*columns, strict=True):
            if status != OK:
                line = (reason or "").strip().partition("\n")[0]
                _, runs = groups.setdefault((status, _without_numbers(line)), (line, []))
                runs.append(index)
        groups_of_runs = [(status, line, runs) for (status, _), (line, runs) in groups.items()]
        return sorted(groups_of_runs, key=lambda group: -len(group[2]))

    def row(self, name_or_number: str) -> dict[str, Any]:
        """Return the row of a run.

        Args:
            name_or_number: Name of the run, or its first letters; or its number.

        Raises:
            StudyError: No row matches, or several do.
        """
        names, numbers = self.rows["run"].to_pylist(), self.rows["index"].to_pylist()
        if name_or_number.isdecimal() and int(name_or_number) in numbers:
            return self.rows.slice(numbers.index(int(name_or_number)), 1).to_pylist()[0]  # type: ignore[no-any-return]
        fitting = [k for k, name in enumerate(names) if name.startswith(name_or_number)]
        if len(fitting) != 1:
            several = "several rows" if fitting else "no row"
            raise StudyError(
                f"'{self.path}' has {several} of a run '{name_or_number}'. Give its number, 0 to "
                f"{self.runs - 1}, or its name as softctl batch show prints it."
            )
        return self.rows.slice(fitting[0], 1).to_pylist()[0]  # type: ignore[no-any-return]

    def as_stored(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return a row with values as in the columns of the table, see `to_type`."""
        pa = parquet()
        types = {field.name: field.type for field in self.rows.schema}
        return {
            name: to_type(pa, value, types[name])
            if name in types and common_type(pa, (types[name], type_of(pa, value))) == types[name]
            else value
            for name, value in row.items()
        }

    def study(self) -> Study:
        """Return the study of the last call of `run`.

        Raises:
            StudyError: The study's file in the folder is gone, or was changed.
        """
        file = self.path / "study.toml"
        if not file.exists():
            raise StudyError(f"'{self.path}' has no study.toml. Run the study again.")
        text = file.read_text(encoding="utf-8")
        folder = self.path.parent / self.about.get("folder", "")
        return parse_study(text, str(file), folder.absolute())

    def run(self, row: Mapping[str, Any]) -> Run:
        """Return the run of a row.

        Raises:
            StudyError: The study has no such run.
        """
        for run in self.study().runs():
            if run.id == row["run"]:
                return run
        raise StudyError(f"'{self.path}/study.toml' has no run '{row['run']}': it was changed.")


def read_results(path: Path) -> Results:
    """Read the folder of a study.

    Raises:
        StudyError: The folder is not a study's.
    """
    about = read_about(path)
    if not about:
        sibling = path.with_suffix(SUFFIX)
        reason = "it is a folder without about.json" if path.is_dir() else "there is no such folder"
        hint = f" Did you mean '{sibling}'?" if sibling != path and sibling.is_dir() else ""
        raise StudyError(
            f"'{path}' is no folder of a study: {reason}.{hint} softctl batch run makes one."
        )
    table = Table(path / "rows", about.get("id", ""))
    rows = table.read()
    parameters = tuple(map(column_of, about.get("parameters", ())))
    other_names = {*OWN, *parameters}
    return Results(
        path=path,
        name=about["study"],
        runs=about.get("runs", len(rows)),
        rows=rows,
        parameters=tuple(name for name in parameters if name in rows.column_names),
        measures=tuple(name for name in rows.column_names if name not in other_names),
        damaged=tuple(table.damaged),
        about=about,
    )


def _without_numbers(text: str) -> str:
    return re.sub(r"\d[\d.e+-]*", "#", text)


def _is_idle(name: str, values: Mapping[str, list[str]], results: Sequence[bytes]) -> bool:
    """Return True if runs that differ only in one parameter have equal results."""
    remaining = [column for key, column in values.items() if key != name]
    groups: dict[tuple[str, ...], list[int]] = {}
    for k in range(len(results)):
        groups.setdefault(tuple(column[k] for column in remaining), []).append(k)
    compared = [group for group in groups.values() if len({values[name][k] for k in group}) > 1]
    return bool(compared) and all(len({results[k] for k in group}) == 1 for group in compared)
