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
"""SOFA's modules by our folder, for folders with components of one module only."""


class Component(Base):
    """SOFA's BaseObject.

    `category` is the role of the component in a step ('state', 'mass', 'force field', ...), or ""
    for components that only hold data.
    """

    category: ClassVar[str] = ""
    aliases: ClassVar[tuple[str, ...]] = ()
    """Other names of the class in scenes, older and newer ones."""
    follows_otherwise: ClassVar[dict[str, str]] = {}
    """Other values of `follows` for inherited Data, by name."""

    template = Text("", "Kind of degrees of freedom; Vec3 unless the component says otherwise.")
    printLog = Bool(False, "Print messages about what it does.")
    listening = Bool(False, "Receive events.")
    src = Text("", "Loader whose Data of the same names are taken over.", linkable=False)

    reads_its_node = False
    """Whether other objects of its node, which are initialised before, determine its outputs."""
    _master: Component | None = None
    _initialised = False
    """Whether `init` of any class was called."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name in ("init", "reinit"):
            if name in vars(cls):
                setattr(cls, name, _mark_initialised(vars(cls)[name], name))

    def __init__(self, *args: Any, **values: Any) -> None:
        self._context: Node | None = self.__dict__.get("_context")  # already set by the factory
        super().__init__(*args, **values)

    @property
    def _node(self) -> Node | None:
        """Node that contains it."""
        return self._context

    # -- life cycle of a component, with SOFA's names ---------------------------------------

    def on_added(self) -> None:
        """Called when the component is in its node, with all values of the scene."""

    def before_init(self) -> None:
        """Called just before `init`, for work that does not depend on a subclass' `init`."""

    def init(self) -> None:
        """Prepare the component: called once, parents before children, in order of addition."""
        self._initialised = True

    def bwdInit(self) -> None:
        """Prepare it with the children's results: called once after `init`, in reverse order."""

    def reinit(self) -> None:
        """Apply Data that a user has changed."""

    def reset(self) -> None:
        """Return to the state after `init`."""

    def cleanup(self) -> None:
        """Release resources outside the scene."""

    def remember_outputs(self) -> None:
        """Make the present outputs those to which `return_outputs` returns."""
        self._outputs = {
            data: np.copy(value) if isinstance(value, np.ndarray) else value
            for data in self._data.values()
            if data.type.read_only and not data.type.computed
            for value in (data.get(),)
        }

    def return_outputs(self) -> None:
        """Restore the outputs at the end of the initialisation."""
        for data, value in self.__dict__.get("_outputs", {}).items():
            data.set(np.copy(value) if isinstance(value, np.ndarray) else value)

    def follow_data_of(self, loader: Base) -> None:
        """Link every Data that the loader has too, unless the scene set it."""
        skipped = ("name", "template", "printLog", "listening", "tags", "src", "type", "filename")
        for name, data in self._data.items():
            if name in skipped or data.isSet() or data.type.read_only:
                continue
            names = (name, *data.type.aliases)
            candidates = [loader.findData(alias) for alias in names]
            source = next((data for data in candidates if data is not None), None)
            if source is not None and source.type.auto_link:
                data.setParent(source)

    def snapshot(self) -> dict[str, Any]:
        """Return state that persists over steps and is not in Data."""
        return {}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Restore the result of `snapshot`."""

    def follows(self, data: Data) -> str:
        """Return when a change of a Data counts: 'step' (the next), 'reinit', or 'start' only.

        It is declared by `Real(..., follows="reinit", switch="updateStiffness")`, for inherited
        Data of a class that reads them differently by `follows_otherwise`.
        """
        kind = data.type
        if kind.switch and self._data[kind.switch].get():
            return "step"
        return self.follows_otherwise.get(kind.name, kind.follows)

    def check_change(self, data: Data, value: Any, line: Line | None) -> None:
        """Check that numbers exist, and note changes that the component does not follow."""
        if not self._initialised or data.type.name not in type(self).data_types:
            return
        self.check_numbers(data, value, line)
        if self._context is None:
            return
        changes = self._context.getRoot().late_changes
        changes.note_setter(data, value)
        if data.type.per:
            changes.note_list(data)
        if self.follows(data) != "step" and not np.array_equal(data._value, value):
            changes.note_stale(data, line)

    def count_of(self, per: str) -> tuple[int, str] | None:
        """Return the number of items that a list has an entry for, and their description.

        Args:
            per: `per` of the declaration: the name of another list of the component, 'node',
                'element', or a word of the class.

        Returns:
            None if it is unknown, or all are meant.
        """
        if per in self._data:
            count = len(self._data[per].get())
            return (count, f"'{per}'") if count else None
        if per == "node":
            state = getattr(self, "state", None)
            return None if state is None else (state.count, f"nodes of '{state.getPathName()}'")
        elements = getattr(self, "elements", None)
        return (len(elements), "elements") if isinstance(elements, np.ndarray) else None

    def range_of(self, of: str) -> tuple[int, str] | None:
        """Return the number of items that a Data refers to by number, and their description.

        Args:
            of: `of` of the declaration: the name of another list or of a link to a state, 'node',
                or a word of the class.

        Returns:
            None if it is unknown.
        """
        if of in self._data:
            return len(self._data[of].get()), f"entries in '{of}'"
        owner: Any = self
        state = owner.linked_state(of) if of in self._links else getattr(self, "state", None)
        return None if state is None else (state.count, f"nodes of '{state.getPathName()}'")

    def check_numbers(
        self, data: Data, value: Any, line: Line | None, *, own_lists: bool = False
    ) -> None:
        """Raise a SceneError if a value names a missing item; kernels do not check bounds.

        Numbers of `own_lists` are checked when they are used: a script may set that list next.
        """
        of = data.type.of
        is_checked = of and value is not None and (own_lists or of not in self._data)
        count, items = (is_checked and self.range_of(of)) or (0, "")
        numbers = np.ravel(value) if items else np.empty(0)
        if items and len(wrong := numbers[(numbers < 0) | (numbers >= count)]):
            raise SceneError(
                f"{describe(line or data.where or self._where)}: '{data.getName()}' of "
                f"{self.describe()} has {wrong[0]}, but there are {count} {items}: give "
                f"numbers from 0 to {count - 1}."
            )

    def check_own_numbers(self) -> None:
        """Run `check_numbers` for all its Data, also for numbers of the component's lists."""
        for data in self._data.values():
            if data.type.of:
                self.check_numbers(data, data.get(), None, own_lists=True)

    def given_lengths(self) -> dict[Data, int]:
        """Return the number of entries that a scene gave for each list with an entry per item."""
        lists = (self._data[name] for name in type(self).counted)
        return {data: len(data.get()) for data in lists if data.isSet() or data.hasParent()}

    def check_length(self, data: Data, length: int) -> bool:
        """Return True if a list has an entry for each item; complain if not."""
        expected = self.count_of(data.type.per) if length and data.type.per else None
        if expected is None or length == expected[0] or (length == 1 and data.type.shared):
            return True
        hint = ", or one for all" if data.type.shared else ""
        problem = (
            f"{describe(data.where or self._where)}: '{data.getName()}' of {self.describe()} has "
            f"{length} entries for {expected[0]} {expected[1]}: give one for each{hint}."
        )
        complain(self, SceneError(problem))
        return False

    # -- SOFA's Python API -------------------------------------------------------------------

    def getTemplateName(self) -> str:
        """Return the kind of degrees of freedom, or ""."""
        return {"Vec3": "Vec3d"}.get(template := self.template.get(), template)

    @classmethod
    def getCategories(cls) -> list[str]:
        """Return SOFA's categories of the object."""
        return [_CATEGORIES.get(cls.category, "_Miscellaneous")]

    def getTarget(self) -> str | None:
        """Return SOFA's module of the class, or None if it is unknown here."""
        return _TARGETS.get(type(self).__module__.split(".")[-2])

    def setSrc(self, value: str, loader: Component) -> None:
        """Copy a loader's Data of the same names, as `src` does when the object is created."""
        self.src.assign(value if value.startswith("@") else loader.getLinkPath(), None)
        self.follow_data_of(loader)

    def storeResetState(self) -> None:
        """Make the present outputs those to which `reset` returns."""
        self.remember_outputs()

    def computeBBox(self, *parameters: Any) -> None:
        """Have no effect: `bbox` is computed when it is read."""

    def addSlave(self, slave: Component) -> None:
        """Record that another object belongs to it, without other effects."""
        self.__dict__.setdefault("_slaves", []).append(slave)
        slave._master = self

    def getMaster(self) -> Component | None:
        """Return the object that it belongs to by `addSlave`, or None."""
        return self._master

    def getSlaves(self) -> list[Component]:
        """Return the objects that belong to it."""
        return list(self.__dict__.get("_slaves", ()))

    def getContext(self) -> Node | None:
        """Return the node that contains it."""
        return self._context

    def getPathName(self) -> str:
        """Return its path, such as `/trunk/dofs`, or its name if it is not in a node yet."""
        if self._context is None:
            return self.getName()
        return f"{self._context.getPathName().rstrip('/')}/{self.getName()}"


def _mark_initialised(method: Callable[[Any], None], name: str) -> Callable[[Any], None]:
    """Wrap `init` or `reinit` to record that it was called."""

    @wraps(method)
    def wrapper(self: Any) -> None:
        method(self)
        if name == "init":
            self._initialised = True
        if self._context is not None:
            self._context.getRoot().late_changes.remove_applied(self, everything=name == "init")

    return wrapper
