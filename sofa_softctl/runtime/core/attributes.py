"""Attributes of a controller that change from step to step, captured and put back by value.

Of simple kinds (numbers, texts, arrays, random generators, lists, dicts and sets of these, objects
of the scene's own classes) a copy is held, of global variables that methods assign as well; nodes,
components and Data are held by their path, so that another graph of the same scene can take the
attributes over; methods by their name. Functions and modules stay as they are. What is left, such
as iterators, files and objects of libraries, is named, as nobody can tell whether it changes.
"""

from __future__ import annotations

import dis
import enum
import inspect
import io
import pickle
import random
import sys
import types
from collections import deque
from dataclasses import dataclass
from datetime import date, time, timedelta
from functools import cache
from pathlib import PurePath
from typing import Any

import numpy as np

from sofa_softctl.runtime.helper import message

_PLAIN = (type(None), bool, int, float, complex, str, bytes, np.generic, enum.Enum, PurePath, range)
_CONSTANT = (*_PLAIN, slice, date, time, timedelta, np.dtype)
_CODE = (types.FunctionType, types.BuiltinFunctionType, types.ModuleType, type)
_PACKAGE = __name__.partition(".")[0]
_LIBRARIES = ("site-packages", "dist-packages")
_INTERNAL = frozenset(
    "_context _where _data _links _initialised _outputs made_at "
    "_attributes_at_start _told_attributes".split()
)
"""Attributes of every component."""


class _UnheldError(Exception):
    """A value that cannot be captured; its text is the name of its class."""


@dataclass
class _Held:
    """One captured value."""

    kind: str
    """Case of `_Return.value`."""
    content: Any = None
    """What it needs."""
    cls: Any = None
    """Class of the value, where it may have to be made."""


def holds_own_state(controller: Any, method: str) -> bool:
    """Whether the scene's own code has a method of that name, such as 'snapshot' or 'reset'."""
    return any(method in vars(cls) for cls in _own_classes(type(controller)))


def capture(owner: Any) -> dict[str, Any]:
    """What a controller of a scene keeps in attributes of its own, for `put_back`.

    Of attributes that cannot be captured it is warned, once.
    """
    held: dict[str, Any] = {}
    own = _own_classes(type(owner))
    for name, value in vars(owner).items() if own else ():
        if _is_own_state(owner, name):
            held[name] = _captured(value, owner)
    for cls in own:
        for name, value in vars(cls).items():
            if not name.startswith("__") and isinstance(value, (*_PLAIN, list, dict, set)):
                held[f"{cls.__qualname__}.{name}"] = _captured(value, owner)
        for name, variables in _globals_set(cls).items():
            held[f"global {name}"] = _captured(variables.get(name), owner)
    return held


def _is_own_state(owner: Any, name: str) -> bool:
    """Return True for an attribute that is neither the runtime's, a Data nor an event method."""
    return not (name in _INTERNAL or name in owner.data_types or name.startswith("on"))


def warn_unheld(owner: Any, held: dict[str, Any]) -> None:
    """Warn once of the attributes that `capture` could not take."""
    told = vars(owner).setdefault("_told_attributes", set())
    for name, value in held.items():
        if value.kind == "unheld" and name not in told:
            told.add(name)
            message.warning(
                owner,
                f"{owner.getClassName()} '{owner.getPathName()}' has the attribute '{name}' "
                f"({value.content}), which neither snapshots nor a reset bring back. If it changes "
                "from step to step, give the class snapshot(), restore(values) and reset().",
            )


def put_back(owner: Any, held: dict[str, Any]) -> None:
    """Return to what `capture` gave; attributes that came since then go."""
    attributes, own, back = vars(owner), _own_classes(type(owner)), _Return(owner)
    classes = {cls.__qualname__: cls for cls in own}
    variables = {name: found for cls in own for name, found in _globals_set(cls).items()}
    for name in [name for name in attributes if own and name not in held]:
        if _is_own_state(owner, name):
            del attributes[name]
    for name, value in held.items():
        cls, short = classes.get(name.rpartition(".")[0]), name.rpartition(".")[2]
        if value.kind in ("stays", "unheld"):
            continue
        if cls is not None:
            setattr(cls, short, back.value(vars(cls).get(short), value))
        elif name.startswith("global "):
            short = name.removeprefix("global ")
            variables[short][short] = back.value(variables[short].get(short), value)
        else:
            attributes[name] = back.value(attributes.get(name), value)


def changed(owner: Any, held: dict[str, Any]) -> list[str]:
    """Names of the attributes that are not as `capture` found them."""
    now = capture(owner)
    return sorted(name for name in held.keys() | now.keys() if not _same(held, now, name))


def _same(held: dict[str, Any], now: dict[str, Any], name: str) -> bool:
    try:
        return _written(held.get(name)) == _written(now.get(name))
    except Exception:  # pickle raises whatever an object's own methods raise
        return False


def _written(held: Any) -> bytes:
    file = io.BytesIO()
    pickler = pickle.Pickler(file)
    pickler.fast = True  # equal values, not the same ones
    pickler.dump(held)
    return file.getvalue()


def note_set(owner: Any, name: str, held: dict[str, Any]) -> None:
    """What a script sets between the steps is what the attribute returns to from now on."""
    if name not in _INTERNAL and name in vars(owner):
        held[name] = _captured(vars(owner)[name], owner)


def _own_classes(cls: type) -> list[type]:
    """The classes of the scene's own code that it derives from."""
    return [base for base in cls.__mro__ if _is_own(base)]


def _is_own(cls: type) -> bool:
    """Whether a class is of a scene or a plugin: neither of this package nor of a library."""
    top = cls.__module__.partition(".")[0]
    if top in (_PACKAGE, "Sofa", *sys.builtin_module_names) or top in sys.stdlib_module_names:
        return top == "__main__"
    file = getattr(sys.modules.get(cls.__module__), "__file__", None) or ""
    return not any(part in _LIBRARIES for part in PurePath(file).parts)


@cache
def _globals_set(cls: type) -> dict[str, dict[str, Any]]:
    """Global variables that methods of a class assign, by name: the variables of their module."""
    functions = [inspect.unwrap(e) for e in vars(cls).values() if inspect.isfunction(e)]
    return {
        step.argval: function.__globals__
        for function in functions
        for step in dis.get_instructions(function)
        if step.opname == "STORE_GLOBAL"
    }


def _captured(value: Any, owner: Any) -> _Held:
    """One attribute; of what stays no reference, which another process could not read."""
    try:
        held = _capture(value, owner, {})
    except _UnheldError as error:
        return _Held("unheld", str(error))
    return _Held("stays") if held.kind == "stays" else held


def _capture(value: Any, owner: Any, seen: dict[int, _Held]) -> _Held:
    if isinstance(value, _CONSTANT):
        return _Held("constant", value)
    if id(value) in seen:
        return seen[id(value)]
    if isinstance(value, types.MethodType) and value.__self__ is owner:
        return _Held("method", value.__func__.__name__)
    if isinstance(value, (*_CODE, types.MethodType)):
        return _Held("constant" if _is_importable(value) else "stays", value)
    if hasattr(value, "getPathName"):
        holder = value.getOwner() if hasattr(value, "getOwner") else value
        return _Held("part", (holder.getPathName(), "" if holder is value else value.getName()))
    held = seen[id(value)] = _Held("", [], type(value))
    held.kind = _fill(value, held.content, owner, seen)
    if held.kind == "stays":
        held.content = value
    return held


def _fill(value: Any, content: list[Any], owner: Any, seen: dict[int, _Held]) -> str:
    """Append what is needed to make a value again; its kind."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        if not value.flags.writeable and value.base is not None:
            return "stays"  # a view of a Data
        content.append(value.copy())
        return "array"
    if isinstance(value, np.random.Generator):
        content.append(value.bit_generator.state)
        return "generator"
    if isinstance(value, random.Random):
        content.append(value.getstate())
        return "random"
    if isinstance(value, dict):
        content += [(key, _capture(entry, owner, seen)) for key, entry in value.items()]
        return "dict"
    if isinstance(value, list | tuple | set | frozenset | deque):
        content += [_capture(entry, owner, seen) for entry in value]
        return "list" if isinstance(value, list | deque) else "fixed"
    if callable(getattr(value, "snapshot", None)) and callable(getattr(value, "restore", None)):
        content.append(value.snapshot())
        return "own"
    if _is_own(type(value)) and hasattr(value, "__dict__"):
        content += [(name, _capture(entry, owner, seen)) for name, entry in vars(value).items()]
        return "object"
    if type(value).__module__.partition(".")[0] in (_PACKAGE, "Sofa", "logging", "functools"):
        return "stays"
    raise _UnheldError(type(value).__name__)


def _is_importable(value: Any) -> bool:
    """Whether another graph of the same scene has it as well."""
    if isinstance(value, types.ModuleType):
        return False
    module = sys.modules.get(getattr(value, "__module__", None) or "")
    return getattr(module, getattr(value, "__qualname__", ""), None) is value


class _Return:
    """Makes captured values again; what is there now is changed where it is of the same class."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        self._done: dict[int, Any] = {}

    def value(self, present: Any, held: _Held) -> Any:
        """The value that was captured, given what stands in its place."""
        content = held.content
        match held.kind:
            case "constant":
                return content
            case "stays":
                return content if present is None else present
            case "method":
                return getattr(self.owner, content)
            case "part":
                return self._part(present, *content)
            case "fixed":
                rows = self._rows(present, content)
                return held.cls(*rows) if hasattr(held.cls, "_fields") else held.cls(rows)
        if id(held) not in self._done:
            if not isinstance(present, held.cls):
                present = _made(held)
            self._done[id(held)] = present
            self._done[id(held)] = self._changed(present, held)
        return self._done[id(held)]

    def _changed(self, present: Any, held: _Held) -> Any:
        content = held.content
        match held.kind:
            case "array":
                if present.shape != content[0].shape or present.dtype != content[0].dtype:
                    return content[0].copy()
                np.copyto(present, content[0])
            case "generator":
                present.bit_generator.state = content[0]
            case "random":
                present.setstate(content[0])
            case "own":
                present.restore(content[0])
            case "dict":
                entries = {key: self.value(present.get(key), entry) for key, entry in content}
                present.clear()
                present.update(entries)
            case "list":
                rows = self._rows(present, content)
                present.clear()
                present.extend(rows)
            case "object":
                now = dict(vars(present))
                vars(present).clear()
                for name, entry in content:
                    vars(present)[name] = self.value(now.get(name), entry)
        return present

    def _rows(self, present: Any, content: list[_Held]) -> list[Any]:
        now = list(present) if isinstance(present, list | tuple | deque) else []
        now += [None] * (len(content) - len(now))
        return [self.value(*pair) for pair in zip(now, content, strict=False)]

    def _part(self, present: Any, path: str, name: str) -> Any:
        """The node, component or Data of a path in the owner's graph."""
        holder = present.getOwner() if hasattr(present, "getOwner") else present
        if hasattr(holder, "getPathName") and holder.getPathName() == path:
            return holder.findData(name) if name else holder
        for node in self.owner.getContext().getRoot().walk(everything=True):
            for entry in (node, *node.objects):
                if entry.getPathName() == path:
                    return entry.findData(name) if name else entry
        return present


def _made(held: _Held) -> Any:
    """A fresh value of the class, to be filled."""
    if held.kind == "array":
        return held.content[0].copy()
    if held.kind == "generator":
        return np.random.Generator(getattr(np.random, held.content[0]["bit_generator"])())
    if held.kind == "own":
        raise RuntimeError(f"{held.cls.__name__} is gone, whose snapshot is to be restored.")
    return held.cls.__new__(held.cls) if held.kind == "object" else held.cls()
