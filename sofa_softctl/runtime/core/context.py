"""Context of components: time step, gravity, state, topology."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sofa_softctl.runtime.core.base import Base
from sofa_softctl.runtime.core.data.types import Bool, Real, Vector

if TYPE_CHECKING:
    from sofa_softctl.runtime.core.component import Component


class BaseNode(Base):
    """SOFA's BaseNode."""


class BaseContext(Base):
    """SOFA's BaseContext."""

    dt = Real(0.01, "Time step.", unit="time")
    gravity = Vector(3, [0.0, -9.81, 0.0], "Gravity.", unit="length/time^2")
    time = Real(0.0, "Simulated time.", unit="time")
    animate = Bool(False, "Whether a GUI should run the simulation.")
    activated = Bool(True, "Whether the node takes part in the simulation.")
    sleeping = Bool(False, "Unused: nothing falls asleep.")
    canChangeSleepingState = Bool(False, "Unused: nothing falls asleep.")

    def find_upward(self, category: str) -> Component | None:
        """Return the first object of this category in this node or the nodes above, or None."""
        raise NotImplementedError

    def getDt(self) -> float:
        """Return the time step."""
        return self.dt.get()

    def setDt(self, dt: float) -> None:
        """Set the time step."""
        self.dt.value = dt

    def getTime(self) -> float:
        """Return the simulated time."""
        return self.time.get()

    def getGravity(self) -> np.ndarray:
        """Return gravity, shape (3,)."""
        return self.gravity.value

    def setGravity(self, gravity: Any) -> None:
        """Set gravity."""
        self.gravity.value = gravity

    def getAnimate(self) -> bool:
        """Return True if a GUI should run the simulation."""
        return self.animate.get()

    def setAnimate(self, animate: bool) -> None:
        """Set whether a GUI runs the simulation."""
        self.animate.value = animate

    def isActive(self) -> bool:
        """Return True if the node takes part in the simulation."""
        return self.activated.get()

    def setActive(self, active: bool) -> None:
        """Set whether the node takes part in the simulation."""
        self.activated.value = active

    def isSleeping(self) -> bool:
        """Return True if the node sleeps: never."""
        return self.sleeping.get()

    def getState(self) -> Component | None:
        """Return the state of the node, or the nearest state above."""
        return self.find_upward("state")

    def getMechanicalState(self) -> Component | None:
        """Return the state of the node, or the nearest state above."""
        return self.find_upward("state")

    def getTopology(self) -> Component | None:
        """Return the topology of the node, or the nearest topology above."""
        return self.find_upward("topology")

    getMeshTopology = getTopology


class Context(BaseContext):
    """SOFA's Context."""
