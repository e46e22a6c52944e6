"""Actuators, constraint solvers and controllers of a scene, watched while it runs."""

from __future__ import annotations

from typing import Any

from sofa_softctl.errors import DivergedError
from sofa_softctl.scene.watch.actuators import (
    PushingCable,
    WatchedSolver,
    attributes_of,
    objects_of,
    undriven_cables,
)
from sofa_softctl.scene.watch.drive_faults import beyond_material, drive_faults, unused_drives
from sofa_softctl.scene.watch.drives import drives_of
from sofa_softctl.scene.watch.views import KeptViews
from sofa_softctl.units import Units


class Watched:
    """What is watched of a scene besides its bodies.

    Args:
        root: Root of an initialised scene, on either backend.
        units: Units that the scene declares.
        settings: `ConditionSettings`.
        size: Size of the smallest body [length].
    """

    def __init__(self, root: Any, units: Units | None, settings: Any, size: float) -> None:
        self._root, self._units, self._settings = root, units, settings
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

    def step(self, steps: int, time: float) -> None:
        """Look at a step that ends at a time, the solvers every few steps."""
        for drive in self._drives:
            drive.step()
        for cable in self._cables:
            cable.step(time, self._settings.pushing_ratio_min)
        self._views.step(steps)
        if steps % self._settings.steps_between_checks == 0:
            for solver in self._solvers:
                solver.check(self._settings.solver_error_max)

    def texts(self) -> list[str]:
        """Return sentences on what is wrong so far."""
        tolerance = self._settings.displacement_tolerance
        texts = [
            *(text for drive in self._drives for text in drive_faults(drive, tolerance)),
            *(cable.text(self._root, self._units) for cable in self._cables),
            *(solver.text() for solver in self._solvers),
            unused_drives(self._drives),
            *self._views.texts,
        ]
        return [text for text in texts if text]

    def explain(self, error: Exception) -> None:
        """Add to the error of a run that diverged which effort the material does not bear."""
        ratio = self._settings.diverging_effort_min
        if isinstance(error, DivergedError):
            for text in filter(None, (beyond_material(drive, ratio) for drive in self._drives)):
                error.args = (f"{error} {text}",)
                return
