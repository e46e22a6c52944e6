"""SurfacePressureConstraint: imposed pressure or volume of a cavity."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.behavior.constraint import imposed_value, read_limit
from sofa_softctl.runtime.behavior.roles import Cavity
from sofa_softctl.runtime.core.data.types import Bool, Choice, Real, Reals, UInt
from sofa_softctl.runtime.helper import message
from sofa_softctl.runtime.helper.message import keeps_sofa_defects
from sofa_softctl.runtime.kernels.constraint.gauss_seidel import (
    IMPOSE_DELTA,
    IMPOSE_LAMBDA,
    row_parameters,
)
from sofa_softctl.runtime.kernels.constraint.volume import enclosed_volume, volume_gradient

_CLOSURE_TOLERANCE = 1e-6
"""Largest sum of area vectors of a closed surface, relative to its area [-]."""


class SurfacePressureModel(Cavity):
    """A pressure on a surface, and the volume inside: one row.

    delta = V - V0, positive when the cavity grows; lambda > 0 is over-pressure along the normals.
    Row: the area of each node along its normal, dV/dx of a closed surface of triangles.
    `pressure` and its limits are lambda: dt times the pressure in second order, the pressure in
    first order. Volumes do not depend on dt. `cavityVolume` belongs to the start of the last step;
    it has no meaning for an open surface, while the pressure still acts.

    Source: SoftRobots' SurfacePressureModel.
    """

    cavityVolume = Real(
        1.0, "Volume at the start of the last step.", unit="length^3", read_only=True
    )
    pressure = Real(0.0, "lambda of the last step.", unit="lambda of pressure", read_only=True)
    volumeGrowth = Real(0.0, "Growth of the volume since init.", unit="length^3", read_only=True)
    minPressure = Real(
        0.0, "Smallest lambda; unset, the cavity can be drained.", unit="lambda of pressure"
    )
    maxPressure = Real(0.0, "Largest lambda.", unit="lambda of pressure")
    maxPressureVariation = Real(0.0, "Largest change per step.", unit="lambda of pressure")
    eqPressure = Real(0.0, "Imposed lambda (equalities).", unit="lambda of pressure")
    minVolumeGrowth = Real(0.0, "Smallest growth, negative for less volume.", unit="length^3")
    maxVolumeGrowth = Real(0.0, "Largest growth of the volume.", unit="length^3")
    maxVolumeGrowthVariation = Real(0.0, "Largest change of growth per step.", unit="length^3")
    eqVolumeGrowth = Real(0.0, "Imposed growth (equalities).", unit="length^3")
    drawPressure = Bool(False, "Draw the pressure.")
    drawScale = Real(0.1, "Scale of the drawing.")

    def init(self) -> None:
        """Copy the topology's surface by default, check it, and measure the volume.

        Raises:
            SceneError: there is no surface, or it has a vertex that does not exist.
        """
        if not len(self.triangles.get()) and not len(self.quads.get()):
            self._copy_topology()
        if self.state.count:  # a later IdentityMapping may create the nodes
            self._check_surface()
            self._measure_start()

    def bwdInit(self) -> None:
        """Check and measure again, since a mapping may have created or moved the nodes."""
        self._check_surface()
        self._measure_start()
        self._check_winding()

    def reinit(self) -> None:
        """Check the surface again; the initial volume stays."""
        self._check_surface()

    def reset(self) -> None:
        """Restore the state after init."""
        self.cavityVolume.set(self.initialCavityVolume.get())
        self.pressure.set(0.0)
        self.volumeGrowth.set(0.0)

    def _copy_topology(self) -> None:
        topology: Any = None if self._context is None else self._context.find_upward("topology")
        if topology is not None:
            self.triangles.set(topology.elements("triangles").copy())
            self.quads.set(topology.elements("quads").copy())
        if topology is None or not len(self.triangles.get()) + len(self.quads.get()):
            raise self.fault(
                "has no surface: give 'triangles' or 'quads', or add a MeshTopology with them to "
                "its node."
            )

    def _check_surface(self) -> None:
        count = self.state.count
        for name in ("triangles", "quads"):
            elements = self._data[name].get()
            if len(elements) and (elements.min() < 0 or elements.max() >= count):
                invalid = elements.max() if elements.max() >= count else elements.min()
                raise self.fault(
                    f"has '{name}' with vertex {invalid}, but {self.state.describe()} has {count} "
                    "nodes."
                )
        triangles, quads = self.triangles.get(), self.quads.get()
        vertices = np.concatenate([triangles.ravel(), quads.ravel()])
        self._nodes, index = np.unique(vertices, return_inverse=True)
        self._local = (
            index[: triangles.size].reshape(-1, 3),
            index[triangles.size :].reshape(-1, 4),
        )
        self._row = np.zeros(len(self._nodes), dtype=np.int64)
        self.directions = np.zeros((len(self._nodes), 3))
        self._surface_counters = self._counters()

    def _counters(self) -> tuple[int, int]:
        return self.triangles.getCounter(), self.quads.getCounter()

    def _signed_volume(self) -> float:
        x = self.state.position.get()
        return enclosed_volume(x, self.triangles.get(), self.quads.get())

    def _measure_start(self) -> None:
        volume = abs(self._signed_volume())
        self.initialCavityVolume.set(volume)
        self.cavityVolume.set(volume)

    def _set_directions(self) -> None:
        x = self.state.position.get()
        sign = -1.0 if self.flipNormal.get() else 1.0
        volume_gradient(x, self._nodes, *self._local, sign, self.directions)

    def _check_winding(self) -> None:
        """Warn if a pressure would shrink a closed cavity: its |V| grows against the row."""
        self._set_directions()
        total = np.linalg.norm(self.directions, axis=1).sum()
        is_closed = np.linalg.norm(self.directions.sum(axis=0)) <= _CLOSURE_TOLERANCE * total
        volume = self._signed_volume() * (-1.0 if self.flipNormal.get() else 1.0)
        if is_closed and volume < 0.0:
            message.warning(
                self,
                "The normals of the closed surface point inwards: a positive pressure empties the "
                "cavity, and volumeGrowth has the wrong sign for the solver. Set flipNormal="
                f"{not self.flipNormal.get()}.",
            )

    @override
    def build(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if self._counters() != self._surface_counters:  # the kernels do not check bounds
            self._check_surface()
        self._set_directions()
        self.cavityVolume.set(abs(self._signed_volume()))
        return self._row, self._nodes, self.directions

    def free_growth(self) -> float:
        """Return J (x_free - x), the growth of the volume in the free motion."""
        state = self.state
        motion = state.free_position.get()[self._nodes] - state.position.get()[self._nodes]
        return float(np.vdot(self.directions, motion))

    @override
    def violation(self) -> np.ndarray:
        growth = self.cavityVolume.get() - self.initialCavityVolume.get()
        return np.array([self.free_growth() + growth])

    @property
    def only_inflates(self) -> bool:
        """True if minPressure allows no negative pressure."""
        return self.minPressure.isSet() and self.minPressure.get() >= 0.0

    limit = read_limit

    def pressure_limits(self) -> tuple[float, float]:
        """Return smallest and largest lambda, without the limit on its change."""
        return self.limit("minPressure", -math.inf), self.limit("maxPressure", math.inf)

    def growth_limits(self) -> tuple[float, float]:
        """Return smallest and largest growth, without the limit on its change."""
        return self.limit("minVolumeGrowth", -math.inf), self.limit("maxVolumeGrowth", math.inf)

    def store_start(self, lam: np.ndarray) -> None:
        """Store lambda, and the growth at the start of the step, as SoftRobots does."""
        self.pressure.set(float(lam[0]))
        self.volumeGrowth.set(self.cavityVolume.get() - self.initialCavityVolume.get())


class SurfacePressureConstraint(SurfacePressureModel):
    """A cavity with an imposed pressure or volume growth `value`.

    Limits of the imposed quantity clip `value`; limits of the other quantity hold in the solve.
    `volumeGrowth` belongs to the start of the step, one step behind, as in SoftRobots. Departure: a
    pressure that the growth does not allow stops the growth at its limit; SoftRobots' prediction
    counts the pressure twice from the second sweep on.
    """

    value = Reals([0.0], "Multipliers (lambda) or growths, to choose from by valueIndex.")
    valueIndex = UInt(0, "Index of the entry of 'value' in use.")
    valueType = Choice("pressure", "Meaning of 'value'.", choices=("pressure", "volumeGrowth"))

    def init(self) -> None:
        """Store the values, to which a reset returns."""
        super().init()
        self._first_values = self.value.get().copy()

    def reset(self) -> None:
        """Restore the state after init, including `value`, as in SoftRobots."""
        super().reset()
        if not self.value.hasParent():
            self.value.set(self._first_values.copy())

    @override
    def resolution(self) -> np.ndarray:
        pressures, growths = self.pressure_limits(), self.growth_limits()
        growth = self.cavityVolume.get() - self.initialCavityVolume.get()
        if keeps_sofa_defects():
            growth = self.volumeGrowth.get()  # one step behind
        if self.valueType.get() == "pressure":
            value = self._limited_value(self.pressure.get(), "maxPressureVariation", pressures)
            row = row_parameters(IMPOSE_LAMBDA, value, -math.inf, math.inf, *growths)
        else:
            value = self._limited_value(growth, "maxVolumeGrowthVariation", growths)
            row = row_parameters(IMPOSE_DELTA, value, *pressures)
        return row[None, :]

    def _limited_value(self, now: float, variation: str, limits: tuple[float, float]) -> float:
        """Return `value` within the largest change and the limits."""
        rate = self.limit(variation, math.inf)
        value = max(min(imposed_value(self), now + rate), now - rate)
        return min(max(value, limits[0]), limits[1])

    @override
    def store(self, lam: np.ndarray, delta: np.ndarray) -> None:
        self.store_start(lam)
