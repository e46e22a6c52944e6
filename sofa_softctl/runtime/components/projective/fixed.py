"""Nodes that are fixed in some or all directions, and bodies with a fixed motion."""

from __future__ import annotations

import numpy as np
from typing_extensions import override

from sofa_softctl.base.source_line import describe
from sofa_softctl.runtime.components.projective.base import NodeConstraint
from sofa_softctl.runtime.core.data.data import Data, DataWatch
from sofa_softctl.runtime.core.data.types import Bool, Bools, Integers, Real
from sofa_softctl.runtime.helper import message
from sofa_softctl.runtime.helper.message import complain


class FixedProjectiveConstraint(NodeConstraint):
    """Fixes nodes: their rows of the system are identity, and their velocity does not change.

    As in SOFA, a fixed node with a velocity keeps it under DefaultAnimationLoop.
    """

    aliases = ("FixedConstraint",)

    indices = Integers([0], "Nodes to fix.", of="node")
    fixAll = Bool(False, "Fix all nodes.")
    activate_projectVelocity = Bool(False, "Also clear the velocity of fixed nodes.")
    showObject = Bool(True, "Draw the fixed nodes.")
    drawSize = Real(0.0, "Size of the drawn nodes.")

    def init(self) -> None:
        """Check the nodes."""
        self._watch = DataWatch(self._sources())
        indices, count = self.indices.get(), self.state.count
        exists = (indices >= 0) & (indices < count)
        if not exists.all():
            problem = f"has {indices[~exists][0]} in 'indices', but there are {count} nodes."
            complain(self, self.fault(problem), " What does not exist is left out, as in SOFA.")
            self.indices.set(indices[exists])
        self.fixed_dofs()

    @override
    def fixed_dofs(self) -> np.ndarray:
        if self._watch.has_changed():
            nodes = self.nodes()
            self._mask = np.zeros((self.state.count, self.state.deriv_size), dtype=bool)
            self._mask[slice(None) if self.fixAll.get() else nodes] = self._directions()
            self._watch.has_changed()  # nodes that do not exist are left out of `indices`
        return self._mask

    @override
    def in_matrix(self, fixed: np.ndarray) -> np.ndarray:
        return fixed

    def check_differentiable(self) -> None:
        """Accept: fixed nodes stay fixed."""

    def _sources(self) -> tuple[Data, ...]:
        return (self.indices, self.fixAll)

    def _directions(self) -> np.ndarray:
        return np.ones(self.state.deriv_size, dtype=bool)

    @override
    def project_velocity(self, velocity: np.ndarray) -> None:
        if self.activate_projectVelocity.get():
            velocity[self.fixed_dofs()] = 0.0


class PartialFixedProjectiveConstraint(FixedProjectiveConstraint):
    """Fixes nodes in some directions."""

    aliases = ("PartialFixedConstraint",)

    fixedDirections = Bools((3, 6, 1), [1, 1, 1], "Directions to fix; six for bodies.")
    projectVelocity = Bool(False, "Also clear the velocity of fixed directions.")

    def _sources(self) -> tuple[Data, ...]:
        return (self.indices, self.fixAll, self.fixedDirections)

    def _directions(self) -> np.ndarray:
        if self.activate_projectVelocity.get():
            complain(self, self.fault("reads projectVelocity, not activate_projectVelocity."))
        values, width = self.fixedDirections.get(), self.state.deriv_size
        if self.fixedDirections.isSet() and len(values) != width:
            raise self.fault(
                f"has {len(values)} 'fixedDirections', but a node of {self.state.describe()} "
                f"({self.state.getTemplateName()}) moves in {width}."
            )
        if len(values) != width:
            self.fixedDirections.set(np.ones(width, dtype=bool))
        return self.fixedDirections.get()

    @override
    def project_velocity(self, velocity: np.ndarray) -> None:
        if self.projectVelocity.get():
            velocity[self.fixed_dofs()] = 0.0


class FixedTranslationProjectiveConstraint(NodeConstraint):
    """Fixes bodies, including rotations, as in SOFA; the matrix ignores it.

    With a direct solver, force fields that couple them to other bodies thus pull them.
    """

    acts_on = ("Rigid3",)
    aliases = ("FixedTranslationConstraint",)
    matrix_rows = False

    fixAll = Bool(False, "Fix all bodies.")
    coordinates = Integers([], "Unused, as in SOFA.")
    drawSize = Real(0.0, "Size of the drawn nodes.")

    def init(self) -> None:
        """Check the nodes, and warn that rotations are fixed as well."""
        super().init()
        message.warning(
            self,
            f"{describe(self._where)}: {self.describe()} holds the rotations of its bodies, too, "
            "as SOFA v25.06 does, whatever its name says. Use a PartialFixedProjectiveConstraint "
            "with fixedDirections=[1, 1, 1, 0, 0, 0] to leave them free.",
        )

    @override
    def nodes(self) -> np.ndarray:
        return np.arange(self.state.count) if self.fixAll.get() else super().nodes()
