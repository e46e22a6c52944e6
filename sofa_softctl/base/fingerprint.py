"""Digests of Python values by content: the same in every process and on every computer.

Floating-point numbers count to `DIGITS` binary digits, as the last ones depend on the computer's
BLAS. Functions count by bytecode: with another version of Python they are others.
"""

from __future__ import annotations

import dis
import hashlib
import sys
from collections.abc import Callable, Iterable
from functools import cached_property
from pickle import PicklingError
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from sofa_softctl.base.files_read import counts

DIGITS = 30
"""Binary digits of a number that count: a relative change of 1e-9 [-]."""
_BETWEEN = 1.2360679775
"""Moves the limits of rounding away from numbers that people choose, such as 0.5 and 1."""


class Fingerprint:
    """Digests of values; raises TypeError where a value has no content to compare.

    Args:
        expand: What stands for a value of the caller's own classes: plain values, or the value
            itself where it is of no such class.
    """

    def __init__(self, expand: Callable[[Any], Any] = lambda value: value) -> None:
        self._expand = expand
        self._known: dict[int, tuple[Any, bytes]] = {}  # the value too: ids are used again
        self._within: dict[int, int] = {}

    def of(self, value: Any) -> str:
        """Digest of a value, hexadecimal."""
        return self._digest(value).hex()

    def _digest(self, value: Any) -> bytes:
        if id(value) in self._known:
            return self._known[id(value)][1]
        if id(value) in self._within:  # it contains itself
            return _combined("cycle", [str(len(self._within) - self._within[id(value)]).encode()])
        self._within[id(value)] = len(self._within)
        plain = self._expand(value)
        found = self._content(plain) if plain is value else self._digest(plain)
        del self._within[id(value)]
        self._known[id(value)] = value, found
        return found

    def _all(self, kind: str, values: Iterable[Any]) -> bytes:
        return _combined(kind, map(self._digest, values))

    def _content(self, value: Any) -> bytes:
        match value:
            case None | bool() | int() | str() | bytes():
                return _combined(type(value).__name__, [_text(value)])
            case float() | complex() | np.generic() | np.ndarray():
                return self._array(np.asarray(value))
            case tuple() | list() if type(value) in (tuple, list):
                return self._all("sequence", value)
            case dict() if type(value) is dict:
                return _combined("dict", sorted(map(self._digest, value.items())))
            case set() | frozenset():
                return _combined("set", sorted(map(self._digest, value)))
            case CodeType():
                names = (value.co_names, value.co_varnames, value.co_freevars)
                rest = (value.co_code, value.co_exceptiontable, value.co_consts, value.co_flags)
                return self._all("code", (*names, *rest))
            case FunctionType():
                return self._function(value)
            case MethodType():
                return self._all("method", (value.__func__, value.__self__))
            case property():
                return self._all("property", (value.fget, value.fset))
            case staticmethod() | classmethod():
                return self._all(type(value).__name__, (value.__func__,))
            case cached_property():
                return self._all("cached_property", (value.func,))
            case BuiltinFunctionType() | ModuleType():
                return _combined("name", [_name(value).encode()])
            case type():
                return self._class(value)
        if isinstance(getattr(value, "py_func", None), FunctionType):  # compiled by numba
            return self._digest(value.py_func)
        return self._object(value)

    def _array(self, array: np.ndarray) -> bytes:
        kind, shape = array.dtype.kind, repr(array.shape).encode()
        if kind == "c":
            return self._all("complex", (array.real, array.imag))
        if kind == "f":
            return _combined("reals", [shape, *rounded(array)])
        if kind in "biu":
            whole = array.astype("<u8" if kind == "u" else "<i8")
            return _combined("whole numbers", [shape, whole.tobytes()])
        return _combined("array", [shape, self._digest(array.ravel().tolist())])

    def _function(self, function: FunctionType) -> bytes:
        if not counts(function.__code__.co_filename) and _is_installed(function.__module__):
            return _combined("name", [_name(function).encode()])
        closed = [_cell(cell) for cell in function.__closure__ or ()]
        own = (function.__code__, function.__defaults__, function.__kwdefaults__, closed)
        return self._all("function", (sys.version_info[:2], *own, _globals_of(function)))

    def _class(self, kind: type) -> bytes:
        if _is_installed(kind.__module__):
            return _combined("name", [_name(kind).encode()])
        own = {name: value for name, value in vars(kind).items() if name not in _OF_CLASSES}
        return self._all("class", (kind.__qualname__, kind.__bases__, own))

    def _object(self, value: Any) -> bytes:
        """By what pickle would write."""
        try:
            reduced = value.__reduce_ex__(4)
        except (TypeError, PicklingError, NotImplementedError, AttributeError) as error:
            raise TypeError(f"a {type(value).__qualname__} has no content to compare") from error
        if isinstance(reduced, str):
            return _combined("name", [f"{type(value).__module__}.{reduced}".encode()])
        how, arguments, state, entries, items = (*reduced, None, None, None)[:5]
        content = (how, arguments, state, list(entries or ()), dict(items or ()))
        return self._all("object", content)


def rounded(array: np.ndarray, *, least: float = 0.0) -> list[bytes]:
    """Numbers to `DIGITS` binary digits.

    Args:
        array: The numbers.
        least: Size below which they count absolutely: its digits are those of all smaller ones.
    """
    a = np.asarray(array, float).ravel()
    finite = np.isfinite(a)
    plain = np.where(finite, a, 0.0)
    _, exponent = np.frexp(np.maximum(np.abs(plain), least) * _BETWEEN)
    whole = np.floor(np.ldexp(plain, DIGITS - exponent) + _BETWEEN - 1.0)
    special = np.where(finite, 0, np.where(np.isnan(a), 3, np.where(a > 0.0, 1, 2)))
    return [part.astype("<i8").tobytes() for part in (exponent, whole, special)]


_OF_CLASSES = frozenset(
    "__module__ __qualname__ __doc__ __dict__ __weakref__ __annotations__ __annotate_func__ "
    "__annotations_cache__ __firstlineno__ __static_attributes__ __abstractmethods__ _abc_impl "
    "__dataclass_fields__ __dataclass_params__".split()
)
"""Attributes of classes that say nothing of what they do."""


def _combined(kind: str, parts: Iterable[bytes]) -> bytes:
    digest = hashlib.sha256(kind.encode())
    for part in parts:
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.digest()


def _text(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")


def _name(value: Any) -> str:
    module = getattr(value, "__module__", None) or ""
    return f"{module}.{getattr(value, '__qualname__', value.__name__)}"


def _is_installed(module: str | None) -> bool:
    """Whether a module is no user's file but of Python, a package, or made without a file."""
    found = sys.modules.get(module or "")
    file = getattr(found, "__file__", None)
    return found is not None and module != "__main__" and not (file and counts(file))


def _cell(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # empty yet
        return None


def _globals_of(function: FunctionType) -> dict[str, Any]:
    """Globals that a function uses, and attributes of a user's modules among them."""
    found: dict[str, Any] = {}
    waiting = [function.__code__]
    while waiting:
        code = waiting.pop()
        waiting += [each for each in code.co_consts if isinstance(each, CodeType)]
        for step in dis.get_instructions(code):
            name = step.argval
            if step.opname != "LOAD_GLOBAL" or name not in function.__globals__:
                continue
            found[name] = value = function.__globals__[name]
            if isinstance(value, ModuleType) and not _is_installed(value.__name__):
                used = [each for each in code.co_names if each in vars(value)]
                found |= {f"{name}.{each}": vars(value)[each] for each in used}
    return found
