"""Nodes that move with given velocities."""

from __future__ import annotations

from typing import Any

import numpy as np

from sofa_softctl.runtime.components.projective.base import NodeConstraint
from sofa_softctl.runtime.core.data.types import Bool, Derivs, Integers, Reals


class LinearVelocityProjectiveConstraint(NodeConstraint):
    """Moves nodes with `velocities`, interpolated between their `keyTimes`.

    Every step adds dt times the velocity at its start, the initialisation too. After the last time
    nodes are free, or with continueAfterEnd go on with the last velocity. With `coordinates` only
    these numbers of a node are given; forces move none of the others, as in SOFA. Of bodies these
    are numbers of the velocity (0 to 5), and of the position those of the same place, as there.
    """

    aliases = ("LinearVelocityConstraint",)

    keyTimes = Reals([0.0], "Times of `velocities`, ascending.", unit="time")
    velocities = Derivs([], "Velocities at the `keyTimes`.", unit="length/time")
    coordinates = Integers([], "Numbers of a node's velocity that are given; all when empty.")
    continueAfterEnd = Bool(False, "Go on with the last velocity after the last time.")

    def init(self) -> None:
        """Check nodes and times.

        Raises:
            SceneError: a node does not exist, or there is not one velocity for each time.
        """
        super().init()
        times, given = self.keyTimes.get(), self.velocities.get()
        if not len(given) and len(times) == 1:
            self.velocities.set(np.zeros((1, self.state.deriv_size)))
        elif len(times) != len(given) or (np.diff(times) <= 0.0).any():
            raise self.fault(
                f"needs ascending 'keyTimes' and as many 'velocities', got {times.tolist()} and "
                f"{len(given)} velocities."
            )
        self.reset()

    def reset(self) -> None:
        """Start from the first position again."""
        self._last: np.ndarray | None = None

    def _now(self) -> np.ndarray | None:
        """The velocity of this moment; None where nodes are free."""
        times, given, time = self.keyTimes.get(), self.velocities.get(), self.time()
        if len(times) < 2 or time < times[0]:
            return None
        if time > times[-1]:
            return given[-1] if self.continueAfterEnd.get() else None
        if time == times[-1]:
            return given[-1]
        k = int(np.searchsorted(times, time, side="right")) - 1
        part = (time - times[k]) / (times[k + 1] - times[k])
        now: np.ndarray = (given[k + 1] - given[k]) * part + given[k]
        return now

    def fixed(self) -> np.ndarray:
        """See ProjectiveConstraint."""
        return self.mask(self._now() is not None)

    def in_matrix(self, fixed: np.ndarray) -> np.ndarray:
        """See ProjectiveConstraint."""
        return fixed

    def _axes(self) -> np.ndarray:
        given = self.coordinates.get()
        return given if len(given) else np.arange(self.state.deriv_size)

    def project_position(self, position: np.ndarray) -> None:
        """See ProjectiveConstraint."""
        if self._last is None:
            self._last = position.copy()
        now = self._now()
        if now is None:
            return
        assert self._context is not None
        dt, nodes = self._context._data["dt"].get(), self.nodes()
        last = self._last[nodes]
        if len(self.coordinates.get()):
            for axis in self._axes():  # in SOFA all but the first start where forces led
                position[nodes, axis] = last[:, axis] + now[axis] * dt
                last = position[nodes]
        else:
            moved = np.empty_like(last)
            self.state.kind.advance(last, np.tile(now, (len(nodes), 1)), dt, moved)
            position[nodes] = moved
        self._last[nodes] = position[nodes]
        self.state._data["position"].touch()

    def project_velocity(self, velocity: np.ndarray) -> None:
        """See ProjectiveConstraint."""
        now = self._now()
        if now is not None:
            for axis in self._axes():
                velocity[self.nodes(), axis] = now[axis]
            self.state._data["velocity"].touch()

    def snapshot(self) -> dict[str, Any]:
        """See Component."""
        return {"last": None if self._last is None else self._last.copy()}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """See Component."""
        self._last = None if snapshot["last"] is None else snapshot["last"].copy()
