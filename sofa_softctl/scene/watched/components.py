"""All watches on components of a scene other than its actuators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sofa_softctl.scene.plausibility.bodies import Body
from sofa_softctl.scene.watched.contacts import watched_contacts
from sofa_softctl.scene.watched.joints import WatchedJoint, watched_joints
from sofa_softctl.scene.watched.linear_solvers import watched_linear_solvers
from sofa_softctl.scene.watched.materials import WatchedTurn, watched_turns


class ComponentWatches:
    """Watches on joints, materials, contacts and linear solvers.

    Args:
        root: Root of an initialised scene.
        bodies: Its moving bodies.
        size: Size of the smallest of them [length].
    """

    def __init__(self, root: Any, bodies: list[Body], size: float) -> None:
        self._checked: list[WatchedJoint | WatchedTurn] = [
            *watched_joints(root),
            *watched_turns(bodies),
        ]
        self._contacts = watched_contacts(root, size)
        self._solvers = watched_linear_solvers(root)

    def step(self, time: float) -> None:
        """Look at the contacts of a step."""
        for contacts in self._contacts:
            contacts.step(time)

    def check(self, time: float) -> None:
        """Look at what changes slowly."""
        for watch in self._checked:
            watch.check(time)

    def texts(self) -> Iterator[str]:
        """Return sentences on what does not hold."""
        for solver in self._solvers:
            yield from solver.texts()
        for watch in self._checked:
            yield from watch.texts()
        for contacts in self._contacts:
            yield from contacts.texts()
