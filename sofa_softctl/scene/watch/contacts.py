"""Contacts that do not keep bodies apart; known in the embedded runtime only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sofa_softctl.scene.plausibility.bodies import at
from sofa_softctl.scene.plausibility.leaving import collision_models, uneven_surface

DEPTH_MAX = 0.05
"""Depth of a body in another, by the size of the smallest body, above which it has sunk in [-]."""
_TRY = "Try a smaller dt, stiffer or more exact contacts, or a larger alarmDistance."
PASSED_MIN = 1e-6
"""Depth, by the same size, above which a point has passed the surface of another body [-]."""


@dataclass
class WatchedContacts:
    """The contact detection of a scene, and points that passed a surface."""

    pipeline: Any
    size: float
    """Size of the smallest body [length]."""
    passed_count: int = 0
    """Largest number of contacts in a step whose points passed."""
    passed: float = 0.0
    """Largest distance by which points passed [length]."""
    time: float = 0.0
    """Time of the first such step [time]."""
    contact_distance: float = 0.0
    """Distance within which the first such contact pushed [length]."""
    still: dict[Any, np.ndarray] = field(default_factory=dict)
    """Points at the start of the collision models with moving=False [length]."""

    def step(self, time: float) -> None:
        """Look at the contacts by penalty of a step."""
        for contact in self.pipeline.penalties:
            gaps = contact.gaps()
            count = int((gaps < -PASSED_MIN * self.size).sum())
            if not count:
                continue
            if not self.passed_count:
                self.time, self.contact_distance = time, float(contact.contact_distance.max())
            self.passed_count = max(self.passed_count, count)
            self.passed = max(self.passed, float(-gaps.min()))

    def texts(self) -> Iterator[str]:
        """Return sentences on points that passed, and on bodies that are in another now."""
        if self.passed_count:
            yield (
                f"Contacts by penalty do not hold: up to {self.passed_count} points at once went "
                f"through the surface that they touched, by up to {self.passed:.3g}, first at "
                f"t = {self.time:.4g}; they push within {self.contact_distance:.3g} of a surface, "
                "and beyond it to the other side. Give a larger contactStiffness, a smaller dt, "
                "or FrictionContactConstraint."
            )
        for model, start in self.still.items():
            x = _points(model)
            travel = float(np.abs(x - start).max(initial=0.0)) if x.shape == start.shape else 0.0
            if travel > DEPTH_MAX * self.size and not model.moving.value:
                yield (
                    f"{at(model)} has moving=False, and its points moved by {travel:.3g}: contacts "
                    "are looked for where it was at the start. Leave moving=False out."
                )
                return
        sunk = max(self.pipeline.sunk_bodies(), key=lambda item: item.depth, default=None)
        if sunk is not None and sunk.depth > DEPTH_MAX * self.size:
            models = [*collision_models(sunk.model.getContext()), sunk.around]
            yield (
                f"At the end {sunk.inside_count} of {sunk.point_count} points of "
                f"'{sunk.model.getContext().getPathName()}' are on the wrong side of "
                f"{sunk.around.getClassName()} '{sunk.around.getPathName()}', up to "
                f"{sunk.depth:.3g} deep: contacts did not keep the bodies apart. "
                f"{uneven_surface(models) or _TRY}"
            )


def watched_contacts(root: Any, size: float) -> list[WatchedContacts]:
    """Return the watch on the contacts of a scene with bodies of a size, if it has any."""
    pipelines = [pipeline for pipeline in root.objects if hasattr(pipeline, "sunk_bodies")]
    models = [model for model in collision_models(root) if model.active.value]
    still = {model: _points(model) for model in models if not model.moving.value}
    return [
        WatchedContacts(pipeline, size, still=still) for pipeline in pipelines[:1] if size > 0.0
    ]


def _points(model: Any) -> np.ndarray:
    state = model.getContext().getMechanicalState()
    return np.empty((0, 3)) if state is None else np.array(state.position.value)[:, :3]
