"""SpringForceField: springs between pairs of nodes."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from sofa_softctl.runtime.components.spring.pair import PairForceField
from sofa_softctl.runtime.core.data.types import Int, Integers, Real, Reals, Text, Vectors
from sofa_softctl.runtime.helper.strictness import complain


class Springs(NamedTuple):
    """Springs as arrays of one entry each."""

    ones: np.ndarray
    """Node of the first state."""
    twos: np.ndarray
    """Node of the second state."""
    stiffness: np.ndarray
    """[force/length]."""
    damping: np.ndarray
    """[force*time/length]."""
    length: np.ndarray
    """At rest [length]."""
    pulls_only: np.ndarray
    """Whether it acts only when it is longer than at rest."""
    enabled: np.ndarray
    """Whether it acts at all."""


class LinearSpringField(PairForceField):
    """f = k (|u| - L) + d (relative velocity along u) along u, from the first to the second node.

    The step's stiffness is the derivative of the force, the damping part taken as constant force.
    """

    tiny = 1e-9
    """Length up to which a spring has no direction, and no force."""

    def springs(self) -> Springs:
        """The springs of this moment."""
        raise NotImplementedError

    def add_pair_force(self, force: np.ndarray) -> None:
        """See PairForceField."""
        springs = self.springs()
        one, two = self.places(springs.ones, springs.twos)
        f, K = self._law(springs, one, two)
        np.add.at(force[:, :3], one, f)
        np.subtract.at(force[:, :3], two, f)
        self.keep(one, two, K)

    def keep(self, one: np.ndarray, two: np.ndarray, K: np.ndarray) -> None:
        """Keep the stiffness K (k, 3, 3) between nodes of the state on which it acts."""
        if self.state.deriv_size == 1:
            self.set_blocks(*_of_joints(one, two, K))
            return
        rows = self.state.deriv_size // 3
        one, two = one * rows, two * rows
        self.set_blocks(
            np.concatenate([one, two, one]),
            np.concatenate([one, two, two]),
            np.concatenate([K, K, -K]),
        )

    def set_every_pair(self, ones: np.ndarray, twos: np.ndarray) -> None:
        """Say which nodes may ever be joined."""
        one, two = self.places(ones, twos)
        if self.state.deriv_size == 1:
            self.set_pairs(*_of_joints(one, two, np.zeros((len(one), 1, 1)))[:2])
            return
        rows = self.state.deriv_size // 3
        one, two = one * rows, two * rows
        self.set_pairs(np.concatenate([one, two, one]), np.concatenate([one, two, two]))

    def _law(
        self, springs: Springs, one: np.ndarray, two: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Force on the first node (k, 3) and df1/dx2 of each spring (k, 3, 3)."""
        x = self.state._data["position"].get()[:, :3]
        v = self.state._data["velocity"].get()[:, :3]
        u = x[two] - x[one]
        d = np.sqrt((u * u).sum(axis=1))
        acts = springs.enabled & (d > self.tiny)
        acts &= ~springs.pulls_only | (d > springs.length)
        inverse = 1.0 / np.where(acts, d, 1.0)
        u = u * inverse[:, None]
        speed = (u * (v[two] - v[one])).sum(axis=1)
        strength = springs.stiffness * (d - springs.length) + springs.damping * speed
        turn = strength * inverse
        K = (springs.stiffness - turn)[:, None, None] * u[:, :, None] * u[:, None, :]
        K += turn[:, None, None] * np.eye(u.shape[1])
        force = u * strength[:, None]
        return np.where(acts[:, None], force, 0.0), np.where(acts[:, None, None], K, 0.0)


class SpringForceField(LinearSpringField):
    """Springs, given whole as `spring`, or by indices1 and indices2 with lists beside them.

    A list beside them may be shorter than they are: its last entry goes on. Without lengths they
    are 0.
    """

    acts_on = ("Vec3", "Rigid3", "Vec1")
    aliases: ClassVar[tuple[str, ...]] = ("StiffSpringForceField",)

    spring = Vectors(5, [], "For each: two nodes, stiffness, damping, rest length.")
    springsIndices1 = Integers([], "Nodes of the first state.", aliases=("indices1",))
    springsIndices2 = Integers([], "Nodes of the second state.", aliases=("indices2",))
    stiffness = Reals([100.0], "Stiffness of each.", unit="force/length")
    damping = Reals([5.0], "Damping of each.", unit="force*time/length")
    lengths = Reals([], "Rest length of each.", unit="length", aliases=("length",))
    elongationOnly = Integers([0], "1 for springs that pull only.")
    enabled = Integers([1], "0 for springs that do nothing.")
    filename = Text("", "Not supported: file with springs.", aliases=("fileSprings",))
    showArrowSize = Real(0.01, "Size of the drawn springs.")
    drawMode = Int(0, "How to draw the springs.")

    def init(self) -> None:
        """Read the lists; nodes are checked when the systems are found, after all states are.

        Raises:
            SceneError: the lists of nodes are no pairs, or a file is given.
        """
        if self.filename.get():
            raise self.fault("does not read springs from a file: give them as 'spring'.")
        self._seen: tuple[int, ...] = ()
        self._found = self._read()
        self._ready = False

    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """See Contribution."""
        if not self._ready:
            self.springs()
        return super().pairs()

    def springs(self) -> Springs:
        """See LinearSpringField."""
        sources = (self.spring, self.springsIndices1, self.springsIndices2, self.lengths)
        seen = tuple(data.getCounter() for data in sources)
        if seen != self._seen or not self._ready:
            self._found = self._read()
            self.set_every_pair(*self.every_pair())
            self._seen, self._ready = seen, True
        return self._found

    def every_pair(self) -> tuple[np.ndarray, np.ndarray]:
        """Nodes that a spring joins, or may join later."""
        return self._found.ones, self._found.twos

    def _read(self) -> Springs:
        ones, twos = self.springsIndices1.get(), self.springsIndices2.get()
        if self.spring.isSet():
            given = self.spring.get()
            ones, twos = given[:, 0].astype(np.int64), given[:, 1].astype(np.int64)
            values = [given[:, 2], given[:, 3], given[:, 4]]
        else:
            if len(ones) != len(twos):
                complain(
                    self,
                    self.fault(f"has {len(ones)} indices1, but {len(twos)} indices2: no springs."),
                )
                ones, twos = ones[:0], twos[:0]
            lists = (self.stiffness, self.damping, self.lengths)
            values = [_stretched(data.get(), len(ones), 0.0) for data in lists]
        pulls = _stretched(self.elongationOnly.get(), len(ones), 0).astype(bool)
        enabled = _stretched(self.enabled.get(), len(ones), 1).astype(bool)
        k, d, length = values
        return Springs(ones, twos, k, d, length, pulls, enabled)


def _of_joints(
    one: np.ndarray, two: np.ndarray, K: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, columns and blocks of stiffnesses (k, 1, 1) between joints, three of which share a row.

    A block of a row with itself holds both halves of what is symmetric.
    """
    axes = np.eye(3)
    row, column = np.concatenate([one, two, one]), np.concatenate([one, two, two])
    blocks = axes[row % 3][:, :, None] * axes[column % 3][:, None, :]
    blocks *= np.concatenate([K, K, -K])
    row, column = row // 3, column // 3
    shared = (row == column) & (np.arange(len(row)) >= 2 * len(one))
    blocks[shared] += blocks[shared].transpose(0, 2, 1)
    return row, column, blocks


def _stretched(values: np.ndarray, count: int, otherwise: float) -> np.ndarray:
    """As many values: the last one goes on."""
    if not len(values):
        return np.full(count, otherwise)
    return values[np.minimum(np.arange(count), len(values) - 1)]


class ParallelSpringForceField(SpringForceField):
    """SpringForceField; here it uses one processor."""

    aliases = ("ParallelStiffSpringForceField",)

    nbThreads = Int(0, "Unused.")
    taskSchedulerType = Text("_default", "Unused.")
