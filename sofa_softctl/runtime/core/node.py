"""Nodes: building the scene graph, and what happens in it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from sofa_softctl.base.source_line import describe, scene_line
from sofa_softctl.errors import ArgumentError, SceneError
from sofa_softctl.runtime.core import factory
from sofa_softctl.runtime.core.base import PROTECTED
from sofa_softctl.runtime.core.children import NodeIterator
from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.data import Data
from sofa_softctl.runtime.core.data.types import Bool, Real, Text
from sofa_softctl.runtime.core.event import Event
from sofa_softctl.runtime.core.graph_node import GraphNode
from sofa_softctl.runtime.core.late_changes import LateChanges
from sofa_softctl.runtime.helper import message
from sofa_softctl.runtime.helper.message import complain

if TYPE_CHECKING:
    from sofa_softctl.runtime.core.scripted import Controller

_OLD_FLAGS = (
    "showAll",
    "showVisual",
    "showBehavior",
    "showCollision",
    "showMapping",
    "showVisualModels",
    "showBehaviorModels",
    "showCollisionModels",
    "showBoundingCollisionModels",
    "showMappings",
    "showMechanicalMappings",
    "showForceFields",
    "showInteractionForceFields",
    "showWireFrame",
    "showNormals",
)
"""What old scenes say of nodes and SOFA turns into a VisualStyle."""

_MEANINGLESS = ("depend", "showBoundingTree")
"""What old scenes say of nodes and no version of SOFA reads any more; it warns, and goes on."""

DEEPEST = 300
"""Nodes below one another; Python's own calls would not follow many more."""


class Node(GraphNode):
    """SOFA's Node.

    A node passes dt, gravity and time on to its children when they are added, at init and at the
    end of every step, so that only the root's values last (as in SOFA).
    """

    name = Text("unnamed", "Name of the node in its parent.")
    printLog = Bool(False, "Print messages about what it does.")
    nbComputedSteps = Real(0, "Steps computed since init or reset.")

    def __init__(self, name: str = "unnamed", **values: Any) -> None:
        self.objects: NodeIterator[Component] = NodeIterator(self.removeObject)
        self.children: NodeIterator[Node] = NodeIterator(self.removeChild)
        self.parents: NodeIterator[Node] = NodeIterator(_no_removal)
        self._initialised = False
        self.late_changes = LateChanges()  # of the root
        self.version = 0  # of the root: how often the graph changed
        self._names: set[str] = set()  # that objects and children came with
        self._numbers: dict[str, int] = {}  # of a radical: the first that may be free
        self._controllers: tuple[int, list[Controller]] = (-1, [])
        self.contexts: list[Any] = []  # objects that change what it takes from its parent
        self._own_gravity: np.ndarray | None = None  # that it was given before it took the parent's
        flags = {flag: values.pop(flag) for flag in _OLD_FLAGS if flag in values}
        unread = [word for word in _MEANINGLESS if values.pop(word, None) is not None]
        super().__init__(name=name, **values)
        for word in unread:
            message.warning(self, f"{describe(scene_line())}: nothing reads '{word}' of a node.")
        if flags:
            self._add_style(flags)

    def _add_style(self, flags: dict[str, Any]) -> None:
        """A VisualStyle that shows and hides what a scene said of the node, as SOFA makes it."""
        shown = [
            flag if str(value)[:1] in "Tt123456789" else flag.replace("show", "hide", 1)
            for flag, value in flags.items()
        ]
        text = " ".join(shown)
        message.warn_deprecated(
            self, f"{describe(scene_line())}: {text} is now said by VisualStyle(displayFlags=...)."
        )
        self.addObject("VisualStyle", displayFlags=text)

    def addObject(self, kind: str | Component | type[Component] | None, **values: Any) -> Any:
        """Add a component by the name of its class, or an instance of it.

        Args:
            kind: Class name as in SOFA, an instance (a Python controller), or its class.
            values: Data and links of a component that is given by name.

        Raises:
            UnknownComponentError: no component of that name.
            UnknownDataError: the component has no Data of one of those names.
            SceneError: a value of the wrong type, or a name that the node already holds.
        """
        if isinstance(kind, str):
            _check_name(values.get("name"))
            component = factory.create(kind, values, self)
        elif kind is None:  # of a function that returns none, as in SOFA
            complain(self, SceneError(f"{describe(scene_line())}: addObject(None) adds nothing."))
            return None
        elif isinstance(kind, type):
            component = kind(**values)
        else:
            component = kind
            if values:
                component.assign(values)
            _check_free(component)
        self._hold(component)
        return component

    def _hold(self, component: Component) -> None:
        if not isinstance(component, Component):
            hint = " Add nodes with addChild." if isinstance(component, Node) else ""
            raise ArgumentError(
                f"{describe(scene_line())}: node '{self.getPathName()}' takes the name of a "
                f"component, or an instance of one; got {component!r}.{hint}"
            )
        if "_data" not in component.__dict__:
            raise SceneError(
                f"{describe(scene_line())}: {type(component).__name__} is not ready to be added: "
                "its __init__ must first call Sofa.Core.Controller.__init__(self, *args, **kwargs)."
            )
        name = component.getName()
        if not name:
            component.setName(self._free_name(component.getClassName()))
        elif name in self._names and self.getObject(name, warning=False) is not None:
            message.warning(
                self,
                f"{describe(scene_line())}: there already is an object named '{name}'; links and "
                "scripts find the first one.",
            )
        component._context = self
        self.objects.append(component)
        self._names.add(component.getName())
        self._changed()
        for data in component._data.values():
            data.follow_link()
        for link in component._links.values():
            link.follow_now()
        factory.take_over_source(component)
        component.added()

    def _free_name(self, radical: str) -> str:
        """The radical, with the first number that makes it a name of nothing in the node."""
        for number in itertools.count(self._numbers.get(radical, 0)):
            name = f"{radical}{number or ''}"
            if name not in self._names:
                break
        self._numbers[radical] = number + 1
        return name

    def addChild(self, child: str | Node, **values: Any) -> Node:
        """Add a node, by name or as it is."""
        if isinstance(child, str):
            _check_name(child)
        node = Node(child, **values) if isinstance(child, str) else child
        if not isinstance(node, Node):
            raise SceneError(
                f"{describe(scene_line())}: addChild takes a name or a node, got {child!r}."
            )
        if any(entry is self for entry in node.parents):
            problem = f"node '{self.getPathName()}' holds '{node.getName()}' already."
            complain(self, SceneError(f"{describe(scene_line())}: {problem}"))
            return node
        if id(self) in node._below():
            raise SceneError(
                f"{describe(scene_line())}: node '{self.getPathName()}' cannot hold "
                f"'{node.getName()}', which is above it."
            )
        if self._depth() >= DEEPEST:
            raise SceneError(
                f"{describe(scene_line())}: nodes are nested more than {DEEPEST} deep."
            )
        name = node.getName()
        if name in self._names and self.getChild(name, warning=False) is not None:
            message.warning(
                self,
                f"{describe(scene_line())}: there already is a child named '{name}'; links and "
                "scripts find the first one.",
            )
        self._names.add(name)
        node.parents.append(self)
        self.children.append(node)
        node.inherit()
        self._changed()
        return node

    def removeObject(self, component: Component | str) -> None:
        """Take a component out of the node."""
        found = self.getObject(component) if isinstance(component, str) else component
        if found is None or found not in self.objects:
            raise SceneError(
                f"{describe(scene_line())}: node '{self.getPathName()}' does not hold {component}."
            )
        self.objects.remove(found)
        self._names.discard(found.getName())
        self._numbers.clear()
        found.cleanup()
        found._context = None
        self._changed()

    def add(self, what: str | Component | Node | Callable[..., Any], **values: Any) -> Any:
        """Add a component by name, an object or node as it is, or what `what(self, **values)` is.

        A function, or a class of prefabs, makes its object or node in this node by itself.
        """
        if isinstance(what, Node):
            return self.addChild(what)
        if isinstance(what, str | Component):
            return self.addObject(what, **values)
        return what(self, **values)

    def createObject(self, kind: str, **values: Any) -> Component:
        """Old name of addObject."""
        message.warn_deprecated(self, f"{describe(scene_line())}: createObject is now addObject.")
        return self.addObject(kind, **values)

    def createChild(self, name: str, **values: Any) -> Node:
        """Old name of addChild."""
        message.warn_deprecated(self, f"{describe(scene_line())}: createChild is now addChild.")
        return self.addChild(name, **values)

    def removeChild(self, child: Node | str) -> Node:
        """Take a child out of the node.

        Returns:
            The child.
        """
        found = self.getChild(child) if isinstance(child, str) else child
        if found is None or found not in self.children:
            raise SceneError(
                f"{describe(scene_line())}: node '{self.getPathName()}' has no child {child}."
            )
        self.children.remove(found)
        found.parents.remove(self)
        self._changed()
        return found

    def detachFromGraph(self) -> None:
        """Take the node out of its parents."""
        for parent in list(self.parents):
            parent.removeChild(self)

    def moveChild(self, child: Node, parent: Node | None = None) -> None:
        """Take a node out of one parent, or out of all, and add it here."""
        if parent is None:
            child.detachFromGraph()
        else:
            parent.removeChild(child)
        self.addChild(child)

    def isInitialized(self) -> bool:
        """Whether the simulation was initialised since the node was added."""
        return self._initialised

    def init(self) -> None:
        """Initialise the objects of this node and of those below; needed for what was added later.

        Parents come before children, objects in the order of their addition; then all upward.
        """
        order: list[Component] = []
        visited = list(self.walk())
        started: set[int] = set()
        inside = {id(entry) for entry in visited}

        def start(component: Component) -> None:
            """Initialise one object, and before it regions that its Data follow, wherever."""
            if id(component) in started or id(component._context) not in inside:
                return
            started.add(id(component))
            for data in component._data.values():
                data.follow_link(must=True)
            for region in _followed_regions(component):
                for earlier in _up_to(region):
                    start(earlier)
            for link in component._links.values():
                if link.type.kind != "state":  # some do without a state that is nowhere
                    link.check()
            given = component.given_lengths()
            component.before_init()
            component.init()
            component._initialised = True
            for data, length in given.items():
                component.check_length(data, length)
            for link in component._links.values():
                link.check()
            order.append(component)

        for entry in visited:
            entry._initialised = True
            for component in list(entry.objects):
                start(component)
        for entry in reversed(visited):
            for component in reversed(list(entry.objects)):
                if not component._scripted:  # SOFA calls no bwdInit of Python's classes
                    component.bwdInit()
        for component in order:
            component.remember_outputs()

    def _changed(self) -> None:
        self.getRoot().version += 1

    def __enter__(self) -> Node:
        """`with root.addChild("arm") as arm:` sets off what belongs to a node."""
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    # -- what the runtime uses ---------------------------------------------------------------

    @property
    def _node(self) -> Node:
        """Itself: links of a node start there."""
        return self

    def take_in(self, component: Component) -> None:
        """Hold what a step has made; it is no change of the graph. Undone by `let_go`."""
        component._context = self
        self.objects.append(component)

    def let_go(self, component: Component) -> None:
        """No longer hold what a step has made."""
        self.objects.remove(component)
        component._context = None

    def inherit(self) -> None:
        """Take dt, gravity and time from the first parent, and pass them on."""
        if self.parents:
            parent = self.parents[0]
            for name in ("dt", "time"):
                self._data[name].set(parent._data[name].get())
            gravity = self.gravity
            if gravity.isSet():
                self._own_gravity = gravity.get().copy()
                gravity.unset()
            np.copyto(gravity.get(), parent.gravity.get())
        for entry in self.contexts:
            entry.apply()
        for child in self.children:
            child.inherit()

    def warn_of_own_gravity(self) -> None:
        """Warn of a gravity that a scene gave to a node below the root, and that was lost."""
        given, present = self._own_gravity, self.gravity
        self._own_gravity = None
        if given is not None and not np.array_equal(given, present.get()):
            texts = [" ".join(f"{g:g}" for g in values) for values in (given, present.get())]
            message.warning(
                self,
                f"{describe(present.where)}: node '{self.getPathName()}' has gravity='{texts[0]}', "
                f"and all nodes have that of the root, '{texts[1]}', as in SOFA: give it there, or "
                "add a Gravity to the node.",
            )

    def sendEvent(self, value: Any, name: str) -> None:
        """Send a PythonScriptEvent of that name and content to the controllers here and below."""
        self.send(Event("PythonScriptEvent", sender=self, event_name=name, userData=value))

    def send(self, event: Event) -> None:
        """Hand an event to every controller here and below, in the order of the graph."""
        for controller in list(self.controllers()):
            controller.handle(event)

    def controllers(self) -> list[Controller]:
        """The controllers here and below, in the order of the graph."""
        version = self.getRoot().version
        if self._controllers[0] != version:
            found: list[Any] = [e for node in self.walk() for e in node.of("controller")]
            self._controllers = (version, found)
        return self._controllers[1]

    def data_changed(self, data: Data) -> None:
        """A node that is switched on or off changes what takes part."""
        if data.type.name == "activated":
            self._changed()


def _followed_regions(component: Component, seen: set[int] | None = None) -> Iterator[Component]:
    """Regions of their node's points that Data of an object follow, also by way of engines."""
    seen = {id(component)} if seen is None else seen
    for data in component._data.values():
        data.follow_link()
        source = data.getParent()
        while source is not None:
            owner = source.owner
            if getattr(owner, "category", "") == "region" and id(owner) not in seen:
                seen.add(id(owner))
                if owner.reads_its_node:
                    yield owner
                else:
                    yield from _followed_regions(owner, seen)
            source = source.getParent()


def _up_to(region: Component) -> Iterator[Component]:
    """What a region's points may come from: the objects before it, and in the nodes above; it."""
    node: Any = region._context
    path = [node]
    while path[0].parents:
        path.insert(0, path[0].parents[0])
    for above in path:
        for entry in list(above.objects):
            yield entry
            if entry is region:
                return


def _no_removal(parent: Node) -> None:
    raise SceneError("A node leaves a parent by that parent's removeChild, or by detachFromGraph.")


def _check_free(component: Any) -> None:
    """SceneError for an object that a node holds already."""
    holder = getattr(component, "_context", None)
    if holder is not None and any(entry is component for entry in holder.objects):
        raise SceneError(
            f"{describe(scene_line())}: {component.describe()} already is in node "
            f"'{holder.getPathName()}'; remove it there first."
        )


def _check_name(name: Any) -> None:
    """SceneError for a name that scenes cannot use in SOFA."""
    if name in PROTECTED:
        raise SceneError(
            f"{describe(scene_line())}: '{name}' is an attribute of every node, so that SOFA takes "
            "no node or component of that name. Choose another one."
        )
