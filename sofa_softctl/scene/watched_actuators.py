"""Actuators and constraint solvers in a run: what does not come, what pushes, what stops early."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sofa_softctl.errors import SceneError
from sofa_softctl.scene.channels import nodes_of
from sofa_softctl.scene.constraints.system import effort_factor
from sofa_softctl.units import Units, symbol


@dataclass
class Drive:
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
class PushingCable:
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
class WatchedSolver:
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


def objects_of(root: Any) -> Iterator[Any]:
    """Return the components of a scene, in the order of the graph."""
    return (entry for node in nodes_of(root) for entry in node.objects)


def attributes_of(entry: Any) -> dict[str, Any]:
    """Python's attributes alone; SOFA would look for a Data of that name."""
    return getattr(entry, "__dict__", {})


def undriven_cables(root: Any) -> list[Any]:
    """Cables of a scene but those that an inverse controller drives."""
    driven = [
        component
        for entry in objects_of(root)
        for component in getattr(attributes_of(entry).get("driven"), "components", ())
    ]
    return [
        entry
        for entry in objects_of(root)
        if entry.getClassName() == "CableConstraint" and entry not in driven
    ]


def drive_of(entry: Any) -> Drive | None:
    """Return the watch on a component that imposes an effort or displacement, or None."""
    for kind, quantity, least_effort, largest_effort, at_rest in (
        ("Cable", "displacement", "minForce", "maxForce", "cableInitialLength"),
        ("SurfacePressure", "volumeGrowth", "minPressure", "maxPressure", "initialCavityVolume"),
    ):
        names = ("value", "valueType", quantity, at_rest)
        if entry.getClassName().startswith(kind) and all(map(entry.findData, names)):
            scale = 0.1 * float(entry.findData(at_rest).value)
            return Drive(entry, quantity, least_effort, largest_effort, scale)
    return None
