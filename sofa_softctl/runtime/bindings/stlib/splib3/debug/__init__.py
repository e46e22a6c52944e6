"""Drawing while a scene is debugged: there is no window, so nothing is drawn."""

from splib3.debug.drawing import DebugManager, drawLine, drawText

__all__ = ["DebugManager", "drawLine", "drawText"]
