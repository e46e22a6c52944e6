"""Roles of masses, forces and projective constraints.

Vectors of a state are arrays of one row a node: (n, 3) for points, (n, 6) for bodies, (n, 1) for
joints. In the vectors of a system, in constraint rows and in matrices all are rows of three
scalars: a point has one, a body two (linear, then angular), three joints share one. Where these
rows are meant, as in `pairs` and `build`, a 'node' is such a row; for points there is no
difference.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sparse

from sofa_softctl.runtime.behavior.dofs import KINDS, DofType
from sofa_softctl.runtime.behavior.state import MechanicalState
from sofa_softctl.runtime.behavior.step_term import StepTerm
from sofa_softctl.runtime.core import factory
from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.types import Bool, Real
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.helper.message import complain, keeps_sofa_defects
from sofa_softctl.runtime.kernels.cholesky.block_matrix import BlockPattern


class SingleStateComponent(Component):
    """Acts on one state: that of its node or the nearest above, unless `mstate` says otherwise."""

    mstate = LinkType("State to act on; the node's own by default.", kind="state")

    acts_on: ClassVar[tuple[str, ...]] = ("Vec3",)
    """Kinds of states that it knows."""

    def before_init(self) -> None:
        """Let the states of its node have the nodes that a later mapping gives them."""
        for state in () if self._context is None else self._context.of("state"):
            state.take_mapped_nodes()  # type: ignore[attr-defined]

    def getTemplateName(self) -> str:
        """The kind of degrees of freedom."""
        if "state" in vars(self):
            return self.state.getTemplateName()
        return super().getTemplateName() or "Vec3d"

    @property
    def kind(self) -> DofType:
        """That of its state; while there is none yet, what its template says."""
        ready = "mstate" in self.__dict__.get("_links", ())  # else its Data are being made
        found = self._find_state() if ready else self._above()
        template = self.template.get() if found is None else ""
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
    def state(self) -> MechanicalState:
        """The state it acts on.

        Raises:
            SceneError: there is none, or it is of a kind that it does not know.
        """
        return self._usable(self._find_state(), "in its node, added before it")

    def linked_state(self, link: str) -> MechanicalState:
        """The state that a link leads to, by default that of its node.

        Raises:
            SceneError: there is none, or it is of a kind that it does not know.
        """
        found = self._links[link].getLinkedBase()
        return self._usable(
            self._find_state() if found is None else found,
            f"as '{link}', such as {link}='@../dofs'",
        )

    def checked(
        self,
        nodes: np.ndarray,
        name: str = "indices",
        state: MechanicalState | None = None,
    ) -> np.ndarray:
        """The nodes that a Data names, all of which exist.

        Args:
            nodes: Their numbers.
            name: Of the Data.
            state: That they are of; its own by default.

        Raises:
            SceneError: one does not exist.
        """
        count = (state or self.state).count
        if len(nodes) and (nodes.min() < 0 or nodes.max() >= count):
            wrong = nodes.min() if nodes.min() < 0 else nodes.max()
            place = "there are" if state is None else f"{state.describe()} has"
            raise self.fault(f"has {wrong} in '{name}', but {place} {count} nodes.")
        return nodes

    def check_times(self, times: str, values: str) -> tuple[np.ndarray, np.ndarray]:
        """Two Data: times, which are to ascend, and as many values; the rest is left out."""
        t, given = self._data[times].get(), self._data[values].get()
        count = min(len(t), len(given))
        if len(t) != len(given) and not self._was_cut:
            self._was_cut = True
            problem = f"has {len(t)} '{times}' and {len(given)} '{values}': give as many."
            sofa = "as in SOFA" if len(given) > len(t) else "while SOFA reads beyond its list"
            complain(self, self.fault(problem), f" The first {count} of both count, {sofa}.")
        kept = t[:count]
        if (kept[1:] <= kept[:-1]).any():
            fault = self.fault(f"needs ascending '{times}', got {kept.tolist()}.")
            complain(self, fault, " As in SOFA the first that is later than now ends an interval.")
        if len(given) < len(t) and keeps_sofa_defects():  # mostly a 0 lies beyond its list
            return t, np.concatenate([given, np.zeros((len(t) - count, *given.shape[1:]))])
        return kept, given[:count]

    _was_cut = False
    """True once a warning said that two lists differ in length."""

    def _usable(self, found: MechanicalState | None, place: str) -> MechanicalState:
        if found is None:
            raise self.fault(f"needs a MechanicalObject {place}.")
        if found.kind.name not in self.acts_on:
            raise self.fault(
                f"acts on states of template {' or '.join(self.acts_on)}, but "
                f"{found.describe()} has {found.getTemplateName()}."
            )
        return found


Pairs = tuple[np.ndarray, np.ndarray]
"""Rows and columns of the node pairs that a contribution couples, shapes (k,)."""


class Contribution(SingleStateComponent):
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

    def check_differentiable(self) -> None:
        """Check that the derivative of a time step is known with it: M is constant.

        Raises:
            SceneError: It is not known, as by default.
        """
        raise self.fault(
            "is a mass whose derivative is not known; it is known of "
            f"{factory.components_with_method(Mass, 'check_differentiable')}."
        )

    def scale(self, factor: float) -> None:
        """Multiply M by a factor, at once; Data stay as they are."""
        raise NotImplementedError


class ForceField(Contribution):
    """Forces f(x) on a state, and the stiffness that a time step uses."""

    category: ClassVar[str] = "force field"

    rayleighStiffness = Real(0.0, "Damping proportional to this stiffness.", unit="time")

    damps_in_products = True
    """False: an iterative solver does not know of its rayleighStiffness, as in SOFA."""

    exact_tangent = False
    """Whether `add_matrix` gives the symmetric part of -df/dx, where a time step takes less."""

    skew = False
    """Whether -df/dx is not symmetric."""

    acts_alone: ClassVar[bool] = False
    """Whether it acts also with no integrator above it, as a force from outside (see OuterForces).
    """

    damps = False
    """Whether its matrix is a damping -df/dv instead of a stiffness; it enters A alone."""

    def add_skew_matrix(self, values: np.ndarray, slots: np.ndarray) -> None:
        """values[slots] += the antisymmetric part of -df/dx at the last `add_matrix`.

        Slots as for `add_matrix`. For forces with an energy there is none.
        """

    def joint(self) -> Any:
        """Mapping from two states onto one of its own, where it acts between two; else None.

        Asked for when the systems are found, after all states are initialised.
        """
        return None

    def add_force(self, force: np.ndarray) -> None:
        """force += f(x) at the state's position."""
        raise NotImplementedError

    def assembleKMatrix(self) -> sparse.csr_matrix:
        """df/dx, as in SOFA the negative of K; shape (3 n, 3 n)."""
        return self.assembled(-1.0)

    def check_differentiable(self) -> None:
        """Check that the derivative of a time step is known with it, for its present Data.

        Raises:
            SceneError: It is not known, as by default.
        """
        raise self.fault(
            "is a force field whose second derivative is not known; it is known of "
            f"{factory.components_with_method(ForceField, 'check_differentiable')}."
        )

    def step_term(self) -> StepTerm:
        """Its term in the residual of a time step; asked for after `check_differentiable`."""
        raise NotImplementedError

    def inverted_elements(self) -> int:
        """Number of its elements that are turned inside out at the state's position."""
        return 0


class ProjectiveConstraint(SingleStateComponent):
    """Holds scalar degrees of freedom, or moves them."""

    category: ClassVar[str] = "projective constraint"

    endTime = Real(-1.0, "Time from which on it no longer acts; negative: never.", unit="time")

    def acts(self) -> bool:
        """Return True before `endTime`."""
        end = self.endTime.get()
        return bool(end < 0.0 or self.time() < end)

    def time(self) -> float:
        """The scene's time."""
        assert self._context is not None
        time: float = self._context.time.get()
        return time

    def fixed(self) -> np.ndarray:
        """Which scalar degrees of freedom no force moves in this step, bool (n, deriv_size)."""
        raise NotImplementedError

    def in_matrix(self, fixed: np.ndarray) -> np.ndarray:
        """Rows of the system matrix that are identity in this step, bool (n, deriv_size).

        Args:
            fixed: What `fixed` has just said, shape (n, deriv_size); by default the same rows.
        """
        return fixed

    def project_response(self, part: Callable[[MechanicalState], np.ndarray | None]) -> None:
        """Change forces or changes of velocity, besides what `fixed` clears.

        Args:
            part: Gives the vector of a state to write in, None where its system is another one.
        """

    def project_position(self, position: np.ndarray) -> None:
        """Change positions at init and after each step, at the time of the step's start."""

    def project_velocity(self, velocity: np.ndarray) -> None:
        """Change velocities at init and after each step, after `project_position`."""

    def check_differentiable(self) -> None:
        """Check that the derivative of a time step is known with it.

        Raises:
            SceneError: It is not known, as by default.
        """
        raise self.fault(
            "is a projective constraint whose derivative is not known; it is known of "
            f"{factory.components_with_method(ProjectiveConstraint, 'check_differentiable')}."
        )
