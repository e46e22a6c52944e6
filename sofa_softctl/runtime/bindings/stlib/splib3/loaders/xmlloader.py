"""XML scenes as parts of Python scenes."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from typing import Any

import SofaRuntime


def loadXML(filename: str, sofaNode: Any, context: Mapping[str, str] | None = None) -> Any:
    """Add the content of an XML scene to a node.

    Args:
        filename: File of the scene.
        sofaNode: Node in place of the scene's root.
        context: Values that replace the attributes of these names in all objects.

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
            extra = {name: value for name, value in values.items() if name not in ("name", "href")}
            file = SofaRuntime.DataRepository.getFile(values["href"])
            loadXML(file, node.addChild("Unnamed"), context | extra)
        elif child.tag == "Node":
            _fill(node.addChild(values["name"]), child, context)
        else:
            replacements = {name: context[name] for name in values.keys() & context.keys()}
            node.addObject(child.tag, **values | replacements)
