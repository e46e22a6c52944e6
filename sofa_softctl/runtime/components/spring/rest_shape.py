"""Springs from nodes to where they are at rest."""

from __future__ import annotations

import numpy as np
from typing_extensions import override

from sofa_softctl.errors import LinkError
from sofa_softctl.runtime.behavior.mechanics import ForceField, Pairs
from sofa_softctl.runtime.behavior.state import MechanicalState
from sofa_softctl.runtime.behavior.step_term import ConstantStiffnessTerm, StepTerm
from sofa_softctl.runtime.components.force.blocks import BlockForceField
from sofa_softctl.runtime.core.data.types import Bool, Bools, Color, Coords, Integers, Real, Reals
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.helper.message import complain, keeps_sofa_defects


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

    reads_rest = "step"

    acts_on = ("Vec3", "Rigid3", "Vec1")

    points = Integers([], "Nodes that are held; all when empty.", aliases=("indices",), of="node")
    stiffness = Reals(
        [], "Stiffness of each spring; 100 when empty.", unit="force/length", per="points"
    )
    angularStiffness = Reals(
        [],
        "Stiffness of rotations; 100 where there are fewer than stiffnesses.",
        unit="force*length",
        per="points",
    )
    external_points = Integers(
        [], "Nodes of the external state, one for each point.", of="external_rest_shape"
    )
    external_rest_shape = LinkType(
        "State whose positions are the springs' rest positions.", kind="state"
    )
    activeDirections = Bools(7, [1] * 7, "Directions in which the springs act.")
    recompute_indices = Bool(True, "Unused.")
    pivot_points = Coords(
        [], "Not supported: points about which bodies turn.", unit="length", follows="start"
    )
    topology = LinkType("Unused: the mesh does not change.")
    drawSpring = Bool(False, "Draw the springs.")
    springColor = Color([0.0, 1.0, 0.0, 1.0], "Color of the drawn springs.")

    _points_seen = -1
    """Counter of `points` when its nodes were found; -1 before, also where it is added in a run."""

    def init(self) -> None:
        """Find the external state, whose nodes may come later."""
        if len(self.pivot_points.get()):
            raise self.fault("does not support 'pivot_points': put the springs on mapped points.")
        self.external = external_state(self)

    def bwdInit(self) -> None:
        """Find the nodes, of which a mapping may have brought others.

        Raises:
            SceneError: a node does not exist.
        """
        self.nodes, self.targets = pulled_nodes(self, self.external)
        if not len(self.stiffness.get()):
            self.stiffness.set(np.array([100.0]))
        self._points_seen = self.points.getCounter()

    @override
    def count_of(self, per: str) -> tuple[int, str]:
        return len(self.points.get()) or self.state.count, "points"

    def reinit(self) -> None:
        """Find the nodes again."""
        self.bwdInit()

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

    @override
    def add_force(self, force: np.ndarray) -> None:
        if self.points.getCounter() != self._points_seen:
            self.bwdInit()
        k = self._springs(np.arange(len(self.nodes))) * self._active()
        np.subtract.at(force, self.nodes, k * self._stretch())

    @override
    def add_product(self, out: np.ndarray, v: np.ndarray, factor: float) -> None:
        k = self._springs(np.arange(len(self.nodes))) * self._active()
        np.add.at(out, self.nodes, factor * k * v[self.nodes])

    @override
    def pairs(self) -> Pairs:
        nodes = np.arange(self.state.block_count)  # of all nodes: the points may change
        return nodes, nodes

    @override
    def add_matrix(self, values: np.ndarray, slots: np.ndarray, factor: float) -> None:
        width = self.state.deriv_size
        k = self._springs(self.nodes)
        k[:, 3:] *= self._active()[3:]
        rows, axes = np.divmod(width * self.nodes[:, None] + np.arange(width), 3)
        np.add.at(values, (slots[rows], axes, axes), factor * k)

    def check_differentiable(self) -> None:
        """See ForceField: on points its stiffness is constant."""

    @override
    def step_term(self) -> StepTerm:
        return ConstantStiffnessTerm(self.add_product)


def _at(values: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The values at some places, the first one beyond their end."""
    return np.where(places < len(values), values[np.minimum(places, len(values) - 1)], values[0])


def external_state(field: ForceField) -> MechanicalState | None:
    """Where `external_rest_shape` leads; None without it.

    A warning where it leads nowhere: SOFA then goes on with the state's own rest positions.
    """
    link = field._links["external_rest_shape"]
    try:
        found: MechanicalState | None = link.getLinkedBase()
    except LinkError as error:
        problem = f"{error} As in SOFA the springs pull to the nodes' own rest positions."
        complain(field, LinkError(problem))
        link.assign("", link.where)
        found = None
    return found


def pulled_nodes(
    field: ForceField, external: MechanicalState | None, *, takes_first: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """The nodes that springs hold, and those of the external state to which they are pulled.

    None, with a warning, where there are not as many of both, as in SOFA.

    Args:
        field: Has the Data points and external_points.
        external: The external state; without it, the nodes are pulled to their own places.
        takes_first: Whether of more external nodes than points the first ones count.

    Raises:
        SceneError: a node does not exist.
    """
    given, others = field._data["points"].get(), field._data["external_points"].get()
    nodes = field.checked(given if len(given) else np.arange(field.state.count), "points")
    own = nodes if external is None else np.arange(external.count)
    targets = field.checked(others, "external_points", external) if len(others) else own
    if takes_first:
        targets = targets[: len(nodes)]
    if len(targets) != len(nodes):
        problem = field.fault(
            f"holds {len(nodes)} points, but pulls to {len(targets)} nodes of "
            f"{(external or field.state).describe()}: give as many 'external_points' as 'points'."
        )
        complain(field, problem, " It has no effect, as in SOFA.")
        nodes = targets = nodes[:0]
    return nodes, nodes if external is None else targets


class PolynomialRestShapeSpringsForceField(BlockForceField):
    """Springs to the rest position whose force is a polynomial of the strain, without a constant.

    With u from the rest to the node, the strain |u| / initialLength has the force p(strain) along
    u / sqrt(u^2 + exp(smoothShift - smoothScale u^2)). The step's stiffness is SOFA's, a diagonal
    one. polynomialDegree says how many of the coefficients in polynomialStiffness belong to each
    node; unless it has an entry for each node, all take the first polynomial.
    """

    reads_rest = "step"

    points = Integers([], "Nodes that are held; all when empty.", of="node")
    external_points = Integers(
        [], "Nodes of the external state, one for each point.", of="external_rest_shape"
    )
    external_rest_shape = LinkType("State whose positions are the rest.", kind="state")
    polynomialStiffness = Reals(
        [], "Coefficients of all polynomials; 100 when empty.", follows="reinit"
    )
    polynomialDegree = Integers(
        [], "Coefficients of each polynomial; 1 when empty.", follows="reinit"
    )
    initialLength = Reals(
        [], "Length by which strains count; 1 when empty.", unit="length", per="points"
    )
    smoothShift = Real(0.0, "Shift in the length of the direction.")
    smoothScale = Real(1.0, "Scale in the length of the direction.")
    recompute_indices = Bool(False, "Unused.")
    drawSpring = Bool(False, "Draw the springs.")
    springColor = Color([0.0, 1.0, 0.0, 1.0], "Color of the drawn springs.")
    showIndicesScale = Real(0.02, "Size of the drawn numbers.")

    _points_seen = -1
    """Counter of `points` when its nodes were found; -1 before, also where it is added in a run."""

    def init(self) -> None:
        """Find the external state, whose nodes may come later."""
        self._external = external_state(self)

    @override
    def count_of(self, per: str) -> tuple[int, str]:
        return len(self.points.get()) or self.state.count, "points"

    def reinit(self) -> None:
        """Find nodes and polynomials again."""
        self.bwdInit()

    def bwdInit(self) -> None:
        """Find nodes and polynomials.

        Raises:
            SceneError: a node does not exist, points do not fit, or coefficients are missing.
        """
        count = self.state.count
        self._nodes, self._targets = pulled_nodes(self, self._external, takes_first=True)
        self._points_seen = self.points.getCounter()
        for data, default in (
            (self.polynomialStiffness, 100.0),
            (self.polynomialDegree, 1),
            (self.initialLength, 1.0),
        ):
            if not len(data.get()):
                data.set(np.array([default]))
        degrees, coefficients = self.polynomialDegree.get(), self.polynomialStiffness.get()
        own = len(degrees) == len(self._nodes)
        missing = degrees.sum() - len(coefficients)
        problem = self.fault(
            f"has {len(coefficients)} numbers in 'polynomialStiffness', but polynomialDegree asks "
            f"for {degrees.sum()}."
        )
        is_short = (degrees if own else degrees[:1]).sum() > len(coefficients)
        if (degrees < 0).any() or (is_short and not keeps_sofa_defects()):
            raise problem
        if missing:
            then = "What is left is left out" if own else "All nodes take the first polynomial"
            then = "What is missing is 0, as mostly" if is_short else f"{then}, as"
            complain(self, problem, f" {then} in SOFA.")
        coefficients = np.append(coefficients, np.zeros(max(missing, 0)))
        parts = np.split(coefficients, np.cumsum(degrees))[:-1]
        width = max((len(part) for part in parts), default=0)
        table = np.array([np.pad(part, (0, width - len(part))) for part in parts])
        self._table = table if own else np.tile(table[0], (len(self._nodes), 1))
        self.set_pairs(np.arange(count), np.arange(count))

    @override
    def add_force(self, force: np.ndarray) -> None:
        if self.points.getCounter() != self._points_seen:
            self.bwdInit()
        source = self.state if self._external is None else self._external
        name = "rest_position" if self._external is None else "position"
        u = self.state._data["position"].get()[self._nodes]
        u = u - source._data[name].get()[self._targets]
        squared = (u * u).sum(axis=1)
        given = self.initialLength.get() if len(self.initialLength.get()) else np.array([1.0])
        numbers = np.arange(len(u))
        length = given[np.where(numbers < len(given), numbers, 0)]
        strain = np.sqrt(squared) / length
        powers = strain[:, None] ** np.arange(1, self._table.shape[1] + 1)
        lower = strain[:, None] ** np.arange(self._table.shape[1])
        value = (self._table * powers).sum(axis=1)
        slope = (self._table * lower * np.arange(1, self._table.shape[1] + 1)).sum(axis=1) / length
        scale = self.smoothScale.get()
        bump = np.exp(self.smoothShift.get() - scale * squared)
        distance = np.sqrt(squared + bump)
        direction = u / distance[:, None]
        np.subtract.at(force, self._nodes, value[:, None] * direction)
        part = value / distance
        weight = (slope - part) * (1.0 - scale * bump)
        diagonal = weight[:, None] * direction**2 + part[:, None]
        self.set_blocks(self._nodes, self._nodes, diagonal[:, :, None] * np.eye(3))
