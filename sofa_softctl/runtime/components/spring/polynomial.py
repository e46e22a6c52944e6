"""PolynomialRestShapeSpringsForceField."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.components.force.blocks import BlockForceField
from sofa_softctl.runtime.components.spring.external import external_state
from sofa_softctl.runtime.core.data.types import Bool, Color, Integers, Real, Reals
from sofa_softctl.runtime.core.link import LinkType


class PolynomialRestShapeSpringsForceField(BlockForceField):
    """Springs to the rest position whose force is a polynomial of the strain, without a constant.

    With u from the rest to the node, the strain |u| / initialLength has the force p(strain) along
    u / sqrt(u^2 + exp(smoothShift - smoothScale u^2)). The step's stiffness is SOFA's, a diagonal
    one. polynomialDegree says how many of the coefficients in polynomialStiffness belong to each
    node; unless it has an entry for each node, all take the first polynomial.
    """

    points = Integers([], "Nodes that are held; all when empty.")
    external_points = Integers([], "Nodes of the external state, one for each point.")
    external_rest_shape = LinkType("State whose positions are the rest.", kind="state")
    polynomialStiffness = Reals([], "Coefficients of all polynomials; 100 when empty.")
    polynomialDegree = Integers([], "Coefficients of each polynomial; 1 when empty.")
    initialLength = Reals([], "Length by which strains count; 1 when empty.", unit="length")
    smoothShift = Real(0.0, "Shift in the length of the direction.")
    smoothScale = Real(1.0, "Scale in the length of the direction.")
    recompute_indices = Bool(False, "Unused.")
    drawSpring = Bool(False, "Draw the springs.")
    springColor = Color([0.0, 1.0, 0.0, 1.0], "Color of the drawn springs.")
    showIndicesScale = Real(0.02, "Size of the drawn numbers.")

    def init(self) -> None:
        """Find the external state, whose nodes may come later."""
        self._external = external_state(self)

    def bwdInit(self) -> None:
        """Find nodes and polynomials.

        Raises:
            SceneError: a node does not exist, points do not fit, or coefficients are missing.
        """
        given, count = self.points.get(), self.state.count
        self._nodes = given if len(given) else np.arange(count)
        self.checked(self._nodes, "points")
        others = self.external_points.get()
        self._targets = self._nodes
        if self._external is not None:
            self._targets = others if len(others) else np.arange(self._external.count)
            if len(self._targets) < len(self._nodes):
                raise self.fault(
                    f"has {len(self._nodes)} points but {len(self._targets)} external points."
                )
            self._targets = self._targets[: len(self._nodes)]
        degrees = self.polynomialDegree.get()
        degrees = degrees if len(degrees) else np.array([1])
        coefficients = self.polynomialStiffness.get()
        coefficients = coefficients if len(coefficients) else np.array([100.0])
        if degrees.sum() > len(coefficients) or (degrees < 0).any():
            raise self.fault(
                f"has {len(coefficients)} numbers in 'polynomialStiffness', but polynomialDegree "
                f"asks for {degrees.sum()}."
            )
        parts = np.split(coefficients, np.cumsum(degrees))[:-1]
        own = len(parts) == len(self._nodes)
        width = max((len(part) for part in parts), default=0)
        table = np.array([np.pad(part, (0, width - len(part))) for part in parts])
        self._table = table if own else np.tile(table[0], (len(self._nodes), 1))
        self.set_pairs(np.arange(count), np.arange(count))

    def add_force(self, force: np.ndarray) -> None:
        """See ForceField."""
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
