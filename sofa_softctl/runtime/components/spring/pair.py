"""Base class of forces between the nodes of two states, or of one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.behavior.state import MechanicalState
from sofa_softctl.runtime.components.force.blocks import BlockForceField
from sofa_softctl.runtime.components.mapping.copies import CopyMapping
from sofa_softctl.runtime.components.state.mechanical_object import MechanicalObject
from sofa_softctl.runtime.core.link import LinkType


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

    def joint(self) -> Any:
        """See ForceField."""
        return self._mapping if self.between_two else None

    def places(self, ones: np.ndarray, twos: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Nodes of the state on which it acts, from those of the first and second state.

        Raises:
            SceneError: one of them does not exist.
        """
        self.checked(ones, "object1", self.first)
        self.checked(twos, "object2", self.second)
        return ones, twos + (self.first.count if self.between_two else 0)

    def add_force(self, force: np.ndarray) -> None:
        """See ForceField."""
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

    def find_sources(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """See CopyMapping."""
        counts = [driver.count for driver in self.drivers]
        starts = (0, counts[0])
        return [
            (np.arange(count) + start, np.arange(count))
            for start, count in zip(starts, counts, strict=True)
        ]

    @property
    def mechanical(self) -> bool:
        """See Mapping."""
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
