"""Environment of a scene while it is loaded: search paths, folder, command line."""

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
        envVar: Environment variable with the first search paths.
        relativePath: More search paths, relative to the working directory.
        fileKeyMaps: Unused: paths by key in files of SOFA's installation.
        around: Returns folders to search before the search paths, and after them.
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
        """Add the first search path."""
        self.paths.insert(0, path)

    def addLastPath(self, path: str) -> None:
        """Add the last search path."""
        self.paths.append(path)

    def removePath(self, path: str) -> None:
        """Remove a search path."""
        if path in self.paths:
            self.paths.remove(path)

    def clear(self) -> None:
        """Remove all search paths."""
        self.paths.clear()

    def getFirstPath(self) -> str:
        """Return the first search path, or ""."""
        return self.paths[0] if self.paths else ""

    def getPaths(self) -> list[str]:
        """Return the search paths."""
        return list(self.paths)

    def getPathsJoined(self) -> str:
        """Return the search paths, joined to one text."""
        return os.pathsep.join(self.paths)

    def findFile(self, name: str, folder: str = "") -> bool:
        """Return True if the file exists."""
        return self._find(name, folder) is not None

    def getFile(self, name: str) -> str:
        """Return the path of a file, or its name if it does not exist."""
        return str(self._find(name) or name)

    def findFileFromFile(self, name: str, file: str) -> bool:
        """Return True if the file exists next to another file, or on the search paths."""
        return self.findFile(name, str(Path(file).parent))

    @staticmethod
    def relativeToPath(path: str, refPath: str) -> str:
        """Return a path relative to a folder that contains it, or the path itself."""
        is_inside = Path(path).is_relative_to(refPath)
        return str(Path(path).relative_to(refPath)) if is_inside else path

    def _find(self, name: str, folder: str = "") -> Path | None:
        before, after = self._around()
        paths = (Path(root) / name for root in (folder, *before, *self.paths, *after))
        return next((path for path in paths if path.is_file()), None)


def path_near(name: str, file: str | Path | None) -> Path:
    """Return the path of a file next to another file, else on the search paths, else its name."""
    neighbour = Path(name) if file is None else Path(file).absolute().parent / name
    return neighbour if neighbour.is_file() else Path(data.getFile(name))


def data_folders() -> tuple[list[str], list[str]]:
    """Return the folders of meshes named in the environment: the user's folders, and SOFA's.

    SOFTCTL_DATA: folders to search first. SOFA_ROOT and CONDA_PREFIX: SOFA's installation or
    sources, whose share folder has SOFA's meshes, such as mesh/liver.msh. Relative paths count
    from the folder in which the program was started.
    """
    start = source_line.start_folder()  # a scene is loaded in its folder
    names = os.environ.get("SOFTCTL_DATA", "").split(os.pathsep)
    user_folders = [os.path.join(start, name) for name in names if name]
    shared = []
    for variable in ("SOFA_ROOT", "CONDA_PREFIX"):
        root = os.environ.get(variable)
        if root:
            shared += [os.path.join(start, root, *parts) for parts in _SHARE_FOLDERS]
    return user_folders, shared


_SHARE_FOLDERS = (
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
"""SofaRuntime.PluginRepository, unused: there is nothing to load."""


@contextmanager
def in_folder(folder: Path) -> Iterator[None]:
    """Work in a folder inside the block; messages name files relative to the start folder."""
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
    """Replace the command line by a scene's name inside the block, as runSofa without --argv.

    A scene that reads sys.argv would otherwise get the arguments of this program.
    """
    before, sys.argv = sys.argv, [file.stem]
    try:
        yield
    finally:
        sys.argv = before


def from_its_folder(create: Callable[..., Any], file: Path) -> Callable[..., Any]:
    """Return createScene, wrapped to work in the folder of its file.

    Texts among its arguments that are file names relative to the caller's folder become absolute
    paths: `softctl run scenes/arm.py --set policy=arm.safetensors` works.
    """
    folder = file.resolve().parent

    @wraps(create)
    def create_there(*args: Any, **values: Any) -> Any:
        absolute = {name: _absolute(value) for name, value in values.items()}
        with in_folder(folder):
            return create(*args, **absolute)

    return create_there


def _absolute(value: Any) -> Any:
    is_name = isinstance(value, str) and ("." in value or os.sep in value)
    return os.path.abspath(value) if is_name and os.path.isfile(value) else value
