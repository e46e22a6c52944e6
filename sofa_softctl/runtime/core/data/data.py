"""Data: typed, linkable, observable values of components and nodes, as in SOFA."""

from __future__ import annotations

import re
import weakref
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sofa_softctl.base.source_line import Line, describe, scene_line
from sofa_softctl.errors import LinkError, SceneError, UnreadableValueError
from sofa_softctl.runtime.core.data.handling import get_noted
from sofa_softctl.runtime.core.link_path import LinkPath
from sofa_softctl.runtime.helper.message import complain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sofa_softctl.runtime.core.data.declaration import DataType

_COUNTER, _PARENT = attrgetter("_counter"), attrgetter("_parent")
_PATH = re.compile(r"[./]*[A-Za-z_][\w/.]*\.[A-Za-z_]\w*")
"""Pattern of a text that looks like the path of a Data."""


class DataClass(type):
    """Metaclass that shows a class of Data by its SofaPython3 name."""

    sofa_class: str

    def __repr__(cls) -> str:
        return f"<class '{cls.sofa_class}'>"


class Data(metaclass=DataClass):
    """Value of an object.

    `value` is a Python scalar or string, or a read-only view of an array, as in SofaPython3.
    `writeable()` returns the array for writing. Code of the runtime uses `get()`, `set()` and
    `touch()`, which do no checks.
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
        "earlier_arrays",
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
        self.earlier_arrays: tuple[EarlierArray, ...] = ()  # a script may have views of them
        self._counter = 0
        self._set = False
        self._read_only = type.read_only
        self._parent: Data | None = None
        self._seen = -1  # the parent's counter at the last update
        self._link: str | None = None  # a path that does not exist yet
        self._followers: tuple[Data, ...] = ()

    # -- API for scenes -------------------------------------------------------------------

    @property
    def value(self) -> Any:
        """Value, a read-only view for arrays."""
        value = get_noted(self)
        if isinstance(value, np.ndarray):
            value = value.view()
            value.setflags(write=False)
        return value

    @value.setter
    def value(self, value: Any) -> None:
        self.check_settable()
        self.assign(value, scene_line(), from_script=True)

    def getValue(self) -> Any:
        """Return the value, a read-only view for arrays."""
        return self.value

    def setValue(self, value: Any) -> None:
        """Set the value."""
        self.value = value

    def check_settable(self) -> None:
        """Raise a SceneError if only the component may write it in a run; else complain."""
        if not self.type.read_only:
            return
        error = SceneError(
            f"{describe(scene_line())}: '{self.getName()}' of {self.owner.getPathName()} is "
            "computed by the component and cannot be set."
        )
        if not self.type.computed and getattr(self.owner, "_initialised", True):
            raise error
        complain(self.owner, error, " As in SOFA the value stays until it is computed anew.")
        self.get()  # compute it before, not over the new value

    def array(self) -> np.ndarray:
        """Return a read-only view of the value as an array."""
        value = np.asarray(get_noted(self)).view()
        value.setflags(write=False)
        return value

    def writeable(self, kind: type[np.ndarray] = np.ndarray) -> WriteAccess:
        """Return a context with the array for writing: `with data.writeable() as x: x[0] = ...`.

        The array has this `kind`, such as Sofa.PyTypes.RGBAColor. It is read-only after the
        context, since later changes would not be noticed.
        """
        return WriteAccess(self, kind)

    writeableArray = writeable

    def getName(self) -> str:
        """Return the name, as SOFA writes it."""
        return self.name

    def setName(self, name: str) -> None:
        """Rename it; its object still uses the old name, as in SOFA."""
        self.name = name

    def getHelp(self) -> str:
        """Return the help text."""
        return self.type.help

    def getOwner(self) -> Any:
        """Return the component or node that it belongs to."""
        return self.owner

    def getPathName(self) -> str:
        """Return its path in the graph, such as `/trunk/dofs.position`."""
        return f"{self.owner.getPathName()}.{self.name}"

    def getLinkPath(self) -> str:
        """Return its path in the graph as a link, such as `@/trunk/dofs.position`."""
        return f"@{self.getPathName()}"

    getAsACreateObjectParameter = getLinkPath

    @property
    def linkpath(self) -> LinkPath:
        """Path in the graph as a link."""
        return LinkPath(self)

    def getParent(self) -> Data | None:
        """Return the Data that this Data follows, or None."""
        return self._parent

    def hasParent(self) -> bool:
        """Return True if it follows another Data."""
        return self._parent is not None or self._link is not None

    def setParent(self, parent: Data | str | None) -> None:
        """Follow another Data, or no Data for None."""
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
        """Return True if a scene set a value."""
        return self._set

    def unset(self) -> None:
        """Count the value as not set by a scene."""
        self._set = False
        self._counter += 1

    def isReadOnly(self) -> bool:
        """Return True if only the component writes it, or a script made it read-only."""
        return self._read_only

    def setReadOnly(self, read_only: bool) -> None:
        """Set whether a GUI may edit it; scripts may still set it, as in SOFA."""
        self._read_only = read_only

    def isRequired(self) -> bool:
        """Return True if a scene must set it."""
        return self.type.required

    def isPersistent(self) -> bool:
        """Return True if it is saved with the scene."""
        return self.persistent

    def setPersistent(self, persistent: bool) -> None:
        """Set whether it is saved with the scene."""
        self.persistent = persistent

    def getCounter(self) -> int:
        """Return the number of changes of the value."""
        self.get()
        return self._counter

    def isDirty(self) -> bool:
        """Return True if the value must be updated from its parent."""
        return self._parent is not None and self._parent.getCounter() != self._seen

    def hasChanged(self) -> bool:
        """Update the value from its parent; return True if it was necessary."""
        dirty = self.isDirty()
        self.get()
        return dirty

    def updateIfDirty(self) -> None:
        """Update the value from its parent."""
        self.get()

    def typeName(self) -> str:
        """Return the type, as SOFA writes it."""
        return self.type.sofa_name(self.owner)

    getValueTypeString = typeName

    def getValueString(self) -> str:
        """Return the value, as SOFA writes it: numbers separated by blanks."""
        return self.type.format(self.get())

    def read(self, text: str) -> bool:
        """Set the value from a text, as SOFA parses it; return False if it is unreadable."""
        try:
            self._convert(text, None)
        except SceneError:
            if not text.startswith("@"):
                return False
        self.assign(text, scene_line())
        return True

    def toList(self) -> list[Any]:
        """Return its rows, as SofaPython3: indices are [[3], [5]] and a vector [[x, y, z]]."""
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

    # -- API for the runtime --------------------------------------------------------------

    def get(self) -> Any:
        """Return the updated value itself, arrays writeable and not copied."""
        parent = self._parent
        if parent is not None:
            value = parent.get()  # which updates its counter
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
        """Count a change of the array in place."""
        self._counter += 1

    def overwrite(self, values: np.ndarray) -> None:
        """Copy numbers of the present shape into its array, as a controller's output of a step.

        Unlike `assign` it neither converts nor checks them, unless another Data follows.
        """
        if self._followers or self._value.shape != values.shape:
            self.value = values
            return
        np.copyto(self._value, values)
        self._counter += 1

    def set_from_script(self, array: np.ndarray) -> None:
        """Set its array, or a copy of it, that a script has changed."""
        is_copy = array is not self._value
        self.owner.check_change(self, array if is_copy else None, scene_line())
        self._value = array
        self._counter += 1
        self.update_earlier_arrays()
        self.owner.data_changed(self)

    def update_earlier_arrays(self) -> None:
        """Copy the numbers into earlier arrays, as long as a script has views of them."""
        if not self.earlier_arrays:
            return
        arrays = [(earlier, earlier.find()) for earlier in self.earlier_arrays]
        for _, array in arrays:
            if array is not None and array.shape == self._value.shape:
                np.copyto(array, self._value)
        self.earlier_arrays = tuple(earlier for earlier, array in arrays if array is not None)

    def assign(self, value: Any, line: Line | None, *, from_script: bool = False) -> None:
        """Convert, check and store a value of a scene: a value, a Data, or a link."""
        if isinstance(value, Data):
            value = self._copy_value(value, line)
        if isinstance(value, LinkPath) and isinstance(value.target, Data) and self.type.linkable:
            self.setParent(value.target)
        elif isinstance(value, str) and value.startswith("@") and self.type.linkable:
            self._link, self._parent = value, None
            self.follow_link()
        else:
            converted = self._convert_or_salvage(value, line, from_script)
            if not self.type.may_be_nan and _has_nan(converted):
                raise self._misfit(value, line, "NaN")
            if self._parent is not None:
                self._seen = self._parent.getCounter()  # its present value is replaced
            self._link = None
            old = self._value
            self.owner.check_change(self, converted, line)
            for follower in self._followers:
                follower.parent_changes(self, converted, line)
            if is_shared(old) and old.shape == np.shape(converted):
                np.copyto(old, converted)  # other views of it stay valid
            else:
                self._value = converted
            self._counter += 1
        self.where = line
        self._set = True
        self.update_earlier_arrays()
        self.owner.data_changed(self)

    def _take_over(self, value: Any, parent: Data) -> None:
        """Update the value from the Data that it follows.

        Raises:
            SceneError: It does not fit; before its owner is initialised this is a warning, and the
                Data no longer follows, as in SOFA. Or the number of nodes of a state would change.
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

    def parent_changes(self, parent: Data, value: Any, line: Line | None) -> None:
        """Check the value that the followed Data gets."""
        if self._parent is parent:
            if getattr(self.owner, "category", "") not in ("", "topology", "region"):
                self.owner.check_change(self, value, line)  # for components in the motion
            for follower in self._followers:
                follower.parent_changes(self, value, line)

    def _convert(
        self, value: Any, line: Line | None, source: str = "", *, adopt: bool = False
    ) -> Any:
        convert = self.type.adopt if adopt else self.type.convert
        try:
            return convert(value, self.owner)
        except SceneError:
            raise
        except (ValueError, TypeError) as error:
            raise self._misfit(value, line, str(error), source) from error

    def _convert_or_salvage(self, value: Any, line: Line | None, from_script: bool) -> Any:
        """Return the value in its internal form, or SOFA's salvage of a value that does not fit.

        An array from a script must fit completely: SofaPython3 copies it without parsing.
        """
        try:
            return self._convert(value, line)
        except SceneError as error:
            if from_script and isinstance(value, np.ndarray) and value.ndim > 1:
                raise
            salvaged = self.type.salvage(value, self.owner, self._value)
            complain(self.owner, error, f" It counts as {_short(salvaged)}.")
            return salvaged

    def _copy_value(self, source: Data, line: Line | None) -> Any:
        """Return the present value of a Data; as in SOFA, only links follow later changes."""
        value = source.get()
        if source.type.read_only and not len(np.atleast_1d(value)):
            problem = SceneError(
                f"{describe(line)}: '{self.getName()}' of {self.owner.describe()} copies "
                f"{source.getPathName()}, which is still empty: its component fills it later. "
                f"Write {self.getName()}='{source.getLinkPath()}' to follow it."
            )
            complain(self.owner, problem)
        return value

    def _misfit(self, value: Any, line: Line | None, reason: str, source: str = "") -> SceneError:
        error = UnreadableValueError(
            f"{describe(line)}: '{self.getName()}' of {self.owner.describe()} "
            f"{self.type.expectation(self.owner)}, got {_short(value)}{source}"
            f"{f' ({reason})' if reason else ''}."
        )
        if isinstance(value, str) and self.type.linkable and _PATH.fullmatch(value.strip()):
            error = UnreadableValueError(f"{error} A link begins with '@': '@{value.strip()}'.")
        error.component, error.data = self.owner.getClassName(), self.name
        return error

    def follow_link(self, *, must: bool = False) -> None:
        """Follow a link whose target was missing; raise a LinkError if it still is and `must`."""
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
    """Context with the array of a Data for writing, which notifies the Data at the end."""

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
        self._data.set_from_script(self._array)


def is_shared(value: Any) -> bool:
    """Return True if it is written in place; components hold node numbers, which are replaced."""
    return isinstance(value, np.ndarray) and value.dtype.kind != "i"


def _has_nan(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype.kind == "f" and bool(np.isnan(value).any())
    return isinstance(value, float) and value != value


def _short(value: Any) -> str:
    text = repr(value.tolist() if isinstance(value, np.ndarray) else value)
    return text if len(text) <= 80 else f"{text[:77]}..."


class EarlierArray(NamedTuple):
    """Array that a Data had before its state shared one with others."""

    owner: weakref.ref[np.ndarray]
    """Owner of the memory: it lives as long as somebody has a view of the array."""
    shape: tuple[int, ...]
    offset: int
    """First byte of the array in its owner's memory."""

    @classmethod
    def of(cls, array: np.ndarray) -> EarlierArray:
        """Return the reference to a contiguous array of floats, which does not keep it alive."""
        owner = array
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        return cls(weakref.ref(owner), array.shape, array.ctypes.data - owner.ctypes.data)

    def find(self) -> np.ndarray | None:
        """Return the array, or None if nobody has a view of it any more."""
        owner = self.owner()
        if owner is None:
            return None
        return np.ndarray(self.shape, float, owner.data, self.offset)


class DataWatch:
    """Counters of several Data at the last look: a hundred of them take some microseconds.

    Args:
        data: The Data to watch.
    """

    def __init__(self, data: Iterable[Data]) -> None:
        self._data = tuple(data)
        self._counters: list[int] | None = None

    def has_changed(self) -> bool:
        """Return True at the first call, and if a Data has changed since the last one."""
        counters = read_counters(self._data)
        if counters == self._counters:
            return False
        self._counters = counters
        return True


def read_counters(data: Sequence[Data]) -> list[int]:
    """Return the number of changes of each Data, updated from the Data that it follows."""
    if any(map(_PARENT, data)):
        for item in data:
            item.get()
    return list(map(_COUNTER, data))
