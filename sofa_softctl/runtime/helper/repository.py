"""What a scene finds while it is loaded: files on search paths, its folder, its command line."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

from sofa_softctl.base import source_line


class FileRepository:
    """SOFA's Sofa.Helper.System.FileRepository.

    Args:
        envVar: Environment variable that names the first search paths.
        relativePath: More search paths, seen from the working directory.
        fileKeyMaps: Unused: paths by key in files of SOFA's installation.
        around: Gives folders to look in before the search paths, and after them.
    """

    def __init__(
        self,
        envVar: str = "SOFA_DATA_PATH",
        relativePath: str | None = None,
        fileKeyMaps: Any = None,
        *,
        around: Callable[[], tuple[Iterable[str], Iterable[str]]] = lambda: ((), ()),
    ) -> None:
        del fileKeyMaps
        named = f"{os.environ.get(envVar, '')}{os.pathsep}{relativePath or ''}"
        self.paths = [path for path in named.split(os.pathsep) if path]
        self._around = around

    def addFirstPath(self, path: str) -> None:
        """Look there first."""
        self.paths.insert(0, path)

    def addLastPath(self, path: str) -> None:
        """Look there last."""
        self.paths.append(path)

    def removePath(self, path: str) -> None:
        """Look there no longer."""
        if path in self.paths:
            self.paths.remove(path)

    def clear(self) -> None:
        """Look nowhere."""
        self.paths.clear()

    def getFirstPath(self) -> str:
        """First search path."""
        return self.paths[0] if self.paths else ""

    def getPaths(self) -> list[str]:
        """Search paths."""
        return list(self.paths)

    def getPathsJoined(self) -> str:
        """Search paths, as one text."""
        return os.pathsep.join(self.paths)

    def findFile(self, name: str, folder: str = "") -> bool:
        """Whether there is such a file."""
        return self._find(name, folder) is not None

    def getFile(self, name: str) -> str:
        """The path of a file; its name when there is none."""
        return str(self._find(name) or name)

    def findFileFromFile(self, name: str, file: str) -> bool:
        """Whether there is such a file beside another one, or on the search paths."""
        return self.findFile(name, str(Path(file).parent))

    @staticmethod
    def relativeToPath(path: str, refPath: str) -> str:
        """A path as seen from a folder that it is in; the path itself otherwise."""
        inside = Path(path).is_relative_to(refPath)
        return str(Path(path).relative_to(refPath)) if inside else path

    def _find(self, name: str, folder: str = "") -> Path | None:
        before, after = self._around()
        places = (Path(place) / name for place in (folder, *before, *self.paths, *after))
        return next((path for path in places if path.is_file()), None)


def path_near(name: str, file: str | Path | None) -> Path:
    """Path of a file that another one names: beside it, or else where the data are.

    Its name where there is none.
    """
    beside = Path(name) if file is None else Path(file).absolute().parent / name
    return beside if beside.is_file() else Path(data.getFile(name))


def data_folders() -> tuple[list[str], list[str]]:
    """Folders of meshes that the environment names: the user's own, and those of a SOFA.

    SOFTCTL_DATA: folders to look in first. SOFA_ROOT and CONDA_PREFIX: where SOFA is installed, or
    its sources lie; its share folder has those that it comes with, such as mesh/liver.msh.
    Relative ones count from where the program was started.
    """
    start = source_line.start_folder()  # a scene is loaded in its own folder
    named = os.environ.get("SOFTCTL_DATA", "").split(os.pathsep)
    own = [os.path.join(start, place) for place in named if place]
    shared = []
    for variable in ("SOFA_ROOT", "CONDA_PREFIX"):
        root = os.environ.get(variable)
        if root:
            shared += [os.path.join(start, root, *parts) for parts in _SHARES]
    return own, shared


_SHARES = (
    ("share", "sofa"),
    ("share", "sofa", "share"),
    ("share", "sofa", "examples"),
    ("share",),
    ("examples",),
    ("src", "share"),
    ("src", "examples"),
)

data = FileRepository(around=data_folders)
"""SofaRuntime.DataRepository: meshes and pictures."""
plugins = FileRepository("SOFA_PLUGIN_PATH")
"""SofaRuntime.PluginRepository: kept, but there is nothing to load."""


@contextmanager
def in_folder(folder: Path) -> Iterator[None]:
    """Work in a folder; messages still name files as seen from where the program was started."""
    try:
        before = os.getcwd()
    except OSError:  # it was deleted
        before = ""
    with source_line.seen_from(before):
        os.chdir(folder)
        try:
            yield
        finally:
            if before:
                os.chdir(before)


@contextmanager
def command_line_of(file: Path) -> Iterator[None]:
    """Within it, the command line is a scene's name, as runSofa gives it without --argv.

    A scene that reads sys.argv would take the arguments of this program for its own.
    """
    before, sys.argv = sys.argv, [file.stem]
    try:
        yield
    finally:
        sys.argv = before


def from_its_folder(create: Callable[..., Any], file: Path) -> Callable[..., Any]:
    """The same createScene, which works in the folder of its file.

    A text among its arguments that names a file as seen from where it is called becomes the
    absolute path, so that `softctl run scenes/arm.py --set policy=arm.safetensors` finds it.
    """
    folder = file.resolve().parent

    @wraps(create)
    def create_there(*args: Any, **values: Any) -> Any:
        named = {name: _absolute(value) for name, value in values.items()}
        with in_folder(folder):
            return create(*args, **named)

    return create_there


def _absolute(value: Any) -> Any:
    is_name = isinstance(value, str) and ("." in value or os.sep in value)
    return os.path.abspath(value) if is_name and os.path.isfile(value) else value
