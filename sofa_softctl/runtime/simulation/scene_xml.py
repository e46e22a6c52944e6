"""XML scenes (.scn, .xml): `<Node name="arm"><MechanicalObject position="0 0 0"/></Node>`.

As SOFA reads them: objects and nodes are made in the order of the file, unnamed objects are called
by their class and a number, `<include href="..."/>` puts in the content of another file, as does an
element whose class no component has, such as `<BoxConstraint>`: see `parts_of`.
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
"""Names of an included root of which only the content counts."""
_MERGED = "_Merge_"
"""Name of an included root that is merged into the node around it."""
_SPECIAL = (*_GROUPS, _MERGED)
_DISABLED = ("_", "NO")
"""What attributes begin with that scenes have disabled."""


@dataclass
class Element:
    """One element of a file, before anything is made of it."""

    kind: str
    """Class of the component; 'Node' for a node."""
    name: str
    """Its name; empty where it has none."""
    values: dict[str, str]
    """Its other attributes."""
    file: Path
    """The file."""
    line: int
    """Line in it."""
    children: list[Element] = field(default_factory=list)
    replaced: dict[str, str] = field(default_factory=dict)
    """Values that an include gives in place of its own."""
    starts_file: bool = False
    """Whether it is the root of a file: paths within are relative to that file's folder."""


def read_xml(path: Path) -> Element:
    """The elements of an XML scene, with what it includes.

    Raises:
        SceneError: a file is not there, or no XML, or does not start with a node, or includes
            itself.
    """
    path = path.resolve()
    root = _parse(path)
    if root.kind != "Node":
        where = describe((str(path), root.line))
        raise SceneError(f"{where}: it starts with <{root.kind}>; a scene starts with <Node>.")
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
        where, ended = describe((str(path), skipped + error.lineno)), stack == [outer]
        if not (ended and outer.children):
            raise SceneError(f"{where}: no XML: {expat.ErrorString(error.code)}.") from error
        unread = SceneError(f"{where}: the root node ends before this line, the rest is not read.")
        complain(path.name, unread)
    (root,) = outer.children
    root.starts_file = True
    return root


def _as_xml(content: bytes) -> bytes:
    """The text of a file in XML's strict form; its lines stay where they are.

    SOFA takes what XML forbids: '--' in comments, '<' and '&' in values, values without a space
    after them.
    """
    content = _COMMENT.sub(lambda found: b"\n" * found[0].count(b"\n"), content)
    return _TAG.sub(lambda tag: _VALUE.sub(_escaped, tag[0]), content)


def _escaped(value: re.Match[bytes]) -> bytes:
    return _AMPERSAND.sub(b"&amp;", value[0].replace(b"<", b"&lt;")) + b" "


def _element(tag: str, attributes: dict[str, str], path: Path, line: int) -> Element:
    values = dict(attributes)
    name = values.pop("name", "")
    kind = values.pop("type", "") if tag == "Object" else tag
    if tag == "Node":
        values.pop("type", None)
    return Element(kind, name, values, path, line)


def _put(parent: Element, child: Element) -> None:
    """Add an element to one, as the name of an included one says."""
    if child.starts_file and child.name in _GROUPS:
        parent.children += child.children
    elif child.starts_file and child.name == _MERGED:
        _merge(parent, child)
    else:
        parent.children.append(child)


def _merge(into: Element, other: Element) -> None:
    into.values.update(other.values)
    for child in other.children:
        same = (e for e in into.children if e.name and (e.kind, e.name) == (child.kind, child.name))
        found = next(same, None)
        if found is None:
            into.children.append(child)
        else:
            _merge(found, child)


def _with_includes(element: Element, files: tuple[Path, ...], depth: int = 0) -> Element:
    """The same element, in which included files stand in place of <include>.

    Args:
        element: One of the last of the files.
        files: The files, each of which includes the next.
        depth: Elements around it in its file.
    """
    if depth > DEPTH_MAX:
        where = describe((str(element.file), element.line))
        raise SceneError(f"{where}: nodes are nested more than {DEPTH_MAX} deep.")
    children, element.children = element.children, []
    for child in children:
        if child.kind == "include":
            _put(element, _included(child, files))
        elif child.kind != "Node" and (file := file_of(child.kind, child.file)):
            child.values["href"] = str(file)
            _put(element, _included(child, files))
        elif parts := parts_of(child.kind):
            _put(element, _group(child, parts))
        else:
            _put(element, _with_includes(child, files, depth + 1))
    return element


def _included(include: Element, files: tuple[Path, ...]) -> Element:
    """The root of an included file, with the include's attributes in place of its own."""
    where = describe((str(include.file), include.line))
    name = include.values.pop("href", "")
    found = path_near(name, include.file)
    if not name or not found.is_file():
        raise SceneError(f"{where}: <include> of '{name}': there is no such file.")
    found = found.resolve()
    if found in files:
        circle = (*files[files.index(found) :], found)
        chain = " includes ".join(f"'{file.name}'" for file in circle)
        raise SceneError(f"{where}: '{found.name}' includes itself: {chain}.")
    root = _with_includes(_parse(found), (*files, found))
    if root.name not in _SPECIAL or include.name in _SPECIAL:
        root.name = include.name or root.name
    _take_over(root, include)
    return root


def _group(element: Element, parts: Parts) -> Element:
    """The components that an element stands for, with its attributes in place of their own."""
    group = Element("Node", _GROUPS[0], {}, element.file, element.line, starts_file=True)
    for kind, values in parts.items():
        own = dict(values)
        name = own.pop("name", "")
        group.children.append(Element(kind, name, own, element.file, element.line))
    _take_over(group, element)
    return group


def _take_over(root: Element, include: Element) -> None:
    """Put the attributes of an include in place of those of what it includes."""
    unused = []
    for attribute, value in include.values.items():
        owner, mark, data = attribute.rpartition("__")
        used = _replace(root, data if mark else attribute, value, owner)
        if not (used or attribute.startswith(_DISABLED)):
            unused.append(f"'{attribute}'")
    if unused:
        where = describe((str(include.file), include.line))
        names = ", ".join(unused)
        problem = SceneError(f"{where}: <{include.kind}> has {names}, which nothing in it has.")
        complain(include.file.name, problem)


def _replace(element: Element, attribute: str, value: str, name: str) -> int:
    """Give a value to what has that attribute already, everywhere or in elements of a name.

    Returns:
        How many there are. Elements of a name have a `type`, their class, and a `name` as well.
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
    """Make a scene's graph below a root, which gets the attributes of the first node.

    Raises:
        SceneError: a component does not exist, or does not take its values.
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
    """Attributes, without those that scenes disable by a prefix."""
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
    except (ValueError, TypeError) as error:  # of a real SOFA, whose own reader goes on
        if isinstance(node, Node):
            raise
        place, reason = describe(scene_line()), str(error).partition("\n")[0].strip()
        message.warning(node, f"{place}: SOFA goes on without the {kind} '{name}': {reason}")


# An element that stands for several components, such as <BoxConstraint>, is a file in SOFA: one of
# class X that no component has is <include> of Objects/X.xml.

Parts = dict[str, dict[str, str]]
"""Values of each component by its class; of the element's attributes those count that are here."""

_IMPLICIT: Parts = {
    "EulerImplicitSolver": {"rayleighStiffness": "0.1", "rayleighMass": "0.1", "vdamping": "0"},
    "CGLinearSolver": {"iterations": "25", "tolerance": "1e-5", "threshold": "1e-5"},
}
_FIXED: Parts = {"FixedProjectiveConstraint": {"indices": "@[-1].indices"}}
KNOWN: dict[str, Parts] = {
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
"""Those of SOFA's own files that its examples use, for when no SOFA is there."""


def file_of(kind: str, scene: Path) -> Path | None:
    """The file that an element of that class includes, beside the scene or where the data are."""
    if not kind.isidentifier() or factory.find(kind) is not None:
        return None
    found = path_near(f"Objects/{kind}.xml", scene)
    return found if found.is_file() else None


def parts_of(kind: str) -> Parts:
    """The components that an element of that class stands for; none where it is one."""
    return {} if factory.find(kind) is not None else KNOWN.get(kind, {})
