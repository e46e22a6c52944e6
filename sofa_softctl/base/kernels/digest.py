"""Digests of kernels by content: the same in every clone, environment and process.

Machine code depends on a kernel's bytecode, its compiler options, and every global that numba
freezes into it: other kernels, constants, named tuples, intrinsics. All of these count, followed
through calls. Comments, line numbers and the folder of a file do not. Versions of Python and of
packages are left to the caller, so their functions count by name.
"""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Iterable
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numba import types

PACKAGES = ("numpy", "scipy", "numba", "llvmlite")
"""Packages whose content is given by their version."""
_SCALARS = (type(None), bool, int, float, complex, str, bytes, type(...), np.generic)


class KernelDigest:
    """Digests of the functions and argument types of kernels.

    A method raises TypeError for a kernel that uses a value without comparable content, such as
    an open file.
    """

    def __init__(self) -> None:
        self._digests: dict[int, tuple[Any, bytes]] = {}  # holds the value: ids are used again
        self._in_progress: set[int] = set()

    def of_kernel(self, kernel: Any, arguments: Iterable[Any]) -> str:
        """Return the digest of a dispatcher for one tuple of numba's argument types [hex]."""
        return _combine(b"overload", [self._value(kernel), *map(self._type, arguments)]).hex()

    def _type(self, kind: Any) -> bytes:
        if isinstance(kind, types.Dispatcher):
            return self._value(kind.dispatcher)
        if isinstance(kind, types.BaseTuple):
            members: Any = kind  # numba annotates only part of itself
            parts = [self._type(member) for member in members]
            fields = getattr(kind, "instance_class", None)
            return _combine(b"tuple", [self._value(fields), *parts])
        text = str(kind)
        if " at 0x" in text:
            raise TypeError(f"type {text} has no content to compare")
        return _combine(b"type", [text.encode()])

    def _value(self, value: Any) -> bytes:
        key = id(value)
        if key in self._digests:
            return self._digests[key][1]
        if key in self._in_progress:  # a recursive kernel
            return _combine(b"recursion", [])
        self._in_progress.add(key)
        try:
            digest = self._content(value)
        finally:
            self._in_progress.discard(key)
        self._digests[key] = value, digest
        return digest

    def _content(self, value: Any) -> bytes:
        if isinstance(value, enum.Enum):
            return _combine(b"enum", [_name(type(value)), repr(value.value).encode()])
        if isinstance(value, _SCALARS):
            return _combine(type(value).__name__.encode(), [repr(value).encode()])
        if isinstance(value, tuple | list):
            return self._sequence(b"sequence", value)
        if isinstance(value, frozenset | set):
            return _combine(b"set", sorted(map(self._value, value)))
        if isinstance(value, dict):
            return self._sequence(b"dict", [item for pair in value.items() for item in pair])
        if isinstance(value, np.ndarray):
            form = f"{value.dtype.str} {value.shape} {value.flags.c_contiguous}"
            return _combine(b"array", [form.encode(), value.tobytes()])
        if isinstance(value, CodeType):
            return self._code(value, value.co_consts)
        if isinstance(value, FunctionType):
            return self._function(value)
        if isinstance(value, type):
            fields = getattr(value, "_fields", None) if issubclass(value, tuple) else None
            return _combine(b"class", [_name(value), repr(fields).encode()])
        if isinstance(value, BuiltinFunctionType | np.ufunc | ModuleType):
            return _combine(b"name", [_name(value)])
        if isinstance(getattr(value, "py_func", None), FunctionType):  # another kernel
            options = sorted(getattr(value, "targetoptions", {}).items())
            options.append(("separate", getattr(value, "is_separate", False)))
            return _combine(b"kernel", [self._value(value.py_func), self._value(options)])
        if isinstance(value, types.ExternalFunction):
            return _combine(b"external", [value.symbol.encode(), str(value.sig).encode()])
        if isinstance(value, types.Type):
            return self._type(value)
        if isinstance(getattr(value, "__wrapped__", None), FunctionType):  # an intrinsic
            return _combine(b"intrinsic", [self._value(value.__wrapped__)])
        raise TypeError(f"a {type(value).__qualname__} has no content to compare")

    def _sequence(self, kind: bytes, values: Iterable[Any]) -> bytes:
        return _combine(kind, map(self._value, values))

    def _code(self, code: CodeType, constants: tuple[Any, ...]) -> bytes:
        names = (code.co_names, code.co_varnames, code.co_freevars, code.co_flags)
        return self._sequence(b"code", (code.co_code, *names, constants))

    def _function(self, function: FunctionType) -> bytes:
        if _is_of_package(function.__module__):
            return _combine(b"name", [_name(function)])
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        content = (function.__defaults__, function.__kwdefaults__, cells)
        constants = function.__code__.co_consts
        if function.__doc__ is not None and constants[:1] == (function.__doc__,):
            constants = constants[1:]
        code = self._code(function.__code__, constants)
        parts = [_name(function), code, *map(self._value, content)]
        for name, value in _globals_of(function):
            parts += [name.encode(), self._value(value)]
        return _combine(b"function", parts)


def _globals_of(function: FunctionType) -> list[tuple[str, Any]]:
    """Globals that a function names, and the attributes that it names of modules among them."""
    names: set[str] = set()
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        names.update(code.co_names)
        codes += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    used = {name: function.__globals__[name] for name in names if name in function.__globals__}
    for module_name, module in tuple(used.items()):
        if isinstance(module, ModuleType) and not _is_of_package(module.__name__):
            attributes = vars(module)
            used |= {f"{module_name}.{name}": attributes[name] for name in names & set(attributes)}
    return sorted(used.items(), key=lambda item: item[0])


def _is_of_package(module: str | None) -> bool:
    return (module or "").partition(".")[0] in PACKAGES


def _name(value: Any) -> bytes:
    module = getattr(value, "__module__", None) or ""
    return f"{module}.{getattr(value, '__qualname__', value.__name__)}".encode()


def _combine(kind: bytes, parts: Iterable[bytes]) -> bytes:
    digest = hashlib.sha256(kind)
    for part in parts:
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.digest()
