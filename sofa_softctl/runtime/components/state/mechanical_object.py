"""MechanicalObject: positions, velocities, forces."""

from __future__ import annotations

from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.behavior.state import MechanicalState
from sofa_softctl.runtime.core.data import reading
from sofa_softctl.runtime.core.data.reading import spell_out
from sofa_softctl.runtime.core.data.types import (
    Bool,
    Color,
    Coords,
    Derivs,
    Int,
    Real,
    SparseMatrix,
    Text,
    Vector,
)
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.helper.message import complain

_QUATERNION_TOLERANCE = 1e-2  # of the length, for quaternions written with two digits


class _OneCoord(Coords):
    """Positions; by default one at the origin."""

    @override
    def initial(self, owner: Any) -> np.ndarray:
        return np.array([owner.kind.identity], dtype=float)


class _OneDeriv(Derivs):
    """Velocities; by default one that is zero."""

    @override
    def initial(self, owner: Any) -> np.ndarray:
        return np.zeros((1, owner.deriv_size))


class MechanicalObject(MechanicalState):
    """Positions, velocities and forces of nodes.

    The template sets the kind of node: Vec3, a point (x y z); Rigid3, a body (x y z and a unit
    quaternion x y z w; velocities and forces are linear, then angular, in the world's axes); Vec1,
    a single coordinate such as a joint's angle.

    The number of nodes is the length of its longest vector, or `size`; missing values are zero.
    With one node or none it copies positions from the topology in its node, and the last velocity
    of the scene to all. scale3d, rotation and translation act once, at init, in this order, on
    positions. The result times restScale is the default rest position. Then rotation2 and
    translation2 act only on positions: the body starts away from its rest.

    `position.value` and the like are views that change in each step, as in SofaPython3: scripts
    must copy them to keep values, as `position.value.copy()`.
    """

    position = _OneCoord([], "Position of each node; one before init.", unit="length")
    velocity = _OneDeriv([], "Velocity of each node; one before init.", unit="length/time")
    reset_position = Coords([], "Position to which `reset` returns.", unit="length")
    reset_velocity = Derivs([], "Velocity to which `reset` returns.", unit="length/time")
    derivX = Derivs([], "Unused.")
    constraint = SparseMatrix("Directions of the constraint rows of this step, of each number.")
    mappingJacobian = Text("", "Unused.", linkable=False)
    size = Int(1, "Number of nodes.", follows="start")
    reserve = Int(0, "Unused.")
    useTopology = Bool(True, "Use positions of the node's topology by default.", follows="start")
    topology = LinkType("Topology with the positions; the node's own by default.")
    restScale = Real(1.0, "Scale of the default rest position.", follows="start")
    translation = Vector(3, [0.0, 0.0, 0.0], "Translation at init.", unit="length", follows="start")
    rotation = Vector(
        3, [0.0, 0.0, 0.0], "Angles about x, y and z at init.", unit="degree", follows="start"
    )
    scale3d = Vector(3, [1.0, 1.0, 1.0], "Scale along x, y and z at init.", follows="start")
    rotation2 = Vector(
        3, [0.0, 0.0, 0.0], "Angles about x, y, z after rest.", unit="degree", follows="start"
    )
    translation2 = Vector(
        3, [0.0, 0.0, 0.0], "Translation after rest.", unit="length", follows="start"
    )
    showObject = Bool(False, "Draw the nodes.")
    showObjectScale = Real(0.1, "Size of the drawn nodes.")
    showIndices = Bool(False, "Draw the numbers of the nodes.")
    showIndicesScale = Real(0.02, "Size of the drawn numbers.")
    showVectors = Bool(False, "Draw velocities.")
    showVectorsScale = Real(0.0001, "Size of the drawn velocities.")
    drawMode = Int(0, "Style of drawing nodes.")
    showColor = Color([1.0, 1.0, 1.0, 1.0], "Color of the drawn nodes.")

    def __init__(self, *args: Any, **values: Any) -> None:
        scale = values.pop("scale", None)
        if scale is not None:
            values["scale3d"] = [reading.attribute(scale)] * 3
        for name, letter in (("translation2", "d"), ("rotation2", "r")):
            keys = [f"{letter}{axis}2" for axis in "xyz"]
            if any(key in values for key in keys):
                values[name] = [reading.attribute(values.pop(key, 0.0)) for key in keys]
        super().__init__(*args, **spell_out(values))
        if "size" in values:
            self._cut(int(self.size.get()))

    def _cut(self, size: int) -> None:
        """Keep the first rows of vectors given at creation, as in SOFA."""
        for name in ("position", "velocity", "force", "rest_position"):
            data = self._data[name]
            if 0 < size < len(data.get()) and not data.hasParent():
                problem = f"has a 'size' of {size} nodes, but {len(data.get())} in '{name}'."
                complain(self, self.fault(problem), f" The first {size} count, as in SOFA.")
                data.set(data.get()[:size].copy())

    def init(self) -> None:
        """Copy positions from the topology, transform them, fill missing vectors.

        Source: SOFA's order of these steps, MechanicalObject::init.

        Raises:
            SceneError: a position or velocity is not finite.
        """
        position, velocity = self.position, self.velocity
        rest = self.rest_position
        count = self._initial_count()
        points = self._points_of_topology() if count <= 1 else None
        if points is not None:
            count = len(points)
            position.set(self.kind.at_points(points))
            if len(velocity.get()):
                velocity.set(np.tile(velocity.get()[-1], (count, 1)))
        if len(velocity.get()) > 1 >= len(position.get()) and not len(rest.get()):
            problem = self.fault(
                f"has velocities of {len(velocity.get())} nodes but no positions: all stand at "
                "zero, as in SOFA. Give 'position', too."
            )
            complain(self, problem)
        self._check_lengths(count)
        position.set(_pad_rows(position.get(), count, self.kind.identity))
        velocity.set(_pad_rows(velocity.get(), count, np.zeros(self.deriv_size)))
        self._transform("scale3d", "rotation", "translation")
        if len(rest.get()) != count:
            rest.set(position.get().copy())
            if self.restScale.get() != 1.0:
                rest.get()[:, :3] *= self.restScale.get()
        self._transform("", "rotation2", "translation2")
        self._start()

    def _check_lengths(self, count: int) -> None:
        """Warn of vectors of more than one row that are shorter than the longest one."""
        for name in ("position", "velocity", "rest_position", "force"):
            data = self._data[name]
            count_given = len(data.get()) if data.isSet() or data.hasParent() else 0
            if 1 < count_given < count:
                problem = self.fault(
                    f"has {count} nodes, but '{name}' has {count_given}: "
                    f"{'it is not used' if name == 'rest_position' else 'the others are zero'}."
                )
                complain(self, problem)

    def update_outputs(self) -> None:
        """Compute the constraint rows of the present step."""
        if self.find_rows is not None:
            self.constraint.set(self.find_rows(self))

    def _start(self) -> None:
        """Set all vectors that depend on positions and velocities."""
        count = self.count
        self.force.set(np.zeros((count, self.deriv_size)))
        self.free_velocity.set(np.zeros((count, self.deriv_size)))
        self.free_position.set(self.position.get().copy())
        self.size.set(count)
        self.lam = np.zeros((count, self.deriv_size))
        self.check_finite()
        self.remember_reset()

    def resize(self, position: np.ndarray) -> None:
        """Restart with the positions of a mapping, unless their number is the same.

        As in SOFA, the rest positions of new nodes are zero.
        """
        if self.count != len(position):
            count = len(position)
            self.position.set(position[:, : self.coord_size].copy())
            rest = self.rest_position
            rest.set(_pad_rows(rest.get()[:count], count, self.kind.identity))
            self.velocity.set(np.zeros((count, self.deriv_size)))
            self._start()

    def _initial_count(self) -> int:
        """Return the length of the longest vector, by default 1."""
        names = ("position", "velocity", "force", "externalForce", "rest_position")
        arrays = [self._data[name] for name in (*names, "derivX")]
        lengths = [len(data.get()) for data in arrays if data.isSet() or data.hasParent()]
        size, is_sized = self.size.get(), self.size.isSet()
        if is_sized and size < 0:
            problem = self.fault(f"takes a 'size' of 0 nodes or more, got {size}.")
            complain(self, problem, " It counts as not given, as in SOFA.")
            is_sized = False
        is_specified = is_sized or any(self._data[name].isSet() for name in names)
        return max([*lengths, size if is_sized else 0 if is_specified else 1])

    def _points_of_topology(self) -> np.ndarray | None:
        linked: Any = self._links["topology"].getLinkedBase()
        topologies: list[Any] = [linked] if linked is not None else []
        if self.useTopology.get() and self._context is not None and linked is None:
            topologies = list(self._context.of("topology"))
        for topology in topologies:
            topology.make_ready()
            points: np.ndarray = topology.nodes()
            if len(points):
                return points
        return None

    def _transform(self, scale: str, rotation: str, translation: str) -> None:
        """Scale, rotate and shift the positions by the Data of these names."""
        factors = self._data[scale].get() if scale else np.ones(3)
        angles, shift = self._data[rotation].get(), self._data[translation].get()
        if (factors == 1.0).all() and not angles.any() and not shift.any():
            return
        position = self.position
        if len(position.get()):
            position.set(self.kind.transformed(position.get(), factors, angles, shift))

    def storeResetState(self) -> None:
        """Store the present state for `reset`."""
        self.remember_reset()

    def remember_reset(self) -> None:
        """Store the present state for `reset`."""
        self.reset_position.set(self.position.get().copy())
        self.reset_velocity.set(self.velocity.get().copy())
        for name in ("position", "velocity"):
            np.copyto(self._data[f"free_{name}"].get(), self._data[name].get())

    def reset(self) -> None:
        """Restore the state at the end of the initialisation."""
        for name, source in (
            ("position", "reset_position"),
            ("velocity", "reset_velocity"),
            ("free_position", "reset_position"),
            ("free_velocity", "reset_velocity"),
        ):
            np.copyto(self._data[name].get(), self._data[source].get())
            self._data[name].touch()
        self.force.get()[:] = 0.0
        self.lam[:] = 0.0

    def check_finite(self) -> None:
        """Raise SceneError if a position or velocity of the scene is not finite."""
        for name in ("position", "velocity", "rest_position"):
            is_invalid = ~np.isfinite(self._data[name].get()).all(axis=1)
            if is_invalid.any():
                raise self.fault(
                    f"got a '{name}' that is not finite at {int(is_invalid.sum())} nodes, "
                    f"first at node {int(np.flatnonzero(is_invalid)[0])}."
                )
        if self.kind.name == "Rigid3":
            self._check_quaternions()

    def _check_quaternions(self) -> None:
        for name in ("position", "rest_position"):
            x = self._data[name].get()
            lengths = np.linalg.norm(x[:, 3:], axis=1)
            bad = np.abs(lengths - 1.0) > _QUATERNION_TOLERANCE
            if not bad.any():
                continue
            node = int(np.flatnonzero(bad)[0])
            problem = self.fault(
                f"got a '{name}' whose quaternion (the last four numbers: x y z w) has length "
                f"{lengths[node]:g} instead of 1 at node {node}. No rotation is 0 0 0 1."
            )
            if lengths[bad].any():
                raise problem
            complain(self, problem)  # four zeros: SOFA's formulas rotate nothing by them
            x[bad, 6] = 1.0

    @override
    def snapshot(self) -> dict[str, Any]:
        return {"lam": self.lam.copy()}

    @override
    def restore(self, snapshot: dict[str, Any]) -> None:
        self.lam = snapshot["lam"].copy()


def _pad_rows(rows: np.ndarray, count: int, row: Any) -> np.ndarray:
    """Return the rows, padded with copies of `row` to the length `count`."""
    if len(rows) >= count:
        return rows
    return np.concatenate([rows, np.tile(np.asarray(row, dtype=float), (count - len(rows), 1))])
