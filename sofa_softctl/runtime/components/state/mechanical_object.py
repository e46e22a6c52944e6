"""MechanicalObject: positions, velocities, forces."""

from __future__ import annotations

from typing import Any

import numpy as np

from sofa_softctl.runtime.behavior.state import MechanicalState
from sofa_softctl.runtime.components.transform import spelt_out
from sofa_softctl.runtime.core.data.types import Bool, Coords, Derivs, Int, Real, Vector

_ROUNDED = 1e-2  # a quaternion written with two digits is still one


class MechanicalObject(MechanicalState):
    """Positions, velocities and forces of nodes.

    The template says what a node is: Vec3, a point (x y z); Rigid3, a body (x y z and a unit
    quaternion x y z w; velocities and forces are linear, then angular, in the world's axes); Vec1,
    a single coordinate such as a joint's angle.

    Without positions of its own it takes those of the topology in its node. scale3d, rotation
    and translation act once, at init, in this order, on positions and given rest positions.
    """

    reset_position = Coords([], "Position to which `reset` returns.", unit="length")
    reset_velocity = Derivs([], "Velocity to which `reset` returns.", unit="length/time")
    size = Int(0, "Number of nodes.", read_only=True)
    translation = Vector(3, [0.0, 0.0, 0.0], "Translation at init.", unit="length")
    rotation = Vector(3, [0.0, 0.0, 0.0], "Angles about x, y and z at init.", unit="degree")
    scale3d = Vector(3, [1.0, 1.0, 1.0], "Scale along x, y and z at init.")
    showObject = Bool(False, "Draw the nodes.")
    showObjectScale = Real(0.1, "Size of the drawn nodes.")
    showIndices = Bool(False, "Draw the numbers of the nodes.")
    showIndicesScale = Real(0.02, "Size of the drawn numbers.")
    showVectors = Bool(False, "Draw velocities.")
    showVectorsScale = Real(0.0001, "Size of the drawn velocities.")
    drawMode = Int(0, "How to draw the nodes.")
    showColor = Vector(4, [1.0, 1.0, 1.0, 1.0], "Color of the drawn nodes.")

    def __init__(self, *args: Any, **values: Any) -> None:
        scale = values.pop("scale", None)
        if scale is not None:
            values["scale3d"] = [float(scale)] * 3
        super().__init__(*args, **spelt_out(values))

    def init(self) -> None:
        """Take positions from the topology, transform them, fill velocities.

        Source: SOFA's order of these steps, MechanicalObject::init.
        """
        position, rest = self._data["position"], self._data["rest_position"]
        if len(rest.get()) > len(position.get()):
            position.set(rest.get().copy())
        if not len(position.get()):
            self._take_from_topology()
        self._transform()
        count = self.count
        if len(rest.get()) != count:
            rest.set(position.get().copy())
        velocity = self._data["velocity"]
        given = velocity.get()
        if len(given) != count:
            filled = np.zeros((count, self.deriv_size))
            filled[: len(given)] = given[:count]
            if len(given):
                filled[len(given) :] = given[-1]
            velocity.set(filled)
        self._data["force"].set(np.zeros((count, self.deriv_size)))
        self._data["free_velocity"].set(np.zeros((count, self.deriv_size)))
        self._data["free_position"].set(position.get().copy())
        self._data["size"].set(count)
        self.lam = np.zeros((count, self.deriv_size))
        self.check_finite()
        self.remember_reset()

    def resize(self, position: np.ndarray) -> None:
        """Start anew with these positions, unless it has as many already: a mapping says so."""
        if self.count != len(position):
            self._data["position"].set(position[:, : self.coord_size].copy())
            self._data["rest_position"].set(np.empty((0, self.coord_size)))
            self._data["velocity"].set(np.empty((0, self.deriv_size)))
            self.init()

    def _take_from_topology(self) -> None:
        if self._context is None:
            return
        for topology in self._context.of("topology"):
            points = topology._data["position"].get()
            if len(points):
                self._data["position"].set(self.kind.at_points(points))
                return
        if self.kind.name != "Vec3":
            self._data["position"].set(np.array([self.kind.identity]))  # one node, as in SOFA

    def _transform(self) -> None:
        scale = self._data["scale3d"].get()
        angles = self._data["rotation"].get()
        shift = self._data["translation"].get()
        if (scale == 1.0).all() and not angles.any() and not shift.any():
            return
        for name in ("position", "rest_position"):
            points = self._data[name].get()
            if len(points):
                self._data[name].set(self.kind.transformed(points, scale, angles, shift))

    def storeResetState(self) -> None:
        """Make the present state the one to which `reset` returns."""
        self.remember_reset()

    def remember_reset(self) -> None:
        """Make the present state the one to which `reset` returns."""
        self._data["reset_position"].set(self._data["position"].get().copy())
        self._data["reset_velocity"].set(self._data["velocity"].get().copy())
        for name in ("position", "velocity"):
            np.copyto(self._data[f"free_{name}"].get(), self._data[name].get())

    def reset(self) -> None:
        """Go back to the state at the end of the initialisation."""
        for name, source in (
            ("position", "reset_position"),
            ("velocity", "reset_velocity"),
            ("free_position", "reset_position"),
            ("free_velocity", "reset_velocity"),
        ):
            np.copyto(self._data[name].get(), self._data[source].get())
            self._data[name].touch()
        self._data["force"].get()[:] = 0.0
        self.lam[:] = 0.0

    def check_finite(self) -> None:
        """SceneError when a position or velocity given by the scene is not finite."""
        for name in ("position", "velocity", "rest_position"):
            bad = ~np.isfinite(self._data[name].get()).all(axis=1)
            if bad.any():
                raise self.fault(
                    f"got a '{name}' that is not finite at {int(bad.sum())} nodes, "
                    f"first at node {int(np.flatnonzero(bad)[0])}."
                )
        if self.kind.name == "Rigid3":
            self._check_quaternions()

    def _check_quaternions(self) -> None:
        for name in ("position", "rest_position"):
            lengths = np.linalg.norm(self._data[name].get()[:, 3:], axis=1)
            bad = np.abs(lengths - 1.0) > _ROUNDED
            if bad.any():
                node = int(np.flatnonzero(bad)[0])
                raise self.fault(
                    f"got a '{name}' whose quaternion (the last four numbers: x y z w) has length "
                    f"{lengths[node]:g} instead of 1 at node {node}. No rotation is 0 0 0 1."
                )

    def snapshot(self) -> dict[str, Any]:
        """See Component."""
        return {"lam": self.lam.copy()}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """See Component."""
        self.lam = snapshot["lam"].copy()
