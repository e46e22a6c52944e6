"""Names that nothing calls or reads: methods for events that there are not, parameters."""

from __future__ import annotations

import dis
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from sofa_softctl.base.suggestions import nearest_names
from sofa_softctl.scene.backend.backend import find_backend
from sofa_softctl.scene.graph.nodes import controllers_of
from sofa_softctl.scene.plausibility.bodies import StartWarning, at

EVENTS = """
    AnimateBeginEvent AnimateEndEvent BuildConstraintSystemEndEvent CollisionBeginEvent
    CollisionEndEvent DataExchangeEvent DetachNodeEvent GUIEvent HapticDeviceEvent IdleEvent
    IntegrateBeginEvent IntegrateEndEvent JoystickEvent KeypressedEvent KeyreleasedEvent MouseEvent
    PauseEvent PositionEvent PythonScriptEvent ScriptEvent SimulationInitDoneEvent
    SimulationInitStartEvent SimulationInitTexturesDoneEvent SimulationStartEvent
    SimulationStopEvent SolveConstraintSystemEndEvent UpdateMappingEndEvent
""".split()
"""Events of SOFA v25.06 and its plugins; a controller's method for one is 'on' and its name."""
_HANDLERS = ("onEvent", *(f"on{event}" for event in EVENTS))
_OLD_HANDLERS = {
    "onBeginAnimationStep": "onAnimateBeginEvent",
    "onEndAnimationStep": "onAnimateEndEvent",
    "onKeyPressed": "onKeypressedEvent",
    "onKeyReleased": "onKeyreleasedEvent",
    "onMouseMove": "onMouseEvent",
    "onScriptEvent": "onPythonScriptEvent",
}
"""Methods of controllers in SofaPython, for Python 2, and in SofaPython3."""


def name_warnings(root: Any) -> list[StartWarning]:
    """Warn of methods that no event calls, of changes of mere copies, and of keys."""
    controllers = controllers_of(find_backend().Sofa, root)
    return [
        StartWarning(controller, text)
        for controller in controllers
        for check in (_dead_code, *([] if _is_ours(controller) else (_lost_copies, _long_keys)))
        for text in check(controller)
    ]


def unread_parameters(create: Callable[..., Any], names: Iterable[str]) -> list[str]:
    """Return the parameters, of those given, that a function's code never reads."""
    code = getattr(inspect.unwrap(create), "__code__", None)
    if code is None or "locals" in code.co_names:
        return []
    read: set[str] = set()
    for instruction in dis.get_instructions(code):
        if "LOAD" in instruction.opname or "CELL" in instruction.opname:
            value = instruction.argval  # of Python 3.13 also two names in one
            read.update(value if isinstance(value, tuple) else [value])
    own_names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return [name for name in names if name in own_names and name not in read]


def unused_warnings(
    root: Any,
    name: str,
    create: Callable[..., Any],
    parameters: Mapping[str, Any],
    made: Iterable[Any],
) -> list[StartWarning]:
    """Warn of parameters that createScene does not read, and of controllers that it does not add.

    Args:
        root: Root of the scene.
        name: The scene's name.
        create: createScene of the scene; classes of libraries elsewhere are not checked.
        parameters: Parameters that are given.
        made: Controllers that were made meanwhile.
    """
    unread = [
        StartWarning(
            root,
            f"createScene of '{name}' never reads its parameter '{parameter}', so that "
            f"{parameter}={parameters[parameter]} changes nothing.",
        )
        for parameter in unread_parameters(create, parameters)
    ]
    plain = find_backend().Sofa.Core.Controller
    folder = Path(getattr(inspect.unwrap(create), "__globals__", {}).get("__file__", ".")).parent
    return unread + [
        StartWarning(
            root,
            f"createScene makes a {type(controller).__name__} and adds it to no node, so that none "
            "of its methods is ever called. Add it: "
            f"root.addObject({type(controller).__name__}(...)).",
        )
        for controller in made
        if getattr(controller, "_context", None) is None
        and (hasattr(controller, "made_at") or _is_within(type(controller), folder))
        and any(
            getattr(type(controller), n, None) is not getattr(plain, n, None) for n in _HANDLERS
        )
    ]


def _is_within(kind: type, folder: Path) -> bool:
    """Return True if a class is of a file in a folder or below."""
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return file is None or Path(file).resolve().is_relative_to(folder.resolve())


def _is_ours(controller: Any) -> bool:
    return type(controller).__module__.startswith("sofa_softctl")


def _dead_code(controller: Any) -> Iterator[str]:
    plain = find_backend().Sofa.Core.Controller
    heard = [
        name
        for name in _HANDLERS
        if getattr(type(controller), name, None) is not getattr(plain, name, None)
    ]
    if heard and not controller.listening.value:
        yield (
            f"{at(controller)}: it has listening=False, so no event calls its "
            f"'{heard[0]}' until something sets listening=True. Leave it out."
        )
    for kind in type(controller).__mro__:
        if kind is plain or kind.__module__.startswith("sofa_softctl"):
            return
        yield from _replaced_methods(controller, kind)
        for name, method in vars(kind).items():
            if re.match("on_?[A-Z]", name) and name not in _HANDLERS and inspect.isfunction(method):
                if not _is_mentioned(kind, name):
                    right = _OLD_HANDLERS.get(name) or next(
                        iter(nearest_names(name, _HANDLERS)), ""
                    )
                    hint = f" Did you mean '{right}'?" if right else ""
                    yield (
                        f"{at(controller)}: no event calls its method '{name}', and neither does "
                        f"its own code, so it never runs.{hint} Methods of events are 'on' and the "
                        "name of the event, such as onAnimateBeginEvent."
                    )


def _replaced_methods(controller: Any, kind: type) -> Iterator[str]:
    """Warn of methods of this package's controllers that a class replaces, and does not call."""
    plain = find_backend().Sofa.Core.Controller
    base = next((k for k in kind.__mro__ if k.__module__.startswith("sofa_softctl")), plain)
    for name in _HANDLERS:
        base_method, method = getattr(base, name, None), vars(kind).get(name)
        if base_method is getattr(plain, name, None) or not inspect.isfunction(method):
            continue
        if name not in inspect.unwrap(method).__code__.co_names:
            yield (
                f"{at(controller)}: its method '{name}' replaces that of {base.__name__}, and does "
                f"not call it: add super().{name}(event), or it does not do its work."
            )


def _lost_copies(controller: Any) -> Iterator[str]:
    """Warn of copies of Data that a method changes and never uses, and views that it replaces."""
    for name, method in vars(type(controller)).items():
        if not inspect.isfunction(method) or name.startswith("__"):
            continue
        if not {"copy", "writeable"} & {*method.__code__.co_names}:
            continue
        try:
            text = inspect.getsource(method)
        except (OSError, TypeError):
            continue
        about = f"{at(controller)}: its method '{name}'"
        for x, data in re.findall(r"(\w+) = ([\w.]+\.value)\.copy\(\)", text):
            set_count = len(re.findall(rf"(?<!\.)\b{x}(?:\[[^\]]*\])? [-+*/]?= ", text))
            if len(re.findall(rf"(?<!\.)\b{x}\b", text)) == set_count > 1:
                yield f"{about} changes '{x}', a copy of {data}, and no more: add {data} = {x}."
        for data, x in re.findall(r"with ([\w.]+)\.writeable\(\) as (\w+)", text):
            is_used = re.search(rf"\b{x}(\[|\.| [-+*/]=)|\({x}\b", text)
            if re.search(rf"\b{x} = ", text) and not is_used:
                yield (
                    f"{about} replaces '{x}', a view of {data}, and writes nothing into it: write "
                    f"{x}[:] = ..."
                )


def _long_keys(controller: Any) -> Iterator[str]:
    """Warn of methods that compare the key of an event with several characters."""
    try:
        source = inspect.getsource(vars(type(controller)).get("onKeypressedEvent"))
    except (OSError, TypeError):
        return
    names = re.findall(r"(\w+) *= *\w+\[.key.\]", source)
    key = "|".join([r"\[.key.\]", *(rf"\b{name}" for name in names)])
    for text in re.findall(rf"(?:{key}) *== *['\"](\w\w+)['\"]", source):
        yield (
            f"{at(controller)}: its onKeypressedEvent compares the key with '{text}', which it "
            "never is: a key is one character. Give that, such as '+', or a name of "
            "Sofa.constants.Key."
        )


def _is_mentioned(kind: type, name: str) -> bool:
    """Return True if the module of a class calls its method, or passes it on."""
    try:
        text = inspect.getsource(sys.modules[kind.__module__])
    except (KeyError, OSError, TypeError):
        try:
            text = inspect.getsource(kind)
        except (OSError, TypeError):
            return True
    return bool(re.search(rf"\.{name}\b|getattr\([^)]*['\"]{name}['\"]", text))
