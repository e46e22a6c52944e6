"""Import finder for `stlib3`, `splib3` and `softrobots` where the originals are not installed.

These libraries of SOFA's users are on no package index: people put folders of the repositories
STLIB and SoftRobots on their path. The finder stays at the end of sys.meta_path, on either backend,
so that the originals are found before it.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

LIBRARIES = ("softrobots", "splib3", "stlib3")
"""Names at the top level; what is in them is found through their folders."""
_FOLDER = Path(__file__).parent


def install() -> None:
    """Put the finder at the end of sys.meta_path, once."""
    if not any(isinstance(finder, LibraryFinder) for finder in sys.meta_path):
        sys.meta_path.append(LibraryFinder())


class LibraryFinder(importlib.abc.MetaPathFinder):
    """Finds the libraries in this package."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """See importlib.abc.MetaPathFinder."""
        del path, target
        if fullname not in LIBRARIES:
            return None
        folder = _FOLDER / fullname
        return importlib.util.spec_from_file_location(
            fullname, folder / "__init__.py", submodule_search_locations=[str(folder)]
        )
