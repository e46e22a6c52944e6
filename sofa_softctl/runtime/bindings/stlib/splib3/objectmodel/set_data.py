"""Setting Data of one object, or of many by their path in the graph."""

from __future__ import annotations

import re
from typing import Any

import Sofa.Core


def setData(d: Any, **values: Any) -> None:
    """Set Data of a node or an object."""
    for name, value in values.items():
        d.getData(name).value = value


def setTreeData(target: Any, pathregex: str, **values: Any) -> None:
    """Set Data of every object in a node and below whose link path matches.

    Args:
        target: Node, or a single object.
        pathregex: Regular expression, searched for in paths such as '@/trunk/cable/dofs'.
        values: Values by the names of Data; objects without such a Data are left as they are.
    """
    if isinstance(target, Sofa.Core.Node):
        for item in (*target.objects, *target.children):
            setTreeData(item, pathregex, **values)
    elif re.search(pathregex, target.getLinkPath()):
        for name, value in values.items():
            data = target.findData(name)
            if data is not None:
                data.value = value
