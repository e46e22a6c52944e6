"""Nodes: building the scene graph, initialisation and events."""

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
"""Attributes of nodes in old scenes that SOFA converts to a VisualStyle."""

_UNREAD_WORDS = ("depend", "showBoundingTree")
"""Attributes of nodes in old scenes that no version of SOFA reads; SOFA only warns."""

DEPTH_MAX = 300
"""Depth of nested nodes, limited by Python's recursion."""


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
        self.version = 0  # of the root: number of changes of the graph
        self._names: set[str] = set()  # names of added objects and children
        self._numbers: dict[str, int] = {}  # by radical: the first number that may be free
        self._controllers: tuple[int, list[Controller]] = (-1, [])
        self.contexts: list[Any] = []  # objects that change the context from its parent
        self._own_gravity: np.ndarray | None = None  # from the scene, before it took the parent's
        flags = {flag: values.pop(flag) for flag in _OLD_FLAGS if flag in values}
        unread_words = [word for word in _UNREAD_WORDS if values.pop(word, None) is not None]
        super().__init__(name=name, **values)
        for word in unread_words:
            message.warning(self, f"{describe(scene_line())}: nothing reads '{word}' of a node.")
        if flags:
            self._add_style(flags)

    def _add_style(self, flags: dict[str, Any]) -> None:
        """Add a VisualStyle with the display flags of the node, as SOFA does."""
        words = [
            flag if str(value)[:1] in "Tt123456789" else flag.replace("show", "hide", 1)
            for flag, value in flags.items()
        ]
        text = " ".join(words)
        message.warn_deprecated(
            self, f"{describe(scene_line())}: {text} is now said by VisualStyle(displayFlags=...)."
        )
        self.addObject("VisualStyle", displayFlags=text)

    def addObject(self, kind: str | Component | type[Component] | None, **values: Any) -> Any:
        """Add a component by the name of its class, or an instance of it.

        Args:
            kind: Class name as in SOFA, an instance (a Python controller), or its class.
            values: Data and links of a new component.

        Raises:
            UnknownComponentError: There is no component of that name.
            UnknownDataError: The component has no Data of one of these names.
            SceneError: A value has the wrong type, or the node already contains the name.
        """
        if isinstance(kind, str):
            _check_name(values.get("name"))
            component = factory.create(kind, values, self)
        elif kind is None:  # the result of a function without return, as in SOFA
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
        self._count_change()
        for data in component._data.values():
            data.follow_link()
        for link in component._links.values():
            link.follow_now()
        factory.take_over_source(component)
        component.on_added()

    def _free_name(self, radical: str) -> str:
        """Return the radical with the first number that makes it a free name."""
        for number in itertools.count(self._numbers.get(radical, 0)):
            name = f"{radical}{number or ''}"
            if name not in self._names:
                break
        self._numbers[radical] = number + 1
        return name

    def addChild(self, child: str | Node, **values: Any) -> Node:
        """Add a new node of that name, or a node."""
        if isinstance(child, str):
            _check_name(child)
        node = Node(child, **values) if isinstance(child, str) else child
        if not isinstance(node, Node):
            raise SceneError(
                f"{describe(scene_line())}: addChild takes a name or a node, got {child!r}."
            )
        if any(parent is self for parent in node.parents):
            problem = f"node '{self.getPathName()}' holds '{node.getName()}' already."
            complain(self, SceneError(f"{describe(scene_line())}: {problem}"))
            return node
        if id(self) in node._ids_below():
            raise SceneError(
                f"{describe(scene_line())}: node '{self.getPathName()}' cannot hold "
                f"'{node.getName()}', which is above it."
            )
        if self._depth() >= DEPTH_MAX:
            raise SceneError(
                f"{describe(scene_line())}: nodes are nested more than {DEPTH_MAX} deep."
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
        self._count_change()
        return node

    def removeObject(self, component: Component | str) -> None:
        """Remove a component from the node."""
        target = self.getObject(component) if isinstance(component, str) else component
        if target is None or target not in self.objects:
            raise SceneError(
                f"{describe(scene_line())}: node '{self.getPathName()}' does not hold {component}."
            )
        self.objects.remove(target)
        self._names.discard(target.getName())
        self._numbers.clear()
        target.cleanup()
        target._context = None
        self._count_change()

    def add(self, item: str | Component | Node | Callable[..., Any], **values: Any) -> Any:
        """Add a component by name, an object or a node, or call `item(self, **values)`.

        A function, or a class of prefabs, adds its object or node to this node.
        """
        if isinstance(item, Node):
            return self.addChild(item)
        if isinstance(item, str | Component):
            return self.addObject(item, **values)
        return item(self, **values)

    def createObject(self, kind: str, **values: Any) -> Component:
        """Old name of addObject."""
        message.warn_deprecated(self, f"{describe(scene_line())}: createObject is now addObject.")
        return self.addObject(kind, **values)

    def createChild(self, name: str, **values: Any) -> Node:
        """Old name of addChild."""
        message.warn_deprecated(self, f"{describe(scene_line())}: createChild is now addChild.")
        return self.addChild(name, **values)

    def removeChild(self, child: Node | str) -> Node:
        """Remove a child from the node, and return it."""
        node = self.getChild(child) if isinstance(child, str) else child
        if node is None or node not in self.children:
            raise SceneError(
                f"{describe(scene_line())}: node '{self.getPathName()}' has no child {child}."
            )
        self.children.remove(node)
        node.parents.remove(self)
        self._count_change()
        return node

    def detachFromGraph(self) -> None:
        """Remove the node from its parents."""
        for parent in list(self.parents):
            parent.removeChild(self)

    def moveChild(self, child: Node, parent: Node | None = None) -> None:
        """Move a node here from one parent, or from all."""
        if parent is None:
            child.detachFromGraph()
        else:
            parent.removeChild(child)
        self.addChild(child)

    def isInitialized(self) -> bool:
        """Return True if the simulation was initialised since the node was added."""
        return self._initialised

    def init(self) -> None:
        """Initialise the objects of this node and the nodes below; needed for later additions.

        Parents come before children, objects in the order of their addition; then bwdInit upwards.
        """
        order: list[Component] = []
        nodes = list(self.walk())
        started: set[int] = set()
        ids = {id(node) for node in nodes}

        def start(component: Component) -> None:
            """Initialise an object, and before it the regions that its Data follow."""
            if id(component) in started or id(component._context) not in ids:
                return
            started.add(id(component))
            for data in component._data.values():
                data.follow_link(must=True)
            for region in _followed_regions(component):
                for earlier in _objects_up_to(region):
                    start(earlier)
            for link in component._links.values():
                if link.type.kind != "state":  # some do not need the state
                    link.check()
            lengths = component.given_lengths()
            component.before_init()
            component.init()
            component._initialised = True
            for data, length in lengths.items():
                component.check_length(data, length)
            for link in component._links.values():
                link.check()
            order.append(component)

        for node in nodes:
            node._initialised = True
            for component in list(node.objects):
                start(component)
        for node in reversed(nodes):
            for component in reversed(list(node.objects)):
                if not component._scripted:  # SOFA does not call bwdInit of Python classes
                    component.bwdInit()
        for component in order:
            component.remember_outputs()

    def _count_change(self) -> None:
        self.getRoot().version += 1

    def __enter__(self) -> Node:
        """Return the node for `with root.addChild("arm") as arm:`."""
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    # -- API for the runtime -----------------------------------------------------------------

    @property
    def _node(self) -> Node:
        """The node itself, from which its links start."""
        return self

    def take_in(self, component: Component) -> None:
        """Contain an object of a step, without a change of the graph, until `let_go`."""
        component._context = self
        self.objects.append(component)

    def let_go(self, component: Component) -> None:
        """Remove an object of a step."""
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
        for context in self.contexts:
            context.apply()
        for child in self.children:
            child.inherit()

    def warn_of_own_gravity(self) -> None:
        """Warn of a lost gravity that a scene set in a node below the root."""
        lost, present = self._own_gravity, self.gravity
        self._own_gravity = None
        if lost is not None and not np.array_equal(lost, present.get()):
            texts = [" ".join(f"{g:g}" for g in values) for values in (lost, present.get())]
            message.warning(
                self,
                f"{describe(present.where)}: node '{self.getPathName()}' has gravity='{texts[0]}', "
                f"and all nodes have that of the root, '{texts[1]}', as in SOFA: give it there, or "
                "add a Gravity to the node.",
            )

    def sendEvent(self, value: Any, name: str) -> None:
        """Send a PythonScriptEvent of this name and content to the controllers here and below."""
        self.send(Event("PythonScriptEvent", sender=self, event_name=name, userData=value))

    def send(self, event: Event) -> None:
        """Send an event to every controller here and below, in the order of the graph."""
        for controller in list(self.controllers()):
            controller.handle(event)

    def controllers(self) -> list[Controller]:
        """Return the controllers here and below, in the order of the graph."""
        version = self.getRoot().version
        if self._controllers[0] != version:
            listed: list[Any] = [c for node in self.walk() for c in node.of("controller")]
            self._controllers = (version, listed)
        return self._controllers[1]

    def data_changed(self, data: Data) -> None:
        """Count a change of the graph when the node is switched on or off."""
        if data.type.name == "activated":
            self._count_change()


def _followed_regions(component: Component, visited: set[int] | None = None) -> Iterator[Component]:
    """Yield regions of their node's points that Data of an object follow, also through engines."""
    visited = {id(component)} if visited is None else visited
    for data in component._data.values():
        data.follow_link()
        source = data.getParent()
        while source is not None:
            owner = source.owner
            if getattr(owner, "category", "") == "region" and id(owner) not in visited:
                visited.add(id(owner))
                if owner.reads_its_node:
                    yield owner
                else:
                    yield from _followed_regions(owner, visited)
            source = source.getParent()


def _objects_up_to(region: Component) -> Iterator[Component]:
    """Yield the possible sources of a region's points: earlier objects, also above; then it."""
    node: Any = region._context
    path = [node]
    while path[0].parents:
        path.insert(0, path[0].parents[0])
    for above in path:
        for item in list(above.objects):
            yield item
            if item is region:
                return


def _no_removal(parent: Node) -> None:
    raise SceneError("A node leaves a parent by that parent's removeChild, or by detachFromGraph.")


def _check_free(component: Any) -> None:
    """Raise a SceneError for an object that already is in a node."""
    holder = getattr(component, "_context", None)
    if holder is not None and any(item is component for item in holder.objects):
        raise SceneError(
            f"{describe(scene_line())}: {component.describe()} already is in node "
            f"'{holder.getPathName()}'; remove it there first."
        )


def _check_name(name: Any) -> None:
    """Raise a SceneError for a name that scenes cannot use in SOFA."""
    if name in PROTECTED:
        raise SceneError(
            f"{describe(scene_line())}: '{name}' is an attribute of every node, so that SOFA takes "
            "no node or component of that name. Choose another one."
        )
