"""Capture and restore attributes of a controller that change from step to step, by value.

Simple kinds (numbers, texts, arrays, random generators, lists, dicts and sets of these, objects of
the scene's own classes) are copied, also global variables that methods assign; nodes, components
and Data are stored by path, so that another graph of the same scene can restore the attributes;
methods by name. Functions and modules stay as they are. A warning names the remaining ones, such as
iterators, files and objects of libraries, since it is unknown whether they change.
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

_BASIC = (type(None), bool, int, float, complex, str, bytes, np.generic, enum.Enum, PurePath, range)
_CONSTANT = (*_BASIC, slice, date, time, timedelta, np.dtype)
_CODE = (types.FunctionType, types.BuiltinFunctionType, types.ModuleType, type)
_PACKAGE = __name__.partition(".")[0]
_LIBRARIES = ("site-packages", "dist-packages")
_INTERNAL = frozenset(
    "_context _where _data _links _initialised _outputs made_at "
    "_attributes_at_start _warned_attributes".split()
)
"""Attributes of every component."""


class _UnheldError(Exception):
    """A value that cannot be captured; its text is the name of its class."""


@dataclass
class _Capture:
    """Captured value."""

    kind: str
    """Case of `_Restorer.value`."""
    content: Any = None
    """Content that the case needs."""
    cls: Any = None
    """Class of the value, to create it if it is missing."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave out what stays as it is: another process has its own."""
        return _Capture, (self.kind, None if self.kind == "stays" else self.content, self.cls)


def holds_own_state(controller: Any, method: str) -> bool:
    """Return True if the scene's own code has this method, such as 'snapshot' or 'reset'."""
    return any(method in vars(cls) for cls in _own_classes(type(controller)))


def capture(owner: Any) -> dict[str, Any]:
    """Return the captured state in the attributes of a scene's controller, for `put_back`."""
    held: dict[str, Any] = {}
    own_classes = _own_classes(type(owner))
    for name, value in vars(owner).items() if own_classes else ():
        if _is_own_state(owner, name):
            held[name] = _capture_attribute(value, owner)
    for cls in own_classes:
        for name, value in vars(cls).items():
            if not name.startswith("__") and isinstance(value, (*_BASIC, list, dict, set)):
                held[f"{cls.__qualname__}.{name}"] = _capture_attribute(value, owner)
        for name, variables in _globals_set(cls).items():
            held[f"global {name}"] = _capture_attribute(variables.get(name), owner)
    return held


def _is_own_state(owner: Any, name: str) -> bool:
    """Return True for an attribute that is neither the runtime's, a Data nor an event method."""
    data_types = getattr(type(owner), "data_types", ())  # in SOFA a class does not list them
    return not (name in _INTERNAL or name in data_types or name.startswith("on"))


def warn_unheld(owner: Any, held: dict[str, Any]) -> None:
    """Warn once of the attributes that `capture` could not copy."""
    warned = vars(owner).setdefault("_warned_attributes", set())
    for name, value in held.items():
        if value.kind == "unheld" and name not in warned:
            warned.add(name)
            message.warning(
                owner,
                f"{owner.getClassName()} '{owner.getPathName()}' has the attribute '{name}' "
                f"({value.content}), which neither snapshots nor a reset bring back. If it changes "
                "from step to step, give the class snapshot(), restore(values) and reset().",
            )


def put_back(owner: Any, held: dict[str, Any]) -> None:
    """Restore the result of `capture`, and delete attributes that were added since then."""
    attributes, own_classes, restorer = vars(owner), _own_classes(type(owner)), _Restorer(owner)
    classes = {cls.__qualname__: cls for cls in own_classes}
    variables = {name: scope for cls in own_classes for name, scope in _globals_set(cls).items()}
    for name in [name for name in attributes if own_classes and name not in held]:
        if _is_own_state(owner, name):
            del attributes[name]
    for name, value in held.items():
        cls, short = classes.get(name.rpartition(".")[0]), name.rpartition(".")[2]
        if value.kind in ("stays", "unheld"):
            continue
        if cls is not None:
            setattr(cls, short, restorer.value(vars(cls).get(short), value))
        elif name.startswith("global "):
            short = name.removeprefix("global ")
            variables[short][short] = restorer.value(variables[short].get(short), value)
        else:
            attributes[name] = restorer.value(attributes.get(name), value)


def changed_attributes(owner: Any, held: dict[str, Any]) -> list[str]:
    """Return the names of the attributes that have changed since `capture`."""
    present = capture(owner)
    return sorted(k for k in held.keys() | present.keys() if not _is_same(held, present, k))


def _is_same(held: dict[str, Any], present: dict[str, Any], name: str) -> bool:
    try:
        return _pickle_value(held.get(name)) == _pickle_value(present.get(name))
    except Exception:  # pickle raises any error of an object's own methods
        return False


def _pickle_value(held: Any) -> bytes:
    file = io.BytesIO()
    pickler = pickle.Pickler(file)
    pickler.fast = True  # equal values, not identical ones
    pickler.dump(held)
    return file.getvalue()


def note_set(owner: Any, name: str, held: dict[str, Any]) -> None:
    """Capture the value that a script sets between the steps, to restore it later."""
    if name not in _INTERNAL and name in vars(owner):
        held[name] = _capture_attribute(vars(owner)[name], owner)


def _own_classes(cls: type) -> list[type]:
    """Return the base classes from the scene's own code."""
    return [base for base in cls.__mro__ if _is_own(base)]


def _is_own(cls: type) -> bool:
    """Return True for a class of a scene or a plugin, neither of this package nor of a library."""
    top = cls.__module__.partition(".")[0]
    if top in (_PACKAGE, "Sofa", *sys.builtin_module_names) or top in sys.stdlib_module_names:
        return top == "__main__"
    file = getattr(sys.modules.get(cls.__module__), "__file__", None) or ""
    return not any(part in _LIBRARIES for part in PurePath(file).parts)


@cache
def _globals_set(cls: type) -> dict[str, dict[str, Any]]:
    """Return for each global variable that methods assign the variables of its module, by name."""
    functions = [inspect.unwrap(e) for e in vars(cls).values() if inspect.isfunction(e)]
    return {
        step.argval: function.__globals__
        for function in functions
        for step in dis.get_instructions(function)
        if step.opname == "STORE_GLOBAL"
    }


def _capture_attribute(value: Any, owner: Any) -> _Capture:
    """Capture an attribute; without a reference to values that another process could not read."""
    try:
        result = _capture(value, owner, {})
    except _UnheldError as error:
        return _Capture("unheld", str(error))
    return _Capture("stays") if result.kind == "stays" else result


def _capture(value: Any, owner: Any, captured: dict[int, _Capture]) -> _Capture:
    if isinstance(value, _CONSTANT):
        return _Capture("constant", value)
    if id(value) in captured:
        return captured[id(value)]
    if isinstance(value, types.MethodType) and value.__self__ is owner:
        return _Capture("method", value.__func__.__name__)
    if isinstance(value, (*_CODE, types.MethodType)):
        return _Capture("constant" if _is_importable(value) else "stays", value)
    if hasattr(value, "getPathName"):
        holder = value.getOwner() if hasattr(value, "getOwner") else value
        return _Capture("part", (holder.getPathName(), "" if holder is value else value.getName()))
    result = captured[id(value)] = _Capture("", [], type(value))
    result.kind = _fill(value, result.content, owner, captured)
    if result.kind == "stays":
        result.content = value
    return result


def _fill(value: Any, content: list[Any], owner: Any, captured: dict[int, _Capture]) -> str:
    """Append the content to create a value again; return its kind."""
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
        content += [(key, _capture(item, owner, captured)) for key, item in value.items()]
        return "dict"
    if isinstance(value, list | tuple | set | frozenset | deque):
        content += [_capture(item, owner, captured) for item in value]
        return "list" if isinstance(value, list | deque) else "fixed"
    if callable(getattr(value, "snapshot", None)) and callable(getattr(value, "restore", None)):
        content.append(value.snapshot())
        return "own"
    if _is_own(type(value)) and hasattr(value, "__dict__"):
        content += [(name, _capture(item, owner, captured)) for name, item in vars(value).items()]
        return "object"
    if type(value).__module__.partition(".")[0] in (_PACKAGE, "Sofa", "logging", "functools"):
        return "stays"
    raise _UnheldError(type(value).__name__)


def _is_importable(value: Any) -> bool:
    """Return True if another graph of the same scene has it as well."""
    if isinstance(value, types.ModuleType):
        return False
    module = sys.modules.get(getattr(value, "__module__", None) or "")
    return getattr(module, getattr(value, "__qualname__", ""), None) is value


class _Restorer:
    """Restorer of captured values, which changes present values of the same class in place."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        self._restored: dict[int, Any] = {}

    def value(self, present: Any, held: _Capture) -> Any:
        """Return the captured value, in place of the present one."""
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
        if id(held) not in self._restored:
            if not isinstance(present, held.cls):
                present = _new_value(held)
            self._restored[id(held)] = present
            self._restored[id(held)] = self._update(present, held)
        return self._restored[id(held)]

    def _update(self, present: Any, held: _Capture) -> Any:
        content = held.content
        match held.kind:
            case "array":
                array = content[0]
                is_alike = present.shape == array.shape and present.dtype == array.dtype
                if not (is_alike and present.flags.writeable):
                    return array.copy()
                np.copyto(present, array)
            case "generator":
                present.bit_generator.state = content[0]
            case "random":
                present.setstate(content[0])
            case "own":
                present.restore(content[0])
            case "dict":
                entries = {key: self.value(present.get(key), item) for key, item in content}
                present.clear()
                present.update(entries)
            case "list":
                rows = self._rows(present, content)
                present.clear()
                present.extend(rows)
            case "object":
                present_values = dict(vars(present))
                vars(present).clear()
                for name, item in content:
                    vars(present)[name] = self.value(present_values.get(name), item)
        return present

    def _rows(self, present: Any, content: list[_Capture]) -> list[Any]:
        values = list(present) if isinstance(present, list | tuple | deque) else []
        values += [None] * (len(content) - len(values))
        return [self.value(*pair) for pair in zip(values, content, strict=False)]

    def _part(self, present: Any, path: str, name: str) -> Any:
        """Return the node, component or Data of a path in the owner's graph."""
        holder = present.getOwner() if hasattr(present, "getOwner") else present
        if hasattr(holder, "getPathName") and holder.getPathName() == path:
            return holder.findData(name) if name else holder
        for node in self.owner.getContext().getRoot().walk(everything=True):
            for item in (node, *node.objects):
                if item.getPathName() == path:
                    return item.findData(name) if name else item
        return present


def _new_value(held: _Capture) -> Any:
    """Create a value of the class, to be filled."""
    if held.kind == "array":
        return held.content[0].copy()
    if held.kind == "generator":
        return np.random.Generator(getattr(np.random, held.content[0]["bit_generator"])())
    if held.kind == "own":
        raise RuntimeError(f"{held.cls.__name__} is gone, whose snapshot is to be restored.")
    return held.cls.__new__(held.cls) if held.kind == "object" else held.cls()
