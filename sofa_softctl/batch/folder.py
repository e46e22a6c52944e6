"""The folder of a study: its table, its recordings, and what its rows were made of."""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any, Self

from sofa_softctl._internal.atomic_file import replacing, writing
from sofa_softctl.batch.sources import digest_of_file, digest_of_package
from sofa_softctl.batch.study import ID_LENGTH, Study
from sofa_softctl.batch.table import Table
from sofa_softctl.errors import StudyError
from sofa_softctl.scene.provenance import environment

SUFFIX = ".study"
FORMAT = 1
"""Version of the folder's contents."""


class StudyFolder:
    """A study's folder, in which one driver works at a time; a context manager that releases it.

        NAME.study/study.toml        the study, as it was run last
                   about.json        versions, and digests of the files that its runs read
                   rows/*.parquet    see `Table`
                   records/RUN.mcap, movies/RUN.gif

    Args:
        path: The folder, NAME.study; it is made.
        study: Its study.

    Raises:
        StudyError: It is another study's, another driver works in it, or it cannot be written.
    """

    def __init__(self, path: Path, study: Study) -> None:
        self.path, self.study = path, study
        self.digest = ""
        """Of what rows are made of since `begin`: files that its first run reads, package,
        versions."""
        with writing(path, StudyError):
            path.mkdir(parents=True, exist_ok=True)
            self._lock = self._locked()
        try:
            self.about = self._read_about()
            self.table = Table(path / "rows")
        except BaseException:
            self._lock.close()
            raise

    @property
    def records(self) -> Path:
        """Folder of the recordings."""
        return self.path / "records"

    def changes(self) -> list[str]:
        """What has changed since rows were made, in words; empty: nothing, or there are none."""
        if not self.about["sources"]:
            return []
        now = _made_of()
        found = [
            f"{name} {then} is {now['versions'].get(name, 'gone')} now"
            for name, then in self.about["versions"].items()
            if now["versions"].get(name) != then
        ]
        for name, value in self._measured().items():
            if self.about.get(name, value) != value:
                found.append(f"the study has {_OTHER[name]} now")
        if self.about["package"] != now["package"]:
            found.append("sofa_softctl itself was changed")
        for path, then in self.about["sources"].items():
            digest = digest_of_file(path)
            if digest != then:
                found.append(f"'{path}' {'was changed' if digest else 'is gone'}")
        return found

    def begin(self, sources: Iterable[str], runs: int) -> None:
        """Write down the study and what its rows are made of from now on.

        Args:
            sources: Files that its first run reads.
            runs: Number of runs.
        """
        own = {path: digest_of_file(path) for path in sorted(sources)}
        made = _made_of()
        text = json.dumps([list(own.values()), made["package"], made["versions"]])
        self.digest = hashlib.sha256(text.encode()).hexdigest()[:ID_LENGTH]
        kept = {path: digest for path in self.about["sources"] if (digest := digest_of_file(path))}
        self.about |= made | self._measured() | {"sources": kept | own}
        self.about |= {
            "runs": runs,
            "parameters": list(self.study.axes),
            "folder": self.study.folder,
        }
        self._write_about()
        for rest in self.records.glob(".record-*"):  # of runs that were killed
            shutil.rmtree(rest, ignore_errors=True)
        if self.study.text:
            with replacing(self.path / "study.toml", StudyError) as temporary:
                temporary.write_text(self.study.text, encoding="utf-8")

    def add_sources(self, paths: Iterable[str]) -> None:
        """Files that a run has read."""
        new = {path: digest_of_file(path) for path in paths if path not in self.about["sources"]}
        if new:
            self.about["sources"] = dict(sorted((self.about["sources"] | new).items()))
            self._write_about()

    def _measured(self) -> dict[str, Any]:
        scenario = self.study.scenario
        return {
            "scene": scenario.scene or scenario.function,
            "measures": dict(scenario.measures),
        }

    def _read_about(self) -> dict[str, Any]:
        empty = {"format": FORMAT, "study": self.study.name, "sources": {}} | _made_of()
        found = read_about(self.path)
        if found and found["study"] != self.study.name:
            raise StudyError(
                f"'{self.path}' holds the study '{found['study']}', not '{self.study.name}'. "
                "Choose another folder."
            )
        return empty | found

    def _write_about(self) -> None:
        with replacing(self.path / "about.json", StudyError) as temporary:
            temporary.write_text(json.dumps(self.about, indent=1), encoding="utf-8")

    def _locked(self) -> IO[bytes]:
        file = open(self.path / ".lock", "ab")  # noqa: SIM115 - closed by `release`
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise StudyError(
                f"'{self.path}': another process does this study. Wait until it ends, or stop it: "
                "what it has done is kept."
            ) from None
        return file

    def release(self) -> None:
        """Let another driver work in it."""
        self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.release()


def read_about(path: Path) -> dict[str, Any]:
    """What is written down about the rows of a study's folder; empty: nothing yet.

    Raises:
        StudyError: It cannot be read, or is of another version.
    """
    file = path / "about.json"
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise StudyError(f"'{file}' cannot be read: {error}. Choose another folder.") from error
    if not isinstance(found, Mapping) or found.get("format") != FORMAT:
        raise StudyError(
            f"'{file}' is of another version of this package, or no file of a study. Choose "
            "another folder."
        )
    return dict(found)


def _made_of() -> dict[str, Any]:
    return {"versions": environment()["versions"], "package": digest_of_package()}


_OTHER = {"scene": "another scene", "measures": "other measures"}
