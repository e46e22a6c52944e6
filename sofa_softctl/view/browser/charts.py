"""Live plots of controllers: errors, efforts, contacts."""

from __future__ import annotations

from typing import Any

import numpy as np

from sofa_softctl.base import colors
from sofa_softctl.scene.session.session import Session
from sofa_softctl.units import symbol

POINTS_MAX = 600
"""Number of points of a curve; when they are reached, every second one is dropped."""
HEIGHT = 170
"""Height of a plot [pixel]."""
SHOWN = {"error": ("error", "length"), "effort": ("effort", "force")}
"""Outputs of controllers that are plotted: title, and quantity unless the controller names it."""


class Curves:
    """One plot: the numbers of an output over time.

    Args:
        gui: Controls of viser.
        title: Title with the unit.
        data: The output.
        names: Name of each number.
    """

    def __init__(self, gui: Any, title: str, data: Any, names: list[str]) -> None:
        self._data, self._count = data, len(names)
        self._time: list[float] = []
        self._values: list[np.ndarray] = []
        series = [{"label": "t"}] + [
            {"label": name, "stroke": colors.actuator(k), "width": 2}
            for k, name in enumerate(names)
        ]
        start = tuple(np.zeros(1) for _ in series)
        self._plot = gui.add_uplot(
            start, tuple(series), title=title, height=HEIGHT, scales={"x": {"time": False}}
        )

    def append(self, time: float) -> None:
        """Append the present numbers."""
        if self._time and time <= self._time[-1]:
            count = int(np.searchsorted(self._time, time))
            del self._time[count:], self._values[count:]
        values = np.ravel(np.asarray(self._data.value, dtype=float))
        self._time.append(time)
        self._values.append(
            np.resize(values, self._count) if len(values) else np.full(self._count, np.nan)
        )
        if len(self._time) > POINTS_MAX:
            del self._time[1::2], self._values[1::2]

    def show(self) -> None:
        """Send the curves."""
        values = np.array(self._values).T
        self._plot.data = (np.array(self._time), *map(np.ascontiguousarray, values))


class Charts:
    """Plots of the outputs of a session's controllers.

    Args:
        gui: Controls of viser.
        session: The session.
    """

    def __init__(self, gui: Any, session: Session) -> None:
        self._session = session
        self._curves = []
        for controller in session.controllers:
            outputs = getattr(controller, "outputs", {})
            for name, (title, quantity) in SHOWN.items():
                count = np.size(outputs[name].value) if name in outputs else 0
                if not count:
                    continue
                quantity, *_ = getattr(controller, "recorded", {}).get(name, (quantity,))
                labels = list(getattr(controller, "names", ())) if name == "effort" else []
                if len(labels) != count:
                    labels = [f"{title} {k}" for k in range(count)]
                unit = symbol(session.units, quantity)
                self._curves.append(Curves(gui, f"{title} [{unit}]", outputs[name], labels))
        if not self._curves:
            gui.add_markdown("No controller of this scene has errors or efforts.")
        self.show()

    def show(self) -> None:
        """Append the present numbers, and send the curves."""
        for curves in self._curves:
            curves.append(self._session.time)
            curves.show()
