"""Springs to the rest position."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.components.state.mechanical_object import MechanicalObject
from sofa_softctl.runtime.data_types import Bool, Bools, Integers, Reals, Vector
from sofa_softctl.runtime.link import LinkType
from sofa_softctl.runtime.roles import ForceField, Pairs


class RestShapeSpringsForceField(ForceField):
    """f = -k (x - x_rest) on `points`, or on all nodes when there are none.

    x_rest is the state's own rest position, or the position of `external_rest_shape`. With several
    stiffnesses the force takes the entry of the point's place in the list, but the matrix that of
    the node's number, as SOFA does; with one stiffness there is no difference.
    """

    points = Integers([], "Nodes that are held; all when empty.", aliases=("indices",))
    stiffness = Reals([], "Stiffness of each spring; 100 when empty.", unit="force/length")
    angularStiffness = Reals([], "Stiffness of rotations.", unit="force*length")
    external_points = Integers([], "Nodes of the external state, one for each point.")
    external_rest_shape = LinkType(
        "State whose positions are the springs' rest positions.", kind="state"
    )
    activeDirections = Bools(7, [1] * 7, "Directions in which the springs act.")
    recompute_indices = Bool(False, "Unused.")
    drawSpring = Bool(False, "Draw the springs.")
    springColor = Vector(4, [0.0, 1.0, 0.0, 1.0], "Color of the drawn springs.")

    def init(self) -> None:
        """Find the nodes.

        Raises:
            SceneError: a node does not exist, or the external points do not fit.
        """
        count = self.state.count
        given = self.points.get()
        self.nodes = given if len(given) else np.arange(count)
        if self.nodes.min(initial=0) < 0 or self.nodes.max(initial=-1) >= count:
            raise self.fault(f"has points up to {self.nodes.max()}, but there are {count} nodes.")
        self.external: MechanicalObject | None = self._links["external_rest_shape"].getLinkedBase()
        others = self.external_points.get()
        self.targets = others if len(others) else np.arange(len(self.nodes))
        if self.external is None:
            self.targets = self.nodes
        elif len(self.targets) != len(self.nodes):
            raise self.fault(
                f"has {len(self.nodes)} points but {len(self.targets)} external_points."
            )
        self._points_seen = self.points.getCounter()

    def reinit(self) -> None:
        """Find the nodes again."""
        self.init()

    def _by_place(self, places: np.ndarray) -> np.ndarray:
        """Stiffness at each place of the list of stiffnesses, the first one beyond its end."""
        given = self.stiffness.get()
        if not len(given):
            given = np.array([100.0])
        return np.where(places < len(given), given[np.minimum(places, len(given) - 1)], given[0])

    def _rest(self) -> np.ndarray:
        if self.external is None:
            return self.state._data["rest_position"].get()[self.nodes]
        return self.external._data["position"].get()[self.targets]

    def add_force(self, force: np.ndarray) -> None:
        """See ForceField."""
        if self.points.getCounter() != self._points_seen:
            self.init()
        k = self._by_place(np.arange(len(self.nodes)))[:, None] * self.activeDirections.get()[:3]
        x = self.state._data["position"].get()
        np.subtract.at(force, self.nodes, k * (x[self.nodes] - self._rest()))

    def add_product(self, out: np.ndarray, v: np.ndarray, factor: float) -> None:
        """See Contribution."""
        k = self._by_place(np.arange(len(self.nodes)))[:, None] * self.activeDirections.get()[:3]
        np.add.at(out, self.nodes, factor * k * v[self.nodes])

    def pairs(self) -> Pairs:
        """See Contribution."""
        nodes = np.arange(self.state.count)  # of all nodes: the points may change
        return nodes, nodes

    def add_matrix(self, values: np.ndarray, slots: np.ndarray, factor: float) -> None:
        """See Contribution."""
        k = factor * self._by_place(self.nodes)
        for i in range(3):
            np.add.at(values[:, i, i], slots[self.nodes], k)
