"""Bodies whose rotation is fixed about some axes."""

from __future__ import annotations

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.components.projective.base import NodeConstraint
from sofa_softctl.runtime.core.data.types import Bool, Integers, Real
from sofa_softctl.runtime.kernels.mapping import rigid


class FixedRotationProjectiveConstraint(NodeConstraint):
    """Reverts the rotations of all bodies about some axes of space after each step.

    The rotation is split into rotations about x, y and z; about the named axes it becomes the
    initial one. Forces and velocities do not change.
    """

    acts_on = ("Rigid3",)
    aliases = ("FixedRotationConstraint",)
    matrix_rows = False

    indices = Integers([], "Unused: it acts on all bodies.")
    FixedXRotation = Bool(False, "No rotation about x.")
    FixedYRotation = Bool(False, "No rotation about y.")
    FixedZRotation = Bool(False, "No rotation about z.")
    drawSize = Real(0.0, "Unused.")

    def init(self) -> None:
        """Store the bodies' orientations."""
        self._initial_orientations = self.state.position.get()[:, 3:].copy()

    def fixed_dofs(self) -> np.ndarray:
        """Return False for all numbers: nothing is fixed."""
        return self.mask(False)

    @override
    def project_position(self, position: np.ndarray) -> None:
        for i, first in enumerate(self._initial_orientations):
            turn, initial = position[i, 3:].copy(), first
            twists = np.array([0.0, 0.0, 0.0, 1.0])
            for axis, name in enumerate("XYZ"):
                if self._data[f"Fixed{name}Rotation"].get():
                    turn = _twist_and_swing(turn, axis)[1]
                    twist, initial = _twist_and_swing(initial, axis)
                    twists = rigid.product(twist, twists)
            position[i, 3:] = rigid.product(turn, twists)
        self.state.position.touch()


def _twist_and_swing(q: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """Split a rotation q into a twist about an axis and a swing: q = swing twist."""
    twist = np.zeros(4)
    twist[axis], twist[3] = q[axis], q[3]
    if not twist.any():
        twist[3] = 1.0
    twist /= np.linalg.norm(twist)
    swing = rigid.product(q, rigid.conjugate(twist))
    return twist, swing / np.linalg.norm(swing)
