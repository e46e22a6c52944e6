"""Cables that push and constraint solvers that stop early in a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sofa_softctl.errors import SceneError
from sofa_softctl.scene.control.system import effort_factor
from sofa_softctl.scene.graph.nodes import attributes_of, objects_of
from sofa_softctl.units import Units, symbol


@dataclass
class PushingCable:
    """A cable without an inverse controller, and its pushing forces."""

    component: Any
    steps: int = 0
    pushing_steps: int = 0
    multiplier_min: float = 0.0
    """Smallest multiplier, negative if the cable pushes."""
    multiplier_max: float = 0.0
    """Largest absolute value of a multiplier."""
    time: float = 0.0
    """Time of the smallest multiplier [time]."""

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
        limit = self.component.minForce
        if not self.pushing_steps or (limit.isSet() and float(limit.value) < 0.0):
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
class WatchedSolver:
    """A constraint solver, and its checks far from its tolerance."""

    component: Any
    error_min: float
    """Error below which it is invisible [length]."""
    checks: int = 0
    stopped_checks: int = 0
    error: float = 0.0
    """Error at the last of these checks."""
    tolerance: float = 0.0
    """Tolerance at that check."""

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


def driven_components(root: Any) -> list[Any]:
    """Return the actuators of a scene that inverse controllers drive."""
    return [
        component
        for item in objects_of(root)
        for component in getattr(attributes_of(item).get("driven"), "components", ())
    ]


def undriven_cables(root: Any) -> list[Any]:
    """Return the cables of a scene that no inverse controller drives."""
    driven = driven_components(root)
    return [
        component
        for component in objects_of(root)
        if component.getClassName() in ("CableConstraint", "CableActuator")
        and component not in driven
    ]
