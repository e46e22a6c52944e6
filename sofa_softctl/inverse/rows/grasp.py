"""Grasps: bounds on the sum of the normal forces on an object."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sofa_softctl.errors import SceneError
from sofa_softctl.scene.control.contacts import is_inside


@dataclass
class Grasp:
    """Bounds on the grasp force of an object.

    The minimum of the normal forces' sum is either given, or calibrated while the robot holds the
    object against gravity: between the times `calibrate` the sum is recorded, and afterwards the
    fraction `share` of its mean is the minimum.

    Source: Coevoet, Escande, Duriez 2019, section III-E.
    """

    body: str
    """Path of the object's node, such as '/cup', or a prefix of such paths."""
    minimum: float = 0.0
    """Smallest sum of the normal forces on it [force]; 0 = no minimum."""
    maximum: float = math.inf
    """Largest sum [force]."""
    calibrate: tuple[float, float] | None = None
    """Start and end of the calibration [time], or None to use `minimum` as given."""
    share: float = 0.8
    """Fraction of the calibrated mean that becomes the minimum [-]."""
    slip_tolerance: float = 1.0
    """Slip above which a run warns of it [length]."""
    by: str = ""
    """Path of the holding bodies, or a prefix of such paths: other contacts, such as with a table,
    do not count. "" if all contacts count."""
    let_go: bool = False
    """Whether it is released on purpose: losing its last contact is then not a drop. A scene may
    change this and `minimum` during a run."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.minimum <= self.maximum:
            raise SceneError(
                f"Grasp of {self.body}: give 0 <= minimum <= maximum, got {self.minimum:g} and "
                f"{self.maximum:g}."
            )
        if self.calibrate is not None and not self.calibrate[0] < self.calibrate[1]:
            raise SceneError(
                f"Grasp of {self.body}: calibrate must be a start and a later end, got "
                f"{self.calibrate}."
            )
        self._given = self.minimum
        self.forget()

    def forget(self) -> None:
        """Reset the calibration and what is known of contacts."""
        self.minimum = self._given
        self.held: float | None = None
        """Sum of the normal forces in the last step [force]; None until the object is touched."""
        self.slip = 0.0
        """Slip of the object, as the mean of its touching points [length]."""
        self.dropped_at: float | None = None
        """Time at which the last contact was lost [time]; None while it is held."""
        self._sums: list[float] = []

    def holds(self, bodies: tuple[str, str]) -> bool:
        """Return True if a contact of these two bodies holds the object."""
        first, second = bodies
        return any(
            is_inside(self.body, held) and (not self.by or is_inside(self.by, holder))
            for held, holder in ((first, second), (second, first))
        )

    def look(self, time: float, normal: np.ndarray, slide: np.ndarray) -> bool:
        """Update from the contacts on the object after a step.

        Args:
            time: Time at the end of the step.
            normal: Normal force of each contact [force], shape (n,).
            slide: Slip of each in this step [length], shape (n,).

        Returns:
            True if the object was dropped in this step.
        """
        is_dropped = False
        is_pushing = normal > 0.0
        total = float(normal.sum())
        if is_pushing.any():
            self.slip += float(normal @ slide) / total
            self.dropped_at = None
        elif self.let_go:
            self.held = None
        elif self.held is not None and self.dropped_at is None:
            self.dropped_at, is_dropped = time, True
        if is_pushing.any() or self.held is not None:
            self.held = total
        self._calibrate(time, total)
        return is_dropped

    def _calibrate(self, time: float, total: float) -> None:
        if self.calibrate is None:
            return
        start, end = self.calibrate
        if start < time <= end:
            self._sums.append(total)
        elif time > end and self._sums:
            self.minimum = min(self.share * float(np.mean(self._sums)), self.maximum)
            self._sums = []

    def snapshot(self) -> dict[str, Any]:
        """State that persists over steps."""
        return {**vars(self), "_sums": list(self._sums)}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Restore a `snapshot`."""
        vars(self).update(snapshot)
        self._sums = list(snapshot["_sums"])
