"""Base class of components."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sofa_softctl.base.source_line import describe
from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.core.base import Base
from sofa_softctl.runtime.core.data.types import Bool, Text
from sofa_softctl.runtime.helper.message import complain

if TYPE_CHECKING:
    from sofa_softctl.base.source_line import Line
    from sofa_softctl.runtime.core.data.data import Data
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
    follows_otherwise: ClassVar[dict[str, str]] = {}
    """Of inherited Data, by name: see `follows`."""

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
        for name in ("init", "reinit"):
            if name in vars(cls):
                setattr(cls, name, _noted(vars(cls)[name], name))

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

    def before_init(self) -> None:
        """Called just before `init` for what a class must do whatever `init` a subclass has."""

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

    def follows(self, data: Data) -> str:
        """When a change of a Data counts: in the next 'step', with 'reinit', at the 'start' alone.

        The declaration says it: `Real(..., follows="reinit", switch="updateStiffness")`; of Data
        that a class inherits and reads otherwise, `follows_otherwise`.
        """
        kind = data.type
        if kind.switch and self._data[kind.switch].get():
            return "step"
        return self.follows_otherwise.get(kind.name, kind.follows)

    def check_change(self, data: Data, value: Any, where: Line | None) -> None:
        """See Base: numbers of what there is alone; keep in mind what it will not follow."""
        if not self._initialised or data.type.name not in type(self).data_types:
            return
        self.check_numbers(data, value, where)
        if self._context is None:
            return
        changes = self._context.getRoot().late_changes
        changes.note_setter(data, value)
        if data.type.per:
            changes.note_list(data)
        if self.follows(data) != "step" and not np.array_equal(data._value, value):
            changes.note_stale(data, where)

    def count_of(self, per: str) -> tuple[int, str] | None:
        """How many there are of what a list has an entry for each of, and what they are.

        Args:
            per: Of a declaration: the name of another list of the component, 'node', 'element',
                or a word of the class.

        Returns:
            None: It is not known, or all are meant.
        """
        if per in self._data:
            count = len(self._data[per].get())
            return (count, f"'{per}'") if count else None
        if per == "node":
            state = getattr(self, "state", None)
            return None if state is None else (state.count, f"nodes of '{state.getPathName()}'")
        found = getattr(self, "elements", None)
        return (len(found), "elements") if isinstance(found, np.ndarray) else None

    def range_of(self, of: str) -> tuple[int, str] | None:
        """How many there are of what numbers of a Data are numbers of, and what they are.

        Args:
            of: Of a declaration: the name of another list or of a link to a state, 'node', or a
                word of the class.

        Returns:
            None: It is not known.
        """
        if of in self._data:
            return len(self._data[of].get()), f"entries in '{of}'"
        owner: Any = self
        state = owner.linked_state(of) if of in self._links else getattr(self, "state", None)
        return None if state is None else (state.count, f"nodes of '{state.getPathName()}'")

    def check_numbers(
        self, data: Data, value: Any, where: Line | None, *, own: bool = False
    ) -> None:
        """SceneError where a value names what does not exist; no kernel checks its bounds.

        Numbers of an `own` list are checked when it is used: a script may set that list next.
        """
        of = data.type.of
        known = of and value is not None and (own or of not in self._data)
        there = self.range_of(of) if known else None
        numbers = np.ravel(value) if there else np.empty(0)
        if there and len(wrong := numbers[(numbers < 0) | (numbers >= there[0])]):
            raise SceneError(
                f"{describe(where or data.where or self._where)}: '{data.getName()}' of "
                f"{self.describe()} has {wrong[0]}, but there are {there[0]} {there[1]}: give "
                f"numbers from 0 to {there[0] - 1}."
            )

    def check_own_numbers(self) -> None:
        """`check_numbers` of all its Data, those of its own lists included."""
        for data in self._data.values():
            if data.type.of:
                self.check_numbers(data, data.get(), None, own=True)

    def given_lengths(self) -> dict[Data, int]:
        """Entries that a scene gave of the lists that have one for each of something."""
        lists = (self._data[name] for name in type(self).counted)
        return {data: len(data.get()) for data in lists if data.isSet() or data.hasParent()}

    def check_length(self, data: Data, given: int) -> bool:
        """Whether a list has as many entries as what they belong to; complain if not."""
        there = self.count_of(data.type.per) if given and data.type.per else None
        if there is None or given == there[0] or (given == 1 and data.type.shared):
            return True
        one = ", or one for all" if data.type.shared else ""
        problem = (
            f"{describe(data.where or self._where)}: '{data.getName()}' of {self.describe()} has "
            f"{given} entries for {there[0]} {there[1]}: give one for each{one}."
        )
        complain(self, SceneError(problem))
        return False

    # -- SOFA's Python API -------------------------------------------------------------------

    def getTemplateName(self) -> str:
        """The kind of degrees of freedom; empty where there are none."""
        return {"Vec3": "Vec3d"}.get(given := self.template.get(), given)

    @classmethod
    def getCategories(cls) -> list[str]:
        """SOFA's categories of the object."""
        return [_CATEGORIES.get(cls.category, "_Miscellaneous")]

    def getTarget(self) -> str | None:
        """SOFA's module that has the class, as far as known here; None otherwise."""
        return _TARGETS.get(type(self).__module__.split(".")[-2])

    def setSrc(self, value: str, loader: Component) -> None:
        """Take over a loader's Data of the same names, as `src` does when the object is made."""
        self.src.assign(value if value.startswith("@") else loader.getLinkPath(), None)
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
        """Return its place in the graph, such as `/trunk/dofs`; its name before it is in a node."""
        if self._context is None:
            return self.getName()
        return f"{self._context.getPathName().rstrip('/')}/{self.getName()}"


def _noted(method: Callable[[Any], None], name: str) -> Callable[[Any], None]:
    """The same `init` or `reinit`, which leaves a note that it was called."""

    @wraps(method)
    def noted(self: Any) -> None:
        method(self)
        if name == "init":
            self._initialised = True
        if self._context is not None:
            self._context.getRoot().late_changes.forget(self, everything=name == "init")

    return noted
