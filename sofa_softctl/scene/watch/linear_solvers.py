"""Iterative linear solvers that stop too early; known in the embedded runtime only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from sofa_softctl.scene.graph.nodes import attributes_of, nodes_of

UNSOLVED_MAX = 0.1
"""Residual by load, both summed over the steps, above which a solver has not solved [-]."""


@dataclass
class WatchedLinearSolver:
    """A conjugate gradient solver, with its sums of residuals at the start of a run."""

    component: Any
    start: tuple[int, float, float] = field(init=False)

    def __post_init__(self) -> None:
        self.start = self._sums()

    def _sums(self) -> tuple[int, float, float]:
        solver = self.component
        return solver.solve_count, solver.load_sum, solver.residual_sum

    def texts(self) -> Iterator[str]:
        """Return a sentence if much of the load was left unsolved."""
        count, load, residual = (
            current - initial for current, initial in zip(self._sums(), self.start, strict=True)
        )
        if residual > UNSOLVED_MAX * load > 0.0:
            solver, fraction = self.component, residual / load
            part = f"{fraction:.0%}" if fraction < 1.0 else "all"
            yield (
                f"{solver.getClassName()} '{solver.getPathName()}' leaves {part} of "
                f"the load unsolved, in the mean of {count} solves: it stops at iterations="
                f"{solver.iterations.value}, tolerance={solver.tolerance.value:g} or threshold="
                f"{solver.threshold.value:g}, and the body moves otherwise than its material says. "
                "Give more iterations, a tolerance and threshold of 1e-9, or SparseLDLSolver."
            )


def watched_linear_solvers(root: Any) -> list[WatchedLinearSolver]:
    """Return the watches on the solvers of a scene that sum up their residuals."""
    components = (component for node in nodes_of(root) for component in node.objects)
    return [
        WatchedLinearSolver(component)
        for component in components
        if "residual_sum" in attributes_of(component)
    ]
