"""XML scenes (.scn, .xml): `<Node name="arm"><MechanicalObject position="0 0 0"/></Node>`.

As in SOFA, objects and nodes are created in the order of the file, unnamed objects get their class
and a number as name, `<include href="..."/>` inserts the content of another file, as does an
element whose class is not a component, such as `<BoxConstraint>`: see `parts_of`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers import expat

from sofa_softctl.base.source_line import at_line, describe, scene_line
from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.core import factory
from sofa_softctl.runtime.core.node import DEPTH_MAX, Node
from sofa_softctl.runtime.helper import message
from sofa_softctl.runtime.helper.message import complain
from sofa_softctl.runtime.helper.repository import in_folder, path_near

_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
_TAG = re.compile(rb"<\w(?:[^\"'<>]|\"[^\"]*\"|'[^']*')*>")
_VALUE = re.compile(rb"\"[^\"]*\"|'[^']*'")
_AMPERSAND = re.compile(rb"&(?!#?\w+;)")
_GROUPS = ("Group", "_Group_")
"""Names of included roots whose content replaces them."""
_MERGED = "_Merge_"
"""Name of included roots that are merged into the node around them."""
_SPECIAL = (*_GROUPS, _MERGED)
_DISABLED = ("_", "NO")
"""Prefixes of disabled attributes."""


@dataclass
class Element:
    """Element of a file, before its objects are created."""

    kind: str
    """Class of the component; 'Node' for a node."""
    name: str
    """Name, or ""."""
    values: dict[str, str]
    """Other attributes."""
    file: Path
    """File of the element."""
    line: int
    """Line in the file."""
    children: list[Element] = field(default_factory=list)
    replaced: dict[str, str] = field(default_factory=dict)
    """Values of an include that replace values of the element."""
    starts_file: bool = False
    """Whether it is the root of a file, to whose folder paths are relative."""


def read_xml(path: Path) -> Element:
    """Return the elements of an XML scene, with included files.

    Raises:
        SceneError: A file is missing or not XML, does not start with a node, or includes itself.
    """
    path = path.resolve()
    root = _parse(path)
    if root.kind != "Node":
        line = describe((str(path), root.line))
        raise SceneError(f"{line}: it starts with <{root.kind}>; a scene starts with <Node>.")
    return _with_includes(root, (path,))


def _parse(path: Path) -> Element:
    try:
        content = _as_xml(path.read_bytes())
    except OSError as error:
        raise SceneError(f"'{path}' cannot be read ({error.strerror}).") from error
    parser = expat.ParserCreate()
    skipped = content[: len(content) - len(content.lstrip())].count(b"\n")
    outer = Element("", "", {}, path, 0)
    stack = [outer]

    def start(tag: str, attributes: dict[str, str]) -> None:
        element = _element(tag, attributes, path, skipped + parser.CurrentLineNumber)
        stack[-1].children.append(element)
        stack.append(element)

    parser.StartElementHandler, parser.EndElementHandler = start, lambda tag: stack.pop()
    try:
        parser.Parse(content.strip(), True)
    except expat.ExpatError as error:
        line, has_ended = describe((str(path), skipped + error.lineno)), stack == [outer]
        if not (has_ended and outer.children):
            raise SceneError(f"{line}: no XML: {expat.ErrorString(error.code)}.") from error
        unread = SceneError(f"{line}: the root node ends before this line, the rest is not read.")
        complain(path.name, unread)
    (root,) = outer.children
    root.starts_file = True
    return root


def _as_xml(content: bytes) -> bytes:
    """Return the text of a file in XML's strict form, with the same lines.

    SOFA accepts '--' in comments, '<' and '&' in values, and values without a space after them.
    """
    content = _COMMENT.sub(lambda comment: b"\n" * comment[0].count(b"\n"), content)
    return _TAG.sub(lambda tag: _VALUE.sub(_escape, tag[0]), content)


def _escape(value: re.Match[bytes]) -> bytes:
    return _AMPERSAND.sub(b"&amp;", value[0].replace(b"<", b"&lt;")) + b" "


def _element(tag: str, attributes: dict[str, str], path: Path, line: int) -> Element:
    values = dict(attributes)
    name = values.pop("name", "")
    kind = values.pop("type", "") if tag == "Object" else tag
    if tag == "Node":
        values.pop("type", None)
    return Element(kind, name, values, path, line)


def _add_child(parent: Element, child: Element) -> None:
    """Add a child to an element; a special name of an included root adds or merges its content."""
    if child.starts_file and child.name in _GROUPS:
        parent.children += child.children
    elif child.starts_file and child.name == _MERGED:
        _merge(parent, child)
    else:
        parent.children.append(child)


def _merge(target: Element, source: Element) -> None:
    target.values.update(source.values)
    for child in source.children:
        twin = (child.kind, child.name)
        match = next((e for e in target.children if e.name and (e.kind, e.name) == twin), None)
        if match is None:
            target.children.append(child)
        else:
            _merge(match, child)


def _with_includes(element: Element, files: tuple[Path, ...], depth: int = 0) -> Element:
    """Replace <include> in an element by the included files, and return it.

    Args:
        element: An element of the last file.
        files: Files, each of which includes the next.
        depth: Number of elements around it in its file.
    """
    if depth > DEPTH_MAX:
        line = describe((str(element.file), element.line))
        raise SceneError(f"{line}: nodes are nested more than {DEPTH_MAX} deep.")
    children, element.children = element.children, []
    for child in children:
        if child.kind == "include":
            _add_child(element, _include(child, files))
        elif child.kind != "Node" and (file := file_of(child.kind, child.file)):
            child.values["href"] = str(file)
            _add_child(element, _include(child, files))
        elif parts := parts_of(child.kind):
            _add_child(element, _group(child, parts))
        else:
            _add_child(element, _with_includes(child, files, depth + 1))
    return element


def _include(include: Element, files: tuple[Path, ...]) -> Element:
    """Return the root of an included file, with attributes replaced by the include's."""
    line = describe((str(include.file), include.line))
    name = include.values.pop("href", "")
    target = path_near(name, include.file)
    if not name or not target.is_file():
        raise SceneError(f"{line}: <include> of '{name}': there is no such file.")
    target = target.resolve()
    if target in files:
        circle = (*files[files.index(target) :], target)
        chain = " includes ".join(f"'{file.name}'" for file in circle)
        raise SceneError(f"{line}: '{target.name}' includes itself: {chain}.")
    root = _with_includes(_parse(target), (*files, target))
    if root.name not in _SPECIAL or include.name in _SPECIAL:
        root.name = include.name or root.name
    _replace_attributes(root, include)
    return root


def _group(element: Element, parts: Parts) -> Element:
    """Return the components of an element, with attributes replaced by the element's."""
    group = Element("Node", _GROUPS[0], {}, element.file, element.line, starts_file=True)
    for kind, values in parts.items():
        attributes = dict(values)
        name = attributes.pop("name", "")
        group.children.append(Element(kind, name, attributes, element.file, element.line))
    _replace_attributes(group, element)
    return group


def _replace_attributes(root: Element, include: Element) -> None:
    """Replace attributes of the included elements by the attributes of the include."""
    unused = []
    for attribute, value in include.values.items():
        owner, mark, data = attribute.rpartition("__")
        count = _replace(root, data if mark else attribute, value, owner)
        if not (count or attribute.startswith(_DISABLED)):
            unused.append(f"'{attribute}'")
    if unused:
        line = describe((str(include.file), include.line))
        names = ", ".join(unused)
        problem = SceneError(f"{line}: <{include.kind}> has {names}, which nothing in it has.")
        complain(include.file.name, problem)


def _replace(element: Element, attribute: str, value: str, name: str) -> int:
    """Replace an attribute in all elements that have it, or of a name; return their number.

    Elements of a name also have the attributes `type`, their class, and `name`.
    """
    count = sum(_replace(child, attribute, value, name) for child in element.children)
    if name and element.name != name:
        return count
    if name and attribute == "type":
        element.kind = value
    elif name and attribute == "name":
        element.name = value
    elif attribute in element.values:
        element.replaced[attribute] = value
    else:
        return count
    return count + 1


def fill_root(root: Any, element: Element) -> Any:
    """Create a scene's graph below a root, which gets the attributes of the first node.

    Raises:
        SceneError: A component does not exist, or does not accept its values.
    """
    with at_line((str(element.file), element.line)):
        if element.name:
            root.setName(element.name)
        _assign(root, element)
    _fill(root, element)
    return root


def _assign(node: Any, element: Element) -> None:
    values = _values(element)
    if isinstance(node, Node):
        node.assign(values)
        node.inherit()
        return
    for name, value in values.items():  # of a real SOFA
        if (data := node.findData(name)) is not None:
            data.read(value)


def _values(element: Element) -> dict[str, str]:
    """Return the attributes that are not disabled by a prefix."""
    values = element.values | {
        name: value for name, value in element.replaced.items() if name in element.values
    }
    return {name: value for name, value in values.items() if not name.startswith(_DISABLED)}


def _fill(node: Any, element: Element) -> None:
    with in_folder(element.file.parent):
        counts: dict[str, int] = {}
        for child in element.children:
            with at_line((str(child.file), child.line)):
                if child.kind == "Node":
                    below = node.addChild(child.name)
                    _assign(below, child)
                else:
                    name = child.name
                    if not name:
                        counts[child.kind] = counts.get(child.kind, 0) + 1
                        name = f"{child.kind}{counts[child.kind]}"
                    _add(node, child.kind, name, _values(child))
            if child.kind == "Node":
                _fill(below, child)


def _add(node: Any, kind: str, name: str, values: dict[str, str]) -> None:
    try:
        node.addObject(kind, name=name, **values)
    except (ValueError, TypeError) as error:  # in a real SOFA, whose own reader continues
        if isinstance(node, Node):
            raise
        line, reason = describe(scene_line()), str(error).partition("\n")[0].strip()
        message.warning(node, f"{line}: SOFA goes on without the {kind} '{name}': {reason}")


# Elements for several components, such as <BoxConstraint>, are files in SOFA: an element X that is
# not a component is an <include> of Objects/X.xml.

Parts = dict[str, dict[str, str]]
"""Values of each component by its class; the element can only replace these attributes."""

_IMPLICIT: Parts = {
    "EulerImplicitSolver": {"rayleighStiffness": "0.1", "rayleighMass": "0.1", "vdamping": "0"},
    "CGLinearSolver": {"iterations": "25", "tolerance": "1e-5", "threshold": "1e-5"},
}
_FIXED: Parts = {"FixedProjectiveConstraint": {"indices": "@[-1].indices"}}
EXPANSIONS: dict[str, Parts] = {
    "BoxConstraint": {
        "BoxROI": {"name": "box_roi", "box": "0 0 0 1 1 1", "drawBoxes": "0"},
        **_FIXED,
    },
    "PlaneConstraint": {
        "PlaneROI": {"name": "box_roi", "plane": "-4 3 0 1 2 1 0 0 1 2", "drawSize": "0"},
        **_FIXED,
    },
    "CGImplicit": _IMPLICIT,
    "CGImplicitSolver": _IMPLICIT,
}
"""Content of SOFA's files for its examples, if SOFA is not installed."""


def file_of(kind: str, scene: Path) -> Path | None:
    """Return the file for an element of that class, next to the scene or on the data paths."""
    if not kind.isidentifier() or factory.find(kind) is not None:
        return None
    file = path_near(f"Objects/{kind}.xml", scene)
    return file if file.is_file() else None


def parts_of(kind: str) -> Parts:
    """Return the components of an element of that class, or {} if it is a component itself."""
    return {} if factory.find(kind) is not None else EXPANSIONS.get(kind, {})
