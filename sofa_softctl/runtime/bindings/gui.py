"""Sofa.Gui, SofaGL and SofaImGui: no window; the batch GUI runs steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sofa_softctl.runtime.core.node import Node
from sofa_softctl.runtime.helper import message
from sofa_softctl.runtime.simulation import simulation

STEPS = 1000
"""Steps that a GUI without a window runs, as SOFA's 'batch' does."""


class BaseGUI:
    """The GUI that runs."""


class GUIManager:
    """Starts GUIs. Others than 'batch' are replaced by it, with a warning."""

    _gui: BaseGUI | None = None

    @staticmethod
    def Init(program: str = "", gui: str = "batch") -> int:
        """Choose a GUI."""
        del program
        if gui not in ("", "batch"):
            message.warning(
                "GUIManager",
                f"There are no windows here, so no GUI '{gui}': 'batch' runs {STEPS} steps "
                "instead. `softctl run SCENE --movie FILE` shows the motion.",
            )
        return 0

    @staticmethod
    def ListSupportedGUI(separator: str | None = None) -> Any:
        """The GUIs that there are: a list, or a text with a separator."""
        return ["batch"] if separator is None else "batch"

    @classmethod
    def createGUI(cls, root: Node, file: str = "") -> int:
        """Make the chosen GUI."""
        del root, file
        cls._gui = BaseGUI()
        return 0

    @classmethod
    def GetGUI(cls) -> BaseGUI | None:
        """The GUI that was made."""
        return cls._gui

    @staticmethod
    def SetDimension(width: int, height: int) -> None:
        """Nothing to do: there is no window."""

    @staticmethod
    def SetFullScreen() -> None:
        """Nothing to do: there is no window."""

    @staticmethod
    def CenterWindow() -> None:
        """Nothing to do: there is no window."""

    @staticmethod
    def MainLoop(root: Node, file: str = "") -> int:
        """Run the steps."""
        del file
        simulation.animateNSteps(root, STEPS)
        return 0

    @classmethod
    def closeGUI(cls) -> None:
        """Close the GUI."""
        cls._gui = None


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
    """Return the content of the module Sofa.ImGui."""
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
    """Return the content of the module Sofa.SofaGL."""
    return {"draw": draw, "glewInit": _nothing_shown}
