"""Components and Data of a graph by their paths, on both backends."""

from __future__ import annotations

from typing import Any

from sofa_softctl.base.suggestions import did_you_mean
from sofa_softctl.errors import SceneError
from sofa_softctl.scene.channels import nodes_of


def component_at(root: Any, path: str) -> Any:
    """The component at a path such as '/trunk/long_up/cable'.

    Raises:
        SceneError: There is none.
    """
    paths = {}
    for node in nodes_of(root):
        for component in node.objects:
            paths[component.getPathName()] = component
    if path not in paths:
        raise SceneError(
            f"There is no component '{path}'.{did_you_mean(path, paths)} Paths begin with '/', "
            "such as '/trunk/tip/dofs'."
        )
    return paths[path]


def data_at(root: Any, path: str) -> Any:
    """The Data at a path such as '/trunk/tip/dofs.position'.

    Raises:
        SceneError: There is no such component, or it has no such Data.
    """
    owner, _, name = path.rpartition(".")
    data = component_at(root, owner or path).findData(name)
    if data is None:
        raise SceneError(f"'{owner}' has no Data '{name}'.")
    return data
