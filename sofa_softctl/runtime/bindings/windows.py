"""Windows of SOFA's GUIs, for scenes that fill them: there are none here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sofa_softctl.runtime.core.node import Node
from sofa_softctl.runtime.helper import message


class Window:
    """A window of Sofa.ImGui: whatever is shown in it is not shown."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        return _nothing_shown

    def getSelectedPort(self) -> str:
        """The serial port that somebody chose: none."""
        return ""

    def listAvailablePortsCallback(self, *arguments: Any) -> list[str]:
        """The serial ports to choose from: none."""
        del arguments
        return []

    def __repr__(self) -> str:
        return f"<Sofa.ImGui.{self._name}, not shown>"


WINDOWS = (
    "IOWindow",
    "MoveWindow",
    "MyRobotWindow",
    "PlottingWindow",
    "ProgramWindow",
    "SceneGraphWindow",
    "SimulationState",
    "SimulationWindow",
    "StateWindow",
)

_connection = False


def _nothing_shown(*arguments: Any, **values: Any) -> None:
    """Nothing to do: there is no window."""


def imgui() -> dict[str, Any]:
    """What Sofa.ImGui holds."""
    return {
        **{name: Window(name) for name in WINDOWS},
        "getRobotConnectionToggle": lambda: _connection,
        "setIPController": _nothing_shown,
        "setRobotConnectionToggle": set_robot_connection_toggle,
    }


def set_robot_connection_toggle(connected: bool) -> None:
    """Push the button 'connect'."""
    global _connection
    _connection = bool(connected)


def draw(node: Node) -> None:
    """Nothing to do: there is no window."""
    text = "Sofa.SofaGL draws nothing here. `softctl run SCENE --movie FILE` shows the motion."
    if "drawn" not in _told:
        _told.add("drawn")
        message.warning(node, text)


_told: set[str] = set()


def sofa_gl() -> dict[str, Any]:
    """What Sofa.SofaGL holds."""
    return {"draw": draw, "glewInit": _nothing_shown}
