"""Objects at the root of a scene."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from splib3.animation import AnimationManager
from splib3.debug import DebugManager
from stlib3.scene.plugins import add_folders, add_frame, add_plugins


def MainHeader(
    node: Any,
    gravity: Sequence[float] = (0.0, -9.8, 0.0),
    dt: float = 0.01,
    plugins: Any = (),
    repositoryPaths: Sequence[str] = (),
    doDebug: bool = False,
) -> Any:
    """Set gravity and time step; add a VisualStyle and a child `Config` with plugins and folders.

    Args:
        node: Root of the scene.
        gravity: Gravity [length / s^2].
        dt: Time step [s].
        plugins: Plugins of SOFA.
        repositoryPaths: Folders in which files are searched.
        doDebug: Enable drawing on the window; see splib3.debug.

    Returns:
        The root.
    """
    node.addObject("VisualStyle")
    node.findData("gravity").value = list(gravity)
    node.findData("dt").value = dt
    node.addObject("DefaultVisualManagerLoop")
    config = node.addChild("Config")
    if not add_plugins(config, plugins):
        return node
    add_folders(config, repositoryPaths, "AddDataRepository")
    add_frame(config)
    if doDebug:
        DebugManager(node)
    AnimationManager(node)
    return node
