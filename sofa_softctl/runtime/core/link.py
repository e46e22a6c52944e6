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
    """Declaration of one link to another object, as `Real` is of one number."""

    def __init__(
        self, help: str, *, kind: str = "", aliases: Sequence[str] = (), many: bool = False
    ) -> None:
        self.help = help
        self.many = many  # whether it may lead to several objects
        self.kind = kind  # category of what it must lead to; any when empty
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
    """SOFA's class of the objects of a category."""
    classes = {"node": "Node", "state": "BaseMechanicalState", "topology": "BaseMeshTopology"}
    return classes.get(kind, "BaseObject")


class Link:
    """One link of one object: a path that is followed when somebody asks.

    Some may lead to several objects: `path` then holds their paths, separated by blanks.
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

    def assign(self, value: Any, where: Line | None) -> None:
        """Take over what a scene gave: a path or the object itself, or several of them."""
        self.targets = []
        if self.type.many and isinstance(value, list | tuple):
            paths = [self._assigned(entry, where) for entry in value]
            self.path, self.target = " ".join(paths), None
        else:
            self._assigned(value, where)
        self.where = where

    def _assigned(self, value: Any, where: Line | None) -> str:
        if isinstance(value, LinkPath):
            self.path, self.target = str(value), value.target
        elif isinstance(value, str):
            self.path, self.target = value, None
        elif hasattr(value, "findData"):
            self.path, self.target = value.getLinkPath(), value
        else:
            raise SceneError(
                f"{describe(where)}: the link '{self.type.name}' of {self.owner.describe()} takes "
                f"a path such as '@../dofs' or an object, got {value!r}."
            )
        return self.path

    def __getattr__(self, name: str) -> Any:
        """What the object at its end has, as in SofaPython3: `fem.topology.position`."""
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
        """Set a Data of the object at its end, as in SofaPython3: `fem.mstate.position = ...`."""
        if name in Link.__slots__:
            object.__setattr__(self, name, value)
        else:
            setattr(self.__getattr__("linkpath").target, name, value)

    def getName(self) -> str:
        """The name, as SOFA writes it."""
        return self.name

    def setName(self, name: str) -> None:
        """Rename it; its object still knows it by the old name, as in SOFA."""
        self.name = name

    def getHelp(self) -> str:
        """Help text."""
        return self.help

    def setHelp(self, help: str) -> None:
        """Replace the help text."""
        self.help = help

    def getValueString(self) -> str:
        """The paths as the scene gave them, separated by blanks; empty when it gave none."""
        return self.path

    def getValueTypeString(self) -> str:
        """SOFA's class of what it leads to, or else that of all objects."""
        return class_of(self.type.kind)

    def getLinkedPath(self, index: int = 0) -> str:
        """The path of that number as the scene gave it, empty when it gave none."""
        paths = self.path.split() if self.type.many else [self.path]
        return paths[index] if index < len(paths) else ""

    def getLinkedBases(self) -> list[Any]:
        """The objects at its ends; LinkError when one of its paths leads nowhere."""
        if not self.targets:
            self.targets = [self._end_of(path) for path in self.path.split()]
        return [self._of_kind(target) for target in self.targets]

    def getLinkedBase(self, index: int = 0) -> Any:
        """The object at its end; None when no path was given, LinkError when it leads nowhere."""
        if self.type.many:
            found = self.getLinkedBases()
            return found[index] if index < len(found) else None
        return self._only_base()

    def follow_now(self) -> None:
        """Remember where the path leads at present, as SOFA does when the object is made.

        The part of the graph may be hung elsewhere afterwards; the path is no longer right then.
        """
        if self.type.many:
            found = [self.owner.resolve(path) for path in self.path.split()]
            self.targets = [] if None in found else found
        elif self.target is None and self.path:
            self.target = self.owner.resolve(self.path)

    def check(self) -> None:
        """Complain of a link that leads nowhere; it then counts as not given.

        Where SOFA goes on without, before the owner's `init`.

        Raises:
            LinkError: it should lead to a state, which no owner does without; any, in strict mode.
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
        """The target, or the first fitting object of a node, as SOFA takes '@..' for one.

        Where the node has no state or topology, it is that of the nodes around it.
        """
        kind = self.type.kind
        if not kind:
            return target
        fits = target.of(kind) if hasattr(target, "of") else [target]
        if not fits and kind in ("state", "topology"):
            fits = [found for found in [target.find_upward(kind)] if found is not None]
        if fits and fits[0].category == kind:
            return fits[0]
        raise LinkError(
            f"{describe(self.where)}: '{self.type.name}' of {self.owner.describe()} links to "
            f"{target.describe()}, which {'holds' if hasattr(target, 'of') else 'is'} no {kind}."
        )

    def getOwnerBase(self) -> Base:
        """The object whose link it is."""
        return self.owner

    def getPathName(self) -> str:
        """Its place in the graph, such as `/trunk/mapping.input`."""
        return f"{self.owner.getPathName()}.{self.name}"

    def getSize(self) -> int:
        """Number of linked objects."""
        return len(self.path.split()) if self.type.many else int(bool(self.path))

    def isMultiLink(self) -> bool:
        """Whether it may lead to several objects."""
        return self.type.many

    def isReadOnly(self) -> bool:
        """Whether it is not saved with the scene, as in SOFA; scripts may set it nevertheless."""
        return not self.persistent

    def isPersistent(self) -> bool:
        """Whether it is saved with the scene."""
        return self.persistent

    def setPersistent(self, persistent: bool) -> None:
        """Choose whether it is saved with the scene."""
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
