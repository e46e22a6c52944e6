"""Base class of components along a cable."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.behavior.cable import Cable
from sofa_softctl.runtime.core.data.types import (
    Bool,
    Choice,
    Real,
    Reals,
    Vector,
    Vectors,
)
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.kernels.constraint.cable import cable_geometry


class CableModel(Cable):
    """An inextensible cable without friction through points of a state: one row.

    delta = L0 - L, positive when the cable is pulled in; lambda > 0 is tension. `force` and the
    limits on it are lambda: dt times the tension in second order, the tension in first order.

    Source: SoftRobots' CableModel.
    """

    cableLength = Real(0.0, "Length at the start of the last step.", read_only=True)
    method = Choice(
        "point",
        "How the force is spread; the embedded runtime knows 'point'.",
        choices=("point", "sphere", "geodesic"),
    )
    centers = Vectors(3, [], "Unused with method point.")
    radii = Reals([1.0], "Unused with method point.")
    surfaceTopology = LinkType("Unused with method point.")
    force = Real(0.0, "lambda of the last step.", unit="lambda of force", read_only=True)
    displacement = Real(0.0, "Length pulled in.", unit="length", read_only=True)
    minForce = Real(0.0, "Least lambda; unset, the cable can push.", unit="lambda of force")
    maxForce = Real(0.0, "Greatest lambda.", unit="lambda of force")
    eqForce = Real(0.0, "Imposed lambda (equalities).", unit="lambda of force")
    eqDisp = Real(0.0, "Imposed displacement (equalities).", unit="length")
    maxPositiveDisp = Real(0.0, "Greatest length pulled in.", unit="length")
    maxNegativeDisp = Real(0.0, "Greatest length let out.", unit="length")
    maxDispVariation = Real(0.0, "Greatest change of displacement a step.", unit="length")
    drawPullPoint = Bool(True, "Draw the pull point.")
    drawPoints = Bool(True, "Draw the points.")
    drawPulledAreas = Bool(False, "Draw the areas.")
    color = Vector(4, [0.4, 0.4, 0.4, 1.0], "Color of the cable.")

    def init(self) -> None:
        """Check the points and measure the length at rest.

        Raises:
            SceneError: a point does not exist, or too few points.
        """
        if self.method.get() != "point":
            raise self.fault(f"does not support method '{self.method.get()}', only 'point'.")
        self._check_points()
        if not self.cableInitialLength.isSet():
            rest = self.state._data["rest_position"].get()
            self.cableInitialLength.set(self._measure(rest))
        self.cableLength.set(self.cableInitialLength.get())

    def _check_points(self) -> None:
        points = self.indices.get()
        count = self.state.count
        if not len(points):
            raise self.fault("needs at least one point in 'indices'.")
        if points.min() < 0 or points.max() >= count:
            raise self.fault(f"has 'indices' up to {points.max()}, but there are {count} nodes.")
        if not self.hasPullPoint.get() and len(points) < 2:
            raise self.fault("needs at least two points in 'indices' when hasPullPoint is False.")
        self._row = np.zeros(len(points), dtype=np.int64)
        self.directions = np.zeros((len(points), 3))
        self._points_seen = self.indices.getCounter()

    def reinit(self) -> None:
        """Check the points again."""
        self.init()

    def reset(self) -> None:
        """Back to the state after init."""
        self.cableLength.set(self.cableInitialLength.get())
        self.force.set(0.0)
        self.displacement.set(0.0)

    def _measure(self, x: np.ndarray) -> float:
        return cable_geometry(
            x, self.indices.get(), self.pullPoint.get(), self.hasPullPoint.get(), self.directions
        )

    def build(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """See LagrangianConstraint."""
        if self.indices.getCounter() != self._points_seen:  # the kernel checks no bounds
            self._check_points()
        self.cableLength.set(self._measure(self.state._data["position"].get()))
        return self._row, self.indices.get(), self.directions

    def violation(self) -> np.ndarray:
        """See LagrangianConstraint."""
        state, points = self.state._data, self.indices.get()
        motion = state["free_position"].get()[points] - state["position"].get()[points]
        gap = self.cableInitialLength.get() - self.cableLength.get()
        return np.array([np.vdot(self.directions, motion) + gap])

    @property
    def only_pulls(self) -> bool:
        """See Cable: minForce says so."""
        return self.minForce.isSet() and self.minForce.get() >= 0.0

    def limit(self, name: str, unset: float) -> float:
        """A limit that a scene may leave unset."""
        data = self._data[name]
        return data.get() if data.isSet() else unset

    def displacement_limits(self) -> tuple[float, float]:
        """Least and greatest displacement in this step, the rate limit not included."""
        return (
            -self.limit("maxNegativeDisp", np.inf),
            self.limit("maxPositiveDisp", np.inf),
        )
