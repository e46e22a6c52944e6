"""PositionConstraint: imposed displacement or force along directions."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.behavior.constraint import (
    LagrangianConstraint,
    RowBlock,
    imposed_value,
    only_watches,
    read_limit,
)
from sofa_softctl.runtime.core.data.types import Bools, Choice, Derivs, Integers, Real, Reals, UInt
from sofa_softctl.runtime.helper.message import complain, keeps_sofa_defects
from sofa_softctl.runtime.kernels.constraint.gauss_seidel import (
    IMPOSE_DELTA,
    IMPOSE_LAMBDA,
    row_parameters,
)
from sofa_softctl.runtime.kernels.constraint.rows import position_violation


class PositionBlock(RowBlock):
    """Rows of PositionConstraints of points."""

    members: list[PositionConstraint]  # type: ignore[assignment]
    has_constant_parameters = True

    @override
    def read(self) -> None:
        members = self.members
        self.entries = [member.build() for member in members]
        nodes = [member.row_nodes + self.first[id(member.state)] for member in members]
        self._nodes = np.concatenate(nodes)
        self._directions = np.concatenate([member.row_directions for member in members])
        self._origin = np.concatenate([member.x_init for member in members])
        self.violation = np.zeros(len(self._nodes))

    @override
    def compute(self, x: np.ndarray, x_free: np.ndarray) -> None:
        rows = (self._nodes, self._directions, self._origin, self.violation)
        position_violation(x, x_free, *rows)


class PositionModel(LagrangianConstraint):
    """One row for each node and each used direction: w_j d_j . x.

    A point has three directions, a joint one, a body six of six numbers: three along an axis, then
    three about it, both normalised.

    Source: SoftRobots' PositionModel.
    """

    acts_on: ClassVar[tuple[str, ...]] = ("Vec3", "Rigid3", "Vec1")

    indices = Integers([0], "Nodes.", of="node")
    directions = Derivs(
        [], "Directions, which are normalised; the axes by default.", follows="reinit"
    )
    useDirections = Bools((3, 6, 1), [0, 0, 0], "True to use; all by default.", follows="reinit")
    weight = Reals(
        [1.0, 1.0, 1.0], "Factor of each direction's row.", per="direction", follows="reinit"
    )
    delta = Reals([], "Distance of each row in the last step.", unit="length", read_only=True)

    def init(self) -> None:
        """Check nodes, directions and weights.

        Raises:
            SceneError: a node does not exist, or the directions are not three.
        """
        nodes = self._nodes()
        if not len(nodes):
            complain(self, self.fault("does nothing without a node in 'indices'."))
        self.check_indices(nodes)
        used = self._used_directions()
        weights = self._weights()
        chosen = weights[used, None] * self._directions(used)[used]  # (used, deriv_size)
        self.row_directions = np.tile(chosen, (len(nodes), 1))
        self.row_nodes = np.repeat(nodes, int(used.sum()))
        self.row_numbers = np.arange(len(self.row_nodes))
        self.set_rows()
        self._counter = self.indices.getCounter()

    def _update_nodes(self) -> None:
        """Read changed nodes if changes count in every step."""
        if self.indices.getCounter() != self._counter and self.follows(self.indices) == "step":
            self.init()

    def set_rows(self) -> None:
        """Store rows, nodes and directions for `build`."""
        kind = self.state.kind
        self._entries = kind.entries(self.row_numbers, self.row_nodes, self.row_directions)

    @override
    def count_of(self, per: str) -> tuple[int, str] | None:
        return (
            (self.state.deriv_size, "directions") if per == "direction" else super().count_of(per)
        )

    def _used_directions(self) -> np.ndarray:
        used, width = self.useDirections.get(), self.state.deriv_size
        if self.useDirections.isSet() and len(used) != width:
            raise self.fault(
                f"has {len(used)} 'useDirections', but a node of {self.state.describe()} "
                f"({self.state.getTemplateName()}) has {width}."
            )
        if len(used) != width or not used.any():
            used = np.ones(width, dtype=bool)
            self.useDirections.set(used)
        return used

    def _weights(self) -> np.ndarray:
        weights, width = self.weight.get(), self.state.deriv_size
        if len(weights) != width:
            weights = np.full(width, weights[0] if len(weights) else 1.0)
            self.weight.set(weights)
        return weights

    def _directions(self, used: np.ndarray) -> np.ndarray:
        """Return the directions, with both parts of a body's normalised, shape (w, w)."""
        directions, width = self.directions.get(), self.state.deriv_size
        if not len(directions):
            directions = np.eye(width)
        if directions.shape != (width, width):
            names = {3: "three", 6: "six", 1: "one"}
            raise self.fault(f"needs {names[width]} directions, got {len(directions)}.")
        if not directions.any(axis=1)[used].all():
            raise self.fault("has a direction of length zero.")
        halves = directions.reshape(width, -1, min(width, 3))
        lengths = np.linalg.norm(halves, axis=2, keepdims=True)
        directions = (halves / np.where(lengths == 0.0, 1.0, lengths)).reshape(width, width)
        self.directions.set(directions)
        return directions

    def _nodes(self) -> np.ndarray:
        return self.indices.get()

    def reinit(self) -> None:
        """Check again."""
        self.init()

    @property
    @override
    def row_count(self) -> int:
        self._update_nodes()
        return len(self.row_nodes)

    @override
    def build(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        self._update_nodes()
        return self._entries

    def components_along(self, vectors: np.ndarray) -> np.ndarray:
        """Return the component of each row's vector along its direction, shape (row_count,)."""
        return np.einsum("ij,ij->i", self.row_directions, vectors)

    def free_motion(self) -> np.ndarray:
        """Return J (x_free - x) of each row."""
        state = self.state
        free, start = state.free_position.get(), state.position.get()
        nodes = self.row_nodes
        return self.components_along(self.state.kind.difference(free[nodes], start[nodes]))

    def positions(self) -> np.ndarray:
        """Return the position of each row's node, shape (row_count, coord_size)."""
        return self.state.position.get()[self.row_nodes]


class PositionConstraint(PositionModel):
    """Moves each node by `value` from its position at init, or pushes it with the force `value`.

    It needs exactly one direction: with more, SOFA's component creates fewer resolutions than rows,
    and its solver crashes. The force 0 only gives inverse control the row of an effector.
    """

    follows_otherwise = {"indices": "reinit"}
    block_type = PositionBlock

    value = Reals([0.0], "Displacements or multipliers (lambda), to choose from by valueIndex.")
    valueIndex = UInt(0, "Index of the entry of 'value' in use.")
    valueType = Choice("displacement", "Meaning of 'value'.", choices=("displacement", "force"))
    minForce = Real(0.0, "Smallest lambda.", unit="lambda of force")
    maxForce = Real(0.0, "Largest lambda.", unit="lambda of force")
    maxPositiveDisp = Real(0.0, "Largest displacement along the direction.", unit="length")
    maxNegativeDisp = Real(0.0, "Largest displacement against the direction.", unit="length")
    force = Real(0.0, "lambda of the last step.", unit="lambda of force", read_only=True)
    displacement = Real(0.0, "Displacement in the last step.", unit="length", read_only=True)

    def init(self) -> None:
        """Store the positions of the nodes."""
        super().init()
        used = int(self.useDirections.get().sum())
        if used != 1:
            raise self.fault(
                f"uses {used} directions; SOFA's solver crashes with more than one. Add one "
                "PositionConstraint for each direction, for instance useDirections=[1, 0, 0]."
            )
        self.x_init = self.positions().copy()

    @override
    def violation(self) -> np.ndarray:
        return self.free_motion() + self.components_along(
            self.state.kind.difference(self.positions(), self.x_init)
        )

    @override
    def resolution(self) -> np.ndarray:
        value = imposed_value(self)
        low, high = (-self.limit("maxNegativeDisp", np.inf), self.limit("maxPositiveDisp", np.inf))
        force_min, force_max = self.limit("minForce", -np.inf), self.limit("maxForce", np.inf)
        if self.valueType.get() == "force":
            value = max(min(value, force_max), force_min)
            row = row_parameters(IMPOSE_LAMBDA, value, delta_min=low, delta_max=high)
        else:
            value = max(min(value, high), low)
            if keeps_sofa_defects():  # the limits of the force are not read
                force_min, force_max = -np.inf, np.inf
            row = row_parameters(IMPOSE_DELTA, value, force_min, force_max)
        return np.tile(row, (self.row_count, 1))

    limit = read_limit

    def check_differentiable(self) -> None:
        """Check that derivatives are known: only without a force or displacement."""
        if not only_watches(self):
            super().check_differentiable()

    @override
    def store(self, lam: np.ndarray, delta: np.ndarray) -> None:
        self.force.set(float(lam[0]))
        self.displacement.set(float(delta[0]))
        self.delta.set(delta.copy())
