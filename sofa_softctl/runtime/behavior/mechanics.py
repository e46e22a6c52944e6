"""Roles of masses, forces and projective constraints.

Vectors of a state are arrays with a row for each node: (n, 3) for points, (n, 6) for bodies, (n, 1)
for joints. Vectors of a system, constraint rows and matrices have rows of three scalars: a point
has one row, a body two (linear, then angular), three joints share one. In `pairs` and `build`, a
'node' is such a row; for points there is no difference.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sparse

from sofa_softctl.runtime.behavior.dofs import KINDS, DofType
from sofa_softctl.runtime.behavior.state import MechanicalState
from sofa_softctl.runtime.core import factory
from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.types import Bool, Real
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.helper.message import complain, keeps_sofa_defects
from sofa_softctl.runtime.kernels.cholesky.block_matrix import BlockPattern

if TYPE_CHECKING:
    from sofa_softctl.runtime.behavior.step_term import StepTerm


class SingleStateComponent(Component):
    """Component that acts on one state: `mstate`, or the nearest in its node or above."""

    mstate = LinkType("State to act on; the node's own by default.", kind="state")

    acts_on: ClassVar[tuple[str, ...]] = ("Vec3",)
    """Kinds of states that it supports."""

    def before_init(self) -> None:
        """Create the nodes of states of its node that a later mapping determines."""
        for state in () if self._context is None else self._context.of("state"):
            state.take_mapped_nodes()  # type: ignore[attr-defined]

    def getTemplateName(self) -> str:
        """Return the kind of degrees of freedom."""
        if "state" in vars(self):
            return self.state.getTemplateName()
        return super().getTemplateName() or "Vec3d"

    @property
    def kind(self) -> DofType:
        """Kind of its state, or of its template if there is no state yet."""
        ready = "mstate" in self.__dict__.get("_links", ())  # else its Data are being created
        state = self._find_state() if ready else self._state_above()
        template = self.template.get() if state is None else ""
        return KINDS.get(template, KINDS[""]) if state is None else state.kind

    @property
    def coord_size(self) -> int:
        """Number of scalars of a node's position."""
        return self.kind.coord_size

    @property
    def deriv_size(self) -> int:
        """Number of scalars of a node's velocity or force."""
        return self.kind.deriv_size

    def _state_above(self) -> Any:
        return None if self._context is None else self._context.find_upward("state")

    def _find_state(self) -> Any:
        state = self._links["mstate"].getLinkedBase()
        return self._state_above() if state is None else state

    @cached_property
    def state(self) -> MechanicalState:
        """State on which it acts.

        Raises:
            SceneError: There is none, or its kind is not supported.
        """
        return self._usable(self._find_state(), "in its node, added before it")

    def linked_state(self, link: str) -> MechanicalState:
        """Return the target of a link, by default the state of its node.

        Raises:
            SceneError: There is none, or its kind is not supported.
        """
        target = self._links[link].getLinkedBase()
        return self._usable(
            self._find_state() if target is None else target,
            f"as '{link}', such as {link}='@../dofs'",
        )

    def check_indices(
        self,
        nodes: np.ndarray,
        name: str = "indices",
        state: MechanicalState | None = None,
    ) -> np.ndarray:
        """Return the nodes of a Data after a check that all of them exist.

        Args:
            nodes: Indices of the nodes.
            name: Name of the Data.
            state: State of the nodes; by default the component's state.

        Raises:
            SceneError: A node does not exist.
        """
        count = (state or self.state).count
        if len(nodes) and (nodes.min() < 0 or nodes.max() >= count):
            wrong = nodes.min() if nodes.min() < 0 else nodes.max()
            subject = "there are" if state is None else f"{state.describe()} has"
            raise self.fault(f"has {wrong} in '{name}', but {subject} {count} nodes.")
        return nodes

    def check_times(self, times: str, values: str) -> tuple[np.ndarray, np.ndarray]:
        """Return two Data of equal length: times, which should ascend, and values."""
        t, numbers = self._data[times].get(), self._data[values].get()
        count = min(len(t), len(numbers))
        if len(t) != len(numbers) and not self._was_cut:
            self._was_cut = True
            problem = f"has {len(t)} '{times}' and {len(numbers)} '{values}': give as many."
            sofa = "as in SOFA" if len(numbers) > len(t) else "while SOFA reads beyond its list"
            complain(self, self.fault(problem), f" The first {count} of both count, {sofa}.")
        used = t[:count]
        if (used[1:] <= used[:-1]).any():
            fault = self.fault(f"needs ascending '{times}', got {used.tolist()}.")
            complain(self, fault, " As in SOFA the first that is later than now ends an interval.")
        if len(numbers) < len(t) and keeps_sofa_defects():  # in most cases 0 follows its list
            return t, np.concatenate([numbers, np.zeros((len(t) - count, *numbers.shape[1:]))])
        return used, numbers[:count]

    _was_cut = False
    """True after a warning that two lists differ in length."""

    def _usable(self, state: MechanicalState | None, location: str) -> MechanicalState:
        if state is None:
            raise self.fault(f"needs a MechanicalObject {location}.")
        if state.kind.name not in self.acts_on:
            raise self.fault(
                f"acts on states of template {' or '.join(self.acts_on)}, but "
                f"{state.describe()} has {state.getTemplateName()}."
            )
        return state


Pairs = tuple[np.ndarray, np.ndarray]
"""Rows and columns of the node pairs that a contribution couples, shapes (k,)."""


class Contribution(SingleStateComponent):
    """Component with a matrix C in the system: a mass M, or a stiffness K = -df/dx."""

    def add_product(self, out: np.ndarray, v: np.ndarray, factor: float) -> None:
        """Add factor C v to out; with the stiffness at the position of the last `add_force`."""
        raise NotImplementedError

    def pairs(self) -> Pairs:
        """Return the node pairs that C couples, each pair once."""
        raise NotImplementedError

    def add_matrix(self, values: np.ndarray, slots: np.ndarray, factor: float) -> None:
        """Add factor C to values[slots], slots in the order of `pairs`."""
        raise NotImplementedError

    def assemble_csr(self, factor: float) -> sparse.csr_matrix:
        """Return factor C, shape (3 n, 3 n)."""
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
        """Add M g to force."""
        raise NotImplementedError

    def assembleMMatrix(self) -> sparse.csr_matrix:
        """Return M, shape (3 n, 3 n)."""
        return self.assemble_csr(1.0)

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
        """Multiply M by a factor immediately, without a change of Data."""
        raise NotImplementedError


class ForceField(Contribution):
    """Forces f(x) on a state, and the stiffness for a time step."""

    category: ClassVar[str] = "force field"

    rayleighStiffness = Real(0.0, "Damping proportional to this stiffness.", unit="time")

    damps_in_products = True
    """Whether iterative solvers use its rayleighStiffness; not all do in SOFA."""

    exact_tangent = False
    """Whether `add_matrix` adds the symmetric part of -df/dx, not the step's approximation."""

    skew = False
    """Whether -df/dx is not symmetric."""

    acts_alone: ClassVar[bool] = False
    """Whether it also acts without an integrator above, as an external force (OuterForces)."""

    damps = False
    """Whether its matrix is a damping -df/dv, which enters only A, instead of a stiffness."""

    def add_skew_matrix(self, values: np.ndarray, slots: np.ndarray) -> None:
        """Add the antisymmetric part of -df/dx at the last `add_matrix` to values[slots].

        Slots as for `add_matrix`. It is zero for forces with an energy.
        """

    def joint(self) -> Any:
        """Return its mapping from two states to one, if it acts between two, or None.

        Called after all states are initialised, to build the systems.
        """
        return None

    def add_force(self, force: np.ndarray) -> None:
        """Add f(x) at the state's position to force."""
        raise NotImplementedError

    def add_force_and_product(self, force: np.ndarray, v: np.ndarray, factor: float) -> None:
        """Add f(x) + factor K v to force: `add_force` and `add_product`, or both in one pass."""
        self.add_force(force)
        self.add_product(force, v, factor)

    def assembleKMatrix(self) -> sparse.csr_matrix:
        """Return df/dx = -K, as in SOFA, shape (3 n, 3 n)."""
        return self.assemble_csr(-1.0)

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
        """Return its term in the residual of a time step, after `check_differentiable`."""
        raise NotImplementedError

    def inverted_elements(self) -> int:
        """Return the number of its inverted elements at the state's position."""
        return 0


class ProjectiveConstraint(SingleStateComponent):
    """Constraint that fixes scalar degrees of freedom, or imposes their motion."""

    category: ClassVar[str] = "projective constraint"

    endTime = Real(-1.0, "Time from which on it no longer acts; negative: never.", unit="time")

    def acts(self) -> bool:
        """Return True before `endTime`."""
        end = self.endTime.get()
        return bool(end < 0.0 or self.time() < end)

    def time(self) -> float:
        """Return the scene's time."""
        assert self._context is not None
        time: float = self._context.time.get()
        return time

    def fixed_dofs(self) -> np.ndarray:
        """Return True for scalar degrees of freedom without forces in this step (n, deriv_size)."""
        raise NotImplementedError

    def in_matrix(self, fixed: np.ndarray) -> np.ndarray:
        """Return True for rows of the system matrix that are identity in this step.

        Args:
            fixed: Result of `fixed` in this step, shape (n, deriv_size); by default the result.
        """
        return fixed

    def project_response(self, part: Callable[[MechanicalState], np.ndarray | None]) -> None:
        """Change forces or changes of velocity, in addition to clearing `fixed` entries.

        Args:
            part: Returns the vector of a state for writing, or None for a state of another system.
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
