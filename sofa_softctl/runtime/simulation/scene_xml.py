"""XML scenes (.scn): `<Node name="arm"><MechanicalObject position="0 0 0"/></Node>`."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.core.node import Node


def load_xml(path: Path) -> Node:
    """The graph of an XML scene, built but not initialised.

    Raises:
        SceneError: the file is no XML, or not of nodes and components; what a node or component
            does not take.
    """
    try:
        element = ElementTree.parse(path).getroot()
    except ElementTree.ParseError as error:
        raise SceneError(f"'{path}' is no XML: {error}.") from error
    if element.tag != "Node":
        raise SceneError(f"'{path}' starts with <{element.tag}>; a scene starts with <Node>.")
    node = Node(**{"name": "root", **element.attrib})
    _fill(node, element, path)
    return node


def _fill(node: Node, element: ElementTree.Element, path: Path) -> None:
    for entry in element:
        values = dict(entry.attrib)
        kind = values.pop("type", "") if entry.tag == "Object" else entry.tag
        if kind == "include":
            raise SceneError(f"'{path}': <include> is read by SOFA only; copy the file's content.")
        if kind == "Node":
            child = node.addChild(values.pop("name", "Node"), **values)
            _fill(child, entry, path)
        else:
            node.addObject(kind, **values)
