"""Sofa.Gui, SofaGL and SofaImGui without a window; the batch GUI runs steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sofa_softctl.runtime.core.node import Node
from sofa_softctl.runtime.helper import message
from sofa_softctl.runtime.simulation import simulation

BATCH_STEPS = 1000
"""Number of steps that a GUI without a window runs, as in SOFA's 'batch'."""


class BaseGUI:
    """Running GUI."""


class GUIManager:
    """Starter of GUIs; replaces all GUIs other than 'batch' by it, with a warning."""

    _gui: BaseGUI | None = None

    @staticmethod
    def Init(program: str = "", gui: str = "batch") -> int:
        """Choose a GUI."""
        del program
        if gui not in ("", "batch"):
            message.warning(
                "GUIManager",
                f"There are no windows here, so no GUI '{gui}': 'batch' runs {BATCH_STEPS} steps "
                "instead. `softctl run SCENE --movie FILE` shows the motion.",
            )
        return 0

    @staticmethod
    def ListSupportedGUI(separator: str | None = None) -> Any:
        """Return the available GUIs, as a list or as a text with a separator."""
        return ["batch"] if separator is None else "batch"

    @classmethod
    def createGUI(cls, root: Node, file: str = "") -> int:
        """Create the chosen GUI."""
        del root, file
        cls._gui = BaseGUI()
        return 0

    @classmethod
    def GetGUI(cls) -> BaseGUI | None:
        """Return the GUI, or None before `createGUI`."""
        return cls._gui

    @staticmethod
    def SetDimension(width: int, height: int) -> None:
        """Have no effect: there is no window."""

    @staticmethod
    def SetFullScreen() -> None:
        """Have no effect: there is no window."""

    @staticmethod
    def CenterWindow() -> None:
        """Have no effect: there is no window."""

    @staticmethod
    def MainLoop(root: Node, file: str = "") -> int:
        """Run the steps."""
        del file
        simulation.animateNSteps(root, BATCH_STEPS)
        return 0

    @classmethod
    def closeGUI(cls) -> None:
        """Close the GUI."""
        cls._gui = None


class Window:
    """Window of Sofa.ImGui, which shows nothing."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        return _show_nothing

    def getSelectedPort(self) -> str:
        """Return "", since nobody can choose a serial port."""
        return ""

    def listAvailablePortsCallback(self, *arguments: Any) -> list[str]:
        """Return no serial ports."""
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


def _show_nothing(*arguments: Any, **values: Any) -> None:
    """Have no effect: there is no window."""


def imgui() -> dict[str, Any]:
    """Return the content of the module Sofa.ImGui."""
    return {
        **{name: Window(name) for name in WINDOWS},
        "getRobotConnectionToggle": lambda: _connection,
        "setIPController": _show_nothing,
        "setRobotConnectionToggle": set_robot_connection_toggle,
    }


def set_robot_connection_toggle(connected: bool) -> None:
    """Set the state of the button 'connect'."""
    global _connection
    _connection = bool(connected)


def draw(node: Node) -> None:
    """Have no effect: there is no window."""
    text = "Sofa.SofaGL draws nothing here. `softctl run SCENE --movie FILE` shows the motion."
    if "drawn" not in _warned:
        _warned.add("drawn")
        message.warning(node, text)


_warned: set[str] = set()


def sofa_gl() -> dict[str, Any]:
    """Return the content of the module Sofa.SofaGL."""
    return {"draw": draw, "glewInit": _show_nothing}
