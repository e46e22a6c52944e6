"""Loading of scenes from files with parameters, and their clean-up."""

from __future__ import annotations

import inspect
import math
import re
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from sofa_softctl.base.processes import defer_interrupts, interrupted_after, stopped_by
from sofa_softctl.base.source_line import describe
from sofa_softctl.base.suggestions import did_you_mean
from sofa_softctl.errors import ParameterError, SceneError, SoftctlError, UnknownComponentError
from sofa_softctl.runtime.simulation.scene_file import import_scene
from sofa_softctl.scene.backend.backend import find_backend
from sofa_softctl.scene.graph.nodes import controllers_of
from sofa_softctl.scene.graph.recipe import Recipe, remember_recipe
from sofa_softctl.units import Units


def clean_up(Sofa: Any, controllers: Iterable[Any]) -> BaseException | None:
    """Call `cleanup()` of each controller, even if others fail; Ctrl-C waits for the end.

    Exceptions are reported as error messages, also exit() and a second Ctrl-C, which cuts the
    clean-up of one controller short.

    Args:
        Sofa: The backend's module.
        controllers: Python controllers, in the order of the graph.

    Returns:
        The first exception, errors before Ctrl-C, or None.
    """
    first: BaseException | None = None
    with defer_interrupts():
        for controller in controllers:
            try:
                with interrupted_after():
                    controller.cleanup()
            except BaseException as error:
                if first is None or (is_interrupt(first) and not is_interrupt(error)):
                    first = error
                message = (
                    f"{_describe_failure(error).rstrip('.')}. The other controllers are cleaned up."
                )
                Sofa.msg_error(controller.getPathName(), message)
    return first


def is_interrupt(error: BaseException) -> bool:
    """Return True if an exception is a request to stop, by Ctrl-C or a signal."""
    return isinstance(error, KeyboardInterrupt)


def _describe_failure(error: BaseException) -> str:
    if isinstance(error, SoftctlError):  # its text has the remedy
        return str(error)
    if isinstance(error, KeyboardInterrupt):
        return f"{stopped_by(error)} came again: its clean-up is cut short"
    frame = traceback.extract_tb(error.__traceback__)[-1]
    location = f"{frame.filename}:{frame.lineno}"
    return f"cleanup() failed at {location}: {type(error).__name__}: {error}"


@dataclass(frozen=True)
class SceneFile:
    """A scene that can be built."""

    path: Path
    """Path of the file."""
    create: Callable[..., Any]
    """Function createScene of the file."""
    parameters: Mapping[str, Any]
    """Defaults of createScene's parameters, without the root."""
    module: ModuleType
    """The file as a Python module."""
    duration: float | None = None
    """DURATION of the file: default of the simulated time of a run [time]."""
    units: Units | None = None
    """UNITS of the file."""

    def build(self, **values: Any) -> Any:
        """Return the root of a new scene graph, not initialised; values may be texts.

        Raises:
            ParameterError: createScene has no parameter of that name, or a text is not valid.
        """
        return build_scene(self.create, values)


def load_scene(path: str | Path) -> SceneFile:
    """Import a scene file.

    Raises:
        SceneError: there is no such file, or it has no createScene.
        Exception: an error in the file itself.
    """
    find_backend()  # before the scene imports Sofa
    module = import_scene(path)
    create = module.createScene
    duration, units = declarations_in(vars(module), f"'{path}'")
    return SceneFile(Path(path), create, parameters_of(create), module, duration, units)


def declarations_of(create: Callable[..., Any]) -> tuple[float | None, Units | None]:
    """Return DURATION and UNITS of the file or notebook that defines a createScene function."""
    names: dict[str, Any] = getattr(inspect.unwrap(create), "__globals__", {})
    if not isinstance(names.get("UNITS", ""), str):  # another program's name
        names = {}
    return declarations_in(names, f"'{getattr(create, '__name__', create)}'")


def declarations_in(names: Mapping[str, Any], where: str) -> tuple[float | None, Units | None]:
    """Return DURATION [time] and UNITS among a scene's global names, or None for each."""
    duration, units = names.get("DURATION"), names.get("UNITS")
    if duration is not None and not (isinstance(duration, int | float) and duration > 0.0):
        raise SceneError(f"{where}: DURATION must be a positive number, got {duration!r}.")
    return duration, Units.parse(units) if units is not None else None


def build_scene(create: Callable[..., Any], values: Mapping[str, Any] | None = None) -> Any:
    """Return the root of a new scene graph from a createScene function, not initialised."""
    arguments = arguments_of(create, values or {})
    Sofa: Any = find_backend().Sofa
    root = Sofa.Core.Node("root")
    remember_recipe(root, Recipe(create, arguments))
    try:
        _fill(root, create, arguments)
    except BaseException:  # end the activities that its controllers have begun
        clean_up(Sofa, controllers_of(Sofa, root))
        raise
    return root


def _fill(root: Any, create: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
    """Call createScene; name the remedy for components that SOFA lacks."""
    try:
        create(root, **arguments)
    except SceneError:
        raise
    except ValueError as error:  # SOFA's, for a component that no loaded plugin has
        match = re.search(r"component '(\w+)' cannot be found in the factory", str(error))
        if match is None:
            raise
        plugin = "SoftRobots.Inverse" if match[1].endswith(_OF_INVERSE) else "NAME"
        raise UnknownComponentError(
            f"SOFA knows no component '{match[1]}'. Load the plugin that has it before: "
            f"root.addObject('RequiredPlugin', pluginName='{plugin}')."
        ) from error


_OF_INVERSE = ("Actuator", "Effector", "Sensor", "Equality", "QPInverseProblemSolver")
"""Endings of the names of SoftRobots.Inverse's components."""


def arguments_of(
    create: Callable[..., Any],
    values: Mapping[str, Any],
    *,
    who: str = "The scene",
    option: str = "--set",
) -> dict[str, Any]:
    """Return arguments for a createScene; texts are converted to the types of the defaults.

    Args:
        create: The function; its first parameter is not counted.
        values: Values by name.
        who: Subject of messages.
        option: Command-line option for the values, for messages.

    Raises:
        ParameterError: a parameter is unknown or missing, or a value is not valid.
    """
    defaults, required = parameters_of(create), _required_by(create)
    arguments = {}
    for name, value in values.items():
        if name not in defaults and name not in required and not _takes_any(create):
            hint = did_you_mean(name, [*required, *defaults])
            listing = [*required, *(f"{key}={default!r}" for key, default in defaults.items())]
            raise ParameterError(
                f"{who} takes no parameter '{name}'.{hint} "
                f"It takes: {', '.join(listing) or 'none'}."
            )
        arguments[name] = convert(name, value, defaults.get(name))
    missing = [name for name in required if name not in values]
    if missing:
        raise ParameterError(
            f"{who} needs its parameters {', '.join(map(repr, missing))}: give "
            f"{option} {missing[0]}=VALUE, in Python parameters={{'{missing[0]}': ...}}, or a "
            "default in the scene file."
        )
    return arguments


def parameters_of(create: Callable[..., Any]) -> dict[str, Any]:
    """Return names and defaults of a createScene's optional parameters, without the root."""
    parameters = _parameters(create)
    return {
        parameter.name: parameter.default
        for parameter in parameters
        if parameter.default is not parameter.empty
    }


def _parameters(create: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the parameters of a createScene, without the root.

    Raises:
        SceneError: there is no parameter for the root.
    """
    parameters = list(inspect.signature(create).parameters.values())
    if not parameters or parameters[0].kind in (_ANY, inspect.Parameter.KEYWORD_ONLY):
        code = getattr(inspect.unwrap(create), "__code__", None)
        location = f"{describe((code.co_filename, code.co_firstlineno))}: " if code else ""
        raise SceneError(f"{location}createScene must take the root node: def createScene(root).")
    return parameters[1:]


_ANY = inspect.Parameter.VAR_KEYWORD


def _takes_any(create: Callable[..., Any]) -> bool:
    return any(parameter.kind is _ANY for parameter in _parameters(create))


def _required_by(create: Callable[..., Any]) -> list[str]:
    """Return the names of the parameters without a default."""
    unnamed = (_ANY, inspect.Parameter.VAR_POSITIONAL)
    return [
        parameter.name
        for parameter in _parameters(create)
        if parameter.default is parameter.empty and parameter.kind not in unnamed
    ]


def convert(name: str, value: Any, default: Any) -> Any:
    """Convert a text of the command line to the type of the default."""
    if not isinstance(value, str) or isinstance(default, str) or default is None:
        return value
    try:
        if isinstance(default, bool):
            return {"true": True, "1": True, "false": False, "0": False}[value.lower()]
        if isinstance(default, int | float):
            number = type(default)(value)
            if math.isnan(number):
                raise ValueError("NaN")
            return number
        if isinstance(default, np.ndarray):
            return np.array(_parse_items(value, default.ravel().tolist()))
        if isinstance(default, Sequence):
            return type(default)(_parse_items(value, default))  # type: ignore[call-arg]
    except (ValueError, KeyError) as error:
        raise ParameterError(
            f"The scene's parameter '{name}' takes a {type(default).__name__} such as "
            f"{default!r}, got '{value}'."
        ) from error
    raise ParameterError(f"The scene's parameter '{name}' cannot be set from the command line.")


def _parse_items(text: str, default: Sequence[Any]) -> list[Any]:
    """Return the items of a text as texts, integers or floats, like the default's."""
    words = text.replace(",", " ").split()
    if default and isinstance(default[0], str):
        return list(words)
    numbers = [float(word) for word in words]
    is_integer = default and all(isinstance(item, int) for item in default)
    if is_integer and all(number.is_integer() for number in numbers):
        return [int(number) for number in numbers]
    return numbers
