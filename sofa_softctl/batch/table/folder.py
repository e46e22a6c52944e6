"""Folder of a study: its table, its recordings, and the sources of its rows."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Self

from sofa_softctl.base.files import digest_of_file, raise_write_errors, replace_atomically
from sofa_softctl.base.versions import blas_kernels, made_of
from sofa_softctl.batch.study.measures import is_function
from sofa_softctl.batch.study.study import ID_LENGTH, Study
from sofa_softctl.batch.table.table import Table
from sofa_softctl.errors import StudyError

SUFFIX = ".study"
LOCK = ".lock"
"""File in the folder that the driver at work holds."""
TEMPORARY = ".record-"
"""Beginning of the names of folders in which runs record."""
FORMAT = 1
"""Version of the folder's contents."""


class StudyFolder:
    """A study's folder, in which one driver works at a time; a context manager that releases it.

        NAME.study/study.toml        the study, as it was run last
                   about.json        versions, and digests of the files that its runs read
                   rows/*.parquet    see `Table`; damaged/: those that cannot be read
                   records/RUN.mcap, movies/RUN.gif

    Args:
        path: The folder, NAME.study; it is made.
        study: Study of the folder.

    Raises:
        StudyError: It is another study's, another driver works in it, or it cannot be written.
    """

    def __init__(self, path: Path, study: Study) -> None:
        self.path, self.study = path, study
        self.digest = ""
        """Digest of the sources of rows since `begin`: files that its first run reads, package,
        versions."""
        self.token = uuid.uuid4().hex
        """Token in its lock file, by which workers recognise the folder."""
        with raise_write_errors(path, StudyError):
            path.mkdir(parents=True, exist_ok=True)
            self._lock = self._open_lock()
        try:
            self.about = self._read_about()
            self._python: dict[str, tuple[int, int]] = {}
            self.table = Table(path / "rows", self.about["id"])
        except BaseException:
            self._lock.close()
            raise

    @property
    def records(self) -> Path:
        """Folder of the recordings."""
        return self.path / "records"

    def changes(self) -> list[str]:
        """Describe changes since rows were made; [] without changes or rows."""
        if not self.about["sources"]:
            return []
        study_changes = [
            f"the study has {_OTHER[name]} now"
            for name, value in self._measured_parts().items()
            if self.about.get(name, value) != value
        ]
        return study_changes + changes_since(self.path, self.about)

    def refuse_changes(self, again: str, anyway: str, option: str) -> None:
        """Refuse existing rows if new rows would have other sources.

        Args:
            again: Option to repeat all runs, for the message.
            anyway: Option to execute only missing runs.
            option: Option for another folder.

        Raises:
            StudyError: New rows would have other sources.
        """
        changes = self.changes()
        if changes:
            raise StudyError(
                f"'{self.path}' has rows from before: {'; '.join(changes)}. Do all runs again "
                f"with {again}, or only those that are missing with {anyway}; or choose another "
                f"{option}."
            )

    def begin(self, sources: Iterable[str], runs: int) -> None:
        """Write the study and the sources of its future rows.

        Args:
            sources: Files that its first run reads.
            runs: Number of runs.
        """
        new_digests = self._digests(sources)
        versions = made_of()
        self._watch(sources)
        text = json.dumps([sorted(new_digests.values()), versions["package"], versions["versions"]])
        self.digest = hashlib.sha256(text.encode()).hexdigest()[:ID_LENGTH]
        paths = (self.path.parent / name for name in self.about["sources"])
        old_digests = {name: digest for name, digest in self._digests(paths).items() if digest}
        self.about |= versions | self._measured_parts() | {"sources": old_digests | new_digests}
        self.about["blas_kernels"] = blas_kernels()
        self.about |= {
            "runs": runs,
            "parameters": list(self.study.axes),
            "log": [name for name, axis in self.study.axes.items() if getattr(axis, "log", False)],
            "folder": place_of(self.study.folder, self.path),
        }
        self._write_about()
        self.remove_leftovers()
        if self.study.text:
            with replace_atomically(self.path / "study.toml", StudyError) as temporary:
                temporary.write_text(self.study.text, encoding="utf-8")

    def remove_leftovers(self) -> None:
        """Remove what killed runs have left in the folder of recordings, while none is running."""
        for folder in self.records.glob(f"{TEMPORARY}*"):
            shutil.rmtree(folder, ignore_errors=True)

    def add_sources(self, paths: Iterable[str]) -> None:
        """Add the files that a run has read."""
        self._watch(paths)
        new = [path for path in paths if place_of(path, self.path) not in self.about["sources"]]
        if new:
            self.about["sources"] = dict(
                sorted((self.about["sources"] | self._digests(new)).items())
            )
            self._write_about()

    def _watch(self, paths: Iterable[str]) -> None:
        for path in paths:
            if path.endswith(".py") and path not in self._python:
                self._python[path] = _stamp(path)

    def refuse_edits(self) -> None:
        """Refuse rows of code that may have been edited since their runs began.

        Raises:
            StudyError: A Python file that runs read was changed since `begin`.
        """
        for path, stamp in self._python.items():
            then = self.about["sources"].get(place_of(path, self.path))
            if _stamp(path) != stamp and digest_of_file(path) != then:
                raise StudyError(
                    f"'{path}' was changed while the study ran. Rows from before are kept, in "
                    f"'{self.path}'. Change it back to continue the study, or do all runs again."
                )

    def _digests(self, paths: Iterable[str | Path]) -> dict[str, str]:
        """Return digests of files by their paths."""
        digests = {place_of(path, self.path): digest_of_file(path) for path in paths}
        return dict(sorted(digests.items()))

    def _measured_parts(self) -> dict[str, Any]:
        scenario = self.study.scenario
        functions = {
            name: self._function(text) if is_function(text) else text
            for name, text in scenario.measures.items()
        }
        scene = place_of(scenario.scene, self.path) if scenario.scene else ""
        return {
            "scene": scene or self._function(scenario.function),
            "measures": functions,
            "success": scenario.success,
        }

    def _function(self, text: str) -> str:
        file, _, name = text.rpartition(":")
        return f"{place_of(file, self.path)}:{name}"

    def _read_about(self) -> dict[str, Any]:
        new = {"format": FORMAT, "study": self.study.name, "id": uuid.uuid4().hex, "sources": {}}
        about = read_about(self.path)
        if about and about["study"] != self.study.name:
            raise StudyError(
                f"'{self.path}' holds the study '{about['study']}', not '{self.study.name}'. "
                "Choose another folder."
            )
        return new | made_of() | about

    def _write_about(self) -> None:
        with replace_atomically(self.path / "about.json", StudyError) as temporary:
            temporary.write_text(json.dumps(self.about, indent=1), encoding="utf-8")

    def _open_lock(self) -> IO[bytes]:
        file = open(self.path / LOCK, "ab")  # noqa: SIM115 - closed by `release`
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise StudyError(
                f"'{self.path}': another process does this study. Wait until it ends, or stop it: "
                "what it has done is kept."
            ) from None
        file.truncate(0)
        file.write(self.token.encode())
        file.flush()
        return file

    def release(self) -> None:
        """Release the folder for another driver."""
        self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.release()


def read_about(path: Path) -> dict[str, Any]:
    """Read the facts about the rows of a study's folder, or return {} if there are none.

    Raises:
        StudyError: It cannot be read, or is of another version.
    """
    file = path / "about.json"
    try:
        about = json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as error:
        raise StudyError(
            f"'{file}' cannot be read: {error}. Without it, the rows beside it are taken as they "
            "are: delete it, or choose another folder."
        ) from error
    if not isinstance(about, Mapping) or about.get("format") != FORMAT:
        raise StudyError(
            f"'{file}' is of another version of this package, or no file of a study. Choose "
            "another folder."
        )
    return dict(about)


def changes_since(path: Path, about: Mapping[str, Any]) -> list[str]:
    """Describe versions and files that have changed since the rows of a folder were made.

    Args:
        path: The folder.
        about: Facts about its rows.
    """
    present = made_of()
    changes = [
        f"{name} {old} is {present['versions'].get(name, 'gone')} now"
        for name, old in about["versions"].items()
        if present["versions"].get(name) != old
    ]
    if about["package"] != present["package"]:
        changes.append("sofa_softctl itself was changed")
    for name, old in about["sources"].items():
        file = os.path.normpath(path.parent / name)
        digest = digest_of_file(file)
        if digest != old:
            changes.append(f"'{file}' {'was changed' if digest else 'is gone'}")
    return changes


def other_kernels(about: Mapping[str, Any]) -> list[str]:
    """Return a note on rows begun with other BLAS kernels than this computer's, or []."""
    then, now = about.get("blas_kernels"), blas_kernels()
    if not then or then == now:
        return []
    return [f"BLAS has the kernels of {now} here, not of {then}, so that last digits may differ"]


def _stamp(path: str) -> tuple[int, int]:
    """Return time and size of a file, or zeros if it is gone."""
    with suppress(OSError):
        status = os.stat(path)
        return status.st_mtime_ns, status.st_size
    return 0, 0


def place_of(path: str | Path, folder: Path) -> str:
    """Return a path relative to the parent of a study's folder if it is below, else absolute.

    So a study that is moved with its scene is still the same.
    """
    absolute, base = os.path.realpath(path), os.path.realpath(folder.parent)
    return os.path.relpath(absolute, base) if Path(absolute).is_relative_to(base) else absolute


_OTHER = {
    "scene": "another scene",
    "measures": "other measures",
    "success": "another measure of success",
}
