"""Projected against full-order dynamics: error of each approximation, and energy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.planning.full_order import simulate_balanced, simulate_scene
from sofa_softctl.scene.session.session import Session
from sofa_softctl.surrogate.costs.line_dynamics import LineDynamics
from sofa_softctl.surrogate.costs.step import simulate
from sofa_softctl.surrogate.models.robot import PlannedRobot
from sofa_softctl.surrogate.scene.plan_scene import plan_scene

BENT = 0.8
"""Control of the first line from which the arm is let go [-]."""
FAINT = 1e-5
"""Share of the start's energy below which swings are not looked at."""


class ReleasedSwing(NamedTuple):
    """Free swing of a robot."""

    frequency: float
    """Swings a unit of time, as they are seen [1 / time]."""
    natural: float
    """The frequency less what implicit Euler slows it by [1 / time]."""
    decay: float
    """Logarithm of the energy over that a swing later [-]."""


@dataclass(frozen=True, eq=False)
class ProjectedMotion:
    """The robot over time, and its energy."""

    dt: float
    """Time from one instant to the next [time]."""
    tip: np.ndarray
    """Middle of its end face, from where that is at rest [length], shape (K, 3)."""
    kinetic: np.ndarray
    """Kinetic energy with the velocities of implicit Euler [energy], shape (K,)."""
    potential: np.ndarray
    """Elastic energy and that of weight, 0 at rest without tension [energy], shape (K,)."""

    @property
    def energy(self) -> np.ndarray:
        """Mechanical energy [energy], shape (K,); lines that pull do work on it."""
        return self.kinetic + self.potential

    @property
    def growth(self) -> float:
        """By how much the energy grows in a step at most, as a share of the first one [-]."""
        return float(np.diff(self.energy).max() / self.energy[0])

    def swing(self) -> ReleasedSwing:
        """Frequency and decay, from the instants at which the tip goes through its rest.

        An undamped oscillation of natural frequency w turns by arctan(w dt) in a step of implicit
        Euler, and its energy falls by 1 + (w dt)^2.
        """
        aside = self.tip @ self.tip[0]
        faint = FAINT * self.energy[0]
        k = np.flatnonzero((aside[:-1] * aside[1:] < 0.0) & (self.energy[1:] > faint))
        crossings = k + aside[k] / (aside[k] - aside[k + 1])  # [steps]
        if len(crossings) < 3:
            raise ValueError(f"A swing needs three crossings of rest. Got: {len(crossings)}")
        energy = np.log(np.interp(crossings, np.arange(len(aside)), self.energy))
        swings = 0.5 * (len(crossings) - 1)
        frequency = swings / (crossings[-1] - crossings[0]) / self.dt
        turn = 2.0 * np.pi * frequency * self.dt
        decay = float(energy[0] - energy[-1]) / swings
        return ReleasedSwing(frequency, frequency * np.tan(turn) / turn, decay)


@dataclass(frozen=True, eq=False)
class ApproximationComparison:
    """The same robot under the same tensions, with one approximation after the other."""

    full: ProjectedMotion
    """The scene's own steps, linearised at their start as SOFA's are."""
    balanced: ProjectedMotion
    """Steps of the whole robot, solved until they are in balance."""
    projected: ProjectedMotion
    """The projected dynamics with the exact map: confined to shapes of rest."""
    grid: ProjectedMotion
    """The projected dynamics with the grid."""

    @property
    def size(self) -> float:
        """Largest displacement of the tip [length]."""
        return float(np.linalg.norm(self.balanced.tip, axis=1).max())

    @property
    def errors(self) -> dict[str, np.ndarray]:
        """Tip error of each approximation, relative to `size` [-], each of shape (K,).

        linearisation of the full step, modelling by the projection, and interpolation; total is
        from the scene's own steps to the grid, linearisation included.
        """
        pairs = {
            "linearisation": (self.full, self.balanced),
            "modelling": (self.projected, self.balanced),
            "interpolation": (self.grid, self.projected),
            "total": (self.grid, self.full),
        }
        return {
            name: np.linalg.norm(one.tip - other.tip, axis=1) / self.size
            for name, (one, other) in pairs.items()
        }

    @property
    def motions(self) -> dict[str, ProjectedMotion]:
        """All four by their names."""
        return {name: getattr(self, name) for name in ("full", "balanced", "projected", "grid")}

    def to_dict(self) -> dict[str, Any]:
        """Largest errors and energies, for JSON."""
        largest = {name: float(error.max()) for name, error in self.errors.items()}
        energy = {name: float(motion.energy.max()) for name, motion in self.motions.items()}
        return {"size": self.size, "error": largest, "largest_energy": energy}


@dataclass(frozen=True, eq=False)
class ProjectionStudy:
    """Cost and error of projected dynamics on the arm with a laser."""

    release: ApproximationComparison
    """Let go from the shape that one line bends it to: nothing pulls, energy may not grow."""
    ramp: ApproximationComparison
    """Under the tensions of the plan for the circle."""
    halved: dict[str, ProjectedMotion]
    """The release with steps of half the length, by the names of `ApproximationComparison`; without
    that of the exact map, as it is the grid's."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        motions = self.release.motions
        return {
            "release": self.release.to_dict(),
            "ramp": self.ramp.to_dict(),
            "growth": {name: motion.growth for name, motion in motions.items()},
            "swing": {name: motion.swing()._asdict() for name, motion in motions.items()},
            "halved": {name: motion.swing()._asdict() for name, motion in self.halved.items()},
        }


def measure_projection(
    folder: Path,
    progress: Callable[[str], None] | None = None,
    *,
    instants: int = 200,
    parameters: dict[str, Any] | None = None,
) -> ProjectionStudy:
    """Move the arm with a laser by full and by projected steps, let go and along the circle's plan.

    Args:
        folder: Where the scenes are.
        progress: Called with a line of text before each motion.
        instants: K, of every motion and of the plan.
        parameters: Of the scene.

    Source: Jia, Pan, Manocha 2019, eq. (1) against eq. (8).
    """
    report = progress or (lambda text: None)
    scene = folder / "laser_arm.py"
    report("planning")
    found = plan_scene(scene, "circle", grid="cells", instants=instants, parameters=parameters)
    arm = _Arm(scene, found.robot, parameters or {}, report)
    start, loose = np.zeros(arm.dimension), np.zeros((instants - 1, arm.dimension))
    ramp = arm.compare("ramp", start, found.plan.u)
    start[0] = BENT
    release = arm.compare("release", start, loose)
    half = _Arm(scene, found.robot, {**arm.parameters, "dt": 0.5 * arm.dt}, report)
    twice = np.repeat(loose, 2, axis=0)
    names = ("full", "balanced", "grid")
    halved = {name: half.motion(name, "release, half the step", start, twice) for name in names}
    return ProjectionStudy(release, ramp, halved)


class _Arm:
    """The arm with a time step, and the ways in which it is moved."""

    def __init__(
        self,
        scene: Path,
        robot: PlannedRobot,
        parameters: dict[str, Any],
        report: Callable[[str], None],
    ) -> None:
        self.scene, self.robot, self.parameters, self.report = scene, robot, parameters, report
        self.root = Session(scene, parameters=parameters).root
        self.dt, exact = float(self.root.dt.value), robot.map
        self.grid = replace(robot.dynamics, dt=self.dt)
        self.exact = LineDynamics(exact, exact.layout, exact.masses(), self.dt, self.grid.force)
        self.dimension = exact.dimension
        self.mass = exact.masses().reshape(-1, 3)
        self.still = self.exact.recover(np.zeros((1, self.dimension)))[0]

    def compare(self, what: str, a: np.ndarray, u: np.ndarray) -> ApproximationComparison:
        """All motions from rest at a, shape (d,), under controls u, shape (K - 1, d)."""
        names = ("full", "balanced", "projected", "grid")
        return ApproximationComparison(*(self.motion(name, what, a, u) for name in names))

    def motion(self, name: str, what: str, a: np.ndarray, u: np.ndarray) -> ProjectedMotion:
        self.report(f"{what}: {name}")
        x = self._positions(name, a, u)
        at_rest = self._potential(self.still)
        v = np.diff(x, axis=0, prepend=x[:1]) / self.dt  # (K, N, 3)
        z = self.root.arm.dofs.rest_position.value[:, 2]
        tip = x[:, z < z.min() + 1e-6].mean(axis=1) - self.still[z < z.min() + 1e-6].mean(axis=0)
        return ProjectedMotion(
            dt=self.dt,
            tip=tip,
            kinetic=0.5 * np.einsum("knc,nc->k", v**2, self.mass),
            potential=np.array([self._potential(each) for each in x]) - at_rest,
        )

    def _positions(self, name: str, a: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Positions of all nodes, shape (K, N, 3)."""
        if name == "grid":
            return self.robot.positions(simulate(self.grid, u, a).a)
        if name == "projected":
            return self.exact.recover(simulate(self.exact, u, a).a)
        run = simulate_scene if name == "full" else simulate_balanced
        x = self.exact.recover(a[None])[0]
        return run(self.scene, u, x, scale=self.grid.force, parameters=self.parameters)

    def _potential(self, x: np.ndarray) -> float:
        arm = self.root.arm
        arm.dofs.position.value = x
        weight = float((self.mass * x).sum(axis=0) @ self.root.gravity.value)
        return float(arm.elasticity.energy()) - weight
