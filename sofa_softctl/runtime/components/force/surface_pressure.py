"""SurfacePressureForceField: a pressure that follows its surface."""

from __future__ import annotations

from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.components.force.blocks import BlockForceField
from sofa_softctl.runtime.components.force.pressure import elements_by_number
from sofa_softctl.runtime.components.topology.base import (
    Topology,
    complain_without_elements,
    linked_topology,
)
from sofa_softctl.runtime.core.data.types import Bool, Integers, Real, Vector
from sofa_softctl.runtime.core.link import LinkType


class SurfacePressureForceField(BlockForceField):
    """A pressure along the present normals of triangles and quadrilaterals.

    With pulseMode the pressure runs up and down between pressureLowerBound and `pressure` by
    pressureSpeed; with volumeConservationMode it is divided by the volume relative to
    defaultVolume. The step's stiffness covers only triangles, without mainDirection. Its matrix is
    not symmetric for an open surface: a direct solver takes its symmetric part, SOFA's takes a
    triangle of it, which depends on the order of elimination.
    """

    one_sided = True
    skew = True
    damps_in_products = False

    pressure = Real(0.0, "Force on a unit of area.", unit="pressure")
    min = Vector(3, [0.0, 0.0, 0.0], "Corner of a box in which elements count.", unit="length")
    max = Vector(3, [0.0, 0.0, 0.0], "Other corner; no box where both are 0.", unit="length")
    triangleIndices = Integers([], "Numbers of the triangles; all when empty.", follows="reinit")
    quadIndices = Integers([], "Numbers of the quadrilaterals; all when empty.", follows="reinit")
    pulseMode = Bool(False, "Let the pressure run up and down.")
    pressureLowerBound = Real(0.0, "Least pressure of pulseMode.", unit="pressure")
    pressureSpeed = Real(0.0, "Speed of pulseMode.", unit="pressure/time")
    volumeConservationMode = Bool(False, "Let the pressure grow as the volume shrinks.")
    useTangentStiffness = Bool(True, "Let the step's matrix know of the pressure.")
    defaultVolume = Real(-1.0, "Volume of volumeConservationMode; -1: the first.", unit="length^3")
    mainDirection = Vector(3, [0.0, 0.0, 0.0], "Weighs triangles by |normal . mainDirection|.")
    drawForceScale = Real(0.0, "Scale of the drawn forces.")
    topology = LinkType("Topology that holds the surface; the node's own by default.")

    def reinit(self) -> None:
        """Find the surface again."""
        self.init()

    def init(self) -> None:
        """Find the surface.

        Raises:
            SceneError: there is no topology, or an element does not exist.
        """
        topology = linked_topology(self, "needs a topology in its node or above, added before it.")
        self._triangles = self._select_elements(topology, "triangles", "triangleIndices")
        self._quads = self._select_elements(topology, "quads", "quadIndices")
        if not len(self._triangles) and not len(self._quads):
            complain_without_elements(self, "triangles and quads", topology)
        if self.pulseMode.get() and self.pressureSpeed.get() == 0.0:
            self.pressureSpeed.set(abs(self.pressure.get()))
        self._pulse, self._rising = 0.0, self.pressure.get() > 0.0
        corners = self._triangles
        row = np.repeat(corners, 3, axis=1).ravel()
        self.set_pairs(row, np.tile(corners, (1, 3)).ravel())

    def _select_elements(self, topology: Topology, kind: str, name: str) -> np.ndarray:
        numbers = self._data[name].get()
        label = f"{kind} of {topology.getPathName()}"
        elements = self.check_indices(topology.elements(kind), label)
        return elements_by_number(self, elements, numbers, kind, name) if len(numbers) else elements

    @override
    def add_force(self, force: np.ndarray) -> None:
        x = self.state.position.get()
        pressure = self._present_pressure(x)
        triangles = self._elements_in_box(x, self._triangles, "triangleIndices")
        quads = self._elements_in_box(x, self._quads, "quadIndices")
        a, b, c = (x[triangles[:, i]] for i in range(3))
        area = np.cross(b - a, c - a)
        node_force = area * (pressure / 6.0)
        if self.mainDirection.get().any():
            normal = area / np.linalg.norm(area, axis=1, keepdims=True)
            node_force *= np.abs(normal @ self.mainDirection.get())[:, None]
        for i in range(3):
            np.add.at(force, triangles[:, i], node_force)
        self._set_stiffness(triangles, (c - b, a - c, b - a), pressure)
        a, b, c, d = (x[quads[:, i]] for i in range(4))
        first, second = (
            np.cross(b - a, c - a) * (pressure / 6.0),
            np.cross(c - a, d - a) * (pressure / 6.0),
        )
        for i, part in enumerate((first + second, first, first + second, second)):
            np.add.at(force, quads[:, i], part)

    def _elements_in_box(self, x: np.ndarray, elements: np.ndarray, name: str) -> np.ndarray:
        low, high = self.min.get(), self.max.get()
        if len(self._data[name].get()) or not (low.any() or high.any()):
            return elements
        is_inside = ((x >= low) & (x <= high)).all(axis=1)
        return elements[is_inside[elements].all(axis=1)]

    def _set_stiffness(
        self, triangles: np.ndarray, opposite: tuple[np.ndarray, ...], pressure: float
    ) -> None:
        """Set -df/dx: area vectors change by a cross product with the side opposite to a corner."""
        if not self.useTangentStiffness.get():
            self.set_blocks(self._every[0][:0], self._every[1][:0], np.empty((0, 3, 3)))
            return
        changes = np.stack([_cross_matrix(side) for side in opposite], axis=1) * (-pressure / 6.0)
        blocks = np.repeat(changes[:, None], 3, axis=1).reshape(-1, 3, 3)
        row = np.repeat(triangles, 3, axis=1).ravel()
        self.set_blocks(row, np.tile(triangles, (1, 3)).ravel(), blocks)

    @override
    def add_skew_matrix(self, values: np.ndarray, slots: np.ndarray) -> None:
        slot, blocks = self._places(slots), self._blocks / 2.0
        is_stored = slot >= 0
        np.add.at(values, slot[is_stored], blocks[is_stored])
        np.add.at(values, ~slot[~is_stored], -blocks[~is_stored].transpose(0, 2, 1))
        is_diagonal = self._row == self._column
        np.subtract.at(values, slot[is_diagonal], blocks[is_diagonal].transpose(0, 2, 1))

    def _present_pressure(self, x: np.ndarray) -> float:
        pressure = self._next_pulse() if self.pulseMode.get() else self.pressure.get()
        if self.volumeConservationMode.get():
            volume, first = self._volume(x), self.defaultVolume
            if first.get() == -1.0:
                first.set(volume)
            elif first.get() != 0.0:
                pressure *= first.get() / volume
        return pressure

    def _volume(self, x: np.ndarray) -> float:
        a, b, c = (x[self._triangles[:, i]] for i in range(3))
        volume = float((np.cross(a, b) * c).sum())
        a, b, c, d = (x[self._quads[:, i]] for i in range(4))
        return (volume + float((np.cross(a, b) * c + np.cross(a, c) * d).sum())) / 6.0

    def _next_pulse(self) -> float:
        assert self._context is not None
        step = self.pressureSpeed.get() * self._context.dt.get()
        pressure, low = self.pressure.get(), self.pressureLowerBound.get()
        if self._rising:
            self._pulse += step
            if self._pulse >= (limit := pressure if pressure > 0.0 else low):
                self._pulse, self._rising = limit, False
        else:
            self._pulse -= step
            if self._pulse <= (limit := low if pressure > 0.0 else pressure):
                self._pulse, self._rising = limit, True
        return self._pulse

    @override
    def snapshot(self) -> dict[str, Any]:
        return {"pulse": (self._pulse, self._rising)}

    @override
    def restore(self, snapshot: dict[str, Any]) -> None:
        self._pulse, self._rising = snapshot["pulse"]


def _cross_matrix(v: np.ndarray) -> np.ndarray:
    """Return the matrices of v x ... for each row, shape (k, 3, 3)."""
    out = np.zeros((len(v), 3, 3))
    out[:, 0, 1], out[:, 0, 2], out[:, 1, 2] = -v[:, 2], v[:, 1], -v[:, 0]
    out[:, 1, 0], out[:, 2, 0], out[:, 2, 1] = v[:, 2], -v[:, 1], v[:, 0]
    return out
