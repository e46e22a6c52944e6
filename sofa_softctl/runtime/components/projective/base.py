"""Base class of projective constraints on some nodes."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from typing_extensions import override

from sofa_softctl.base.source_line import describe
from sofa_softctl.runtime.behavior.mechanics import ProjectiveConstraint
from sofa_softctl.runtime.behavior.solvers import DirectLinearSolver
from sofa_softctl.runtime.core.data.types import Int, Integers
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.helper import message


class NodeConstraint(ProjectiveConstraint):
    """Acts on `indices`, whose rows of the matrix are identity; forces do not move them."""

    acts_on: ClassVar[tuple[str, ...]] = ("Vec3", "Rigid3", "Vec1")
    matrix_rows: ClassVar[bool] = True
    """True if the rows of its nodes are identity."""
    _has_released = False
    """True after a warning that its nodes are free."""

    indices = Integers([0], "Nodes on which it acts.", of="node")
    topology = LinkType("Unused: the mesh does not change.")
    group = Int(0, "Unused.")

    def init(self) -> None:
        """Check the nodes.

        Raises:
            SceneError: a node does not exist.
        """
        self.nodes()

    def refuse_direct_solver(self) -> None:
        """Raise SceneError for a direct solver, whose matrix ignores the constraint."""
        solver = self._context.find_upward("linear solver") if self._context is not None else None
        if isinstance(solver, DirectLinearSolver):
            raise self.fault(
                f"does not work with {solver.describe()}: as in SOFA a matrix does not know of it, "
                "and the motion would grow without bound. Take a CGLinearSolver instead."
            )

    def nodes(self) -> np.ndarray:
        """Return the nodes, after a check that they exist."""
        return self.check_indices(self.indices.get())

    def mask(self, active: bool = True) -> np.ndarray:
        """Return True for all numbers of its nodes, if `active`."""
        mask = np.zeros((self.state.count, self.state.deriv_size), dtype=bool)
        if active:
            mask[self.nodes()] = True
        return mask

    @override
    def fixed_dofs(self) -> np.ndarray:
        return self.mask()

    @override
    def in_matrix(self, fixed: np.ndarray) -> np.ndarray:
        return self.mask(self.matrix_rows)

    def warn_of_release(self, last: float) -> None:
        """Warn, once, that its nodes are free after the last of its times."""
        if self._has_released:
            return
        self._has_released = True
        message.warning(
            self,
            f"{describe(self._where)}: {self.describe()} lets its nodes go at "
            f"t = {self.time():.4g}, since the last of its 'keyTimes' is {last:.4g}, as in SOFA. "
            "Repeat the last entry at a later time to hold them.",
        )
