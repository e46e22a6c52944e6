"""SpringForceField: springs between pairs of nodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from typing_extensions import override

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.behavior.state import MechanicalState
from sofa_softctl.runtime.components.force.blocks import BlockForceField
from sofa_softctl.runtime.components.mapping.copies import CopyMapping
from sofa_softctl.runtime.components.state.mechanical_object import MechanicalObject
from sofa_softctl.runtime.core.data.data import Data
from sofa_softctl.runtime.core.data.types import Int, Integers, Real, Reals, Text, Vectors
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.helper.message import complain


class PairForceField(BlockForceField):
    """Forces between nodes of object1 and object2; without these links of the node's own state.

    Between two states it acts on a state of its own that holds the nodes of both, first those of
    object1, and follows them.
    """

    acts_on: ClassVar[tuple[str, ...]] = ("Vec3", "Rigid3")
    acts_alone = True

    object1 = LinkType("First state; the node's own by default.", kind="state")
    object2 = LinkType("Second state; the node's own by default.", kind="state")

    @cached_property
    def first(self) -> MechanicalState:
        """The first state."""
        return self.linked_state("object1")

    @cached_property
    def second(self) -> MechanicalState:
        """The second state."""
        return self.linked_state("object2")

    @property
    def between_two(self) -> bool:
        """Whether it acts between two states."""
        return self.first is not self.second

    @cached_property
    def state(self) -> MechanicalState:  # type: ignore[override]
        """The state on which it acts: one of its own that holds both, where there are two."""
        return self._mapping.child if self.between_two else self.first

    @cached_property
    def _mapping(self) -> JointMapping:
        if self.first.kind.name != self.second.kind.name:
            raise self.fault(
                f"acts between {self.first.describe()} ({self.first.getTemplateName()}) and "
                f"{self.second.describe()} ({self.second.getTemplateName()}): they must be alike."
            )
        return JointMapping(self)

    @override
    def joint(self) -> Any:
        return self._mapping if self.between_two else None

    def places(self, ones: np.ndarray, twos: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Nodes of the state on which it acts, from those of the first and second state.

        Raises:
            SceneError: one of them does not exist.
        """
        self.checked(ones, "object1", self.first)
        self.checked(twos, "object2", self.second)
        return ones, twos + (self.first.count if self.between_two else 0)

    @override
    def add_force(self, force: np.ndarray) -> None:
        if self.between_two:
            self._mapping.follow()
        self.add_pair_force(force)

    def add_pair_force(self, force: np.ndarray) -> None:
        """`add_force`, after the state on which it acts has followed both."""
        raise NotImplementedError


class JointMapping(CopyMapping):
    """A state that holds the nodes of two, in no node of the graph."""

    def __init__(self, field: PairForceField) -> None:
        self._context = field._context
        super().__init__(name=f"{field.getName()}_joint")
        self.field = field
        self.outside: set[int] = set()
        states = [field.first, field.second]
        counts = [state.count for state in states]
        child = MechanicalObject.__new__(MechanicalObject)
        child._context = None
        child.__init__(name=f"{field.getName()}_nodes", template=field.first.kind.name)  # type: ignore[misc]
        child._data["position"].set(np.tile(child.kind.identity, (sum(counts), 1)).astype(float))
        child._data["position"]._set = True
        child.init()
        child._context = field._context
        self.__dict__.update(child=child, drivers=states)
        self.init()

    @override
    def find_sources(self) -> list[tuple[np.ndarray, np.ndarray]]:
        counts = [driver.count for driver in self.drivers]
        starts = (0, counts[0])
        return [
            (np.arange(count) + start, np.arange(count))
            for start, count in zip(starts, counts, strict=True)
        ]

    @property
    @override
    def mechanical(self) -> bool:
        return True

    def follow(self) -> None:
        """Take over positions and velocities of both."""
        for name in ("position", "velocity"):
            both = [driver._data[name].get() for driver in self.drivers]
            np.concatenate(both, out=self.child._data[name].get())

    def add_jt_to(self, force: np.ndarray, outs: Sequence[np.ndarray]) -> None:
        """See Mapping; a state that nothing moves feels nothing."""
        for out, driver, (nodes, copied) in zip(outs, self.drivers, self.sources, strict=True):
            if id(driver) not in self.outside:
                np.add.at(out, copied, force[nodes])

    def fault(self, problem: str) -> SceneError:
        """A fault of the force field."""
        return self.field.fault(problem)


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


@dataclass
class LinearSpring:
    """SOFA's Sofa.SofaDeformable.LinearSpring, for `addSpring` and from `getSprings`."""

    index1: int = 0
    """Node of the first state."""
    index2: int = 0
    """Node of the second state."""
    springStiffness: float = 0.0
    """[force/length]."""
    dampingFactor: float = 0.0
    """[force*time/length]."""
    restLength: float = 0.0
    """At rest [length]."""
    elongationOnly: bool = False
    """Whether it acts only when it is longer than at rest."""
    enabled: bool = True
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

    @override
    def add_pair_force(self, force: np.ndarray) -> None:
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


_PAIRS = ("spring", "springsIndices1", "springsIndices2")
"""Data that say which nodes are joined."""
_LISTS = (*_PAIRS[1:], "stiffness", "damping", "lengths", "elongationOnly", "enabled")
"""Data of the entries of Springs, in their order."""


class SpringForceField(LinearSpringField):
    """Springs, given whole as `spring`, or by indices1 and indices2 with lists beside them.

    A list beside them may be shorter than they are: its last entry goes on. Without lengths they
    are 0. As in SOFA the lists are then as long as there are springs, and those of `spring`.
    """

    acts_on = ("Vec3", "Rigid3", "Vec1")
    aliases: ClassVar[tuple[str, ...]] = ("StiffSpringForceField",)

    spring = Vectors(5, [], "For each: two nodes, stiffness, damping, rest length.")
    springsIndices1 = Integers([], "Nodes of the first state.", aliases=("indices1",), of="object1")
    springsIndices2 = Integers(
        [], "Nodes of the second state.", aliases=("indices2",), of="object2"
    )
    stiffness = Reals(
        [100.0], "Stiffness of each.", unit="force/length", per="springsIndices1", follows="reinit"
    )
    damping = Reals(
        [5.0], "Damping of each.", unit="force*time/length", per="springsIndices1", follows="reinit"
    )
    lengths = Reals(
        [], "Rest length of each.", unit="length", aliases=("length",), per="springsIndices1"
    )
    elongationOnly = Integers(
        [0], "1 for springs that pull only.", per="springsIndices1", follows="reinit"
    )
    enabled = Integers(
        [1], "0 for springs that do nothing.", per="springsIndices1", follows="reinit"
    )
    filename = Text("", "Not supported: springs.", aliases=("fileSprings",), follows="start")
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
        given = self.spring.isSet() and not self._initialised
        for name in ("elongationOnly", "enabled") if given else ():
            data, default = self._data[name], self._data[name].type.initial(self)
            if not np.isin(data.get(), default).all():
                problem = f"has '{name}' beside 'spring', where it does nothing, in SOFA neither"
                complain(self, self.fault(f"{problem}: give 'indices1' and 'indices2' instead."))
            data.set(default)
        self._fill()
        self._ready = False

    def _fill(self) -> None:
        """Have an entry for each spring in each list, without those that are made of a grid."""
        self._found = self._read()
        count = len(SpringForceField._read(self).ones)
        for name, values in zip(_LISTS, self._found, strict=True):
            if count or self.spring.isSet():
                self._data[name].set(values[:count].astype(self._data[name].get().dtype))

    def data_changed(self, data: Data) -> None:
        """Springs between other nodes change the pattern of the system, which is found again."""
        super().data_changed(data)
        if not self._initialised or data.type.name not in _PAIRS or self._context is None:
            return
        found = self._read()
        same = all(map(np.array_equal, found[:2], self._found[:2]))
        if not same:
            self._ready = False
            self._context._changed()

    def reinit(self) -> None:
        """Take over stiffness, damping, and what switches springs."""
        self._fill()
        self._ready = False

    def snapshot(self) -> dict[str, Any]:
        """See Component: what `reinit` changes, by making it anew."""
        return {"found": self._found, "ready": self._ready}

    @override
    def restore(self, snapshot: dict[str, Any]) -> None:
        self._found, self._ready = snapshot["found"], snapshot["ready"]
        if self._ready:
            self.set_every_pair(*self.every_pair())
            self._seen = self._counters()

    @override
    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        if not self._ready:
            self.springs()
        return super().pairs()

    @override
    def springs(self) -> Springs:
        seen = self._counters()
        if seen != self._seen or not self._ready:
            self._found = self._read()
            self.set_every_pair(*self.every_pair())
            self._seen, self._ready = seen, True
        return self._found

    def getSprings(self) -> list[LinearSpring]:
        """A copy of each spring, without those that are made of a grid."""
        rows = zip(*SpringForceField._read(self), strict=True)
        return [LinearSpring(*(entry.item() for entry in row)) for row in rows]

    def addSpring(self, *values: Any, **named: Any) -> None:
        """Add a LinearSpring, or one of these nodes, stiffness, damping and rest length."""
        given = named.get("spring", values[0] if values else None)
        spring = given if isinstance(given, LinearSpring) else LinearSpring(*values, **named)
        self.addSprings([spring])

    def addSprings(self, springs: Iterable[LinearSpring]) -> None:
        """Add several springs."""
        self._replace([*self.getSprings(), *springs])

    def removeSpring(self, index: int) -> None:
        """Remove one spring; those after it move up."""
        self.removeSprings([index])

    def removeSprings(self, indices: Iterable[int]) -> None:
        """Remove the springs of these numbers."""
        left_out = set(indices)
        springs = self.getSprings()
        self._replace([s for number, s in enumerate(springs) if number not in left_out])

    def clear(self, reserve: int = 0) -> None:
        """Remove all springs."""
        del reserve
        self._replace([])

    def _replace(self, springs: list[LinearSpring]) -> None:
        rows = [astuple(spring) for spring in springs]
        self.elongationOnly.value = [int(row[5]) for row in rows]
        self.enabled.value = [int(row[6]) for row in rows]
        self.spring.value = [row[:5] for row in rows]

    @override
    def count_of(self, per: str) -> tuple[int, str] | None:
        given = self.spring.isSet()
        return (len(self.spring.get()), "springs") if given else super().count_of(per)

    def _counters(self) -> tuple[int, ...]:
        """Of what is followed in every step, as in SOFA."""
        sources = (self.spring, self.springsIndices1, self.springsIndices2, self.lengths)
        return tuple(data.getCounter() for data in sources)

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
        whole = self.spring.isSet()
        if not len(self.enabled.get()) and len(ones) and not whole:
            complain(self, self.fault("has an empty list 'enabled': its springs do nothing."))
        enabled = _stretched(self.enabled.get(), len(ones), whole).astype(bool)
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
