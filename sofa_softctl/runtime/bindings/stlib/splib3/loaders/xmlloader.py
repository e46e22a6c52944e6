"""XML scenes as parts of Python scenes."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from typing import Any

import SofaRuntime


def loadXML(filename: str, sofaNode: Any, context: Mapping[str, str] | None = None) -> Any:
    """Add what an XML scene holds to a node.

    Args:
        filename: The scene.
        sofaNode: Takes the place of the scene's root.
        context: Values that replace those of the objects' attributes of the same names.

    Returns:
        The node.
    """
    _fill(sofaNode, ElementTree.parse(filename).getroot(), dict(context or {}))
    return sofaNode


def _fill(node: Any, element: ElementTree.Element, context: dict[str, str]) -> None:
    for name, text in element.attrib.items():
        data = node.findData(name)
        if data is not None:
            data.read(text)
    for child in element:
        values = dict(child.attrib)
        if child.tag == "include":
            own = {name: value for name, value in values.items() if name not in ("name", "href")}
            file = SofaRuntime.DataRepository.getFile(values["href"])
            loadXML(file, node.addChild("Unnamed"), context | own)
        elif child.tag == "Node":
            _fill(node.addChild(values["name"]), child, context)
        else:
            replaced = {name: context[name] for name in values.keys() & context.keys()}
            node.addObject(child.tag, **values | replaced)
