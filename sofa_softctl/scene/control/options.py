"""Checks of a controller's options; errors give the scene's line, the expected and actual value.

Checks of values take the controller first: it knows the line of the scene that made it. They return
the value, or raise SceneError.
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
    """Raise SceneError if a controller's constructor does not take these arguments.

    A constructor with `**kwargs` is checked when it passes them on: see `refuse_unknown`.

    Args:
        kind: Class of the controller.
        args: Positional arguments.
        options: Keyword arguments.
        line: Line of the scene.
    """
    signature = inspect.signature(kind.__init__)  # type: ignore[misc]
    parameters = signature.parameters.values()
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        refuse_unknown(kind, options.keys() - signature.parameters.keys(), line)
    try:
        signature.bind(None, *args, **options)
    except TypeError as error:
        needed = ", ".join(
            parameter.name
            for parameter in parameters
            if parameter.kind is parameter.KEYWORD_ONLY
            and parameter.default is parameter.empty
            and parameter.name not in options
        )
        text = (
            f"{kind.__name__} needs the option {needed}" if needed else f"{kind.__name__}: {error}"
        )
        raise SceneError(f"{line}: {text}.") from None


def refuse_unknown(kind: type[Any], names: Iterable[str], line: str) -> None:
    """Raise SceneError for the first of these options that a controller does not have."""
    for name in sorted(set(names).difference(OF_SOFA)):
        valid_names = list(dict.fromkeys(_options_of(kind)))
        raise SceneError(
            f"{line}: {kind.__name__} has no option '{name}'.{did_you_mean(name, valid_names)} "
            f"It has: {', '.join(valid_names)}."
        )


@functools.cache
def names_of(kind: type[Any]) -> frozenset[str]:
    """Return the names of a controller's options."""
    return frozenset(_options_of(kind))


def _options_of(kind: type[Any]) -> Iterator[str]:
    """Return the names of a controller's options, and of its base classes' that it passes on."""
    for base in kind.__mro__:
        if "__init__" not in vars(base):
            continue
        parameters = list(inspect.signature(vars(base)["__init__"]).parameters.values())[1:]
        kinds = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        yield from (parameter.name for parameter in parameters if parameter.kind in kinds)
        if base.__name__ == "SceneController":
            yield "name"
            return
        if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
            return


class NumberRange(NamedTuple):
    """Range of the numbers that an option takes."""

    words: str
    """Text after "a number"."""
    holds: Callable[[np.ndarray], np.ndarray]
    """Function that returns a mask of the allowed numbers."""


ANY = NumberRange("", lambda x: ~np.isnan(x))
FINITE = NumberRange("that is finite", np.isfinite)
NOT_NEGATIVE = NumberRange(">= 0", lambda x: x >= 0.0)
FINITE_NOT_NEGATIVE = NumberRange("that is finite and >= 0", lambda x: (x >= 0.0) & np.isfinite(x))
POSITIVE = NumberRange("> 0", lambda x: x > 0.0)


def raise_invalid_option(
    controller: Any, option: str, expected: str, value: Any, advice: str = ""
) -> NoReturn:
    """Raise SceneError for the value of an option."""
    raise SceneError(
        f"{controller.made_at}: {type(controller).__name__}: {option} must be {expected}, got "
        f"{format_value(value)}.{f' {advice}' if advice else ''}"
    )


def format_value(value: Any) -> str:
    """Return a value for a message: paths of components and nodes; long values are cut."""
    if is_data(value):
        return f"the Data '{value.getName()}' with the value {format_value(value.value)}"
    if hasattr(value, "getPathName"):
        kind = "the node" if _is_node(value) else f"the {value.getClassName()}"
        return f"{kind} '{value.getPathName()}'"
    if isinstance(value, np.ndarray) and value.size > 6:
        return f"an array of shape {value.shape}"
    if isinstance(value, list | tuple) and value and hasattr(value[0], "getPathName"):
        return f"a {type(value).__name__} of {len(value)} that begins with {format_value(value[0])}"
    text = repr(value.tolist() if isinstance(value, np.ndarray) else value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def number(controller: Any, option: str, value: Any, allowed: NumberRange = ANY) -> float:
    """Return an allowed number."""
    values = as_floats(value)
    if values is None or values.size != 1 or not allowed.holds(values).all():
        raise_invalid_option(controller, option, f"a number {allowed.words}".strip(), value)
    return float(values.ravel()[0])


def numbers(
    controller: Any, option: str, value: Any, count: int, of: str, allowed: NumberRange = ANY
) -> np.ndarray:
    """Return one number per item, from one for all or one for each, shape (count,).

    Args:
        controller: The controller.
        option: Name of the option.
        value: Value of the option.
        count: Number of items.
        of: Name of an item, such as 'actuator'.
        allowed: Range of the numbers.

    Raises:
        SceneError: the count differs, or a number is not allowed.
    """
    values = as_floats(value)
    if values is None or values.shape not in ((), (count,)) or not allowed.holds(values).all():
        kind = f"a number {allowed.words}".strip()
        several = f"each of the {count} {of}s" if count > 1 else f"the only {of}"
        raise_invalid_option(controller, option, f"{kind}, one for all or one for {several}", value)
    return np.array(np.broadcast_to(values, count))


def is_data(value: Any) -> bool:
    """Return True for a Data of a component or node."""
    return hasattr(value, "getOwner") and hasattr(value, "value")


def is_data_path(value: Any) -> bool:
    """Return True for the path of a Data, such as '@bridge.measured'."""
    return isinstance(value, str) and value.startswith("@") and "." in value


def find_data(controller: Any, option: str, value: Any, example: str) -> Any:
    """Return a Data, given itself or its path in the controller's scene."""
    if not isinstance(value, str):
        return value
    path, _, name = value.lstrip("@/").rpartition(".")
    components = (
        (component, node) for node in nodes_of(controller.root) for component in node.objects
    )
    match = next(
        (component for component, node in components if path_of(component, node) == path), None
    )
    data = None if match is None else match.findData(name)
    if data is None:
        raise SceneError(
            f"{type(controller).__name__}: {option}='{value}' leads to no Data. Give '@', the path "
            f"of a component, a dot and the name of a Data, such as '{example}'."
        )
    return data


def as_floats(value: Any) -> np.ndarray | None:
    """Return a value, or a Data's present one, as floats; None for texts, None or ragged lists."""
    value = value.value if is_data(value) else value
    try:
        array = np.asarray(value)
    except ValueError:
        return None
    return array.astype(float) if array.dtype.kind in "iuf" else None


def components(controller: Any, option: str, value: Any, example: str) -> list[Any]:
    """Return a list of components; `example` shows how it is written."""
    items = _as_list(value)
    for item in [value] if items is None else items:
        if items is None or not hasattr(item, "getContext") or _is_node(item):
            advice = f"Write {option}={example}."
            if items is not None and _is_node(item):
                advice = "Give the component in the node, as addObject returned it."
            raise_invalid_option(controller, option, "a list of components", item, advice)
    return items or []


def instances(controller: Any, option: str, value: Any, kind: type[Any]) -> list[Any]:
    """Return a list of objects of one class."""
    items = _as_list(value)
    if items is None:
        example = f"Write {option}=[...]." if isinstance(value, kind) else ""
        raise_invalid_option(
            controller, option, f"a list of {kind.__name__} objects", value, example
        )
    for item in items:
        if not isinstance(item, kind):
            raise_invalid_option(controller, option, f"a list of {kind.__name__} objects", item)
    return items


def text(controller: Any, option: str, value: Any) -> str:
    """Return a text that is not empty."""
    if not isinstance(value, str) or not value:
        raise_invalid_option(controller, option, "a text", value)
    return value


def choice(controller: Any, option: str, value: Any, choices: Sequence[str]) -> str:
    """Return one of some texts."""
    if value not in choices:
        expected = f"one of {', '.join(map(repr, choices))}"
        raise_invalid_option(
            controller, option, expected, value, did_you_mean(str(value), choices).strip()
        )
    return str(value)


def function(controller: Any, option: str, value: Any, call: str, *arguments: Any) -> Any:
    """Return a function that takes these arguments, as in `call`."""
    if not callable(value) or hasattr(value, "getPathName"):
        raise_invalid_option(controller, option, f"a function: {call}", value)
    try:
        signature = inspect.signature(value)
    except ValueError:  # unknown, as for some built-in functions
        return value
    try:
        signature.bind(*arguments)
    except TypeError as error:
        advice = f"It does not take the arguments of {call}: {error}."
        raise_invalid_option(controller, option, f"a function: {call}", value, advice)
    return value


def instance(controller: Any, option: str, value: Any, kind: type[Any]) -> Any:
    """Return an object of a class."""
    if not isinstance(value, kind):
        raise_invalid_option(controller, option, f"a {kind.__name__}", value)
    return value


def _as_list(value: Any) -> list[Any] | None:
    """Return a sequence as a list, or None for other values."""
    if isinstance(value, str) or hasattr(value, "getPathName"):
        return None
    try:
        return list(value)
    except TypeError:
        return None


def _is_node(value: Any) -> bool:
    return hasattr(value, "addChild")
