"""Search paths of files."""

from __future__ import annotations

import os
from pathlib import Path


class FileRepository:
    """SOFA's Sofa.Helper.System.FileRepository."""

    def __init__(self, *paths: str) -> None:
        self.paths = list(paths)

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

    def _find(self, name: str, folder: str = "") -> Path | None:
        places = (Path(place) / name for place in (folder, *self.paths))
        return next((path for path in places if path.is_file()), None)


data = FileRepository()
"""SofaRuntime.DataRepository: meshes and pictures."""
plugins = FileRepository()
"""SofaRuntime.PluginRepository: kept, but there is nothing to load."""
