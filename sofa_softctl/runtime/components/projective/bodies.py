"""Bodies whose motion or rotation is held."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.components.projective.base import NodeConstraint
from sofa_softctl.runtime.core.data.types import Bool, Integers, Real
from sofa_softctl.runtime.kernels.mapping import rigid


class FixedTranslationProjectiveConstraint(NodeConstraint):
    """Holds bodies, their rotations too, as SOFA's does; the matrix does not know of it.

    So a direct solver lets other bodies pull them by a force field that couples them.
    """

    acts_on = ("Rigid3",)
    aliases = ("FixedTranslationConstraint",)
    matrix_rows = False

    fixAll = Bool(False, "Hold all bodies.")
    coordinates = Integers([], "Unused, as in SOFA.")
    drawSize = Real(0.0, "Size of the drawn nodes.")

    def nodes(self) -> np.ndarray:
        """See NodeConstraint."""
        return np.arange(self.state.count) if self.fixAll.get() else super().nodes()


class FixedRotationProjectiveConstraint(NodeConstraint):
    """After each step takes back the rotations of all bodies about some axes of space.

    The rotation since init is split into rotations about x, y and z, of which those about the named
    axes become again what they were at init. Forces and velocities stay as they are.
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
        """Remember the bodies' orientations."""
        self._first = self.state._data["position"].get()[:, 3:].copy()

    def fixed(self) -> np.ndarray:
        """See ProjectiveConstraint: nothing is held."""
        return self.mask(False)

    def project_position(self, position: np.ndarray) -> None:
        """See ProjectiveConstraint."""
        for i, first in enumerate(self._first):
            rest, before = position[i, 3:].copy(), first
            kept = np.array([0.0, 0.0, 0.0, 1.0])
            for axis, name in enumerate("XYZ"):
                if self._data[f"Fixed{name}Rotation"].get():
                    rest = _twist_and_swing(rest, axis)[1]
                    twist, before = _twist_and_swing(before, axis)
                    kept = rigid.product(twist, kept)
            position[i, 3:] = rigid.product(rest, kept)
        self.state._data["position"].touch()


def _twist_and_swing(q: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """The part of a rotation q about an axis, and what is left: q = swing twist."""
    twist = np.zeros(4)
    twist[axis], twist[3] = q[axis], q[3]
    if not twist.any():
        twist[3] = 1.0
    twist /= np.linalg.norm(twist)
    swing = rigid.product(q, rigid.conjugate(twist))
    return twist, swing / np.linalg.norm(swing)
