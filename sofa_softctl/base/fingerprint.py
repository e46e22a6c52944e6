"""Digests of Python values by content: the same in every process and on every computer.

Floating-point numbers count to `DIGITS` binary digits, as the last ones depend on the computer's
BLAS. Functions count by bytecode: another version of Python gives other digests.
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

from sofa_softctl.base.files_read import is_project_file

DIGITS = 30
"""Binary digits of a number that count: a relative change of 1e-9 [-]."""
_BOUNDARY_SHIFT = 1.2360679775
"""Factor that moves the limits of rounding away from numbers that people choose, such as 0.5."""


class Fingerprint:
    """Digests of values; TypeError is raised for a value without content to compare.

    Args:
        expand: Replaces a value of the caller's classes by plain values; returns others unchanged.
    """

    def __init__(self, expand: Callable[[Any], Any] = lambda value: value) -> None:
        self._expand = expand
        self._digests: dict[int, tuple[Any, bytes]] = {}  # the value too: ids are used again
        self._within: dict[int, int] = {}

    def of(self, value: Any) -> str:
        """Return the digest of a value, hexadecimal."""
        return self._digest(value).hex()

    def _digest(self, value: Any) -> bytes:
        if id(value) in self._digests:
            return self._digests[id(value)][1]
        if id(value) in self._within:  # it contains itself
            return _combine("cycle", [str(len(self._within) - self._within[id(value)]).encode()])
        self._within[id(value)] = len(self._within)
        plain = self._expand(value)
        digest = self._content(plain) if plain is value else self._digest(plain)
        del self._within[id(value)]
        self._digests[id(value)] = value, digest
        return digest

    def _sequence(self, kind: str, values: Iterable[Any]) -> bytes:
        return _combine(kind, map(self._digest, values))

    def _content(self, value: Any) -> bytes:
        match value:
            case None | bool() | int() | str() | bytes():
                return _combine(type(value).__name__, [_text(value)])
            case float() | complex() | np.generic() | np.ndarray():
                return self._array(np.asarray(value))
            case tuple() | list() if type(value) in (tuple, list):
                return self._sequence("sequence", value)
            case dict() if type(value) is dict:
                return _combine("dict", sorted(map(self._digest, value.items())))
            case set() | frozenset():
                return _combine("set", sorted(map(self._digest, value)))
            case CodeType():
                names = (value.co_names, value.co_varnames, value.co_freevars)
                content = (value.co_code, value.co_exceptiontable, value.co_consts, value.co_flags)
                return self._sequence("code", (*names, *content))
            case FunctionType():
                return self._function(value)
            case MethodType():
                return self._sequence("method", (value.__func__, value.__self__))
            case property():
                return self._sequence("property", (value.fget, value.fset))
            case staticmethod() | classmethod():
                return self._sequence(type(value).__name__, (value.__func__,))
            case cached_property():
                return self._sequence("cached_property", (value.func,))
            case BuiltinFunctionType() | ModuleType():
                return _combine("name", [_name(value).encode()])
            case type():
                return self._class(value)
        if isinstance(getattr(value, "py_func", None), FunctionType):  # compiled by numba
            return self._digest(value.py_func)
        return self._object(value)

    def _array(self, array: np.ndarray) -> bytes:
        kind, shape = array.dtype.kind, repr(array.shape).encode()
        if kind == "c":
            return self._sequence("complex", (array.real, array.imag))
        if kind == "f":
            return _combine("reals", [shape, *quantize(array)])
        if kind in "biu":
            integers = array.astype("<u8" if kind == "u" else "<i8")
            return _combine("whole numbers", [shape, integers.tobytes()])
        return _combine("array", [shape, self._digest(array.ravel().tolist())])

    def _function(self, function: FunctionType) -> bytes:
        if not is_project_file(function.__code__.co_filename) and _is_installed(
            function.__module__
        ):
            return _combine("name", [_name(function).encode()])
        cells = [_cell(cell) for cell in function.__closure__ or ()]
        content = (function.__code__, function.__defaults__, function.__kwdefaults__, cells)
        return self._sequence("function", (sys.version_info[:2], *content, _globals_of(function)))

    def _class(self, kind: type) -> bytes:
        if _is_installed(kind.__module__):
            return _combine("name", [_name(kind).encode()])
        attributes = {name: value for name, value in vars(kind).items() if name not in _OF_CLASSES}
        return self._sequence("class", (kind.__qualname__, kind.__bases__, attributes))

    def _object(self, value: Any) -> bytes:
        """Return the digest of the parts that pickle would write."""
        try:
            reduced = value.__reduce_ex__(4)
        except (TypeError, PicklingError, NotImplementedError, AttributeError) as error:
            raise TypeError(f"a {type(value).__qualname__} has no content to compare") from error
        if isinstance(reduced, str):
            return _combine("name", [f"{type(value).__module__}.{reduced}".encode()])
        constructor, arguments, state, entries, items = (*reduced, None, None, None)[:5]
        content = (constructor, arguments, state, list(entries or ()), dict(items or ()))
        return self._sequence("object", content)


def quantize(array: np.ndarray, *, magnitude_min: float = 0.0) -> list[bytes]:
    """Return the bytes of numbers rounded to `DIGITS` binary digits.

    Args:
        array: Numbers to round.
        magnitude_min: Magnitude below which all numbers are rounded to the same absolute precision.
    """
    a = np.asarray(array, float).ravel()
    is_finite = np.isfinite(a)
    finite_values = np.where(is_finite, a, 0.0)
    _, exponent = np.frexp(np.maximum(np.abs(finite_values), magnitude_min) * _BOUNDARY_SHIFT)
    mantissa = np.floor(np.ldexp(finite_values, DIGITS - exponent) + _BOUNDARY_SHIFT - 1.0)
    special = np.where(is_finite, 0, np.where(np.isnan(a), 3, np.where(a > 0.0, 1, 2)))
    return [part.astype("<i8").tobytes() for part in (exponent, mantissa, special)]


_OF_CLASSES = frozenset(
    "__module__ __qualname__ __doc__ __dict__ __weakref__ __annotations__ __annotate_func__ "
    "__annotations_cache__ __firstlineno__ __static_attributes__ __abstractmethods__ _abc_impl "
    "__dataclass_fields__ __dataclass_params__".split()
)
"""Attributes of classes that do not change their behaviour."""


def _combine(kind: str, parts: Iterable[bytes]) -> bytes:
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
    """Return True if a module is part of Python or of a package, or has no file."""
    loaded = sys.modules.get(module or "")
    file = getattr(loaded, "__file__", None)
    return loaded is not None and module != "__main__" and not (file and is_project_file(file))


def _cell(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # empty yet
        return None


def _globals_of(function: FunctionType) -> dict[str, Any]:
    """Return the globals that a function uses, with the used attributes of a user's modules."""
    values_by_name: dict[str, Any] = {}
    waiting = [function.__code__]
    while waiting:
        code = waiting.pop()
        waiting += [value for value in code.co_consts if isinstance(value, CodeType)]
        for step in dis.get_instructions(code):
            name = step.argval
            if step.opname != "LOAD_GLOBAL" or name not in function.__globals__:
                continue
            values_by_name[name] = value = function.__globals__[name]
            if isinstance(value, ModuleType) and not _is_installed(value.__name__):
                used = [attribute for attribute in code.co_names if attribute in vars(value)]
                values_by_name |= {
                    f"{name}.{used_name}": vars(value)[used_name] for used_name in used
                }
    return values_by_name
