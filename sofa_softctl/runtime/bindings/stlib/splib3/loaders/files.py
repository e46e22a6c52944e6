"""Points in JSON files, and files next to a scene."""

from __future__ import annotations

import json
import os
from typing import Any


def getLoadingLocation(filename: str, source: str | None = None) -> str:
    """Return a file's path next to a file such as `__file__`, or in a folder; else its name."""
    if source is None:
        return filename
    folder = os.path.dirname(os.path.abspath(source)) if os.path.isfile(source) else source
    return os.path.join(folder, filename)


def loadPointListFromFile(s: str) -> Any:
    """Return the points in a JSON file, a list of [x, y, z]."""
    with open(s, encoding="utf-8") as file:
        return json.load(file)
