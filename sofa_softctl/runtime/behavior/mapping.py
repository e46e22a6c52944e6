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
from sofa_softctl.runtime.kernels.constraint.rows import Entries, map_entries, times

_FOLLOWERS = ("state", "visual")
"""Categories of what may follow, the first first."""

Weights = tuple[np.ndarray, np.ndarray, np.ndarray]
"""starts (n + 1,), nodes (k,), weights (k,), as in a CSR matrix."""


class Mapping(Component):
    """Makes a state follow another one."""

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
        """The state that drives: of the node above, unless `input` says otherwise."""
        found = self._links["input"].getLinkedBase()
        if found is None and self._context is not None and self._context.parents:
            found = self._context.parents[0].find_upward("state")
        if found is None:
            raise self.fault("needs a MechanicalObject in a node above it.")
        return found

    def _follower(self) -> Any:
        """What follows: a state, or a visual model where its node holds none."""
        found = self._links["output"].getLinkedBase()
        holder = self._context if found is None else found
        if holder is None or not hasattr(holder, "of"):
            return found
        return next((entry for kind in _FOLLOWERS for entry in holder.of(kind)), None)

    @property
    def mechanical(self) -> bool:
        """Whether a state follows; what only draws (an OglModel) needs no part in a step."""
        return self._placing or getattr(self._follower(), "category", "") != "visual"

    @cached_property
    def child(self) -> MechanicalState:
        """What follows: of its own node, unless `output` says otherwise.

        Raises:
            SceneError: nothing does, or it is neither a state nor a visual model.
        """
        found = self._follower()
        if found is None:
            raise self.fault("needs a MechanicalObject in its own node.")
        if found.category not in _FOLLOWERS:
            raise self.fault(
                f"has the output {found.describe()}, which is neither a state nor a visual model."
            )
        follower: MechanicalState = found
        return follower

    drives: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Kinds of driver and follower that it knows; all when empty."""

    def getTemplateName(self) -> str:
        """The kinds of degrees of freedom of driver and follower."""
        if self._initialised and self.mechanical:
            return f"{self.drivers[0].getTemplateName()},{self.child.getTemplateName()}"
        return super().getTemplateName()

    def check_templates(self) -> None:
        """SceneError when it cannot map these kinds of states."""
        for driver in self.drivers:
            if self.drives and (driver.kind.name, self.child.kind.name) not in self.drives:
                known = ", ".join(f"'{a},{b}'" for a, b in self.drives)
                raise self.fault(
                    f"cannot map {driver.describe()} ({driver.getTemplateName()}) onto "
                    f"{self.child.describe()} ({self.child.getTemplateName()}). It knows {known}."
                )

    def range_of(self, of: str) -> tuple[int, str] | None:
        """See Component: 'driver' is the state that drives."""
        if of != "driver":
            return super().range_of(of)
        return (self.parent.count, f"nodes of '{self.parent.getPathName()}'")

    @cached_property
    def drivers(self) -> list[MechanicalState]:
        """The states that drive; most mappings have one."""
        return [self.parent]

    # Where only a visual model follows: it is placed when somebody asks where it is.

    _placing = False
    """Whether it is about to treat its visual model as a state."""
    _draws: bool | None = None
    """Whether it can; None as long as nobody asked."""

    def bwdInit(self) -> None:
        """Keep the positions of the drivers now, from which a visual model will follow."""
        if self.mechanical:
            return
        try:
            self._first = [driver.position.get().copy() for driver in self.drivers]
            self._follower().follow(self)
        except SceneError as error:
            message.warning(self, f"{error} What it draws stays where it is.")

    def draw(self) -> None:
        """Place the visual model where the drivers say."""
        if self._draws is None:
            self._draws = self._find_carriers()
        if self._draws:
            xs = [driver.position.get() for driver in self.drivers]
            self.apply_from(xs, self.child.position.get())

    def _find_carriers(self) -> bool:
        """Initialise it as if that were now; false, with a warning, where it cannot."""
        positions = [driver.position for driver in self.drivers]
        now = [position.get() for position in positions]
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
            for position, value in zip(positions, now, strict=True):
                position._value = value
        return True

    def give_nodes(self) -> None:
        """Give the follower its nodes, without their positions; most mappings take its own."""

    def place(self) -> None:
        """Put the follower where its drivers say, at init; if asked to, also at rest."""
        vars(self.child).pop("_known", None)  # see MechanicalState.known_count
        names = ("rest_position", "position") if self.applyRestPosition.get() else ("position",)
        for name in names:
            own = self.child._data[name]
            self.apply_from([driver._data[name].get() for driver in self.drivers], own.get())
            own.touch()

    # With one driver:

    def apply(self, x: np.ndarray, out: np.ndarray) -> None:
        """Positions of the follower from those of the driver."""
        raise NotImplementedError

    def apply_j(self, v: np.ndarray, out: np.ndarray) -> None:
        """out = J v."""
        raise NotImplementedError

    def add_jt(self, force: np.ndarray, out: np.ndarray) -> None:
        """out += J^T force."""
        raise NotImplementedError

    # With several, in the order of `drivers`:

    def apply_from(self, xs: Sequence[np.ndarray], out: np.ndarray) -> None:
        """Positions of the follower from those of the drivers."""
        self.apply(xs[0], out)

    def apply_j_from(self, vs: Sequence[np.ndarray], out: np.ndarray) -> None:
        """out = sum of J v."""
        self.apply_j(vs[0], out)

    def add_jt_to(self, force: np.ndarray, outs: Sequence[np.ndarray]) -> None:
        """outs += J^T force, each with its own J."""
        self.add_jt(force, outs[0])

    # J as a matrix:

    geometric: Any = None
    """Stiffness from forces on a follower whose J turns; see `GeometricStiffness`."""

    @property
    def weighted(self) -> bool:
        """Whether J is constant and made of weights between rows of three scalars."""
        return True

    def weights(self, driver: int = 0) -> Weights:
        """J of one driver by nodes, where it is `weighted`."""
        raise NotImplementedError

    def jacobian(self, driver: int = 0) -> sparse.csr_array:
        """J of one driver now, shape (3 n_child, 3 n_driver); its pattern does not change."""
        starts, nodes, weights = self.weights(driver)
        shape = (self.child.block_count, self.drivers[driver].block_count)
        by_nodes = sparse.csr_array((weights, nodes, starts), shape=shape)
        return sparse.csr_array(sparse.kron(by_nodes, np.eye(3), format="csr"))

    def pull(self, entries: Entries) -> list[Entries]:
        """J^T: entries on the follower become entries on each driver.

        Which ones they become depends on their rows and nodes alone, not on the directions.
        """
        if self.weighted:
            pulled = [map_entries(entries, *self.weights(k)) for k in range(len(self.drivers))]
        else:
            pulled = [times(entries, self.jacobian(k)) for k in range(len(self.drivers))]
        return pulled
