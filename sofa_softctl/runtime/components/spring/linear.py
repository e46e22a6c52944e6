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
    """Forces between nodes of object1 and object2, by default the node's own state.

    Between two states it acts on an internal state with copies of the nodes of object1, then of
    object2.
    """

    acts_on: ClassVar[tuple[str, ...]] = ("Vec3", "Rigid3")
    acts_alone = True

    object1 = LinkType("First state; the node's own by default.", kind="state")
    object2 = LinkType("Second state; the node's own by default.", kind="state")

    @cached_property
    def first(self) -> MechanicalState:
        """State of object1."""
        return self.linked_state("object1")

    @cached_property
    def second(self) -> MechanicalState:
        """State of object2."""
        return self.linked_state("object2")

    @property
    def between_two(self) -> bool:
        """True if it acts between two states."""
        return self.first is not self.second

    @cached_property
    def state(self) -> MechanicalState:  # type: ignore[override]
        """State on which it acts: an internal one with the nodes of both, if there are two."""
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

    def node_pairs(self, ones: np.ndarray, twos: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Convert nodes of the first and second state to nodes of the state on which it acts.

        Raises:
            SceneError: A node does not exist.
        """
        self.check_indices(ones, "object1", self.first)
        self.check_indices(twos, "object2", self.second)
        return ones, twos + (self.first.count if self.between_two else 0)

    @override
    def add_force(self, force: np.ndarray) -> None:
        if self.between_two:
            self._mapping.copy_states()
        self.add_pair_force(force)

    def add_pair_force(self, force: np.ndarray) -> None:
        """Add the forces, after the internal state was updated from both."""
        raise NotImplementedError


class JointMapping(CopyMapping):
    """Mapping to an internal state with the nodes of two states, in no node of the graph."""

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
        child.position.set(np.tile(child.kind.identity, (sum(counts), 1)).astype(float))
        child.position._set = True
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

    def copy_states(self) -> None:
        """Copy positions and velocities of both states."""
        for name in ("position", "velocity"):
            values = [driver._data[name].get() for driver in self.drivers]
            np.concatenate(values, out=self.child._data[name].get())

    def add_jt_to(self, force: np.ndarray, outs: Sequence[np.ndarray]) -> None:
        """Add the forces to states that are simulated."""
        for out, driver, (nodes, copied) in zip(outs, self.drivers, self.sources, strict=True):
            if id(driver) not in self.outside:
                np.add.at(out, copied, force[nodes])

    def fault(self, problem: str) -> SceneError:
        """Return an error of the force field."""
        return self.field.fault(problem)


class Springs(NamedTuple):
    """Springs as arrays with one entry per spring."""

    ones: np.ndarray
    """Node of the first state."""
    twos: np.ndarray
    """Node of the second state."""
    stiffness: np.ndarray
    """Stiffness [force/length]."""
    damping: np.ndarray
    """Damping [force*time/length]."""
    length: np.ndarray
    """Rest length [length]."""
    pulls_only: np.ndarray
    """Whether it acts only if it is longer than at rest."""
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
    """Stiffness [force/length]."""
    dampingFactor: float = 0.0
    """Damping [force*time/length]."""
    restLength: float = 0.0
    """Rest length [length]."""
    elongationOnly: bool = False
    """Whether it acts only if it is longer than at rest."""
    enabled: bool = True
    """Whether it acts at all."""


class LinearSpringField(PairForceField):
    """f = k (|u| - L) + d (relative velocity along u) along u, from the first to the second node.

    The step's stiffness is the derivative of the force, the damping part taken as constant force.
    """

    tiny = 1e-9
    """Largest length of a spring without direction and force [length]."""

    def springs(self) -> Springs:
        """Return the present springs."""
        raise NotImplementedError

    @override
    def add_pair_force(self, force: np.ndarray) -> None:
        springs = self.springs()
        i, j = self.node_pairs(springs.ones, springs.twos)
        f, K = self._law(springs, i, j)
        np.add.at(force[:, :3], i, f)
        np.subtract.at(force[:, :3], j, f)
        self.set_stiffness(i, j, K)

    def set_stiffness(self, i: np.ndarray, j: np.ndarray, K: np.ndarray) -> None:
        """Set the stiffness K (k, 3, 3) between nodes of the state on which it acts."""
        if self.state.deriv_size == 1:
            self.set_blocks(*_joint_blocks(i, j, K))
            return
        rows = self.state.deriv_size // 3
        i, j = i * rows, j * rows
        self.set_blocks(
            np.concatenate([i, j, i]), np.concatenate([i, j, j]), np.concatenate([K, K, -K])
        )

    def set_every_pair(self, ones: np.ndarray, twos: np.ndarray) -> None:
        """Set all pairs of nodes that may be joined."""
        i, j = self.node_pairs(ones, twos)
        if self.state.deriv_size == 1:
            self.set_pairs(*_joint_blocks(i, j, np.zeros((len(i), 1, 1)))[:2])
            return
        rows = self.state.deriv_size // 3
        i, j = i * rows, j * rows
        self.set_pairs(np.concatenate([i, j, i]), np.concatenate([i, j, j]))

    def _law(self, springs: Springs, i: np.ndarray, j: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the force on the first node (k, 3) and df1/dx2 of each spring (k, 3, 3)."""
        x = self.state.position.get()[:, :3]
        v = self.state.velocity.get()[:, :3]
        u = x[j] - x[i]
        d = np.sqrt((u * u).sum(axis=1))
        is_active = springs.enabled & (d > self.tiny)
        is_active &= ~springs.pulls_only | (d > springs.length)
        inverse = 1.0 / np.where(is_active, d, 1.0)
        u = u * inverse[:, None]
        speed = (u * (v[j] - v[i])).sum(axis=1)
        strength = springs.stiffness * (d - springs.length) + springs.damping * speed
        transverse_stiffness = strength * inverse
        K = (
            (springs.stiffness - transverse_stiffness)[:, None, None]
            * u[:, :, None]
            * u[:, None, :]
        )
        K += transverse_stiffness[:, None, None] * np.eye(u.shape[1])
        force = u * strength[:, None]
        return np.where(is_active[:, None], force, 0.0), np.where(is_active[:, None, None], K, 0.0)


_PAIRS = ("spring", "springsIndices1", "springsIndices2")
"""Data that define which nodes are joined."""
_LISTS = (*_PAIRS[1:], "stiffness", "damping", "lengths", "elongationOnly", "enabled")
"""Data of the entries of Springs, in their order."""


class SpringForceField(LinearSpringField):
    """Springs, given as rows of `spring`, or by indices1 and indices2 with lists of properties.

    The last entry of a short list holds for all further springs. Without `lengths` they are 0. As
    in SOFA, init sets all lists to the values of the springs.
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
        """Read the lists; nodes are checked later, when all states are complete.

        Raises:
            SceneError: A file is given, which is not supported.
        """
        if self.filename.get():
            raise self.fault("does not read springs from a file: give them as 'spring'.")
        self._seen: tuple[int, ...] = ()
        is_given_as_rows = self.spring.isSet() and not self._initialised
        for name in ("elongationOnly", "enabled") if is_given_as_rows else ():
            data, default = self._data[name], self._data[name].type.initial(self)
            if not np.isin(data.get(), default).all():
                problem = f"has '{name}' beside 'spring', where it does nothing, in SOFA neither"
                complain(self, self.fault(f"{problem}: give 'indices1' and 'indices2' instead."))
            data.set(default)
        self._fill()
        self._ready = False

    def _fill(self) -> None:
        """Fill each list with an entry per spring, except springs along a grid."""
        self._found = self._read()
        count = len(SpringForceField._read(self).ones)
        for name, values in zip(_LISTS, self._found, strict=True):
            if count or self.spring.isSet():
                self._data[name].set(values[:count].astype(self._data[name].get().dtype))

    def data_changed(self, data: Data) -> None:
        """Rebuild the pattern of the system if springs join other nodes."""
        super().data_changed(data)
        if not self._initialised or data.type.name not in _PAIRS or self._context is None:
            return
        springs = self._read()
        have_same_nodes = all(map(np.array_equal, springs[:2], self._found[:2]))
        if not have_same_nodes:
            self._ready = False
            self._context._count_change()

    def reinit(self) -> None:
        """Read stiffness, damping and switches of the springs again."""
        self._fill()
        self._ready = False

    def snapshot(self) -> dict[str, Any]:
        """Return the springs, which `reinit` may change."""
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
        counters = self._counters()
        if counters != self._seen or not self._ready:
            self._found = self._read()
            self.set_every_pair(*self.every_pair())
            self._seen, self._ready = counters, True
        return self._found

    def getSprings(self) -> list[LinearSpring]:
        """Return a copy of each spring, except springs along a grid."""
        rows = zip(*SpringForceField._read(self), strict=True)
        return [LinearSpring(*(value.item() for value in row)) for row in rows]

    def addSpring(self, *values: Any, **named: Any) -> None:
        """Add a LinearSpring, or one of these nodes, stiffness, damping and rest length."""
        first_value = named.get("spring", values[0] if values else None)
        spring = (
            first_value if isinstance(first_value, LinearSpring) else LinearSpring(*values, **named)
        )
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
        is_given_as_rows = self.spring.isSet()
        return (len(self.spring.get()), "springs") if is_given_as_rows else super().count_of(per)

    def _counters(self) -> tuple[int, ...]:
        """Return the counters of the Data that are read in every step, as in SOFA."""
        sources = (self.spring, self.springsIndices1, self.springsIndices2, self.lengths)
        return tuple(data.getCounter() for data in sources)

    def every_pair(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the nodes that springs join, or may join later."""
        return self._found.ones, self._found.twos

    def _read(self) -> Springs:
        ones, twos = self.springsIndices1.get(), self.springsIndices2.get()
        if self.spring.isSet():
            rows = self.spring.get()
            ones, twos = rows[:, 0].astype(np.int64), rows[:, 1].astype(np.int64)
            values = [rows[:, 2], rows[:, 3], rows[:, 4]]
        else:
            if len(ones) != len(twos):
                complain(
                    self,
                    self.fault(f"has {len(ones)} indices1, but {len(twos)} indices2: no springs."),
                )
                ones, twos = ones[:0], twos[:0]
            lists = (self.stiffness, self.damping, self.lengths)
            values = [_extend(data.get(), len(ones), 0.0) for data in lists]
        pulls_only = _extend(self.elongationOnly.get(), len(ones), 0).astype(bool)
        is_given_as_rows = self.spring.isSet()
        if not len(self.enabled.get()) and len(ones) and not is_given_as_rows:
            complain(self, self.fault("has an empty list 'enabled': its springs do nothing."))
        enabled = _extend(self.enabled.get(), len(ones), is_given_as_rows).astype(bool)
        k, d, length = values
        return Springs(ones, twos, k, d, length, pulls_only, enabled)


def _joint_blocks(
    i: np.ndarray, j: np.ndarray, K: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, columns and blocks of stiffnesses (k, 1, 1) between joints, three per row.

    A block of a row with itself contains both symmetric halves.
    """
    axes = np.eye(3)
    row, column = np.concatenate([i, j, i]), np.concatenate([i, j, j])
    blocks = axes[row % 3][:, :, None] * axes[column % 3][:, None, :]
    blocks *= np.concatenate([K, K, -K])
    row, column = row // 3, column // 3
    is_diagonal = (row == column) & (np.arange(len(row)) >= 2 * len(i))
    blocks[is_diagonal] += blocks[is_diagonal].transpose(0, 2, 1)
    return row, column, blocks


def _extend(values: np.ndarray, count: int, otherwise: float) -> np.ndarray:
    """Return this number of values; the last one is repeated."""
    if not len(values):
        return np.full(count, otherwise)
    return values[np.minimum(np.arange(count), len(values) - 1)]


class ParallelSpringForceField(SpringForceField):
    """SpringForceField; this runtime uses one processor."""

    aliases = ("ParallelStiffSpringForceField",)

    nbThreads = Int(0, "Unused.")
    taskSchedulerType = Text("_default", "Unused.")
