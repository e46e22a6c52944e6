"""Base class of components."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sofa_softctl.runtime.core.base import Base
from sofa_softctl.runtime.core.data.types import Bool, Text

if TYPE_CHECKING:
    from sofa_softctl.runtime.core.node import Node


_CATEGORIES = {
    "animation loop": "AnimationLoop",
    "constraint": "ConstraintSet",
    "constraint solver": "ConstraintSolver",
    "controller": "Controller",
    "force field": "ForceField",
    "linear solver": "LinearSolver",
    "loader": "Loader",
    "mapping": "Mapping",
    "mass": "Mass",
    "ode solver": "OdeSolver",
    "projective constraint": "ProjectiveConstraintSet",
    "region": "Engine",
    "state": "MechanicalState",
    "topology": "Topology",
    "visual": "VisualModel",
}
"""SOFA's names of our categories."""
_TARGETS = {
    "mass": "Sofa.Component.Mass",
    "playback": "Sofa.Component.Playback",
    "softrobots_inverse": "SoftRobots.Inverse",
    "spring": "Sofa.Component.SolidMechanics.Spring",
    "state": "Sofa.Component.StateContainer",
    "visual": "Sofa.Component.Visual",
}
"""SOFA's modules, by our folder, where all in it are of one."""


class Component(Base):
    """SOFA's BaseObject.

    `category` says what part the component plays in a step ('state', 'mass', 'force field', ...);
    it stays empty for what only holds data.
    """

    category: ClassVar[str] = ""
    aliases: ClassVar[tuple[str, ...]] = ()
    """Other names of the class in scenes, older and newer ones."""

    template = Text("", "Kind of degrees of freedom; Vec3 unless the component says otherwise.")
    printLog = Bool(False, "Print messages about what it does.")
    listening = Bool(False, "Receive events.")
    src = Text("", "Loader whose Data of the same names are taken over.", linkable=False)

    reads_its_node = False
    """Whether its outputs come from other objects of its node, which are initialised before."""
    _master: Component | None = None
    _initialised = False
    """Whether `init` was called, of whatever class."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "init" in vars(cls):
            cls.init = _noted(cls.init)  # type: ignore[assignment, method-assign]

    def __init__(self, *args: Any, **values: Any) -> None:
        self._context: Node | None = self.__dict__.get("_context")  # the factory knows it already
        super().__init__(*args, **values)

    @property
    def _node(self) -> Node | None:
        """The node that holds it."""
        return self._context

    # -- the life of a component, in SOFA's words -------------------------------------------

    def added(self) -> None:
        """Called when the component has been put into its node, with all that the scene gave."""

    def init(self) -> None:
        """Get ready: called once, parents before children, in order of addition."""
        self._initialised = True

    def bwdInit(self) -> None:
        """Get ready with the children's help: called once after `init`, in reverse order."""

    def reinit(self) -> None:
        """Take over Data that were changed by hand."""

    def reset(self) -> None:
        """Go back to the state after `init`."""

    def cleanup(self) -> None:
        """Let go of what the component holds outside the scene."""

    def remember_outputs(self) -> None:
        """Make the present outputs those to which `return_outputs` returns."""
        self._outputs = {
            data: np.copy(value) if isinstance(value, np.ndarray) else value
            for data in self._data.values()
            if data.type.read_only and not data.type.computed
            for value in (data.get(),)
        }

    def return_outputs(self) -> None:
        """Back to the outputs at the end of the initialisation."""
        for data, value in self.__dict__.get("_outputs", {}).items():
            data.set(np.copy(value) if isinstance(value, np.ndarray) else value)

    def follow_data_of(self, loader: Base) -> None:
        """Link every Data that a loader has too, unless the scene gave it."""
        skipped = ("name", "template", "printLog", "listening", "tags", "src", "type", "filename")
        for name, data in self._data.items():
            if name in skipped or data.isSet() or data.type.read_only:
                continue
            names = (name, *data.type.aliases)
            sources = (loader.findData(entry) for entry in names)
            source = next(
                (found for found in sources if found is not None), None
            )  # maybe empty yet
            if source is not None and source.type.auto_link:
                data.setParent(source)

    def snapshot(self) -> dict[str, Any]:
        """State besides Data that persists over steps."""
        return {}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Take over what `snapshot` gave."""

    # -- SOFA's Python API -------------------------------------------------------------------

    def getTemplateName(self) -> str:
        """The kind of degrees of freedom; empty where there are none."""
        return {"Vec3": "Vec3d"}.get(given := self._data["template"].get(), given)

    @classmethod
    def getCategories(cls) -> list[str]:
        """SOFA's categories of the object."""
        return [_CATEGORIES.get(cls.category, "_Miscellaneous")]

    def getTarget(self) -> str | None:
        """SOFA's module that has the class, as far as known here; None otherwise."""
        return _TARGETS.get(type(self).__module__.split(".")[-2])

    def setSrc(self, value: str, loader: Component) -> None:
        """Take over a loader's Data of the same names, as `src` does when the object is made."""
        self._data["src"].assign(value if value.startswith("@") else loader.getLinkPath(), None)
        self.follow_data_of(loader)

    def storeResetState(self) -> None:
        """Make the present outputs those to which `reset` returns."""
        self.remember_outputs()

    def computeBBox(self, *parameters: Any) -> None:
        """Nothing to do: `bbox` is computed when somebody asks."""

    def addSlave(self, slave: Component) -> None:
        """Say that another object belongs to it; nothing else follows from that."""
        self.__dict__.setdefault("_slaves", []).append(slave)
        slave._master = self

    def getMaster(self) -> Component | None:
        """The object that it belongs to, None unless `addSlave` said so."""
        return self._master

    def getSlaves(self) -> list[Component]:
        """The objects that belong to it."""
        return list(self.__dict__.get("_slaves", ()))

    def getContext(self) -> Node | None:
        """The node that holds it."""
        return self._context

    def getPathName(self) -> str:
        """Its place in the graph, such as `/trunk/dofs`."""
        prefix = "" if self._context is None else self._context.getPathName().rstrip("/")
        return f"{prefix}/{self.getName()}"


def _noted(init: Callable[[Any], None]) -> Callable[[Any], None]:
    """The same `init`, which leaves a note that it was called."""

    @wraps(init)
    def noted(self: Any) -> None:
        init(self)
        self._initialised = True

    return noted
