"""Links between objects, such as `topology="@topology"`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

from sofa_softctl.base.source_line import Line, describe, scene_line
from sofa_softctl.errors import LinkError, SceneError
from sofa_softctl.runtime.core.link_path import LinkPath
from sofa_softctl.runtime.helper.message import complain

if TYPE_CHECKING:
    from sofa_softctl.runtime.core.base import Base


class LinkType:
    """Declaration of a link to another object."""

    def __init__(
        self, help: str, *, kind: str = "", aliases: Sequence[str] = (), many: bool = False
    ) -> None:
        self.help = help
        self.many = many  # whether it may lead to several objects
        self.kind = kind  # category of its target; any if empty
        self.aliases = tuple(aliases)
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> LinkType: ...
    @overload
    def __get__(self, instance: Any, owner: type) -> Link: ...
    def __get__(self, instance: Any, owner: type) -> LinkType | Link:
        return self if instance is None else instance._links[self.name]

    def __set__(self, instance: Any, value: Any) -> None:
        instance._links[self.name].assign(value, scene_line())


def class_of(kind: str) -> str:
    """Return SOFA's class of the objects of a category."""
    classes = {"node": "Node", "state": "BaseMechanicalState", "topology": "BaseMeshTopology"}
    return classes.get(kind, "BaseObject")


class Link:
    """Link of an object: a path that is followed when it is read.

    `path` of a link to several objects contains their paths, separated by blanks.
    """

    __slots__ = (
        "help",
        "name",
        "owner",
        "path",
        "persistent",
        "target",
        "targets",
        "type",
        "where",
    )

    def __init__(self, type: LinkType, owner: Base) -> None:
        self.type = type
        self.owner = owner
        self.name = type.name
        self.help = type.help
        self.persistent = True
        self.path = ""
        self.target: Any = None
        self.targets: list[Any] = []
        self.where: Line | None = None

    def assign(self, value: Any, line: Line | None) -> None:
        """Set the link to a path or an object, or to several."""
        self.targets = []
        if self.type.many and isinstance(value, list | tuple):
            paths = [self._assign_one(item, line) for item in value]
            self.path, self.target = " ".join(paths), None
        else:
            self._assign_one(value, line)
        self.where = line

    def _assign_one(self, value: Any, line: Line | None) -> str:
        if isinstance(value, LinkPath):
            self.path, self.target = str(value), value.target
        elif isinstance(value, str):
            self.path, self.target = value, None
        elif hasattr(value, "findData"):
            self.path, self.target = value.getLinkPath(), value
        else:
            raise SceneError(
                f"{describe(line)}: the link '{self.type.name}' of {self.owner.describe()} takes "
                f"a path such as '@../dofs' or an object, got {value!r}."
            )
        return self.path

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of its target, as in SofaPython3: `fem.topology.position`."""
        if name.startswith("_") or name in Link.__slots__:
            raise AttributeError(name)
        linked = self.getLinkedBase()
        if linked is None:
            raise AttributeError(
                f"The link '{self.type.name}' of {self.owner.describe()} leads to nothing, so that "
                f"there is no '{name}' of it."
            )
        return getattr(linked, name)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set a Data of its target, as in SofaPython3: `fem.mstate.position = ...`."""
        if name in Link.__slots__:
            object.__setattr__(self, name, value)
        else:
            setattr(self.__getattr__("linkpath").target, name, value)

    def getName(self) -> str:
        """Return the name, as SOFA writes it."""
        return self.name

    def setName(self, name: str) -> None:
        """Rename it; its object still uses the old name, as in SOFA."""
        self.name = name

    def getHelp(self) -> str:
        """Return the help text."""
        return self.help

    def setHelp(self, help: str) -> None:
        """Replace the help text."""
        self.help = help

    def getValueString(self) -> str:
        """Return the paths of the scene, separated by blanks, or ""."""
        return self.path

    def getValueTypeString(self) -> str:
        """Return SOFA's class of its targets, or the class of all objects."""
        return class_of(self.type.kind)

    def getLinkedPath(self, index: int = 0) -> str:
        """Return the path of that number as the scene wrote it, or ""."""
        paths = self.path.split() if self.type.many else [self.path]
        return paths[index] if index < len(paths) else ""

    def getLinkedBases(self) -> list[Any]:
        """Return its targets; raise a LinkError if one of them does not exist."""
        if not self.targets:
            self.targets = [self._end_of(path) for path in self.path.split()]
        return [self._of_kind(target) for target in self.targets]

    def getLinkedBase(self, index: int = 0) -> Any:
        """Return its target, or None without a path; raise a LinkError if it does not exist."""
        if self.type.many:
            targets = self.getLinkedBases()
            return targets[index] if index < len(targets) else None
        return self._only_base()

    def follow_now(self) -> None:
        """Store the present target of the path, as SOFA does when the object is created.

        The path becomes wrong if this part of the graph is attached elsewhere afterwards.
        """
        if self.type.many:
            targets = [self.owner.resolve(path) for path in self.path.split()]
            self.targets = [] if None in targets else targets
        elif self.target is None and self.path:
            self.target = self.owner.resolve(self.path)

    def check(self) -> None:
        """Complain of a link without a target, which then counts as not set, before `init`.

        Raises:
            LinkError: The target should be a state, which every owner needs; any, in strict mode.
        """
        try:
            self.getLinkedBase()
        except LinkError as error:
            if self.type.kind == "state":
                raise
            complain(self.owner, error, " It counts as not given, as in SOFA.")
            self.path, self.target, self.targets = "", None, []

    def _only_base(self) -> Any:
        if self.target is None and self.path:
            self.target = self._end_of(self.path)
        if self.target is not None:
            self.target = self._of_kind(self.target)
        return self.target

    def _end_of(self, path: str) -> Any:
        target = self.owner.resolve(path)
        if target is None:
            raise LinkError(
                f"{describe(self.where)}: '{self.type.name}' of {self.owner.describe()} links to "
                f"'{path}', which does not exist. {self.owner.explain_link(path)}"
            )
        return target

    def _of_kind(self, target: Any) -> Any:
        """Return the target, or the first fitting object of a target node, as SOFA for '@..'.

        A state or topology may also be in the nodes above the target.
        """
        kind = self.type.kind
        if not kind:
            return target
        fits = target.of(kind) if hasattr(target, "of") else [target]
        if not fits and kind in ("state", "topology"):
            fits = [item for item in [target.find_upward(kind)] if item is not None]
        if fits and fits[0].category == kind:
            return fits[0]
        raise LinkError(
            f"{describe(self.where)}: '{self.type.name}' of {self.owner.describe()} links to "
            f"{target.describe()}, which {'holds' if hasattr(target, 'of') else 'is'} no {kind}."
        )

    def getOwnerBase(self) -> Base:
        """Return the object of the link."""
        return self.owner

    def getPathName(self) -> str:
        """Return its path in the graph, such as `/trunk/mapping.input`."""
        return f"{self.owner.getPathName()}.{self.name}"

    def getSize(self) -> int:
        """Return the number of linked objects."""
        return len(self.path.split()) if self.type.many else int(bool(self.path))

    def isMultiLink(self) -> bool:
        """Return True if it may lead to several objects."""
        return self.type.many

    def isReadOnly(self) -> bool:
        """Return True if it is not saved with the scene, as in SOFA; scripts may still set it."""
        return not self.persistent

    def isPersistent(self) -> bool:
        """Return True if it is saved with the scene."""
        return self.persistent

    def setPersistent(self, persistent: bool) -> None:
        """Set whether it is saved with the scene."""
        self.persistent = persistent

    def read(self, path: str) -> bool:
        """Set the path."""
        self.assign(path, scene_line())
        return True

    def setLinkedBase(self, target: Any) -> None:
        """Link to that object."""
        self.assign(target, scene_line())

    def __repr__(self) -> str:
        return f"Link {self.type.name} -> '{self.path}'"
