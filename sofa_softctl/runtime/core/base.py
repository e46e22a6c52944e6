"""Base class of nodes and components: name, Data, links, path in the graph."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sofa_softctl.base.source_line import Line, describe, scene_line
from sofa_softctl.base.suggestions import did_you_mean, nearest_names
from sofa_softctl.errors import LinkError, SceneError, UnknownDataError
from sofa_softctl.runtime.core.data import script_data
from sofa_softctl.runtime.core.data.box import NO_BOX, BoundingBox
from sofa_softctl.runtime.core.data.data import Data
from sofa_softctl.runtime.core.data.types import DataType, Text, Texts
from sofa_softctl.runtime.core.link import Link, LinkType
from sofa_softctl.runtime.core.link_path import LinkPath
from sofa_softctl.runtime.core.paths import explain_path, follow_path
from sofa_softctl.runtime.helper.message import complain

if TYPE_CHECKING:
    from sofa_softctl.runtime.core.node import Node

ATTRIBUTE_SIMILARITY_MIN = 0.75
"""Similarity to the name of a Data, 0 to 1, above which an attribute seems misspelt."""


PROTECTED = ("children", "objects", "parents", "data", "links", "linkpath")
"""Names that SofaPython3 refuses for nodes, components and Data: they are attributes of both."""


class Base:
    """SOFA's Base. A subclass declares its Data and links as class attributes."""

    data_types: ClassVar[dict[str, DataType]] = {}
    link_types: ClassVar[dict[str, LinkType]] = {}
    counted: ClassVar[tuple[str, ...]] = ()
    """Data with an entry per item, such as a node or an element."""
    data_names: ClassVar[dict[str, str]] = {}
    """Name of the Data or link for each name and alias."""
    _scripted: ClassVar[bool] = False
    """Whether it is a Python class of a scene, with its own attributes."""

    name = Text("", "Name of the object in its node.")
    tags = Texts([], "Words by which a script can find it.")
    bbox = BoundingBox("Smallest and largest corner of what it holds.", unit="length")

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.data_types, cls.link_types = {}, {}
        for base in reversed(cls.__mro__):
            for name, declared in vars(base).items():
                if isinstance(declared, DataType):
                    cls.data_types[name] = declared
                elif isinstance(declared, LinkType):
                    cls.link_types[name] = declared
        cls.counted = tuple(name for name, kind in cls.data_types.items() if kind.per)
        cls.data_names = {}
        for name, declaration in (cls.data_types | cls.link_types).items():
            for alias in (name, *declaration.aliases):
                cls.data_names[alias] = name

    def __init__(self, *args: Any, **values: Any) -> None:
        self._where: Line | None = scene_line()
        self._data: dict[str, Data] = {}
        self._links: dict[str, Link] = {}
        # The template comes first: it determines the width of other Data.
        for name in sorted(self.data_types, key=lambda name: name != "template"):
            declaration = self.data_types[name]
            data = self._data[name] = declaration.data_class(declaration, self)
            self.__dict__[name] = data  # so that reading it calls no Python function
            if name == "template" and values.get("template") is not None:
                data.assign(values["template"], self._where)
        for name, link_type in self.link_types.items():
            self._links[name] = Link(link_type, self)
        self.assign(values)

    def assign(self, values: Mapping[str, Any]) -> None:
        """Set Data and links to the values of a scene; complain of unknown names.

        In the order of the names, as in SOFA: of several names for a Data the last one counts.
        """
        for name in sorted(values, key=lambda name: (name != "name", name)):
            value = values[name]
            target = self.data_names.get(name)
            if target is None:
                error = UnknownDataError(self.unknown_data(name, scene_line()))
                error.component, error.data = self.getClassName(), name
                complain(self, error)
                continue
            if value is None or name == "template":
                continue
            if target in self._links:
                self._links[target].assign(value, scene_line())
            else:
                data = self._data[target]
                data.check_settable()
                data.assign(value, scene_line())
                data.setPersistent(True)

    @property
    def _node(self) -> Node | None:
        """Node from which its links are followed."""
        raise NotImplementedError

    def check_change(self, data: Data, value: Any, line: Line | None) -> None:
        """Check a Data before a scene or script sets it; the value is None if it is unknown."""

    def data_changed(self, data: Data) -> None:
        """React to a Data that a scene or script has set."""

    def find_box(self) -> np.ndarray:
        """Return the smallest and largest corner of its content, shape (2, 3); see `bbox`."""
        return NO_BOX

    def update_outputs(self) -> None:
        """Update computed Data; engines override it."""

    # -- SOFA's Python API -------------------------------------------------------------------

    def getName(self) -> str:
        """Return the name of the object."""
        return self.name.get()

    def setName(self, name: str) -> None:
        """Rename the object."""
        self.name.set(name)

    @classmethod
    def getClassName(cls) -> str:
        """Return the name of its class, as scenes write it."""
        return cls.__name__

    def getTemplateName(self) -> str:
        """Return the kind of degrees of freedom, or ""."""
        return ""

    def getInstanciationFileName(self) -> str:
        """Return the file in which a scene created it."""
        return self._where[0] if self._where else ""

    def getInstanciationSourceFilePos(self) -> int:
        """Return the line on which a scene created it."""
        return self._where[1] if self._where else 0

    def getPathName(self) -> str:
        """Return its path in the graph, such as `/trunk/dofs`."""
        raise NotImplementedError

    def getLinkPath(self) -> str:
        """Return its path in the graph as a link."""
        return f"@{self.getPathName()}"

    getAsACreateObjectParameter = getLinkPath

    @property
    def linkpath(self) -> LinkPath:
        """Path in the graph as a link."""
        return LinkPath(self)

    def findData(self, name: str) -> Data | None:
        """Return the Data of that name or alias, or None."""
        return self._data.get(self.data_names.get(name, name))

    def getData(self, name: str) -> Any:
        """Return the Data of that name or alias, or None, with a warning."""
        data = self.findData(name)
        if data is None:
            complain(self, UnknownDataError(self.unknown_data(name, scene_line())))
        return data

    def hasData(self, name: str) -> bool:
        """Return True if there is a Data of that name or alias."""
        return self.findData(name) is not None

    def getDataFields(self) -> list[Data]:
        """Return all Data."""
        return list(self._data.values())

    @property
    def __data__(self) -> Mapping[str, Data]:
        """All Data by name."""
        return MappingProxyType(self._data)

    def findLink(self, name: str) -> Link | None:
        """Return the link of that name, or None."""
        return self._links.get(self.data_names.get(name, name))

    def getLinks(self) -> list[Link]:
        """Return all links."""
        return list(self._links.values())

    def getLoggedMessagesAsString(self) -> str:
        """Return the messages that it sent, one a line."""
        return "\n".join(self.__dict__.get("_messages", ()))

    def countLoggedMessages(self) -> int:
        """Return the number of messages that it sent."""
        return len(self.__dict__.get("_messages", ()))

    def clearLoggedMessages(self) -> None:
        """Delete the messages that it sent."""
        self.__dict__.pop("_messages", None)

    def setDataValues(self, **values: Any) -> None:
        """Set several Data."""
        self.assign(values)

    def addData(
        self,
        name: str,
        value: Any = None,
        default: Any = None,
        help: str = "",
        group: str = "",
        type: str = "",
    ) -> Data:
        """Add a Data to this object only, as Python controllers do.

        The new Data follows a Data or a link that is its value; the type may then be left out.
        """
        if name in self._data or name in PROTECTED or hasattr(self.__class__, name):
            kind = "a Data" if name in self._data else "an attribute"
            raise SceneError(
                f"{describe(scene_line())}: {self.describe()} already has {kind} '{name}'; give "
                "the new Data another name."
            )
        is_link = isinstance(value, str) and value.startswith("@")
        source = self.resolve(value, data=True) if is_link else value
        if is_link and source is None and not type:
            raise LinkError(
                f"{describe(scene_line())}: addData '{name}' of {self.describe()} links to "
                f"'{value}', which does not exist. {self.explain_link(value, data=True)} "
                "A link that leads somewhere later needs a type."
            )
        if not type and isinstance(source, Data):
            declaration = script_data.like(source, help)
        else:
            declaration = script_data.declaration(type, default, help)
        declaration.name = name
        declaration.may_be_nan = True  # 'none yet' of a script
        data = declaration.data_class(declaration, self)
        self._data[name] = data
        if isinstance(value, Data):
            data.setParent(value)
        elif value is not None:
            data.assign(value, scene_line())
        data.setPersistent(True)
        return data

    def addLink(self, name: str, value: Any = None, help: str = "") -> Link:
        """Add a link to this object only."""
        declaration = LinkType(help)
        declaration.name = name
        link = self._links[name] = Link(declaration, self)
        if value is not None:
            link.assign(value, scene_line())
        return link

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_"):  # `_data` may not exist yet while unpickling
            real = type(self).data_names.get(name, name)
            for table in (self.__dict__.get("_data", {}), self.__dict__.get("_links", {})):
                if real in table:
                    return table[real]
        hint = did_you_mean(name, [*type(self).data_names, *self._method_names(name)])
        raise AttributeError(f"{type(self).__name__} has no attribute or Data '{name}'.{hint}")

    def __getitem__(self, name: str) -> Any:
        name = name.removeprefix(".")
        return self.getData(name) if name else self

    def __setattr__(self, name: str, value: Any) -> None:
        if name[0] == "_" and name in self.__dict__:  # most of those in a step
            object.__setattr__(self, name, value)
            return
        real = type(self).data_names.get(name)
        if (data := self.__dict__.get("_data", {}).get(real or name)) is not None:
            data.value = value
        elif real is None and name in self.__dict__.get("_links", {}):
            self._links[name].assign(value, scene_line())
        else:
            if real is None and not hasattr(type(self), name) and name not in self.__dict__:
                self._check_new_attribute(name)
            object.__setattr__(self, name if real is None else real, value)

    def _check_new_attribute(self, name: str) -> None:
        """Complain of a scene's attribute whose name is close to a Data: nothing reads it."""
        caller = sys._getframe(2).f_globals.get("__name__", "")
        if self._scripted or name.startswith("_") or caller.partition(".")[0] == "sofa_softctl":
            return
        if close := nearest_names(name, type(self).data_names, cutoff=ATTRIBUTE_SIMILARITY_MIN):
            complain(
                self,
                SceneError(
                    f"{describe(scene_line())}: {self.describe()} has no Data '{name}', so this "
                    f"makes an attribute of Python's, which nothing reads. Did you mean "
                    f"'{close[0]}'?"
                ),
            )

    def __repr__(self) -> str:
        return f"<{self.getClassName()} {self.getPathName()}>"

    # -- helpers of the runtime ------------------------------------------------------------------

    def describe(self) -> str:
        """Return class and path for messages, such as `CableConstraint '/trunk/cable/left'`."""
        name = self._data.get("name")
        if name is not None and (name.get() or self is self._node):
            return f"{self.getClassName()} '{self.getPathName()}'"
        place = "" if self._node is None else f" in '{self._node.getPathName()}'"
        return f"{self.getClassName()}{place}"

    def fault(self, problem: str) -> SceneError:
        """Return a SceneError that names the scene's line and the object."""
        return SceneError(f"{describe(self._where)}: {self.describe()} {problem}")

    @classmethod
    def _method_names(cls, name: str) -> list[str]:
        """Return the public methods of SOFA's API, if the name looks like one of them."""
        if not name.startswith(("add", "create", "find", "get", "is", "remove", "set")):
            return []
        return [method for method in dir(cls) if method[0] != "_" and "_" not in method]

    def resolve(self, path: str, *, data: bool = False) -> Any:
        """Return the target of a link, or None."""
        return follow_path(path, self._node, data=data, owner=self)

    def explain_link(self, path: str, *, data: bool = False) -> str:
        """Explain a broken link by the names in the graph at its last valid node."""
        if self._node is None:
            return "The object is in no node yet."
        return explain_path(path, self._node, data=data)

    def unknown_data(self, name: str, line: Line | None) -> str:
        """Return the message of an unknown Data, with the probably intended one."""
        listing = f" 'softctl components {self.getClassName()}' lists them."
        if self is self._node:
            listing = f" It has: {', '.join(self._data)}."
        return f"{describe(line)}: {self.explain_data(name)}{listing}"

    def explain_data(self, name: str) -> str:
        """Return the sentence that there is no such Data, with the probably intended one."""
        hint = did_you_mean(name, type(self).data_names)
        return f"{self.describe()} has no Data '{name}'.{hint}"
