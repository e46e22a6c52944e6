"""All components of a scene that are watched while it runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sofa_softctl.errors import DivergedError
from sofa_softctl.scene.plausibility.bodies import Body
from sofa_softctl.scene.watch.actuators import (
    PushingCable,
    WatchedSolver,
    attributes_of,
    objects_of,
    undriven_cables,
)
from sofa_softctl.scene.watch.contacts import watched_contacts
from sofa_softctl.scene.watch.drive_faults import beyond_material, drive_faults, unused_drives
from sofa_softctl.scene.watch.drives import drives_of
from sofa_softctl.scene.watch.effectors import StillGoals, watched_effectors
from sofa_softctl.scene.watch.joints import watched_joints
from sofa_softctl.scene.watch.linear_solvers import watched_linear_solvers
from sofa_softctl.scene.watch.materials import watched_turns
from sofa_softctl.scene.watch.motions import late_motions, still_states
from sofa_softctl.scene.watch.views import KeptViews
from sofa_softctl.units import Units


class Watched:
    """Watches over the components of a scene.

    Args:
        root: Root of an initialised scene, on either backend.
        units: Units that the scene declares.
        settings: `ConditionSettings`.
        bodies: Its moving bodies.
        duration: Its DURATION [time]; 0: it has none.
    """

    def __init__(
        self,
        root: Any,
        units: Units | None,
        settings: Any,
        bodies: Sequence[Body],
        duration: float = 0.0,
    ) -> None:
        size = min((body.size for body in bodies), default=0.0)
        self._root, self._units, self._settings = root, units, settings
        self._duration = duration
        self._drives = drives_of(root, units)
        self._cables = [PushingCable(cable) for cable in undriven_cables(root)]
        self._views = KeptViews(root)
        entries = list(objects_of(root))
        # An inverse controller solves the constraints itself.
        is_inverse = any("driven" in attributes_of(entry) for entry in entries)
        self._solvers = [
            WatchedSolver(entry, settings.visible_error_min * size)
            for entry in entries
            if entry.getClassName() == "GenericConstraintSolver" and not is_inverse
        ]
        self._joints = watched_joints(root)
        self._turns = watched_turns(bodies)
        self._still = still_states(root)
        self._contacts = watched_contacts(root, size)
        self._effectors, self._goals = watched_effectors(root), StillGoals(root)
        self._linear_solvers = watched_linear_solvers(root)

    def step(self, steps: int, time: float) -> None:
        """Look at a step that ends at a time, the solvers every few steps."""
        for drive in self._drives:
            drive.step()
        for cable in self._cables:
            cable.step(time, self._settings.pushing_ratio_min)
        for joint in self._joints:
            joint.check(time)
        self._views.step(steps)
        for effector in self._effectors:
            effector.step()
        for state in self._still:
            state.step()
        for contacts in self._contacts:
            contacts.step(time)
        if steps % self._settings.steps_between_checks == 0:
            for solver in self._solvers:
                solver.check(self._settings.solver_error_max)

    def check(self, time: float) -> None:
        """Look at what changes slowly."""
        for watch in self._turns:
            watch.check(time)

    def texts(self) -> list[str]:
        """Return sentences on what is wrong so far."""
        tolerance = self._settings.displacement_tolerance
        texts = [
            *(text for drive in self._drives for text in drive_faults(drive, tolerance)),
            *(cable.text(self._root, self._units) for cable in self._cables),
            *(solver.text() for solver in self._solvers),
            unused_drives(self._drives, self._duration),
            *self._views.texts,
            *late_motions(self._root, self._duration),
            *(text for watch in self._still for text in watch.texts()),
            *(effector.text() for effector in self._effectors),
            *self._goals.texts(),
            *(text for watch in self._linear_solvers for text in watch.texts()),
            *(text for joint in self._joints for text in joint.texts()),
            *(text for watch in self._turns for text in watch.texts()),
            *(text for watch in self._contacts for text in watch.texts()),
        ]
        return [text for text in texts if text]

    def explain(self, error: Exception) -> None:
        """Add to the error of a run that diverged which effort the material does not bear."""
        ratio = self._settings.diverging_effort_min
        if isinstance(error, DivergedError):
            for text in filter(None, (beyond_material(drive, ratio) for drive in self._drives)):
                error.args = (f"{error} {text}",)
                return
