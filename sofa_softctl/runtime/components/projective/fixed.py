"""Nodes that are fixed, in part or whole; bodies whose motion or rotation is held."""

from __future__ import annotations

import numpy as np
from typing_extensions import override

from sofa_softctl.base.source_line import describe
from sofa_softctl.runtime.components.projective.base import NodeConstraint
from sofa_softctl.runtime.core.data.data import Data
from sofa_softctl.runtime.core.data.types import Bool, Bools, Integers, Real
from sofa_softctl.runtime.helper import message
from sofa_softctl.runtime.helper.message import complain
from sofa_softctl.runtime.kernels.mapping import rigid


class FixedProjectiveConstraint(NodeConstraint):
    """Holds nodes: their rows of the system are identity and their velocity does not change.

    A held node that has a velocity keeps it under DefaultAnimationLoop, as in SOFA.
    """

    aliases = ("FixedConstraint",)

    indices = Integers([0], "Nodes that are held.", of="node")
    fixAll = Bool(False, "Hold all nodes.")
    activate_projectVelocity = Bool(False, "Also clear the velocity of held nodes.")
    showObject = Bool(True, "Draw the held nodes.")
    drawSize = Real(0.0, "Size of the drawn nodes.")

    def init(self) -> None:
        """Check the nodes."""
        self._seen: tuple[int, ...] = ()
        given, count = self.indices.get(), self.state.count
        exists = (given >= 0) & (given < count)
        if not exists.all():
            problem = f"has {given[~exists][0]} in 'indices', but there are {count} nodes."
            complain(self, self.fault(problem), " What does not exist is left out, as in SOFA.")
            self.indices.set(given[exists])
        self.fixed()

    @override
    def fixed(self) -> np.ndarray:
        seen = tuple(data.getCounter() for data in self._sources())
        if seen != self._seen:
            nodes = self.nodes()
            self._mask = np.zeros((self.state.count, self.state.deriv_size), dtype=bool)
            self._mask[slice(None) if self.fixAll.get() else nodes] = self._directions()
            self._seen = tuple(data.getCounter() for data in self._sources())
        return self._mask

    @override
    def in_matrix(self, fixed: np.ndarray) -> np.ndarray:
        return fixed

    def check_differentiable(self) -> None:
        """See ProjectiveConstraint: what is held stays so."""

    def _sources(self) -> tuple[Data, ...]:
        return (self.indices, self.fixAll)

    def _directions(self) -> np.ndarray:
        return np.ones(self.state.deriv_size, dtype=bool)

    @override
    def project_velocity(self, velocity: np.ndarray) -> None:
        if self.activate_projectVelocity.get():
            velocity[self.fixed()] = 0.0


class PartialFixedProjectiveConstraint(FixedProjectiveConstraint):
    """Holds nodes in some directions."""

    aliases = ("PartialFixedConstraint",)

    fixedDirections = Bools(
        (3, 6, 1), [1, 1, 1], "Directions in which the nodes are held; six for bodies."
    )
    projectVelocity = Bool(False, "Also clear the velocity of held directions.")

    def _sources(self) -> tuple[Data, ...]:
        return (self.indices, self.fixAll, self.fixedDirections)

    def _directions(self) -> np.ndarray:
        if self.activate_projectVelocity.get():
            complain(self, self.fault("reads projectVelocity, not activate_projectVelocity."))
        given, width = self.fixedDirections.get(), self.state.deriv_size
        if self.fixedDirections.isSet() and len(given) != width:
            raise self.fault(
                f"has {len(given)} 'fixedDirections', but a node of {self.state.describe()} "
                f"({self.state.getTemplateName()}) moves in {width}."
            )
        if len(given) != width:
            self.fixedDirections.set(np.ones(width, dtype=bool))
        directions: np.ndarray = self.fixedDirections.get()
        return directions

    @override
    def project_velocity(self, velocity: np.ndarray) -> None:
        if self.projectVelocity.get():
            velocity[self.fixed()] = 0.0


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

    def init(self) -> None:
        """Check the nodes, and warn of what its name does not say."""
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
        self._first = self.state.position.get()[:, 3:].copy()

    def fixed(self) -> np.ndarray:
        """See ProjectiveConstraint: nothing is held."""
        return self.mask(False)

    @override
    def project_position(self, position: np.ndarray) -> None:
        for i, first in enumerate(self._first):
            rest, before = position[i, 3:].copy(), first
            kept = np.array([0.0, 0.0, 0.0, 1.0])
            for axis, name in enumerate("XYZ"):
                if self._data[f"Fixed{name}Rotation"].get():
                    rest = _twist_and_swing(rest, axis)[1]
                    twist, before = _twist_and_swing(before, axis)
                    kept = rigid.product(twist, kept)
            position[i, 3:] = rigid.product(rest, kept)
        self.state.position.touch()


def _twist_and_swing(q: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """The part of a rotation q about an axis, and what is left: q = swing twist."""
    twist = np.zeros(4)
    twist[axis], twist[3] = q[axis], q[3]
    if not twist.any():
        twist[3] = 1.0
    twist /= np.linalg.norm(twist)
    swing = rigid.product(q, rigid.conjugate(twist))
    return twist, swing / np.linalg.norm(swing)
