"""Warnings of values set after the start that nothing follows, or that two controllers set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from sofa_softctl.base.source_line import Line, describe
from sofa_softctl.runtime.core.data.handling import Handling
from sofa_softctl.runtime.helper import message

if TYPE_CHECKING:
    from sofa_softctl.runtime.core.component import Component
    from sofa_softctl.runtime.core.data.data import Data
    from sofa_softctl.runtime.core.node import Node

_MULTIPLIERS = ("force", "pressure")
"""Choices of `valueType` for which `value` is a multiplier: dt times the force or pressure."""


CONFLICT_STEPS_MIN = 3
"""Number of steps in which two controllers set a Data before a warning [-]."""


class LateChanges:
    """Data of a graph that were set since the last step."""

    def __init__(self) -> None:
        self._stale: dict[Data, Line | None] = {}
        self._lists: dict[Data, None] = {}
        self.told: set[Data] = set()
        """Data that a warning has already named."""
        self.setters: dict[Data, tuple[Any, str]] = {}
        """Controllers that set Data in the present step, each with its event."""
        self.fed: dict[Data, bool] = {}
        """Data that controllers set from Data that they read; True if the time is among them."""
        self.used: dict[Data, Any] = {}
        """Values of Data in the present step, before a controller set them at its end."""
        self._conflicts: dict[Data, tuple[int, Any, Any]] = {}
        """Steps in which a second controller set a Data, with both."""
        self._unfollowed: dict[Data, tuple[int, np.ndarray, Line | None]] = {}
        """Steps since a controller set Data that do not move a state, with the old position."""
        self._dt = 0.0
        self._counters: dict[Data, int] = {}

    def note_stale(self, data: Data, line: Line | None) -> None:
        """Record a Data that a script set and its component does not follow yet."""
        if data not in self.told:
            self._stale[data] = line

    def note_list(self, data: Data) -> None:
        """Record a list with an entry per item that a script set."""
        if data not in self.told:
            self._lists[data] = None

    def note_setter(self, data: Data, value: Any) -> None:
        """Record a Data that a controller sets: a value of another one in the same event is lost.

        It is not lost if the controller has read it, to add to it or limit it.
        """
        if Handling.controller is None:
            return
        if Handling.event == "onAnimateEndEvent" and data not in self.used:
            self.used[data] = np.copy(data.get())
        if any(read is not data and read.name not in ("time", "dt") for read in Handling.read):
            self.fed[data] = any(read.name == "time" for read in Handling.read)
        last, event = self.setters.get(data, (None, ""))
        controller = Handling.controller
        if last is not None and last is not controller and event == Handling.event:
            if data not in Handling.read and not np.array_equal(data.get(), value):
                steps = self._conflicts.get(data, (0, None, None))[0]
                self._conflicts[data] = (steps + 1, last, controller)
        self.setters[data] = (controller, Handling.event)

    def note_unfollowed(self, data: Data, line: Line | None) -> None:
        """Record a Data that a controller sets in a state that only `position` moves."""
        if data not in self._unfollowed and data not in self.told:
            self._unfollowed[data] = (0, data.owner.position.get().copy(), line)

    def _warn_unfollowed(self) -> None:
        for data, (steps, position, line) in list(self._unfollowed.items()):
            self._unfollowed[data] = (steps + 1, position, line)
            if steps + 1 < CONFLICT_STEPS_MIN:
                continue
            del self._unfollowed[data]
            self.told.add(data)
            if np.array_equal(data.owner.position.get(), position):
                message.warning(
                    data.owner,
                    f"{describe(line)}: '{data.getName()}' of {data.owner.describe()} changes, "
                    "and its position does not: no integrator is at or above its node. Set its "
                    "position.",
                )

    def remove_applied(self, owner: Component, *, everything: bool) -> None:
        """Remove changes that the component has read by `reinit`, or all its changes."""
        for data in [data for data in self._stale if data.owner is owner]:
            if everything or owner.follows(data) != "start":
                del self._stale[data]

    def note_step(self, root: Node, dt: float) -> None:
        """Warn of multipliers that have not changed although dt has changed a step ago."""
        for data, counter in self._counters.items():
            if data.getCounter() == counter and data not in self.told:
                self.told.add(data)
                message.warning(
                    data.owner,
                    f"dt is {dt:g} now, but '{data.getName()}' of {data.owner.describe()} has "
                    "stayed: as in SOFA it is dt times the "
                    f"{data.owner._data['valueType'].get()}, so the same number is another one "
                    "now. Multiply it by the new dt over the old one.",
                )
        changed = self._dt > 0.0 and abs(dt - self._dt) > 1e-9 * dt
        self._counters = {data: data.getCounter() for data in _multipliers(root)} if changed else {}
        self._dt = dt

    def warn(self) -> None:
        """Warn of changes without effect, and of lengths that do not fit, after a step."""
        if self.setters:
            self.setters = {}
        if self._unfollowed:
            self._warn_unfollowed()
        for data, (steps, first, second) in self._conflicts.items():
            if steps == CONFLICT_STEPS_MIN and data not in self.told:
                self.told.add(data)
                message.warning(
                    data.owner,
                    f"'{data.getName()}' of {data.owner.describe()} is set by "
                    f"{first.getClassName()} '{first.getPathName()}', and in the same event by "
                    f"{second.getClassName()} '{second.getPathName()}', which does not read it: "
                    "only the last counts. Set it in one controller.",
                )
        if not self._stale and not self._lists:
            return
        for data in self._lists:
            if not data.owner.check_length(data, len(data.get())):
                self.told.add(data)
        for data, line in self._stale.items():
            owner: Any = data.owner
            if owner.follows(data) != "step":
                self.told.add(data)
                message.warning(owner, f"{describe(line)}: {_sentence(owner, data)}")
        self._stale.clear()
        self._lists.clear()


def _multipliers(root: Node) -> Iterator[Data]:
    """Yield values of constraints that are dt times a force or pressure."""
    for node in root.walk():
        first_order = getattr(node.find_upward("ode solver"), "firstOrder", None)
        for constraint in node.of("constraint"):
            kind = constraint._data.get("valueType")
            if kind is not None and kind.get() in _MULTIPLIERS:
                if np.any(constraint.value.get()) and not (first_order and first_order.get()):
                    yield constraint.value


def _sentence(owner: Component, data: Data) -> str:
    changed = f"'{data.getName()}' of {owner.describe()} has changed, but"
    if owner.follows(data) == "start":
        return f"{changed} it is read once, at the start: set it in createScene."
    switch = f", or set {data.type.switch}=True" if data.type.switch else ""
    return f"{changed} the component still has the old one: call its reinit(){switch}."
