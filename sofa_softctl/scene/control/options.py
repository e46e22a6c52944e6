"""Checks of a controller's options; errors say where, what was expected and what was given.

Checks of values take the controller first: it knows the line of the scene that made it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from sofa_softctl.base.suggestions import did_you_mean
from sofa_softctl.errors import SceneError
from sofa_softctl.scene.graph.nodes import nodes_of, path_of

OF_SOFA = ("name", "listening", "printLog", "tags", "bbox")
"""Options of every controller: Data of Sofa.Core.Controller."""


def check_signature(
    kind: type[Any], args: Sequence[Any], options: Mapping[str, Any], line: str
) -> None:
    """Raise SceneError where a controller's constructor does not take these arguments.

    What one with `**kwargs` takes is known when it hands on what it left: see `refuse_unknown`.

    Args:
        kind: The class.
        args: Arguments by position.
        options: Arguments by name.
        line: The scene's line.
    """
    signature = inspect.signature(kind.__init__)  # type: ignore[misc]
    parameters = signature.parameters.values()
    if not any(entry.kind is entry.VAR_KEYWORD for entry in parameters):
        refuse_unknown(kind, options.keys() - signature.parameters.keys(), line)
    try:
        signature.bind(None, *args, **options)
    except TypeError as error:
        needed = ", ".join(
            entry.name
            for entry in parameters
            if entry.kind is entry.KEYWORD_ONLY
            and entry.default is entry.empty
            and entry.name not in options
        )
        text = (
            f"{kind.__name__} needs the option {needed}" if needed else f"{kind.__name__}: {error}"
        )
        raise SceneError(f"{line}: {text}.") from None


def refuse_unknown(kind: type[Any], names: Iterable[str], line: str) -> None:
    """Raise SceneError for the first of these options, which a controller does not have."""
    for name in sorted(set(names).difference(OF_SOFA)):
        known = list(dict.fromkeys(_options_of(kind)))
        raise SceneError(
            f"{line}: {kind.__name__} has no option '{name}'.{did_you_mean(name, known)} "
            f"It has: {', '.join(known)}."
        )


@functools.cache
def names_of(kind: type[Any]) -> frozenset[str]:
    """Names of the options of a controller."""
    return frozenset(_options_of(kind))


def _options_of(kind: type[Any]) -> Iterator[str]:
    """Names of the options of a controller, and of its base classes as far as it hands them on."""
    for base in kind.__mro__:
        if "__init__" not in vars(base):
            continue
        parameters = list(inspect.signature(vars(base)["__init__"]).parameters.values())[1:]
        named = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        yield from (entry.name for entry in parameters if entry.kind in named)
        if base.__name__ == "SceneController":
            yield "name"
            return
        if not any(entry.kind is entry.VAR_KEYWORD for entry in parameters):
            return


class Allowed(NamedTuple):
    """Numbers that an option takes."""

    words: str
    """In words, after "a number"."""
    holds: Callable[[np.ndarray], np.ndarray]
    """Which of some numbers are allowed."""


ANY = Allowed("", lambda found: ~np.isnan(found))
FINITE = Allowed("that is finite", np.isfinite)
NOT_NEGATIVE = Allowed(">= 0", lambda found: found >= 0.0)
FINITE_NOT_NEGATIVE = Allowed("that is finite and >= 0", lambda x: (x >= 0.0) & np.isfinite(x))
POSITIVE = Allowed("> 0", lambda found: found > 0.0)


def wrong(controller: Any, option: str, expected: str, value: Any, advice: str = "") -> NoReturn:
    """Raise SceneError for the value of an option."""
    raise SceneError(
        f"{controller.made_at}: {type(controller).__name__}: {option} must be {expected}, got "
        f"{shown(value)}.{f' {advice}' if advice else ''}"
    )


def shown(value: Any) -> str:
    """A value for a message: components and nodes by their path, long ones cut."""
    if is_data(value):
        return f"the Data '{value.getName()}' with the value {shown(value.value)}"
    if hasattr(value, "getPathName"):
        kind = "the node" if _is_node(value) else f"the {value.getClassName()}"
        return f"{kind} '{value.getPathName()}'"
    if isinstance(value, np.ndarray) and value.size > 6:
        return f"an array of shape {value.shape}"
    if isinstance(value, list | tuple) and value and hasattr(value[0], "getPathName"):
        return f"a {type(value).__name__} of {len(value)} that begins with {shown(value[0])}"
    text = repr(value.tolist() if isinstance(value, np.ndarray) else value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def number(controller: Any, option: str, value: Any, allowed: Allowed = ANY) -> float:
    """A number that is allowed; SceneError otherwise."""
    found = as_floats(value)
    if found is None or found.size != 1 or not allowed.holds(found).all():
        wrong(controller, option, f"a number {allowed.words}".strip(), value)
    return float(found.ravel()[0])


def numbers(
    controller: Any, option: str, value: Any, count: int, of: str, allowed: Allowed = ANY
) -> np.ndarray:
    """One number for all or one for each, shape (count,).

    Args:
        controller: The controller.
        option: Its option.
        value: What was given.
        count: How many there must be.
        of: What each is for, such as 'actuator'.
        allowed: Which numbers.

    Raises:
        SceneError: there are more or fewer, or one is not allowed.
    """
    found = as_floats(value)
    if found is None or found.shape not in ((), (count,)) or not allowed.holds(found).all():
        one = f"a number {allowed.words}".strip()
        several = f"each of the {count} {of}s" if count > 1 else f"the only {of}"
        wrong(controller, option, f"{one}, one for all or one for {several}", value)
    return np.array(np.broadcast_to(found, count))


def is_data(value: Any) -> bool:
    """Whether it is a Data of a component or node."""
    return hasattr(value, "getOwner") and hasattr(value, "value")


def is_data_path(value: Any) -> bool:
    """Whether it is the path of a Data, such as '@bridge.measured'."""
    return isinstance(value, str) and value.startswith("@") and "." in value


def find_data(controller: Any, option: str, value: Any, example: str) -> Any:
    """A Data, or that of a path in the controller's scene.

    Raises:
        SceneError: The path leads to none.
    """
    if not isinstance(value, str):
        return value
    path, _, name = value.lstrip("@/").rpartition(".")
    entries = ((entry, node) for node in nodes_of(controller.root) for entry in node.objects)
    found = next((entry for entry, node in entries if path_of(entry, node) == path), None)
    data = None if found is None else found.findData(name)
    if data is None:
        raise SceneError(
            f"{type(controller).__name__}: {option}='{value}' leads to no Data. Give '@', the path "
            f"of a component, a dot and the name of a Data, such as '{example}'."
        )
    return data


def as_floats(value: Any) -> np.ndarray | None:
    """As an array of doubles, of a Data its present value; None where it is none.

    None of texts, None, or ragged lists.
    """
    value = value.value if is_data(value) else value
    try:
        found = np.asarray(value)
    except ValueError:
        return None
    return found.astype(float) if found.dtype.kind in "iuf" else None


def components(controller: Any, option: str, value: Any, example: str) -> list[Any]:
    """A list of components.

    Raises:
        SceneError: it is none, or holds something else; `example` shows how it is given.
    """
    for entry in found if (found := _as_list(value)) is not None else [value]:
        if found is None or not hasattr(entry, "getContext") or _is_node(entry):
            advice = f"Write {option}={example}."
            if found is not None and _is_node(entry):
                advice = "Give the component in the node, as addObject returned it."
            wrong(controller, option, "a list of components", entry, advice)
    return found or []


def instances(controller: Any, option: str, value: Any, kind: type[Any]) -> list[Any]:
    """A list of objects of one class; SceneError otherwise."""
    found = _as_list(value)
    if found is None:
        example = f"Write {option}=[...]." if isinstance(value, kind) else ""
        wrong(controller, option, f"a list of {kind.__name__} objects", value, example)
    for entry in found:
        if not isinstance(entry, kind):
            wrong(controller, option, f"a list of {kind.__name__} objects", entry)
    return found


def text(controller: Any, option: str, value: Any) -> str:
    """A text that is not empty; SceneError otherwise."""
    if not isinstance(value, str) or not value:
        wrong(controller, option, "a text", value)
    return value


def choice(controller: Any, option: str, value: Any, known: Sequence[str]) -> str:
    """One of some texts; SceneError otherwise."""
    if value not in known:
        expected = f"one of {', '.join(map(repr, known))}"
        wrong(controller, option, expected, value, did_you_mean(str(value), known).strip())
    return str(value)


def function(controller: Any, option: str, value: Any, call: str, *arguments: Any) -> Any:
    """A function that takes these arguments, as in `call`; SceneError otherwise."""
    if not callable(value) or hasattr(value, "getPathName"):
        wrong(controller, option, f"a function: {call}", value)
    try:
        signature = inspect.signature(value)
    except ValueError:  # it has none that is known, like some built-in functions
        return value
    try:
        signature.bind(*arguments)
    except TypeError as error:
        advice = f"It does not take the arguments of {call}: {error}."
        wrong(controller, option, f"a function: {call}", value, advice)
    return value


def instance(controller: Any, option: str, value: Any, kind: type[Any]) -> Any:
    """An object of a class; SceneError otherwise."""
    if not isinstance(value, kind):
        wrong(controller, option, f"a {kind.__name__}", value)
    return value


def _as_list(value: Any) -> list[Any] | None:
    """As a list; None where it is no sequence."""
    if isinstance(value, str) or hasattr(value, "getPathName"):
        return None
    try:
        return list(value)
    except TypeError:
        return None


def _is_node(value: Any) -> bool:
    return hasattr(value, "addChild")
