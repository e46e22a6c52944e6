"""Roles of mappings and mapped states."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sparse

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.behavior.state import MechanicalState
from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.types import Bool
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.helper import message

_FOLLOWERS = ("state", "visual")
"""Categories of possible followers, in the order of preference."""

Weights = tuple[np.ndarray, np.ndarray, np.ndarray]
"""starts (n + 1,), nodes (k,), weights (k,), as in a CSR matrix."""
NodeBlocks = tuple[np.ndarray, np.ndarray, np.ndarray]
"""starts (n + 1,), nodes (k,), blocks (k, 3, 3), as in a BSR matrix."""


class Mapping(Component):
    """Mapping by which a state follows another one."""

    category: ClassVar[str] = "mapping"

    input = LinkType("State that drives.", kind="state")
    output = LinkType("State, or visual model, that follows.")
    mapForces = Bool(True, "Forces on the follower reach the driver.")
    mapConstraints = Bool(True, "Constraints on the follower reach the driver.")
    mapMasses = Bool(True, "Masses of the follower reach the driver (without effect, as in SOFA).")
    mapMatrices = Bool(False, "Unused, as in SOFA's assembled systems.")
    applyRestPosition = Bool(False, "Map the rest position at init.", follows="start")

    @cached_property
    def parent(self) -> MechanicalState:
        """Driving state: the state of `input`, or of the node above."""
        state = self._links["input"].getLinkedBase()
        if state is None and self._context is not None and self._context.parents:
            state = self._context.parents[0].find_upward("state")
        if state is None:
            raise self.fault("needs a MechanicalObject in a node above it.")
        return state

    def _follower(self) -> Any:
        """Return the mapped state, or the visual model if the node has no state."""
        target = self._links["output"].getLinkedBase()
        holder = self._context if target is None else target
        if holder is None or not hasattr(holder, "of"):
            return target
        return next((item for kind in _FOLLOWERS for item in holder.of(kind)), None)

    @property
    def mechanical(self) -> bool:
        """True if a state follows; a visual model (OglModel) takes no part in a step."""
        return self._placing or getattr(self._follower(), "category", "") != "visual"

    @cached_property
    def child(self) -> MechanicalState:
        """Follower: the target of `output`, or the state or visual model of its node.

        Raises:
            SceneError: There is none, or it is neither a state nor a visual model.
        """
        follower = self._follower()
        if follower is None:
            raise self.fault("needs a MechanicalObject in its own node.")
        if follower.category not in _FOLLOWERS:
            raise self.fault(
                f"has the output {follower.describe()}, which is neither a state nor a visual "
                "model."
            )
        state: MechanicalState = follower
        return state

    drives: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Kinds of driver and follower that it supports, or () for all."""

    def getTemplateName(self) -> str:
        """Return the kinds of degrees of freedom of driver and follower."""
        if self._initialised and self.mechanical:
            return f"{self.drivers[0].getTemplateName()},{self.child.getTemplateName()}"
        return super().getTemplateName()

    def check_templates(self) -> None:
        """Raise a SceneError if it cannot map these kinds of states."""
        for driver in self.drivers:
            if self.drives and (driver.kind.name, self.child.kind.name) not in self.drives:
                kinds = ", ".join(f"'{a},{b}'" for a, b in self.drives)
                raise self.fault(
                    f"cannot map {driver.describe()} ({driver.getTemplateName()}) onto "
                    f"{self.child.describe()} ({self.child.getTemplateName()}). It knows {kinds}."
                )

    def range_of(self, of: str) -> tuple[int, str] | None:
        """Return the nodes of the driving state for 'driver'; see `Component.range_of`."""
        if of != "driver":
            return super().range_of(of)
        return (self.parent.count, f"nodes of '{self.parent.getPathName()}'")

    @cached_property
    def drivers(self) -> list[MechanicalState]:
        """Driving states; most mappings have one."""
        return [self.parent]

    # If only a visual model follows, it is placed when its position is read.

    _placing = False
    """Whether it treats its visual model as a state at present."""
    _draws: bool | None = None
    """Whether it can place its visual model; None until it has tried."""

    def bwdInit(self) -> None:
        """Store the initial positions of the drivers for a visual model."""
        if self.mechanical:
            return
        try:
            self._first = [driver.position.get().copy() for driver in self.drivers]
            self._follower().attach_mapping(self)
        except SceneError as error:
            message.warning(self, f"{error} What it draws stays where it is.")

    def draw(self) -> None:
        """Compute the positions of the visual model from the drivers."""
        if self._draws is None:
            self._draws = self._find_carriers()
        if self._draws:
            xs = [driver.position.get() for driver in self.drivers]
            self.apply_from(xs, self.child.position.get())

    def _find_carriers(self) -> bool:
        """Initialise it at the initial positions; return False, with a warning, if it fails."""
        positions = [driver.position for driver in self.drivers]
        present = [position.get() for position in positions]
        self._placing = True
        try:
            for position, first in zip(positions, self._first, strict=True):
                position._value = first
            self.init()
        except SceneError as error:
            message.warning(self, f"{error} What it draws stays where it is.")
            return False
        finally:
            self._placing = False
            for position, value in zip(positions, present, strict=True):
                position._value = value
        return True

    def give_nodes(self) -> None:
        """Set the number of nodes of the follower; most mappings do not change it."""

    def place(self) -> None:
        """Compute positions of the follower at init; also rest positions, if asked to."""
        vars(self.child).pop("_known", None)  # see MechanicalState.known_count
        names = ("rest_position", "position") if self.applyRestPosition.get() else ("position",)
        for name in names:
            data = self.child._data[name]
            self.apply_from([driver._data[name].get() for driver in self.drivers], data.get())
            data.touch()

    # For one driver:

    def apply(self, x: np.ndarray, out: np.ndarray) -> None:
        """Compute positions of the follower from positions of the driver."""
        raise NotImplementedError

    def apply_j(self, v: np.ndarray, out: np.ndarray) -> None:
        """Compute out = J v."""
        raise NotImplementedError

    def add_jt(self, force: np.ndarray, out: np.ndarray) -> None:
        """Add J^T force to out."""
        raise NotImplementedError

    # For several, in the order of `drivers`:

    def apply_from(self, xs: Sequence[np.ndarray], out: np.ndarray) -> None:
        """Compute positions of the follower from positions of the drivers."""
        self.apply(xs[0], out)

    def apply_j_from(self, vs: Sequence[np.ndarray], out: np.ndarray) -> None:
        """Compute out = sum of J v."""
        self.apply_j(vs[0], out)

    def add_jt_to(self, force: np.ndarray, outs: Sequence[np.ndarray]) -> None:
        """Add J^T force to each of outs, with its J."""
        self.add_jt(force, outs[0])

    # J as a matrix:

    geometric: Any = None
    """Stiffness from forces on a follower whose J changes; see `GeometricStiffness`."""

    @property
    def has_constant_weights(self) -> bool:
        """True if J consists of constant weights between rows of three scalars."""
        return True

    def point_weights(self) -> list[Weights] | None:
        """Return J of each driver by nodes if positions, too, are its weighted sums, else None.

        The list stays the same object until the weights change.
        """
        return None

    def weights(self, driver: int = 0) -> Weights:
        """Return J of a driver by nodes, if it `has_constant_weights`."""
        raise NotImplementedError

    def jacobian_blocks(self, driver: int = 0) -> NodeBlocks:
        """Return the present J of a driver in 3x3 blocks, of constant pattern."""
        if self.has_constant_weights:
            starts, nodes, weights = self.weights(driver)
            return starts, nodes, weights[:, None, None] * np.eye(3)
        by_nodes = self.jacobian(driver).tobsr((3, 3))
        return by_nodes.indptr, by_nodes.indices, by_nodes.data

    def jacobian(self, driver: int = 0) -> sparse.csr_array:
        """Return the present J of a driver, shape (3 n_child, 3 n_driver), of constant pattern."""
        starts, nodes, weights = self.weights(driver)
        shape = (self.child.block_count, self.drivers[driver].block_count)
        by_nodes = sparse.csr_array((weights, nodes, starts), shape=shape)
        return sparse.csr_array(sparse.kron(by_nodes, np.eye(3), format="csr"))
