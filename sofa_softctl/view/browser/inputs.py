"""Controls that change a scene: its parameters, the efforts of its actuators, its keys."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from sofa_softctl.runtime.core.event import key_pressed, key_released
from sofa_softctl.scene.control.keys import NAMES
from sofa_softctl.scene.graph.nodes import key_hearers
from sofa_softctl.scene.session.session import Session

Request = Callable[[Callable[[], object]], None]

ACTUATORS = ("CableConstraint", "SurfacePressureConstraint")
"""Components of SoftRobots whose value a slider sets."""
RANGE = 20.0
"""End of a slider whose component has no limit [effort or displacement]."""
LIMITS = {
    "force": ("minForce", "maxForce"),
    "pressure": ("minPressure", "maxPressure"),
    "displacement": ("maxNegativeDisp", "maxPositiveDisp"),
}
"""Data with the limits of each kind of value; that of negative displacements is a size."""
UNLIMITED = 1e30
"""Size from which on SOFA's defaults mean that there is no limit [-]."""


class Parameters:
    """Controls of createScene's parameters; a button opens the scene with them.

    Args:
        gui: Controls of viser.
        session: The session.
        request: Function that has something done between two steps.
        open_again: Function that opens the scene with parameters.
    """

    def __init__(
        self,
        gui: Any,
        session: Session,
        request: Request,
        open_again: Callable[[dict[str, Any]], object],
    ) -> None:
        values = session.all_parameters()
        if not values:
            return
        self._given = dict(session.parameters)
        self._controls: dict[str, tuple[Any, Any]] = {}
        with gui.add_folder("Parameters"):
            for name, value in values.items():
                control = _control(gui, name, value)
                if control is not None:
                    self._controls[name] = control, control.value
            button = gui.add_button("Open with these", hint="The scene starts again.")
        button.on_click(lambda event: request(lambda: open_again(self.values())))

    def values(self) -> dict[str, Any]:
        """Return the parameters that were given, and those changed by a viewer."""
        changed = {
            name: control.value
            for name, (control, before) in self._controls.items()
            if control.value != before
        }
        return self._given | changed


def _control(gui: Any, name: str, value: Any) -> Any:
    """Return the control of a value by its kind, or None if it has none."""
    if isinstance(value, bool):
        return gui.add_checkbox(name, value)
    if isinstance(value, int | float) and math.isfinite(value):
        return gui.add_number(name, value, step=_step(value))
    if isinstance(value, str):
        return gui.add_text(name, value)
    if isinstance(value, list | tuple | np.ndarray | float):
        return gui.add_text(name, " ".join(map(str, np.ravel(value).tolist())))
    return None


def _step(value: float) -> float:
    """Return a step for a number: a hundredth of its power of ten, or 1 for whole numbers."""
    if isinstance(value, int):
        return 1
    return 10.0 ** (math.floor(math.log10(abs(value))) - 2) if value else 0.01


class Efforts:
    """Sliders of actuators' values in scenes that no controller drives by inverse control.

    Args:
        gui: Controls of viser.
        session: The session.
        request: Function that has something done between two steps.
    """

    def __init__(self, gui: Any, session: Session, request: Request) -> None:
        driven = {
            actuator.getPathName()
            for controller in session.controllers
            for actuator in getattr(controller, "actuators", ())
        }
        free = [
            component
            for node in session.nodes()
            for component in node.objects
            if component.getClassName() in ACTUATORS and component.getPathName() not in driven
        ]
        if not free:
            return
        with gui.add_folder("Efforts"):
            for component in free:
                self._add(gui, component, request)

    def _add(self, gui: Any, component: Any, request: Request) -> None:
        kind = str(component.valueType.value)
        low, high = _range_of(component, kind)
        values = np.ravel(component.value.value)
        value = float(values[0]) if len(values) else 0.0
        slider = gui.add_slider(
            f"{component.getPathName()} [{kind}]",
            min(low, value), max(high, value), (high - low) / 200.0, value,
        )  # fmt: skip

        def set_value(event: Any) -> None:
            if event.client is not None:
                number = float(event.target.value)
                if math.isfinite(number):
                    request(lambda: _set(component.value, number))

        slider.on_update(set_value)


def _range_of(component: Any, kind: str) -> tuple[float, float]:
    """Return the limits of a value; from 0 to `RANGE` where it has none."""
    ends = [0.0, RANGE]
    for number, name in enumerate(LIMITS.get(kind, ())):
        data = component.findData(name)
        limit = math.inf if data is None else float(np.ravel(data.value)[0])
        if abs(limit) < UNLIMITED:
            ends[number] = -abs(limit) if name == "maxNegativeDisp" else limit
    low, high = ends
    return (low, high) if low < high else (0.0, RANGE)


def _set(data: Any, number: float) -> None:
    data.value = [number]


class Keys:
    """Buttons of the keys that controllers of the scene hear.

    Args:
        gui: Controls of viser.
        session: The session.
        request: Function that has something done between two steps.
    """

    def __init__(self, gui: Any, session: Session, request: Request) -> None:
        self._session = session
        names = heard_keys(session)
        if not names:
            return
        group = gui.add_button_group("Keys", tuple(names), hint="Keys that the scene hears")
        group.on_click(lambda event: self._click(str(event.target.value), request))

    def _click(self, name: str, request: Request) -> None:
        key = NAMES.get(name, name)
        request(lambda: self._press(key))

    def _press(self, key: str) -> None:
        for event in (key_pressed(key), key_released(key)):
            self._session.root.send(event)


def heard_keys(session: Session) -> list[str]:
    """Return the names of keys in the methods that hear them."""
    if session.backend.name != "embedded":
        return []
    texts = []
    for hearer in key_hearers(session.root):
        try:
            texts.append(inspect.getsource(type(hearer).onKeypressedEvent))
        except (OSError, TypeError):
            continue
    text = "\n".join(texts)
    arrows = {"leftarrow": "left", "rightarrow": "right", "uparrow": "up", "downarrow": "down"}
    named = [plain or constant for plain, constant in re.findall(r"['\"](.)['\"]|Key\.(\w+)", text)]
    return list(dict.fromkeys(arrows.get(name.lower(), name) for name in named))
