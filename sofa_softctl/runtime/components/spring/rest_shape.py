"""Springs between nodes and their rest positions."""

from __future__ import annotations

import numpy as np
from typing_extensions import override

from sofa_softctl.errors import LinkError
from sofa_softctl.runtime.behavior.mechanics import ForceField, Pairs
from sofa_softctl.runtime.behavior.state import MechanicalState
from sofa_softctl.runtime.behavior.step_term import ConstantStiffnessTerm, StepTerm
from sofa_softctl.runtime.components.force.blocks import BlockForceField
from sofa_softctl.runtime.core.data.data import DataWatch
from sofa_softctl.runtime.core.data.types import Bool, Bools, Color, Coords, Integers, Real, Reals
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.helper.message import complain, keeps_sofa_defects


class RestShapeSpringsForceField(ForceField):
    """f = -k (x - x_rest) on `points`, or on all nodes when there are none.

    x_rest is the state's own rest position, or the position of `external_rest_shape`; if the target
    of that link does not exist, a warning is given and the own rest position is used. As in SOFA,
    with several stiffnesses the force takes the entry at the point's index in the list, but the
    matrix takes the entry at the node's number, and activeDirections affect only rotations in the
    matrix. With one stiffness and all directions there is no difference.

    On bodies a moment acts, too: -angularStiffness times axis times angle of the rotation from the
    rest position, with a constant stiffness.
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
    """Counter of `points` when its nodes were found; -1 before."""

    def init(self) -> None:
        """Find the external state, whose nodes may come later."""
        if len(self.pivot_points.get()):
            raise self.fault("does not support 'pivot_points': put the springs on mapped points.")
        self.external = external_state(self)
        self._watch = DataWatch(
            (self.points, self.stiffness, self.angularStiffness, self.activeDirections)
        )

    def bwdInit(self) -> None:
        """Find the nodes; a mapping may have added some.

        Raises:
            SceneError: a node does not exist.
        """
        self.nodes, self.targets = pulled_nodes(self, self.external)
        if not len(self.stiffness.get()):
            self.stiffness.set(np.array([100.0]))
        self._points_seen = self.points.getCounter()
        self._watch.has_changed()
        self._read()

    def _update(self) -> None:
        """Find the nodes again, and read the stiffnesses, if a Data has changed."""
        if not self._watch.has_changed():
            return
        if self.points.getCounter() != self._points_seen:
            self.bwdInit()
        else:
            self._read()

    def _read(self) -> None:
        """Compute the stiffnesses in forces and in the matrix from the Data."""
        width, active = self.state.deriv_size, self.activeDirections.get()
        self._pull = self._springs(np.arange(len(self.nodes))) * active[:width]
        self._in_matrix = self._springs(self.nodes)
        self._in_matrix[:, 3:] *= active[3:width]
        self._places = np.divmod(width * self.nodes[:, None] + np.arange(width), 3)

    @override
    def count_of(self, per: str) -> tuple[int, str]:
        return len(self.points.get()) or self.state.count, "points"

    def reinit(self) -> None:
        """Find the nodes again."""
        self.bwdInit()

    def _springs(self, indices: np.ndarray) -> np.ndarray:
        """Return the stiffness at each index of the lists along each direction, (k, deriv_size)."""
        stiffness = self.stiffness.get() if len(self.stiffness.get()) else np.array([100.0])
        k = np.repeat(_values_at(stiffness, indices)[:, None], self.state.deriv_size, axis=1)
        if k.shape[1] == 6:
            angular = np.full(len(stiffness), 100.0)
            angular_listed = self.angularStiffness.get()[: len(stiffness)]
            angular[: len(angular_listed)] = angular_listed
            k[:, 3:] = _values_at(angular, indices)[:, None]
        return k

    def _stretch(self) -> np.ndarray:
        """Return the displacements of the listed nodes from rest, shape (k, deriv_size)."""
        x = self.state.position.get()[self.nodes]
        if self.external is None:
            rest = self.state.rest_position.get()[self.nodes]
        else:
            rest = self.external.position.get()[self.targets]
        return self.state.kind.difference(x, rest)

    @override
    def add_force(self, force: np.ndarray) -> None:
        self._update()
        np.subtract.at(force, self.nodes, self._pull * self._stretch())

    @override
    def add_product(self, out: np.ndarray, v: np.ndarray, factor: float) -> None:
        self._update()
        np.add.at(out, self.nodes, factor * self._pull * v[self.nodes])

    @override
    def pairs(self) -> Pairs:
        nodes = np.arange(self.state.block_count)  # all nodes: the points may change
        return nodes, nodes

    @override
    def add_matrix(self, values: np.ndarray, slots: np.ndarray, factor: float) -> None:
        self._update()
        rows, axes = self._places
        np.add.at(values, (slots[rows], axes, axes), factor * self._in_matrix)

    def check_differentiable(self) -> None:
        """Raise nothing: the stiffness on points is constant."""

    @override
    def step_term(self) -> StepTerm:
        return ConstantStiffnessTerm(self.add_product)


def _values_at(values: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Return the values at some indices; the first value beyond the end."""
    return np.where(indices < len(values), values[np.minimum(indices, len(values) - 1)], values[0])


def external_state(field: ForceField) -> MechanicalState | None:
    """Return the state of `external_rest_shape`, or None without it.

    If its target does not exist, a warning is given, and SOFA uses the state's own rest positions.
    """
    link = field._links["external_rest_shape"]
    try:
        external: MechanicalState | None = link.getLinkedBase()
    except LinkError as error:
        problem = f"{error} As in SOFA the springs pull to the nodes' own rest positions."
        complain(field, LinkError(problem))
        link.assign("", link.where)
        external = None
    return external


def pulled_nodes(
    field: ForceField, external: MechanicalState | None, *, takes_first: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return the nodes with springs, and the nodes of the external state that pull them.

    If their numbers differ, both are empty, with a warning, as in SOFA.

    Args:
        field: Force field with the Data points and external_points.
        external: External state, or None to pull nodes to their own rest positions.
        takes_first: Use the first external nodes if there are more of them than points.

    Raises:
        SceneError: a node does not exist.
    """
    points, external_points = field.points.get(), field.external_points.get()
    nodes = field.check_indices(points if len(points) else np.arange(field.state.count), "points")
    default_targets = nodes if external is None else np.arange(external.count)
    targets = (
        field.check_indices(external_points, "external_points", external)
        if len(external_points)
        else default_targets
    )
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

    With u from the rest position to the node, the force is p(strain) along
    u / sqrt(u^2 + exp(smoothShift - smoothScale u^2)), with strain = |u| / initialLength. The
    step's stiffness is SOFA's, which is diagonal. polynomialDegree is the number of coefficients in
    polynomialStiffness of each node; unless it has an entry for each node, all nodes take the first
    polynomial.
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
    """Counter of `points` when its nodes were found; -1 before."""

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
        has_own_polynomials = len(degrees) == len(self._nodes)
        missing = degrees.sum() - len(coefficients)
        problem = self.fault(
            f"has {len(coefficients)} numbers in 'polynomialStiffness', but polynomialDegree asks "
            f"for {degrees.sum()}."
        )
        is_short = (degrees if has_own_polynomials else degrees[:1]).sum() > len(coefficients)
        if (degrees < 0).any() or (is_short and not keeps_sofa_defects()):
            raise problem
        if missing:
            consequence = (
                "What is left is left out"
                if has_own_polynomials
                else "All nodes take the first polynomial"
            )
            consequence = "What is missing is 0, as mostly" if is_short else f"{consequence}, as"
            complain(self, problem, f" {consequence} in SOFA.")
        coefficients = np.append(coefficients, np.zeros(max(missing, 0)))
        parts = np.split(coefficients, np.cumsum(degrees))[:-1]
        width = max((len(part) for part in parts), default=0)
        table = np.array([np.pad(part, (0, width - len(part))) for part in parts])
        self._table = table if has_own_polynomials else np.tile(table[0], (len(self._nodes), 1))
        self.set_pairs(np.arange(count), np.arange(count))

    @override
    def add_force(self, force: np.ndarray) -> None:
        if self.points.getCounter() != self._points_seen:
            self.bwdInit()
        source = self.state if self._external is None else self._external
        name = "rest_position" if self._external is None else "position"
        u = self.state.position.get()[self._nodes]
        u = u - source._data[name].get()[self._targets]
        squared = (u * u).sum(axis=1)
        lengths = self.initialLength.get() if len(self.initialLength.get()) else np.array([1.0])
        numbers = np.arange(len(u))
        length = lengths[np.where(numbers < len(lengths), numbers, 0)]
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
        secant_stiffness = value / distance
        weight = (slope - secant_stiffness) * (1.0 - scale * bump)
        diagonal = weight[:, None] * direction**2 + secant_stiffness[:, None]
        self.set_blocks(self._nodes, self._nodes, diagonal[:, :, None] * np.eye(3))
