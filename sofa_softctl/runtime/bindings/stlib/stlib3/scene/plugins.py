"""Plugins and folders that a scene names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import Sofa

PLUGIN = "SofaPython3"
"""Plugin that every scene in Python needs."""


def add_plugins(node: Any, plugins: Any) -> bool:
    """Add the plugins and SofaPython3; return False if they are not a list."""
    if not isinstance(plugins, list | tuple):
        Sofa.msg_error("stlib3", f"plugins must be a list of names, got {plugins!r}.")
        return False
    for name in with_python(plugins):
        node.addObject("RequiredPlugin", name=name, printLog=False)
    return True


def with_python(plugins: Sequence[str]) -> list[str]:
    """Return the plugins and SofaPython3."""
    return [*plugins, *([] if PLUGIN in plugins else [PLUGIN])]


def add_folders(node: Any, folders: Sequence[str], name: str) -> None:
    """Add folders in which files are searched, as `name`0, `name`1, ..."""
    for number, folder in enumerate(folders):
        node.addObject("AddDataRepository", name=f"{name}{number}", path=folder)


def add_frame(node: Any) -> None:
    """Add the arrows of the axes in a corner of the window."""
    node.addObject("OglSceneFrame", style="Arrows", alignment="TopRight")
