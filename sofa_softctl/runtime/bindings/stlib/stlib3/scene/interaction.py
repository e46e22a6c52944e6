"""Objects that are solved together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from splib3.objectmodel import SofaPrefab


@SofaPrefab
class Interaction:
    """Node with an integrator and a linear solver for objects that have none."""

    def __init__(self, parent: Any, targets: Sequence[Any]) -> None:
        self.node = parent.addChild("Interaction")
        self.node.addObject("EulerImplicitSolver")
        self.node.addObject("CGLinearSolver", iterations=25, tolerance=1e-5, threshold=1e-5)
        for target in targets:
            self.node.addChild(target)
