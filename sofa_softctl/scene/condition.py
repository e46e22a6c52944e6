"""Condition of a scene while it runs: bodies torn apart, turned inside out, gone; cables that push.

A finite element model goes on with numbers that mean nothing once elements are inverted or a body
has exploded, so such a run must not count as good.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from sofa_softctl.errors import DivergedError, SceneError
from sofa_softctl.scene.body import box_of
from sofa_softctl.scene.channels import nodes_of
from sofa_softctl.scene.constraints.system import effort_factor
from sofa_softctl.scene.plausibility.bodies import Body, bodies_of, signed_volumes
from sofa_softctl.units import Units, symbol


@dataclass(frozen=True)
class ConditionSettings:
    """Numbers of `Condition`."""

    steps_between_checks: int = 10
    """Steps between two checks, which keeps their cost below a hundredth of a step [-]."""
    growth_max: float = 100.0
    """Size of a body by its size at the start, above which the run has diverged [-]."""
    fall_tolerance: float = 0.2
    """Difference of a body's acceleration from gravity, by gravity, up to which it falls [-]."""
    displacement_tolerance: float = 0.05
    """Shortfall of an imposed displacement or growth of volume, by it or by a tenth of the length
    or volume at rest, up to which it counts as reached [-]."""
    solver_error_max: float = 100.0
    """Error of a constraint solver by its tolerance, above which it has not converged [-]."""
    visible_error_min: float = 1e-4
    """The same error by the size of the smallest body, below which nobody would see it [-]."""
    pushing_ratio_min: float = 1e-3
    """Pushing force of a cable, by its largest force so far, from which on it counts [-]."""
    travel_max: float = 0.5
    """Motion in a step by the size of a body, above which it passes other bodies unseen [-]."""
    distance_max: float = 10.0
    """Distance from the scene by the scene's size, beyond which a body has left it [-]."""


class Finding(NamedTuple):
    """A sentence about a body or an actuator."""

    text: str
    """What happened to which one, when, and what to do."""
    is_failure: bool
    """The motion is not that of the robot, so the run must not count as good."""


@dataclass
class _Drive:
    """An actuator that imposes an effort, a displacement or a growth of volume."""

    component: Any
    quantity: str
    """'displacement' or 'volumeGrowth': its valueType, and the Data that measures it."""
    least_effort: str
    """Limit of its effort; it says whether it pulls only, or blows only."""
    largest_effort: str
    """The other limit."""
    scale: float
    """A tenth of the length or volume at rest [length or length^3]."""
    imposed: float = np.nan
    """Value after the last step."""
    imposed_before: float = np.nan
    """Value after the step before, which is what SOFA's measurement shows."""
    steps: int = 0
    cut: dict[str, int] = field(default_factory=dict)
    """Steps in which a limit cut an effort that was imposed, by the name of the limit."""

    def step(self) -> None:
        """Note the value of a step."""
        self.imposed_before = self.imposed
        values = np.ravel(self.component.value.value)
        self.imposed = float(values[0]) if len(values) else np.nan
        self.steps += 1
        if self.component.valueType.value != self.quantity:
            for name, sign in ((self.least_effort, -1.0), (self.largest_effort, 1.0)):
                limit = self.component.findData(name)
                if limit.isSet() and sign * (self.imposed - float(limit.value)) > 0.0:
                    self.cut[name] = self.cut.get(name, 0) + 1

    def texts(self, tolerance: float) -> Iterator[str]:
        """Return sentences on what is imposed and does not come."""
        yield self.shortfall(tolerance)
        for name, steps in self.cut.items():
            yield (
                f"{self.component.getClassName()} '{self.component.getPathName()}': its value was "
                f"cut at {name}={float(self.component.findData(name).value):.4g} in {steps} of "
                f"{self.steps} steps."
            )

    def shortfall(self, tolerance: float) -> str:
        """Return a sentence if what is imposed was not reached, else ''."""
        if self.component.valueType.value != self.quantity:
            return ""
        measured = float(self.component.findData(self.quantity).value)
        imposed = self.imposed
        shortfall = min(imposed - measured, self.imposed_before - measured, key=abs)
        least = self.component.findData(self.least_effort)
        if not (least.isSet() and float(least.value) >= 0.0):  # it can push; others may be slack
            shortfall = abs(shortfall)
        if not shortfall > tolerance * max(abs(imposed), self.scale):
            return ""
        return (
            f"{self.component.getClassName()} '{self.component.getPathName()}' imposes a "
            f"{self.quantity} of {imposed:.4g}, and at the end there are {measured:.4g}: a limit "
            "of its own, or the body, lets no more."
        )


@dataclass
class _PushingCable:
    """A cable that no inverse controller drives, which judges its own, and how far it pushed."""

    component: Any
    steps: int = 0
    pushing_steps: int = 0
    multiplier_min: float = 0.0
    """Least multiplier, negative where it pushes."""
    multiplier_max: float = 0.0
    """Largest size of a multiplier."""
    time: float = 0.0
    """Time of the least one [time]."""

    def step(self, time: float, ratio_min: float) -> None:
        """Note the multiplier of a step that ends at a time."""
        multiplier = float(self.component.force.value)
        self.steps += 1
        self.multiplier_max = max(self.multiplier_max, abs(multiplier))
        if multiplier < -ratio_min * self.multiplier_max:
            self.pushing_steps += 1
        if multiplier < self.multiplier_min:
            self.multiplier_min, self.time = multiplier, time

    def text(self, root: Any, units: Units | None) -> str:
        """Return a sentence if it pushed, else ''; one whose minForce is negative may, as a rod."""
        least = self.component.minForce
        if not self.pushing_steps or (least.isSet() and float(least.value) < 0.0):
            return ""
        try:
            factor = effort_factor(root, self.component)
        except SceneError:  # nothing moves what it acts on
            return ""
        return (
            f"{self.component.getPathName()} pushed in {self.pushing_steps} of {self.steps} steps, "
            f"with up to {-self.multiplier_min / factor:.3g} {symbol(units, 'force')} at "
            f"t = {self.time:.4g}, which a cable cannot. Give it minForce=0: it then goes slack; "
            "or a negative one for a rod."
        )


@dataclass
class _WatchedSolver:
    """A constraint solver, and how often it stopped far from its tolerance."""

    component: Any
    error_min: float
    """Error below which nobody would see it [length]."""
    checks: int = 0
    stopped_checks: int = 0
    error: float = 0.0
    """Error at the last of them."""
    tolerance: float = 0.0
    """What it should have been."""

    def check(self, error_max: float) -> None:
        """Note how the last step ended."""
        solver = self.component
        rows = int(solver.currentNumConstraints.value) if solver.scaleTolerance.value else 1
        tolerance, error = rows * float(solver.tolerance.value), float(solver.currentError.value)
        self.checks += 1
        if solver.currentIterations.value >= solver.maxIterations.value > 0:
            if error > max(error_max * tolerance, self.error_min):
                self.stopped_checks += 1
                self.error, self.tolerance = error, tolerance

    def text(self) -> str:
        """Return a sentence if it did so in half of the checks, else ''."""
        if self.checks < 3 or 2 * self.stopped_checks < self.checks:
            return ""
        return (
            f"{self.component.getClassName()} '{self.component.getPathName()}' stopped at "
            f"maxIterations={self.component.maxIterations.value} in {self.stopped_checks} of "
            f"{self.checks} steps that were looked at, with an error of {self.error:.3g} where "
            f"{self.tolerance:.3g} is asked for: contacts and constraints do not hold. Give more "
            "iterations."
        )


@dataclass
class _WatchedBody:
    """A body, and what was seen of it so far."""

    body: Body
    size: float
    """Size at the start [length]."""
    elements: np.ndarray
    """Vertex numbers of its elements, shape (m, 4) or (m, 8); m = 0: it has none that deform."""
    orientations: np.ndarray
    """Signs of the elements' volumes at rest, shape (m,)."""
    inverted_count: int = 0
    """Inverted elements at the last check."""
    inverted_count_max: int = 0
    first_inverted: float = 0.0
    """Time of the first check with inverted elements [time]."""
    outside_since: float | None = None
    """Time since when it is outside the scene's box of the start [time]; None: it is inside."""
    speed_max: float = 0.0
    """Largest mean speed at a check [length/time]."""
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
        settings: Numbers.
    """

    def __init__(
        self,
        root: Any,
        time: float = 0.0,
        *,
        units: Units | None = None,
        settings: ConditionSettings | None = None,
    ) -> None:
        self._root, self._units = root, units
        self._settings = settings or ConditionSettings()
        self._gravity = np.asarray(root.gravity.value, dtype=float)
        self._start = [_watch(body) for body in bodies_of(root) if _is_moving(body)]
        self._box = box_of(root)
        self.restart(time)

    def restart(self, time: float) -> None:
        """Forget what was seen; sizes and places of the start stay those to compare with."""
        self._bodies = [replace(watched, time=time) for watched in self._start]
        self._drives = [drive for entry in _objects(self._root) if (drive := _drive_of(entry))]
        self._cables = [_PushingCable(cable) for cable in _undriven_cables(self._root)]
        entries = list(_objects(self._root))
        is_inverse = any("driven" in _attributes(entry) for entry in entries)  # which solves itself
        size = min((watched.size for watched in self._start), default=0.0)
        self._solvers = [
            _WatchedSolver(entry, self._settings.visible_error_min * size)
            for entry in entries
            if entry.getClassName() == "GenericConstraintSolver" and not is_inverse
        ]
        self._steps = 0

    def step(self, time: float) -> None:
        """Check the bodies after a step, if it is time to.

        Raises:
            DivergedError: See `check`.
        """
        self._steps += 1
        for drive in self._drives:
            drive.step()
        for cable in self._cables:
            cable.step(time, self._settings.pushing_ratio_min)
        if self._steps % self._settings.steps_between_checks == 0:
            for solver in self._solvers:
                solver.check(self._settings.solver_error_max)
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
            self._check_size(watched, x, time)
            _count_inverted(watched, x, time)
            self._check_place(watched, x, time)

    def raise_if_inverted(self, time: float) -> None:
        """Check the bodies now; episodes of learning end where they are not fit to learn from.

        Raises:
            DivergedError: See `check`, or a body has inverted elements.
        """
        self.check(time)
        for finding in self.findings():
            if finding.is_failure:
                raise DivergedError(finding.text)

    def findings(self) -> list[Finding]:
        """Return what is wrong with bodies, imposed displacements and cables so far."""
        tolerance = self._settings.displacement_tolerance
        texts = [
            *(text for drive in self._drives for text in drive.texts(tolerance)),
            *(cable.text(self._root, self._units) for cable in self._cables),
            *(solver.text() for solver in self._solvers),
        ]
        return [
            *(finding for watched in self._bodies for finding in self._findings(watched)),
            *(Finding(text, False) for text in texts if text),
        ]

    def _check_size(self, watched: _WatchedBody, x: np.ndarray, time: float) -> None:
        size = float(np.ptp(x, axis=0).max())
        if len(watched.elements) and size > self._settings.growth_max * watched.size > 0.0:
            raise DivergedError(
                f"'{watched.name}' diverged by t = {time:.6g}: it is {size:.3g} long, and was "
                f"{watched.size:.3g} at the start. Try a smaller dt or smaller forces."
            )

    def _check_place(self, watched: _WatchedBody, x: np.ndarray, time: float) -> None:
        velocity = np.asarray(watched.body.state.velocity.value, dtype=float)[:, :3].mean(axis=0)
        watched.acceleration = (velocity - watched.velocity) / (time - watched.time)
        watched.time, watched.velocity = time, velocity
        watched.speed_max = max(watched.speed_max, float(np.linalg.norm(velocity)))
        if not self._gap(x) > watched.size:
            watched.outside_since = None
        elif watched.outside_since is None:
            watched.outside_since = time

    def _gap(self, x: np.ndarray) -> float:
        """Distance of a body's box from the scene's box of the start [length]; 0: they meet."""
        low, high = x.min(axis=0), x.max(axis=0)
        return float(np.maximum(low - self._box[1], self._box[0] - high).max(initial=0.0))

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
            travel = watched.speed_max * float(self._root.dt.value)
            fast = (
                f" It moved by up to {travel:.3g} in a step, and is {watched.size:.3g} long: what "
                "it passes within a step is not seen. Try a smaller dt."
                if travel > self._settings.travel_max * watched.size > 0.0
                else ""
            )
            centre = ", ".join(f"{value:.4g}" for value in watched.positions.mean(axis=0))
            yield Finding(
                f"'{watched.name}' has left the scene: since t = {watched.outside_since:.4g} it is "
                f"outside all that was there at the start, and at the end at [{centre}]. Is there "
                f"something that should have held it, and does contact detection see it?{fast}",
                False,
            )

    def _has_left(self, watched: _WatchedBody) -> bool:
        """Return True if a body outside the scene falls freely, or is far away."""
        gravity = float(np.linalg.norm(self._gravity))
        difference = float(np.linalg.norm(watched.acceleration - self._gravity))
        falls = gravity > 0.0 and difference < self._settings.fall_tolerance * gravity
        scene_size = float(np.ptp(self._box, axis=0).max())
        distance = self._gap(watched.positions)
        return falls or distance > self._settings.distance_max * max(scene_size, watched.size)


def is_inverted(x: np.ndarray, elements: np.ndarray, orientations: np.ndarray) -> np.ndarray:
    """Return which elements are turned inside out, bool (m,).

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


def _objects(root: Any) -> Iterator[Any]:
    return (entry for node in nodes_of(root) for entry in node.objects)


def _attributes(entry: Any) -> dict[str, Any]:
    """Python's attributes alone; SOFA would look for a Data of that name."""
    return getattr(entry, "__dict__", {})


def _undriven_cables(root: Any) -> list[Any]:
    """Cables of a scene but those that an inverse controller drives."""
    driven = [
        component
        for entry in _objects(root)
        for component in getattr(_attributes(entry).get("driven"), "components", ())
    ]
    return [
        entry
        for entry in _objects(root)
        if entry.getClassName() == "CableConstraint" and entry not in driven
    ]


def _drive_of(entry: Any) -> _Drive | None:
    for kind, quantity, least_effort, largest_effort, at_rest in (
        ("Cable", "displacement", "minForce", "maxForce", "cableInitialLength"),
        ("SurfacePressure", "volumeGrowth", "minPressure", "maxPressure", "initialCavityVolume"),
    ):
        names = ("value", "valueType", quantity, at_rest)
        if entry.getClassName().startswith(kind) and all(map(entry.findData, names)):
            scale = 0.1 * float(entry.findData(at_rest).value)
            return _Drive(entry, quantity, least_effort, largest_effort, scale)
    return None


def _is_moving(body: Body) -> bool:
    """Return True if a time integrator at or above its node moves a body in space."""
    node = body.node if np.shape(body.state.position.value)[1] >= 3 else None
    while node is not None:
        if any("OdeSolver" in entry.getCategories() for entry in node.objects):
            return True
        parents = list(node.parents)
        node = parents[0] if parents else None
    return False
