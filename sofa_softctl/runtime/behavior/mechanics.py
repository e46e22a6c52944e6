"""The parts that components play in a time step, and what the step asks of each.

Vectors of a state are arrays of one row a node: (n, 3) for points, (n, 6) for bodies, (n, 1) for
joints. In the vectors of a system, in constraint rows and in matrices all are rows of three
scalars: a point has one, a body two (linear, then angular), three joints share one. Where these
rows are meant, as in `pairs` and `build`, a 'node' is such a row; for points there is no
difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sparse

from sofa_softctl.runtime.behavior.dofs import KINDS, Kind
from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.types import Bool, Int, Real
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.kernels.cholesky.block_matrix import BlockPattern
from sofa_softctl.runtime.kernels.constraint.rows import Entries, times, weighed

if TYPE_CHECKING:
    from sofa_softctl.runtime.components.state.mechanical_object import MechanicalObject


class OnState(Component):
    """Acts on one state: that of its node or the nearest above, unless `mstate` says otherwise."""

    mstate = LinkType("State to act on; the node's own by default.", kind="state")

    acts_on: ClassVar[tuple[str, ...]] = ("Vec3",)
    """Kinds of states that it knows."""

    def getTemplateName(self) -> str:
        """The kind of degrees of freedom."""
        if "state" in vars(self):
            return self.state.getTemplateName()
        return super().getTemplateName() or "Vec3d"

    @property
    def kind(self) -> Kind:
        """That of its state; while there is none yet, what its template says."""
        ready = "mstate" in self.__dict__.get("_links", ())  # else its Data are being made
        found = self._find_state() if ready else self._above()
        template = self._data["template"].get() if found is None else ""
        return KINDS.get(template, KINDS[""]) if found is None else found.kind

    @property
    def coord_size(self) -> int:
        """Numbers that make one node's position."""
        return self.kind.coord_size

    @property
    def deriv_size(self) -> int:
        """Numbers that make one node's velocity or force."""
        return self.kind.deriv_size

    def _above(self) -> Any:
        return None if self._context is None else self._context.find_upward("state")

    def _find_state(self) -> Any:
        found = self._links["mstate"].getLinkedBase()
        return self._above() if found is None else found

    @cached_property
    def state(self) -> MechanicalObject:
        """The state it acts on.

        Raises:
            SceneError: there is none, or it is of a kind that it does not know.
        """
        found: MechanicalObject | None = self._find_state()
        if found is None:
            raise self.fault("needs a MechanicalObject in its node, added before it.")
        if found.kind.name not in self.acts_on:
            raise self.fault(
                f"acts on states of template {' or '.join(self.acts_on)}, but "
                f"{found.describe()} has {found.getTemplateName()}."
            )
        return found


Weights = tuple[np.ndarray, np.ndarray, np.ndarray]
"""starts (n + 1,), nodes (k,), weights (k,), as in a CSR matrix."""

Pairs = tuple[np.ndarray, np.ndarray]
"""Rows and columns of the node pairs that a contribution couples, shapes (k,)."""


class Contribution(OnState):
    """Adds a matrix C of its state to the system: a mass M, or a stiffness K = -df/dx."""

    def add_product(self, out: np.ndarray, v: np.ndarray, factor: float) -> None:
        """out += factor C v; a stiffness is that at the position of the last `add_force`."""
        raise NotImplementedError

    def pairs(self) -> Pairs:
        """Node pairs that C couples; each pair once."""
        raise NotImplementedError

    def add_matrix(self, values: np.ndarray, slots: np.ndarray, factor: float) -> None:
        """values[slots] += factor C, slots in the order of `pairs`."""
        raise NotImplementedError

    def assembled(self, factor: float) -> sparse.csr_matrix:
        """factor C, shape (3 n, 3 n)."""
        rows, cols = self.pairs()
        pattern = BlockPattern.build(self.state.block_count, rows, cols)
        values = np.zeros((len(pattern.indices), 3, 3))
        self.add_matrix(values, pattern.slots(rows, cols), factor)
        return sparse.csr_matrix(pattern.to_csr(values))


class Mass(Contribution):
    """Inertia of a state."""

    category: ClassVar[str] = "mass"

    rayleighMass = Real(0.0, "Damping proportional to this mass.", unit="1/time")
    separateGravity = Bool(False, "Add gravity to the velocity after the step.")

    def add_gravity(self, force: np.ndarray, gravity: np.ndarray) -> None:
        """force += M g."""
        raise NotImplementedError

    def assembleMMatrix(self) -> sparse.csr_matrix:
        """M, shape (3 n, 3 n)."""
        return self.assembled(1.0)


class ForceField(Contribution):
    """Forces f(x) on a state, and the stiffness that a time step uses."""

    category: ClassVar[str] = "force field"

    rayleighStiffness = Real(0.0, "Damping proportional to this stiffness.", unit="time")

    exact_tangent = False
    """Whether `add_matrix` gives the symmetric part of -df/dx, where a time step takes less."""

    skew = False
    """Whether -df/dx is not symmetric."""

    def add_skew_product(self, out: np.ndarray, v: np.ndarray) -> None:
        """out += the antisymmetric part of -df/dx at the last `add_matrix`, times v.

        For forces with an energy there is none.
        """

    def add_force(self, force: np.ndarray) -> None:
        """force += f(x) at the state's position."""
        raise NotImplementedError

    def assembleKMatrix(self) -> sparse.csr_matrix:
        """df/dx, as in SOFA the negative of K; shape (3 n, 3 n)."""
        return self.assembled(-1.0)


class ProjectiveConstraint(OnState):
    """Holds scalar degrees of freedom."""

    category: ClassVar[str] = "projective constraint"

    def fixed(self) -> np.ndarray:
        """Which scalar degrees of freedom are held, bool (n, deriv_size)."""
        raise NotImplementedError

    def project_velocity(self, velocity: np.ndarray) -> None:
        """Change a velocity after the step where the component is asked to."""


class Mapping(Component):
    """Makes a state follow another one."""

    category: ClassVar[str] = "mapping"

    input = LinkType("State that drives.", kind="state")
    output = LinkType("State that follows.", kind="state")
    mapForces = Bool(True, "Forces on the follower reach the driver.")
    mapConstraints = Bool(True, "Constraints on the follower reach the driver.")
    mapMasses = Bool(True, "Masses of the follower reach the driver (without effect, as in SOFA).")
    mapMatrices = Bool(False, "Unused, as in SOFA's assembled systems.")
    applyRestPosition = Bool(False, "Map the rest position at init.")

    @cached_property
    def parent(self) -> MechanicalObject:
        """The state that drives: of the node above, unless `input` says otherwise."""
        found = self._links["input"].getLinkedBase()
        if found is None and self._context is not None and self._context.parents:
            found = self._context.parents[0].find_upward("state")
        if found is None:
            raise self.fault("needs a MechanicalObject in a node above it.")
        return found

    @property
    def mechanical(self) -> bool:
        """Whether a state follows; what only draws (an OglModel) needs no part in a step."""
        if self._links["output"].path or self._context is None:
            return getattr(self._links["output"].getLinkedBase(), "category", "state") == "state"
        return bool(self._context.of("state")) or not self._context.of("visual")

    @cached_property
    def child(self) -> MechanicalObject:
        """The state that follows: of its own node, unless `output` says otherwise."""
        found = self._links["output"].getLinkedBase()
        if found is None and self._context is not None:
            found = next(iter(self._context.of("state")), None)
        if found is None:
            raise self.fault("needs a MechanicalObject in its own node.")
        return found

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

    @cached_property
    def drivers(self) -> list[MechanicalObject]:
        """The states that drive; most mappings have one."""
        return [self.parent]

    def place(self) -> None:
        """Put the follower where its drivers say, at init; if asked to, also at rest."""
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
    """Stiffness from forces on a follower whose J turns; see mapping/geometric.py."""

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
            pulled = [weighed(entries, *self.weights(k)) for k in range(len(self.drivers))]
        else:
            pulled = [times(entries, self.jacobian(k)) for k in range(len(self.drivers))]
        return pulled


Rows3 = tuple["MechanicalObject", np.ndarray, np.ndarray, np.ndarray]
"""Directions on a state, as triplets: the state, row (k,), node (k,), direction (k, 3)."""


class LagrangianConstraint(OnState):
    """Rows of the constraint system, solved for their multipliers in every step."""

    category: ClassVar[str] = "constraint"

    constraintIndex = Int(0, "First row of the constraint in this step.", read_only=True)
    endTime = Real(-1.0, "Time from which on the constraint no longer acts; -1: never.")

    def build(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Directions at the start-of-step position, as triplets.

        Returns:
            row (k,) from 0 on, node (k,) of the state (see the top), direction (k, 3).
        """
        raise NotImplementedError

    def parts(self) -> list[Rows3]:
        """The directions by state; those of a contact lie on two. Made by `build` for one."""
        return [(self.state, *self.build())]

    @property
    def row_count(self) -> int:
        """Rows in this step; known after `parts`."""
        raise NotImplementedError

    def violation(self) -> np.ndarray:
        """delta_free of each row: J (x_free - x) + g(x), shape (row_count,)."""
        raise NotImplementedError

    def resolution(self) -> np.ndarray:
        """How Gauss-Seidel treats each row, shape (row_count, 6); see kernels/gauss_seidel."""
        raise NotImplementedError

    def store(self, lam: np.ndarray, delta: np.ndarray) -> None:
        """Take over the solved multipliers and what they made of delta."""
