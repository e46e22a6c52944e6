"""RestShapeSpringsForceField."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.behavior.mechanics import ForceField, Pairs
from sofa_softctl.runtime.behavior.step_term import ConstantStiffnessTerm, StepTerm
from sofa_softctl.runtime.components.spring.external import external_state
from sofa_softctl.runtime.core.data.types import Bool, Bools, Color, Coords, Integers, Reals
from sofa_softctl.runtime.core.link import LinkType


class RestShapeSpringsForceField(ForceField):
    """f = -k (x - x_rest) on `points`, or on all nodes when there are none.

    x_rest is the state's own rest position, or the position of `external_rest_shape`; where that
    link leads nowhere, a warning, and the own rest position. With several
    stiffnesses the force takes the entry of the point's place in the list, but the matrix that of
    the node's number, and there activeDirections count for rotations only, as SOFA does; with one
    stiffness and all directions there is no difference.

    On bodies, besides, a moment -angularStiffness times axis times angle of the rotation from the
    rest position; its stiffness is taken as constant.
    """

    acts_on = ("Vec3", "Rigid3", "Vec1")

    points = Integers([], "Nodes that are held; all when empty.", aliases=("indices",))
    stiffness = Reals([], "Stiffness of each spring; 100 when empty.", unit="force/length")
    angularStiffness = Reals(
        [],
        "Stiffness of rotations; 100 where there are fewer than stiffnesses.",
        unit="force*length",
    )
    external_points = Integers([], "Nodes of the external state, one for each point.")
    external_rest_shape = LinkType(
        "State whose positions are the springs' rest positions.", kind="state"
    )
    activeDirections = Bools(7, [1] * 7, "Directions in which the springs act.")
    recompute_indices = Bool(True, "Unused.")
    pivot_points = Coords([], "Not supported: points about which bodies turn.", unit="length")
    topology = LinkType("Unused: the mesh does not change.")
    drawSpring = Bool(False, "Draw the springs.")
    springColor = Color([0.0, 1.0, 0.0, 1.0], "Color of the drawn springs.")

    def init(self) -> None:
        """Find the nodes.

        Raises:
            SceneError: a node does not exist, or the external points do not fit.
        """
        count = self.state.count
        if len(self.pivot_points.get()):
            raise self.fault("does not support 'pivot_points': put the springs on mapped points.")
        given = self.points.get()
        self.nodes = given if len(given) else np.arange(count)
        self.checked(self.nodes, "points")
        self.external = external_state(self)
        others = self.external_points.get()
        self.targets = others if len(others) else np.arange(len(self.nodes))
        if len(self.targets) != len(self.nodes):
            raise self.fault(
                f"has {len(self.nodes)} points but {len(self.targets)} external_points."
            )
        if self.external is None:
            self.targets = self.nodes
        self._points_seen = self.points.getCounter()

    def reinit(self) -> None:
        """Find the nodes again."""
        self.init()

    def _springs(self, places: np.ndarray) -> np.ndarray:
        """Stiffness at each place of the lists along each direction, shape (k, deriv_size)."""
        given = self.stiffness.get() if len(self.stiffness.get()) else np.array([100.0])
        k = np.repeat(_at(given, places)[:, None], self.state.deriv_size, axis=1)
        if k.shape[1] == 6:
            angular = np.full(len(given), 100.0)
            listed = self.angularStiffness.get()[: len(given)]
            angular[: len(listed)] = listed
            k[:, 3:] = _at(angular, places)[:, None]
        return k

    def _stretch(self) -> np.ndarray:
        """From rest to the present positions of the listed nodes, shape (k, deriv_size)."""
        x = self.state._data["position"].get()[self.nodes]
        if self.external is None:
            rest = self.state._data["rest_position"].get()[self.nodes]
        else:
            rest = self.external._data["position"].get()[self.targets]
        return self.state.kind.difference(x, rest)

    def _active(self) -> np.ndarray:
        return self.activeDirections.get()[: self.state.deriv_size]

    def add_force(self, force: np.ndarray) -> None:
        """See ForceField."""
        if self.points.getCounter() != self._points_seen:
            self.init()
        k = self._springs(np.arange(len(self.nodes))) * self._active()
        np.subtract.at(force, self.nodes, k * self._stretch())

    def add_product(self, out: np.ndarray, v: np.ndarray, factor: float) -> None:
        """See Contribution."""
        k = self._springs(np.arange(len(self.nodes))) * self._active()
        np.add.at(out, self.nodes, factor * k * v[self.nodes])

    def pairs(self) -> Pairs:
        """See Contribution."""
        nodes = np.arange(self.state.block_count)  # of all nodes: the points may change
        return nodes, nodes

    def add_matrix(self, values: np.ndarray, slots: np.ndarray, factor: float) -> None:
        """See Contribution."""
        width = self.state.deriv_size
        k = self._springs(self.nodes)
        k[:, 3:] *= self._active()[3:]
        rows, axes = np.divmod(width * self.nodes[:, None] + np.arange(width), 3)
        np.add.at(values, (slots[rows], axes, axes), factor * k)

    def check_differentiable(self) -> None:
        """See ForceField: on points its stiffness is constant."""

    def step_term(self) -> StepTerm:
        """See ForceField."""
        return ConstantStiffnessTerm(self.add_product)


def _at(values: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The values at some places, the first one beyond their end."""
    return np.where(places < len(values), values[np.minimum(places, len(values) - 1)], values[0])
