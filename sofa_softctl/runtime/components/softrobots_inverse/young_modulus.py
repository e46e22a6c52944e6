"""YoungModulusActuator."""

from __future__ import annotations

from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.behavior.constraint import InverseRole, LagrangianConstraint
from sofa_softctl.runtime.behavior.roles import SolidForceField
from sofa_softctl.runtime.core.data.types import Bool, Integers, Real
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.helper.message import complain, keeps_sofa_defects
from sofa_softctl.runtime.kernels.constraint.gauss_seidel import IMPOSE_LAMBDA, row_parameters

_STRAIN_MIN = 1e-10
"""Largest strain of an undeformed region [-]: its row is only rounding."""


class YoungModulusActuator(LagrangianConstraint):
    """Changes Young's modulus E of the elements of a force field, or of some of them.

    Row: J = df/dE, the elastic forces at the present position for E = 1; delta = W lambda is the
    effect of the change on the body, from delta_free = 0. The effort is the change Delta E of this
    step, not a total: lambda = dt Delta E in second order, Delta E in first order. The step moves
    by A^-1 J^T lambda, and from the next step on E is larger by Delta E.

    The row uses df/dE at the present x only. A body of modulus E + Delta E would also respond to
    the motion of the step with another K: to first order its velocity differs from the row's by
    -A^-1 h (h + beta) Delta E dK/dE v_new (h the step, beta the Rayleigh stiffness), which is zero
    for a body at rest.

    Each actuator has its own modulus: several regions are several force fields on one state (as in
    SoftRobots.Inverse: in child nodes with a topology and no state), or several `elements` of one
    force field. Departures from SoftRobots.Inverse, which adds lambda to E for any dt, and only to
    entry 0 of youngModulus: E changes by Delta E on all elements, and a reset restores E.

    Source: SoftRobots.Inverse's component of the same name.
    """

    inverse_role = InverseRole.ACTUATOR
    effort_is_a_change = True
    """True if holding an effort in the next step means an effort of zero."""
    row_count = 1

    forceField = LinkType(
        "Force field to change; the next one of elements by default.", kind="force field"
    )
    elements = Integers(
        [], "Elements to change (embedded runtime only); all by default.", follows="start"
    )
    minYoung = Real(10.0, "Smallest Young's modulus.", unit="pressure")
    maxYoung = Real(1e5, "Largest Young's modulus.", unit="pressure")
    maxYoungVariationRatio = Real(10.0, "Largest change per step, over the present modulus.")
    applyForce = Bool(True, "Apply lambda, not only compute it.")
    youngModulus = Real(0.0, "Present Young's modulus.", unit="pressure", read_only=True)

    def init(self) -> None:
        """Check the limits.

        Raises:
            SceneError: minYoung is above maxYoung, or maxYoungVariationRatio is negative.
        """
        low, high = self.minYoung.get(), self.maxYoung.get()
        ratio = self.maxYoungVariationRatio.get()
        if not 0.0 <= low <= high or not ratio >= 0.0:
            problem = self.fault(
                "needs 0 <= minYoung <= maxYoung and maxYoungVariationRatio >= 0, got minYoung "
                f"{low:g}, maxYoung {high:g}, maxYoungVariationRatio {ratio:g}."
            )
            if not low <= high or not ratio >= 0.0:
                raise problem
            complain(self, problem)

    def bwdInit(self) -> None:
        """Find the force field and its modulus.

        Raises:
            SceneError: there is no field, or its elements have no common positive modulus.
        """
        self.field = self._find_field()
        young = self.field.findData("youngModulus")
        if young is not None and young.hasParent():
            raise self.fault(
                f"cannot change youngModulus of {self.field.describe()}, which is linked to other "
                "Data. Give it as a number."
            )
        if self.field.state is not self.state:
            raise self.fault(
                f"acts on {self.state.describe()}, but {self.field.describe()} on "
                f"{self.field.state.describe()}. Put it beside its force field."
            )
        self._elements = self._find_elements()
        self._nodes = np.unique(self.field.elements[self._elements])
        self._row = np.zeros(len(self._nodes), dtype=np.int64)
        self._stress = self.field.largest_force_per_modulus(self._elements)
        self._initial = self.field.moduli()[self._elements].copy()
        if np.ptp(self._initial) or not self._initial[0] > 0.0:
            raise self.fault(
                f"finds Young's moduli from {self._initial.min():g} to "
                f"{self._initial.max():g}: it moves one modulus, above 0. Give each region an "
                "actuator of its own, by 'elements' or by a force field for each."
            )
        self.youngModulus.set(float(self._initial[0]))

    def _find_field(self) -> SolidForceField:
        field: Any = self._links["forceField"].getLinkedBase()
        node = self._context
        while field is None and node is not None:
            fields = [f for f in node.of("force field") if isinstance(f, SolidForceField)]
            field = next(iter(fields), None)
            node = node.parents[0] if node.parents else None
        if not isinstance(field, SolidForceField):
            raise self.fault(
                "needs a TetrahedronFEMForceField or AssumedStrainFEMForceField in its node or "
                "above."
            )
        return field

    def _find_elements(self) -> np.ndarray | slice:
        indices, count = self.elements.get(), len(self.field.elements)
        if not len(indices):
            return slice(None)
        if indices.min() < 0 or indices.max() >= count:
            worst = indices.max() if indices.max() >= count else indices.min()
            raise self.fault(
                f"has 'elements' with {worst}, but {self.field.describe()} has {count} tetrahedra."
            )
        return np.unique(indices)

    def reset(self) -> None:
        """Restore the initial modulus of the force field."""
        self._set_young(self._initial)

    def _set_young(self, young: np.ndarray | float) -> None:
        self.field.set_moduli(self._elements, young)
        self.youngModulus.set(float(self.field.moduli()[self._elements][0]))

    @override
    def build(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        self.youngModulus.set(float(self.field.moduli()[self._elements][0]))
        force = np.zeros((self.state.count, 3))
        self.field.add_force_per_modulus(self._elements, force)
        self._is_strained = np.abs(force).max() > _STRAIN_MIN * self._stress
        return self._row, self._nodes, force[self._nodes]

    def resolution(self) -> np.ndarray:
        """Return parameters by which a forward solver does not change the modulus."""
        return row_parameters(IMPOSE_LAMBDA, 0.0)[None]

    def violation(self) -> np.ndarray:
        """Return zero: without a change of modulus nothing moves."""
        return np.zeros(1)

    def _factor(self) -> float:
        """Return the integrator's lambda of a change by 1; 1 in SoftRobots.Inverse for any dt."""
        if keeps_sofa_defects():
            return 1.0
        assert self._context is not None
        solver: Any = self._context.find_upward("ode solver")
        return float(solver.effort_factor)

    def limits(self) -> dict[str, float]:
        """Return the bounds of this step by the names of InverseProblem, to keep E in its limits.

        A region at its rest shape keeps its modulus, which has no effect there.
        """
        if not self._is_strained:
            return {"effort_min": 0.0, "effort_max": 0.0}
        young, factor = self.youngModulus.get(), self._factor()
        change_max = self.maxYoungVariationRatio.get() * young
        low = max(self.minYoung.get() - young, -change_max)
        high = min(self.maxYoung.get() - young, change_max)
        return {
            "effort_min": factor * min(low, change_max),
            "effort_max": factor * max(high, -change_max),
        }

    def store_inverse(self, lam: np.ndarray, delta: np.ndarray) -> None:
        """Change nothing: `store` changes E with an applied lambda; SOFA changes E in any case."""
        if keeps_sofa_defects() and not self.applyForce.get():
            self.store(lam, delta)

    def store(self, lam: np.ndarray, delta: np.ndarray) -> None:
        """Change E by lambda when the step is corrected."""
        if lam[0]:
            self._set_young(self.youngModulus.get() + float(lam[0]) / self._factor())
