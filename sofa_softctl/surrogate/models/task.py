"""Task of a plan: costs, obstacles, and the recorded point."""

from __future__ import annotations

from dataclasses import dataclass

from sofa_softctl.surrogate.costs.costs import InputCost, OutputCost, Probe
from sofa_softctl.surrogate.costs.obstacles import Obstacle


@dataclass(frozen=True, eq=False)
class Task:
    """Task of a plan, from a scene file's TASKS."""

    probe: Probe
    """Point of the task, recorded as plan.spot."""
    outputs: tuple[OutputCost, ...] = ()
    """Costs of the robot's outputs, such as `Following`."""
    inputs: tuple[InputCost, ...] = ()
    """Costs of the tensions: `Effort`, `Smoothness`."""
    obstacles: tuple[Obstacle, ...] = ()
    """Obstacles of points."""
    rest: bool = False
    """Whether the robot rests at the end."""

    def __post_init__(self) -> None:
        if not hasattr(self.probe, "locate"):
            raise ValueError(f"probe must be a Point or a Laser. Got: {self.probe!r}")
        kinds = (
            ("outputs", OutputCost, "costs of the robot's outputs, such as Following"),
            ("inputs", InputCost, "costs of the tensions: Effort, Smoothness"),
            ("obstacles", Obstacle, "obstacles: Obstacle(probe, solid, weight)"),
        )
        for name, kind, expected in kinds:
            for term in getattr(self, name):
                if not isinstance(term, kind):
                    raise ValueError(f"{name} must be {expected}. Got: {term!r}")
