"""QPInverseProblemSolver, and the contacts in its problem."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.qpcc.problem.contacts import Contacts, Law, NormalSum
from sofa_softctl.qpcc.problem.modes import SearchOptions
from sofa_softctl.qpcc.problem.problem import InverseProblem
from sofa_softctl.qpcc.solve.solution import InverseSolution
from sofa_softctl.qpcc.solve.solve import solve
from sofa_softctl.runtime.behavior.constraint import (
    ConstraintSystem,
    InverseRole,
    LagrangianConstraint,
)
from sofa_softctl.runtime.behavior.solvers import ConstraintSolver
from sofa_softctl.runtime.components.constraint.contact import UnilateralLagrangianConstraint
from sofa_softctl.runtime.components.softrobots_inverse import sofa_defects
from sofa_softctl.runtime.core.data.types import Bool, Int, Real, Reals, Text
from sofa_softctl.runtime.helper import message
from sofa_softctl.runtime.helper.message import complain, keeps_sofa_defects
from sofa_softctl.status import Status

_UNSET_LIMITS = {
    "effort_min": -np.inf,
    "effort_max": np.inf,
    "effort_previous": 0.0,
    "effort_rate": np.inf,
    "displacement_min": -np.inf,
    "displacement_max": np.inf,
    "displacement_previous": 0.0,
    "displacement_rate": np.inf,
    "effort_fixed": np.nan,
    "displacement_fixed": np.nan,
}
"""Values of a row's limits that its component does not set."""

SEARCH = SearchOptions("pivoting", flips=0, warm_flips=0)
"""Search of SoftRobots.Inverse: from piece to neighbouring piece across a pressed border."""

_VARIABLE_ROLES = (InverseRole.ACTUATOR, InverseRole.EQUALITY)
"""Roles with multipliers as variables; effectors and sensors have zero multipliers."""


class QPInverseProblemSolver(ConstraintSolver):
    """Finds the actuators' lambda that bring effectors to their goals: one QP per step.

    With contacts it solves a QPCC, in which contacts stick, or with allowSliding also slide, on a
    round friction cone (SoftRobots.Inverse: a cone of four sides). The coefficient of friction
    comes from the collision response.

    Source: Coevoet, Escande, Duriez 2019, eq. (6).
    """

    epsilon = Real(1e-3, "Weight of the actuators' energy.", aliases=("energyWeight",))
    actuatorsOnly = Bool(False, "Energy of actuators only, without equalities.")
    maxIterations = Int(250, "Unused: the search for contact modes has other limits.")
    tolerance = Real(1e-10, "Unused: as above.")
    responseFriction = Real(0.0, "Coefficient of friction; a warning if the response has another.")
    allowSliding = Bool(False, "Let contacts slide; otherwise they hold any tangential force.")
    minContactForces = Real(0.0, "Smallest sum of the normal lambda of two or more contacts.")
    maxContactForces = Real(0.0, "Largest sum of the normal lambda of two or more contacts.")
    qpSolver = Text("daqp", "QP solver; qpOASES and proxQP are replaced by ours.", follows="start")
    multithreading = Bool(False, "Unused.")
    reverseAccumulateOrder = Bool(False, "Unused.")
    saveMatrices = Bool(False, "Unused.")
    displayTime = Bool(False, "Unused.")
    countdown = Int(1, "Unused.")
    objective = Real(0.0, "Half the squared distance of all effectors.", read_only=True)
    info = Reals([], "Numbers of effectors, actuators, equalities.", read_only=True)
    status = Text("", "Status of the last step's solution.", read_only=True)

    def __init__(self, *args: Any, **values: Any) -> None:
        super().__init__(*args, **values)
        self.solution: InverseSolution | None = None
        self._warned_friction = self._warned_idle = False

    def attach(self, problem: ConstraintSystem) -> None:
        """Sort the constraints of the scene.

        Raises:
            SceneError: a constraint has no role in an inverse problem.
        """
        super().attach(problem)
        for constraint in problem.constraints:
            if constraint.inverse_role is not None:
                continue
            hint = "it is neither actuator, nor effector, nor equality. Use one of these instead, "
            example = "such as CableActuator or SurfacePressureEquality."
            if "valueType" not in constraint._data:
                text = f"cannot be combined with QPInverseProblemSolver: {hint}{example}"
                raise constraint.fault(text)
            # SoftRobots' constraints; SOFA leaves their role in the QP uninitialised
            text = f"does nothing beside QPInverseProblemSolver: {hint}{example}"
            complain(constraint, constraint.fault(text))
        self._names = {id(part): part.getPathName() for part in problem.constraints}
        self._name = {"qpOASES": "daqp", "proxQP": "proxqp"}.get(
            self.qpSolver.get(), self.qpSolver.get()
        )

    @override
    def solve(self, problem: ConstraintSystem) -> None:
        variables = [part for part in _in_roles(problem, *_VARIABLE_ROLES) if part.row_count]
        e = rows_of(_in_roles(problem, InverseRole.EFFECTOR))
        if not variables:
            if len(e) and not self._warned_idle:
                self._warned_idle = True
                message.warning(self, "has effectors, but no actuator that acts: they stay idle.")
            return
        a = rows_of(variables)
        touching = [
            part for part in problem.active if isinstance(part, UnilateralLagrangianConstraint)
        ]
        c = rows_of(touching)
        inverse = self._inverse_problem(problem, variables, a, e, touching)
        last = self.solution
        if last is not None and len(last.effort) != len(a):
            last = None
        solution = solve(
            inverse,
            solver=self._name,
            warm=None if last is None else last.warm,
            held=None if last is None else _held_efforts(last.effort, variables),
            search=SEARCH,
        )
        self._report_status(solution)
        problem.lam[:] = 0.0
        problem.lam[a] = solution.effort
        if keeps_sofa_defects():
            problem.lam[a] = sofa_defects.push_idle_actuators(inverse, solution.effort)
        problem.lam[c] = solution.contact_force
        delta = problem.W @ problem.lam + problem.delta_free
        self.objective.set(0.5 * float(delta[e] @ delta[e]))
        self.info.set(np.array([len(e), len(a)], dtype=float))
        for constraint in problem.active:
            if constraint in touching:
                continue
            start = constraint.constraintIndex.get()
            rows = slice(start, start + constraint.row_count)
            is_forward = constraint.inverse_role is None  # with a multiplier of zero
            name = "store" if is_forward else "store_inverse"
            getattr(constraint, name)(problem.lam[rows], delta[rows])
            if constraint._data.get("applyForce") and not constraint.applyForce.get():
                problem.lam[rows] = 0.0
        self.solution = solution

    def _inverse_problem(
        self,
        problem: ConstraintSystem,
        variables: list[LagrangianConstraint],
        a: np.ndarray,
        e: np.ndarray,
        touching: list[UnilateralLagrangianConstraint],
    ) -> InverseProblem:
        limits: dict[str, Any] = {}
        names: list[str] = []
        energy = np.ones(len(a), dtype=bool) if self.actuatorsOnly.get() else None
        start = 0
        for constraint in variables:
            stop = start + constraint.row_count
            for name, value in constraint.limits().items():  # type: ignore[attr-defined]
                if name not in limits:
                    limits[name] = np.full(len(a), _UNSET_LIMITS[name])
                limits[name][start:stop] = value
            names += [self._names[id(constraint)]] * constraint.row_count
            if energy is not None:
                energy[start:stop] = constraint.inverse_role is InverseRole.ACTUATOR
            start = stop
        if keeps_sofa_defects():
            sofa_defects.drop_far_limits(limits)
        elif "effort_rate" in limits:  # lambda returns into its limits immediately
            low, high = limits["effort_min"], limits["effort_max"]
            limits["effort_previous"] = np.clip(limits["effort_previous"], low, high)
        W = problem.W
        contacts = self._contacts(problem, touching, a, e) if touching else None
        return InverseProblem(
            W_ea=W[np.ix_(e, a)],
            W_aa=W[np.ix_(a, a)],
            delta_e_free=problem.delta_free[e],
            delta_a_free=problem.delta_free[a],
            energy=self.epsilon.get(),
            energy_rows=energy,
            names=tuple(names),
            contacts=contacts,
            **limits,
        )

    def _contacts(
        self,
        problem: ConstraintSystem,
        touching: list[UnilateralLagrangianConstraint],
        a: np.ndarray,
        e: np.ndarray,
    ) -> Contacts:
        mus = {contact.mu.get() for contact in touching}
        if mus != {self.responseFriction.get()} and not self._warned_friction:
            self._warned_friction = True
            message.warning(
                self,
                f"has responseFriction={self.responseFriction.get():g}, but the collision response "
                f"has mu={', '.join(f'{mu:g}' for mu in sorted(mus))}: the response's is used.",
            )
        sum_min, sum_max = (self._data[f"{end}ContactForces"] for end in ("min", "max"))
        bounds = (
            sum_min.get() if sum_min.isSet() else 0.0,
            sum_max.get() if sum_max.isSet() else np.inf,
        )
        return inverse_contacts(
            problem,
            touching,
            a,
            e,
            sliding=self.allowSliding.get(),
            energy=not self.actuatorsOnly.get(),
            bounds=bounds,
        )

    def _report_status(self, solution: InverseSolution) -> None:
        text = solution.status.value
        if solution.status is not Status.SOLVED and text != self.status.get():
            exceeded = f"Exceeded: {'; '.join(solution.relaxed[:4])}. " if solution.relaxed else ""
            message.warning(self, f"{text} {exceeded}{solution.message}")
        self.status.set(text)

    def reset(self) -> None:
        """Forget the last solution."""
        self.solution = None
        self.status.set("")

    @override
    def snapshot(self) -> dict[str, Any]:
        return {"solution": self.solution}

    @override
    def restore(self, snapshot: dict[str, Any]) -> None:
        self.solution = snapshot["solution"]


def _in_roles(problem: ConstraintSystem, *roles: InverseRole) -> list[LagrangianConstraint]:
    return [constraint for constraint in problem.active if constraint.inverse_role in roles]


def _held_efforts(effort: np.ndarray, variables: list[LagrangianConstraint]) -> np.ndarray:
    """Return the efforts to hold: zero for efforts that are changes, as of Young's modulus."""
    changes = [getattr(type(part), "effort_is_a_change", False) for part in variables]
    return np.where(np.repeat(changes, [part.row_count for part in variables]), 0.0, effort)


_SUM_CONTACTS_MIN = 2
"""Smallest number of contacts for which SoftRobots.Inverse bounds the sum of forces."""


def rows_of(constraints: Sequence[LagrangianConstraint]) -> np.ndarray:
    """Return the numbers of all rows of constraints, shape (n_r,)."""
    parts = [np.arange(c.row_count) + c.constraintIndex.get() for c in constraints]
    return np.concatenate(parts) if parts else np.empty(0, dtype=int)


def inverse_contacts(
    problem: ConstraintSystem,
    contacts: Sequence[UnilateralLagrangianConstraint],
    actuators: np.ndarray,
    effectors: np.ndarray,
    *,
    sliding: bool,
    energy: bool,
    bounds: tuple[float, float],
) -> Contacts:
    """Return the contacts as variables; forces are SOFA's multipliers.

    Args:
        problem: The constraint problem of the step.
        contacts: Contacts of the problem.
        actuators: Rows of the actuators and equalities.
        effectors: Rows of the effectors.
        sliding: SOFA's `allowSliding`: let contacts slide, on a round friction cone.
        energy: Let the energy term cover the contacts' forces.
        bounds: Smallest and largest sum of the normal multipliers.
    """
    rows = rows_of(contacts)
    counts = [contact.contact_count for contact in contacts]
    total = sum(counts)
    sums = []
    if total >= _SUM_CONTACTS_MIN and (bounds[0] > 0.0 or bounds[1] < np.inf):
        sums.append(NormalSum("all contacts", np.arange(total), *bounds))
    W = problem.W
    return Contacts(
        W_ec=W[np.ix_(effectors, rows)],
        W_ac=W[np.ix_(actuators, rows)],
        W_cc=W[np.ix_(rows, rows)],
        delta_c_free=problem.delta_free[rows],
        friction=np.repeat([contact.mu.get() for contact in contacts], counts),
        identity=_identities(contacts),
        names=[
            name
            for contact, count in zip(contacts, counts, strict=True)
            for name in [contact.getName()] * count
        ],
        sums=sums,
        law=Law("coulomb") if sliding else Law("sticking"),
        energy=energy,
    )


def _identities(contacts: Sequence[UnilateralLagrangianConstraint]) -> list[tuple[int, int, int]]:
    """Return the key of each contact: its elements, and a number if they touch repeatedly."""
    numbers: dict[tuple[int, int], int] = {}
    names = []
    for contact in contacts:
        for first, second in contact.identity.tolist():
            number = numbers[first, second] = numbers.get((first, second), -1) + 1
            names.append((first, second, number))
    return names
