"""Data: the typed, linkable, observable values of components and nodes, as in SOFA."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from sofa_softctl.base.source_line import Line, describe, scene_line
from sofa_softctl.errors import LinkError, SceneError, UnreadableValueError
from sofa_softctl.runtime.core.data.handling import get_noted
from sofa_softctl.runtime.core.link_path import LinkPath
from sofa_softctl.runtime.helper.message import complain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sofa_softctl.runtime.core.data.declaration import DataType

_PATH = re.compile(r"[./]*[A-Za-z_][\w/.]*\.[A-Za-z_]\w*")
"""A text that looks like the path of a Data."""


class DataClass(type):
    """Shows a class of Data by SofaPython3's name of it."""

    sofa_class: str

    def __repr__(cls) -> str:
        return f"<class '{cls.sofa_class}'>"


class Data(metaclass=DataClass):
    """One value of one object.

    `value` is what SofaPython3 gives: Python scalars and strings, and for everything else a
    read-only view of the array. `writeable()` gives the array for writing. Code of the runtime
    uses `get()`, `set()` and `touch()`, which check nothing.
    """

    sofa_class = "Sofa.Core.Data"
    __slots__ = (
        "_counter",
        "_followers",
        "_link",
        "_parent",
        "_read_only",
        "_seen",
        "_set",
        "_value",
        "is_read",
        "name",
        "owner",
        "persistent",
        "type",
        "where",
    )

    def __init__(self, type: DataType, owner: Any) -> None:
        self.type = type
        self.name = type.name
        self.owner = owner
        self.where: Line | None = None
        self.persistent = False
        self._value = type.initial(owner)
        self.is_read = False  # by any controller
        self._counter = 0
        self._set = False
        self._read_only = type.read_only
        self._parent: Data | None = None
        self._seen = -1  # the parent's counter when its value was last taken over
        self._link: str | None = None  # a path that could not be followed yet
        self._followers: tuple[Data, ...] = ()

    # -- what scenes use ------------------------------------------------------------------

    @property
    def value(self) -> Any:
        """The value; arrays come as read-only views."""
        value = get_noted(self)
        if isinstance(value, np.ndarray):
            value = value.view()
            value.setflags(write=False)
        return value

    @value.setter
    def value(self, value: Any) -> None:
        self.check_settable()
        self.assign(value, scene_line(), whole=True)

    def getValue(self) -> Any:
        """The value; arrays come as read-only views."""
        return self.value

    def setValue(self, value: Any) -> None:
        """Set the value."""
        self.value = value

    def check_settable(self) -> None:
        """SceneError when the component alone writes it in a run; else a complaint."""
        if not self.type.read_only:
            return
        error = SceneError(
            f"{describe(scene_line())}: '{self.getName()}' of {self.owner.getPathName()} is "
            "computed by the component and cannot be set."
        )
        if not self.type.computed and getattr(self.owner, "_initialised", True):
            raise error
        complain(self.owner, error, " As in SOFA the value stays until it is computed anew.")
        self.get()  # what is due is computed before, not over the value

    def array(self) -> np.ndarray:
        """A read-only view of the value as an array."""
        value = np.asarray(get_noted(self)).view()
        value.setflags(write=False)
        return value

    def writeable(self, kind: type[np.ndarray] = np.ndarray) -> WriteAccess:
        """A context that gives the array for writing: `with data.writeable() as x: x[0] = ...`.

        It comes as an array of that `kind`, such as Sofa.PyTypes.RGBAColor. When the context ends
        the array can no longer be written, as nobody would hear of it.
        """
        return WriteAccess(self, kind)

    writeableArray = writeable

    def getName(self) -> str:
        """The name, as SOFA writes it."""
        return self.name

    def setName(self, name: str) -> None:
        """Rename it; its object still knows it by the old name, as in SOFA."""
        self.name = name

    def getHelp(self) -> str:
        """Help text."""
        return self.type.help

    def getOwner(self) -> Any:
        """The component or node that it belongs to."""
        return self.owner

    def getPathName(self) -> str:
        """Its place in the graph, such as `/trunk/dofs.position`."""
        return f"{self.owner.getPathName()}.{self.name}"

    def getLinkPath(self) -> str:
        """Its place in the graph as a link, such as `@/trunk/dofs.position`."""
        return f"@{self.getPathName()}"

    getAsACreateObjectParameter = getLinkPath

    @property
    def linkpath(self) -> LinkPath:
        """Its place in the graph as a link."""
        return LinkPath(self)

    def getParent(self) -> Data | None:
        """The Data that this one takes its value from."""
        return self._parent

    def hasParent(self) -> bool:
        """Whether the value comes from another Data."""
        return self._parent is not None or self._link is not None

    def setParent(self, parent: Data | str | None) -> None:
        """Take the value from another Data from now on (None: stop doing so)."""
        if isinstance(parent, str):
            self.assign(parent if parent.startswith("@") else f"@{parent}", scene_line())
            return
        if parent is not None and not isinstance(parent, Data):
            raise SceneError(
                f"{describe(scene_line())}: '{self.getName()}' of {self.owner.describe()} takes "
                f"its value from a Data, got {_short(parent)}."
            )
        ancestor = parent
        while ancestor is not None:
            if ancestor is self:
                raise SceneError(
                    f"{describe(scene_line() or self.where)}: '{self.getName()}' of "
                    f"{self.owner.describe()} would follow itself: the links go round in a circle."
                )
            ancestor = ancestor._parent
        self._parent, self._seen, self._link = parent, -1, None
        if parent is not None and self not in parent._followers:
            parent._followers += (self,)

    def isSet(self) -> bool:
        """Whether a scene gave a value."""
        return self._set

    def unset(self) -> None:
        """Forget that a scene gave a value."""
        self._set = False

    def isReadOnly(self) -> bool:
        """Whether the component alone writes it, or a script said that nobody should."""
        return self._read_only

    def setReadOnly(self, read_only: bool) -> None:
        """Tell a GUI whether it may be edited; scripts may still set it, as in SOFA."""
        self._read_only = read_only

    def isRequired(self) -> bool:
        """Whether a scene must give it."""
        return self.type.required

    def isPersistent(self) -> bool:
        """Whether it is saved with the scene."""
        return self.persistent

    def setPersistent(self, persistent: bool) -> None:
        """Choose whether it is saved with the scene."""
        self.persistent = persistent

    def getCounter(self) -> int:
        """Number of changes of the value."""
        self.get()
        return self._counter

    def isDirty(self) -> bool:
        """Whether the value must be taken over from its parent first."""
        return self._parent is not None and self._parent.getCounter() != self._seen

    def hasChanged(self) -> bool:
        """Whether the value had to be taken over from its parent, which is done then."""
        dirty = self.isDirty()
        self.get()
        return dirty

    def updateIfDirty(self) -> None:
        """Bring the value up to date."""
        self.get()

    def typeName(self) -> str:
        """The type, as SOFA writes it."""
        return self.type.sofa_name(self.owner)

    getValueTypeString = typeName

    def getValueString(self) -> str:
        """The value, as SOFA writes it: numbers separated by blanks."""
        return self.type.format(self.get())

    def read(self, text: str) -> bool:
        """Set the value from a text, as SOFA parses it; false where nothing of it can be read."""
        try:
            self._convert(text, None)
        except SceneError:
            if not text.startswith("@"):
                return False
        self.assign(text, scene_line())
        return True

    def toList(self) -> list[Any]:
        """Its rows: as in SofaPython3, indices are [[3], [5]] and a vector [[x, y, z]]."""
        return self.type.rows(self.get())

    def __len__(self) -> int:
        return len(self.get())

    def __bool__(self) -> bool:
        return True  # as in SofaPython3, where a Data of a number is not its value

    def __getitem__(self, index: Any) -> Any:
        return self.value[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        with self.writeable() as array:
            array[index] = value

    def __iter__(self) -> Iterator[Any]:
        return iter(self.value)

    def __repr__(self) -> str:
        return repr(self.value)

    # -- what the runtime uses ------------------------------------------------------------

    def get(self) -> Any:
        """The value itself, up to date, arrays writeable and not copied."""
        parent = self._parent
        if parent is not None:
            value = parent.get()  # which brings its counter up to date
            if parent._counter != self._seen:
                self._take_over(value, parent)
                self._seen = parent._counter
                self._counter += 1
        elif self.type.computed:
            self.owner.update_outputs()
        return self._value

    def set(self, value: Any) -> None:
        """Replace the value without a check."""
        self._value = value
        self._counter += 1

    def touch(self) -> None:
        """Say that the array was written in place."""
        self._counter += 1

    def written(self, array: np.ndarray) -> None:
        """Take over its array, or a copy of it, in which a script wrote."""
        copied = array is not self._value
        self.owner.check_change(self, array if copied else None, scene_line())
        self._value = array
        self._counter += 1
        self.owner.data_changed(self)

    def assign(self, value: Any, where: Line | None, *, whole: bool = False) -> None:
        """Convert, check and take over what a scene gave: a value, another Data's, or a link."""
        if isinstance(value, Data):
            value = self._copied(value, where)
        if isinstance(value, LinkPath) and isinstance(value.target, Data) and self.type.linkable:
            self.setParent(value.target)
        elif isinstance(value, str) and value.startswith("@") and self.type.linkable:
            self._link, self._parent = value, None
            self.follow_link()
        else:
            converted = self._converted(value, where, whole)
            if not self.type.may_be_nan and _has_nan(converted):
                raise self._misfit(value, where, "NaN")
            if self._parent is not None:
                self._seen = self._parent.getCounter()  # its present value is replaced
            self._link = None
            old = self._value
            self.owner.check_change(self, converted, where)
            for follower in self._followers:
                follower.parent_changes(self, converted, where)
            if is_shared(old) and old.shape == np.shape(converted):
                np.copyto(old, converted)  # views of it that others hold stay valid
            else:
                self._value = converted
            self._counter += 1
        self.where = where
        self._set = True
        self.owner.data_changed(self)

    def _take_over(self, value: Any, parent: Data) -> None:
        """Set the value to that of the Data that it follows.

        Raises:
            SceneError: It does not fit; before its owner is initialised that is a warning, and the
                Data no longer follows, as in SOFA. Or a state would get more or fewer nodes.
        """
        old = self._value
        try:
            source = f" from '{parent.getPathName()}'"
            self._value = self._convert(value, self.where, source, adopt=True)
        except SceneError as error:
            if self.owner._initialised:
                raise
            complain(self.owner, error, f" It is not followed and counts as {_short(self._value)}.")
            self._parent = None
            return
        if self.owner._initialised and self.type.of:
            self.owner.check_numbers(self, self._value, self.where)
        if self.owner._initialised and getattr(self.owner, "category", "") == "state":
            if isinstance(old, np.ndarray) and len(old) != len(self._value):
                raise SceneError(
                    f"{describe(self.where)}: '{self.name}' of {self.owner.describe()} follows "
                    f"'{parent.getPathName()}', which had {len(old)} entries and now has "
                    f"{len(self._value)}: a state keeps its nodes."
                )

    def parent_changes(self, parent: Data, value: Any, where: Line | None) -> None:
        """The Data that it follows is set."""
        if self._parent is parent:
            if getattr(self.owner, "category", "") not in ("", "topology", "region"):
                self.owner.check_change(self, value, where)  # of what acts on the motion
            for follower in self._followers:
                follower.parent_changes(self, value, where)

    def _convert(
        self, value: Any, where: Line | None, source: str = "", *, adopt: bool = False
    ) -> Any:
        convert = self.type.adopt if adopt else self.type.convert
        try:
            return convert(value, self.owner)
        except SceneError:
            raise
        except (ValueError, TypeError) as error:
            raise self._misfit(value, where, str(error), source) from error

    def _converted(self, value: Any, where: Line | None, whole: bool) -> Any:
        """The value in its internal form; where it does not fit, what SOFA makes of it.

        An array of a script has to fit as a `whole`: SofaPython3 copies it, and does not read it.
        """
        try:
            return self._convert(value, where)
        except SceneError as error:
            if whole and isinstance(value, np.ndarray) and value.ndim > 1:
                raise
            taken = self.type.salvage(value, self.owner, self._value)
            complain(self.owner, error, f" It counts as {_short(taken)}.")
            return taken

    def _copied(self, source: Data, where: Line | None) -> Any:
        """Another Data's value of now: as in SOFA, only a link follows what it becomes."""
        value = source.get()
        if source.type.read_only and not len(np.atleast_1d(value)):
            problem = SceneError(
                f"{describe(where)}: '{self.getName()}' of {self.owner.describe()} copies "
                f"{source.getPathName()}, which is still empty: its component fills it later. "
                f"Write {self.getName()}='{source.getLinkPath()}' to follow it."
            )
            complain(self.owner, problem)
        return value

    def _misfit(self, value: Any, where: Line | None, why: str, source: str = "") -> SceneError:
        error = UnreadableValueError(
            f"{describe(where)}: '{self.getName()}' of {self.owner.describe()} "
            f"{self.type.expectation(self.owner)}, got {_short(value)}{source}"
            f"{f' ({why})' if why else ''}."
        )
        if isinstance(value, str) and self.type.linkable and _PATH.fullmatch(value.strip()):
            error = UnreadableValueError(f"{error} A link begins with '@': '@{value.strip()}'.")
        error.component, error.data = self.owner.getClassName(), self.name
        return error

    def follow_link(self, *, must: bool = False) -> None:
        """Follow a link that led nowhere when it was given; an error if it `must` not."""
        if self._link is None:
            return
        target = self.owner.resolve(self._link, data=True)
        if isinstance(target, Data):
            self.setParent(target)
        elif must:
            error = LinkError(
                f"{describe(self.where)}: '{self.getName()}' of {self.owner.describe()} links to "
                f"'{self._link}', which does not exist. "
                f"{self.owner.explain_link(self._link, data=True)}"
            )
            if not self.type.optional_link:
                raise error
            complain(self.owner, error, " It counts as not given, as in SOFA.")
            self._link, self._set = None, False


class WriteAccess:
    """Gives the array of a Data for writing, and notifies the Data when done."""

    def __init__(self, data: Data, kind: type[np.ndarray]) -> None:
        self._data = data
        self._kind = kind

    def __enter__(self) -> np.ndarray:
        self._data.check_settable()
        value = get_noted(self._data, to_write=True)
        if not isinstance(value, np.ndarray):
            raise SceneError(
                f"{describe(scene_line())}: {self._data.getPathName()} is no array; use '.value'."
            )
        self._array = value if is_shared(value) else value.copy()
        self._view = self._array.view(self._kind)
        return self._view

    def __exit__(self, *exception: object) -> None:
        self._view.setflags(write=False)
        self._data.written(self._array)


def is_shared(value: Any) -> bool:
    """Whether it is written in place; numbers of nodes are replaced, as components hold them."""
    return isinstance(value, np.ndarray) and value.dtype.kind != "i"


def _has_nan(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype.kind == "f" and bool(np.isnan(value).any())
    return isinstance(value, float) and value != value


def _short(value: Any) -> str:
    text = repr(value.tolist() if isinstance(value, np.ndarray) else value)
    return text if len(text) <= 80 else f"{text[:77]}..."
