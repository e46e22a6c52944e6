"""Condition of a running scene: bodies that exploded, are inside out or left; cables that push.

The numbers of a finite element model mean nothing after elements are inverted or a body has
exploded, so such a run must not count as good.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from sofa_softctl.errors import DivergedError
from sofa_softctl.runtime.mesh.checks import signed_volumes
from sofa_softctl.scene.graph.nodes import attributes_of, box_of
from sofa_softctl.scene.plausibility.bodies import Body, bodies_of, solver_above
from sofa_softctl.scene.plausibility.leaving import (
    collision_models,
    floor_fault,
    leaving_causes,
    pushed_without_mass,
    without_lines,
)
from sofa_softctl.scene.watch.watched import SceneWatch
from sofa_softctl.units import Units


@dataclass(frozen=True)
class ConditionSettings:
    """Tolerances and limits of `Condition`."""

    steps_between_checks: int = 10
    """Steps between two checks, so that they cost less than 1 % of a step [-]."""
    growth_max: float = 100.0
    """Size of a body relative to the start, above which the run has diverged [-]."""
    fall_tolerance: float = 0.2
    """Difference of a body's acceleration from gravity, by gravity, up to which it falls [-]."""
    displacement_tolerance: float = 0.05
    """Shortfall of an imposed displacement or growth of volume, relative to it or to a tenth of
    the length or volume at rest, up to which it counts as reached [-]."""
    solver_error_max: float = 100.0
    """Error of a constraint solver by its tolerance, above which it has not converged [-]."""
    visible_error_min: float = 1e-4
    """Solver error relative to the size of the smallest body, below which it is invisible [-]."""
    pushing_ratio_min: float = 1e-3
    """Least pushing force of a cable that counts, relative to its largest force [-]."""
    travel_max: float = 0.5
    """Motion per step relative to a body's size, above which it misses contacts [-]."""
    diverging_effort_min: float = 0.1
    """Least effort that is named after divergence, relative to the material's limit [-]."""
    distance_max: float = 10.0
    """Distance from the scene relative to its size, beyond which a body has left it [-]."""


class Finding(NamedTuple):
    """Fault of a body or an actuator."""

    text: str
    """Sentence with body or actuator, fault, time and remedy."""
    is_failure: bool
    """Whether the motion is invalid, so that the run must not count as good."""


@dataclass
class _WatchedBody:
    """A body with its observations."""

    body: Body
    size: float
    """Size at the start [length]."""
    elements: np.ndarray
    """Vertex numbers of deformable elements, shape (m, 4) or (m, 8); m may be 0."""
    orientations: np.ndarray
    """Signs of the elements' volumes at rest, shape (m,)."""
    inverted_count: int = 0
    """Number of inverted elements at the last check."""
    inverted_count_max: int = 0
    first_inverted: float = 0.0
    """Time of the first check with inverted elements [time]."""
    outside_since: float | None = None
    """Time at which it left the scene's initial box [time], or None if it is inside."""
    left_at: np.ndarray = field(default_factory=lambda: np.full((1, 3), np.nan))
    """Centre of the body at that time [length], shape (1, 3)."""
    speed_max: float = 0.0
    """Largest mean speed at a check inside the scene [length/time]."""
    time: float = 0.0
    """Time of the last check [time]."""
    velocity: np.ndarray = field(default_factory=lambda: np.full(3, np.nan))
    """Mean velocity at the last check [length/time], shape (3,)."""
    acceleration: np.ndarray = field(default_factory=lambda: np.full(3, np.nan))
    """Mean acceleration between the last two checks [length/time^2], shape (3,)."""

    @property
    def name(self) -> str:
        return str(self.body.node.getPathName())

    @property
    def positions(self) -> np.ndarray:
        """Positions [length], shape (n, 3)."""
        return np.asarray(self.body.state.position.value, dtype=float)[:, :3]


class Condition:
    """Condition of the moving bodies of a scene; checked every few steps, and at its end.

    Args:
        root: Root of an initialised scene, on either backend.
        time: Present time [time].
        units: Units that the scene declares.
        settings: Tolerances and limits.
        duration: DURATION of the scene, or 0 [time].
    """

    def __init__(
        self,
        root: Any,
        time: float = 0.0,
        *,
        units: Units | None = None,
        settings: ConditionSettings | None = None,
        duration: float = 0.0,
    ) -> None:
        self._root, self._units, self._duration = root, units, duration
        self._settings = settings or ConditionSettings()
        self._gravity = np.asarray(root.gravity.value, dtype=float)
        self._start = [_watch(body) for body in bodies_of(root) if _is_moving(body)]
        self._causes = {w.name: leaving_causes(root, w.body) for w in self._start}
        self._box = box_of(root)
        self.restart(time)

    def restart(self, time: float) -> None:
        """Clear the observations; sizes and positions of the start remain the reference."""
        self._bodies = [replace(watched, time=time) for watched in self._start]
        bodies = [watched.body for watched in self._start]
        self.watched = SceneWatch(self._root, self._units, self._settings, bodies, self._duration)
        self._steps = 0

    def step(self, time: float) -> None:
        """Check the bodies after every few steps.

        Raises:
            DivergedError: See `check`.
        """
        self._steps += 1
        self.watched.step(self._steps, time)
        if self._steps % self._settings.steps_between_checks == 0:
            self.check(time)

    def check(self, time: float) -> None:
        """Check the bodies now.

        Raises:
            DivergedError: A body with elements has become far larger than it was at the start.
        """
        for watched in self._bodies:
            if time <= watched.time:
                continue
            x = watched.positions
            columns = np.ascontiguousarray(x.T)  # along rows of x it takes ten times as long
            low, high = columns.min(axis=1), columns.max(axis=1)
            self._check_size(watched, float((high - low).max()), time)
            _count_inverted(watched, x, time)
            self._check_place(watched, x, self._gap(low, high), time)
        self.watched.check(time)

    def raise_if_inverted(self, time: float) -> None:
        """Check the bodies now; learning ends an episode with inverted elements.

        Raises:
            DivergedError: See `check`, or a body has inverted elements.
        """
        self.check(time)
        for finding in self._body_findings():
            if finding.is_failure:
                raise DivergedError(finding.text)

    def findings(self) -> list[Finding]:
        """Return the faults of bodies, imposed displacements and cables up to now."""
        return [
            *self._body_findings(),
            *(Finding(text, False) for text in self.watched.texts()),
        ]

    def _body_findings(self) -> list[Finding]:
        return [finding for watched in self._bodies for finding in self._findings(watched)]

    def _check_size(self, watched: _WatchedBody, size: float, time: float) -> None:
        if len(watched.elements) and size > self._settings.growth_max * watched.size > 0.0:
            parts = [w.body for w in self._start if w.name.startswith(f"{watched.name}/")]
            causes = [warning.text for part in parts for warning in pushed_without_mass(part)]
            raise DivergedError(
                f"'{watched.name}' diverged by t = {time:.6g}: it is {size:.3g} long, and was "
                f"{watched.size:.3g} at the start. "
                f"{' '.join(causes) or 'Try a smaller dt or smaller forces.'}"
            )

    def _check_place(self, watched: _WatchedBody, x: np.ndarray, gap: float, time: float) -> None:
        velocity = np.asarray(watched.body.state.velocity.value, dtype=float)[:, :3].mean(axis=0)
        watched.acceleration = (velocity - watched.velocity) / (time - watched.time)
        watched.time, watched.velocity = time, velocity
        if watched.outside_since is None:  # not the speed of its fall
            watched.speed_max = max(watched.speed_max, float(np.linalg.norm(velocity)))
        if not gap > watched.size:
            watched.outside_since = None
        elif watched.outside_since is None:
            watched.outside_since, watched.left_at = time, x.mean(axis=0, keepdims=True)

    def _gap(self, low: np.ndarray, high: np.ndarray, along: Any = slice(None)) -> float:
        """Return the distance between a body's box and the scene's initial box, or 0 [length]."""
        gaps = np.maximum(low - self._box[1], self._box[0] - high)
        return float(gaps[along].max(initial=0.0))

    def _findings(self, watched: _WatchedBody) -> Iterator[Finding]:
        if watched.inverted_count_max:
            total = len(watched.elements)
            kinds = "tetrahedra" if watched.elements.shape[1] == 4 else "hexahedra"
            still = watched.inverted_count
            text = (
                f"{watched.inverted_count_max} of {total} {kinds} of '{watched.name}' were inside "
                f"out, first seen at t = {watched.first_inverted:.4g}, {still or 'none'} at the "
                "end: "
            )
            if still:
                text += "the motion is not that of the robot. "
            else:
                text += "do not trust the motion meanwhile. "
            yield Finding(f"{text}Try a smaller dt, smaller forces, or a finer mesh.", bool(still))
        if watched.outside_since is not None and self._has_left(watched):
            centre = ", ".join(f"{value:.4g}" for value in watched.positions.mean(axis=0))
            yield Finding(
                f"'{watched.name}' has left the scene: since t = {watched.outside_since:.4g} it is "
                f"outside all that was there at the start, and at the end at [{centre}]. "
                f"{self._cause(watched)}",
                False,
            )

    def _cause(self, watched: _WatchedBody) -> str:
        """Return the probable cause of a body's leaving the scene."""
        if causes := self._causes[watched.name]:
            return " ".join(causes)
        sideways = np.abs(self._gravity) < 0.5 * np.abs(self._gravity).max()
        centre = watched.left_at[0]
        if self._gap(centre, centre, sideways) > 0.0 and self._gravity.any():
            return "It went over the edge: are its speed, the friction and the floor's size meant?"
        models = collision_models(self._root)
        if warned := [m for m in models if attributes_of(m).get("_messages")]:
            return f"The warning of '{warned[0].getPathName()}' says why, probably."
        fallen = [w.body for w in self._bodies if w is not watched and self._falls(w)]
        if text := floor_fault(models, watched.body, fallen):
            return text
        text = "Is there something that should have held it, and does contact detection see it?"
        travel = watched.speed_max * float(self._root.dt.value)
        if travel > self._settings.travel_max * watched.size > 0.0:
            text += (
                f" It moved by up to {travel:.3g} in a step, and is {watched.size:.3g} long: what "
                "it passes within a step is not seen. Try a smaller dt."
            )
        return text + without_lines(self._root)

    def _has_left(self, watched: _WatchedBody) -> bool:
        """Return True if a body outside the scene falls freely, or is far away."""
        limit = self._settings.distance_max * max(np.ptp(self._box, axis=0).max(), watched.size)
        x = watched.positions
        gap = self._gap(x.min(axis=0), x.max(axis=0))
        return self._falls(watched) or gap > float(limit) > 0.0

    def _falls(self, watched: _WatchedBody) -> bool:
        difference = float(np.linalg.norm(watched.acceleration - self._gravity))
        return difference < self._settings.fall_tolerance * float(np.linalg.norm(self._gravity))


def is_inverted(x: np.ndarray, elements: np.ndarray, orientations: np.ndarray) -> np.ndarray:
    """Return the mask of elements that are inside out, shape (m,).

    Args:
        x: Positions [length], shape (n, 3).
        elements: Vertex numbers of tetrahedra or hexahedra, shape (m, 4) or (m, 8).
        orientations: Signs of their volumes at rest, shape (m,).
    """
    return np.asarray(signed_volumes(x, elements) * orientations < 0.0)


def _count_inverted(watched: _WatchedBody, x: np.ndarray, time: float) -> None:
    count = int(is_inverted(x, watched.elements, watched.orientations).sum())
    if count and not watched.inverted_count_max:
        watched.first_inverted = time
    watched.inverted_count = count
    watched.inverted_count_max = max(watched.inverted_count_max, count)


def _watch(body: Body) -> _WatchedBody:
    elements = body.elements if body.elastic else body.elements[:0]
    orientations = np.sign(signed_volumes(body.rest, elements))
    return _WatchedBody(body, body.size, elements, orientations)


def _is_moving(body: Body) -> bool:
    """Return True if a time integrator at or above its node moves a body in space."""
    return np.shape(body.state.position.value)[1] >= 3 and solver_above(body.node) is not None
