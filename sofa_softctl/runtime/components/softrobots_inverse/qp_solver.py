"""QPInverseProblemSolver, and the contacts in its problem."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.qpcc.problem.contacts import Contacts, Law, NormalSum
from sofa_softctl.qpcc.problem.modes import SearchOptions
from sofa_softctl.qpcc.solve.solution import InverseSolution
from sofa_softctl.qpcc.solve.solve import ACTIVE_SET
from sofa_softctl.qpcc.solve.tracking_step import TrackingStep
from sofa_softctl.runtime.behavior.constraint import ConstraintSystem
from sofa_softctl.runtime.behavior.solvers import ConstraintSolver
from sofa_softctl.runtime.components.constraint.contact import UnilateralLagrangianConstraint
from sofa_softctl.runtime.components.softrobots_inverse import sofa_defects
from sofa_softctl.runtime.components.softrobots_inverse.inverse_layout import InverseLayout, rows_of
from sofa_softctl.runtime.core.data.data import DataWatch
from sofa_softctl.runtime.core.data.types import Bool, Int, Real, Reals, Text
from sofa_softctl.runtime.helper import message
from sofa_softctl.runtime.helper.message import complain, keeps_sofa_defects
from sofa_softctl.status import Status

SUM_CONTACTS_MIN = 2
"""Smallest number of contacts for which SoftRobots.Inverse bounds the sum of forces."""
SEARCH = SearchOptions("pivoting", flips=0, warm_flips=0)
"""Search of SoftRobots.Inverse: from piece to neighbouring piece across a pressed border."""


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
    qpSolver = Text(
        "active-set", "QP solver; qpOASES and proxQP are replaced by ours.", follows="start"
    )
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
        self._layout: InverseLayout | None = None
        self._last: InverseSolution | None = None  # with an earlier layout
        self._reported: Status | None = None
        self._warned_friction = self._warned_idle = False

    @property
    def solution(self) -> InverseSolution | None:
        """Solution of the last step, or None before the first."""
        solution = None if self._layout is None else self._layout.step.solution
        return self._last if solution is None else solution

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
        indices = [part.constraintIndex for part in problem.constraints]
        self._watch = DataWatch([*indices, self._data["actuatorsOnly"]])
        self._name = {"qpOASES": ACTIVE_SET, "proxQP": "proxqp"}.get(
            self.qpSolver.get(), self.qpSolver.get()
        )

    @override
    def solve(self, problem: ConstraintSystem) -> None:
        layout = self._find_layout(problem)
        a, e, step = layout.actuators, layout.effectors, layout.step
        if not len(a):
            if len(e) and not self._warned_idle:
                self._warned_idle = True
                message.warning(self, "has effectors, but no actuator that acts: they stay idle.")
            return
        assert self._context is not None
        layout.read_limits(self._context.time.get())
        contacts = None
        if layout.touching:
            contacts = self._contacts(problem, layout)
        held = None if step.status is None else np.where(layout.is_change, 0.0, step.effort)
        terms = layout.terms(problem)
        energy = self.epsilon.get()
        step.solve(terms, energy, contacts, solver=self._name, search=SEARCH, held=held)
        self._report_status(step)
        problem.lam[:] = 0.0
        problem.lam[a] = step.effort
        if keeps_sofa_defects() and step.problem is not None:
            problem.lam[a] = sofa_defects.push_idle_actuators(step.problem, step.effort)
        if contacts is not None and step.solution is not None:
            problem.lam[rows_of(layout.touching)] = step.solution.contact_force
        delta = problem.W @ problem.lam + problem.delta_free
        self.objective.set(0.5 * float(delta[e] @ delta[e]))
        for store, rows, applies in layout.stores:
            store(problem.lam[rows], delta[rows])
            if applies is not None and not applies.get():
                problem.lam[rows] = 0.0

    def _find_layout(self, problem: ConstraintSystem) -> InverseLayout:
        """Return the layout of the rows, a new one if they have changed."""
        has_moved = self._watch.has_changed()
        layout = self._layout
        if layout is None or has_moved or layout.active is not problem.active:
            last = self._last = self.solution
            layout = self._layout = InverseLayout(
                problem, self._names, actuators_only=self.actuatorsOnly.get()
            )
            if last is not None and len(last.effort) == len(layout.actuators):
                layout.step.adopt(last)
            counts = len(layout.effectors), len(layout.actuators)
            if counts[1]:
                self.info.set(np.array(counts, dtype=float))
        return layout

    def _contacts(self, problem: ConstraintSystem, layout: InverseLayout) -> Contacts:
        """Return the contacts as variables; forces are SOFA's multipliers."""
        contacts = layout.touching
        mus = [contact.mu.get() for contact in contacts]
        if set(mus) != {self.responseFriction.get()} and not self._warned_friction:
            self._warned_friction = True
            message.warning(
                self,
                f"has responseFriction={self.responseFriction.get():g}, but the collision response "
                f"has mu={', '.join(f'{mu:g}' for mu in sorted(set(mus)))}: that one is used.",
            )
        counts = [contact.contact_count for contact in contacts]
        least, most = (self._data[f"{end}ContactForces"] for end in ("min", "max"))
        bounds = (least.get() if least.isSet() else 0.0, most.get() if most.isSet() else np.inf)
        sums = []
        if sum(counts) >= SUM_CONTACTS_MIN and (bounds[0] > 0.0 or bounds[1] < np.inf):
            sums.append(NormalSum("all contacts", np.arange(sum(counts)), *bounds))
        W, rows = problem.W, rows_of(contacts)
        names = [[contact.getName()] * contact.contact_count for contact in contacts]
        return Contacts(
            W_ec=W[np.ix_(layout.effectors, rows)],
            W_ac=W[np.ix_(layout.actuators, rows)],
            W_cc=W[np.ix_(rows, rows)],
            delta_c_free=problem.delta_free[rows],
            friction=np.repeat(mus, counts),
            identity=_identities(contacts),
            names=list(itertools.chain(*names)),
            sums=sums,
            law=Law("coulomb" if self.allowSliding.get() else "sticking"),
            energy=not self.actuatorsOnly.get(),
        )

    def _report_status(self, step: TrackingStep) -> None:
        status, solution = step.status, None
        if status is None or status is self._reported:
            return
        self._reported = status
        if status is not Status.SOLVED and status.value != self.status.get():
            solution = step.solution
        if solution is not None:
            exceeded = f"Exceeded: {'; '.join(solution.relaxed[:4])}. " if solution.relaxed else ""
            message.warning(self, f"{status.value} {exceeded}{solution.message}")
        self.status.set(status.value)

    def reset(self) -> None:
        """Forget the last solution."""
        self._layout = self._last = self._reported = None
        self.status.set("")

    @override
    def snapshot(self) -> dict[str, Any]:
        return {"solution": self.solution}

    @override
    def restore(self, snapshot: dict[str, Any]) -> None:
        self._layout = self._reported = None
        self._last = snapshot["solution"]


def _identities(contacts: Sequence[UnilateralLagrangianConstraint]) -> list[tuple[int, int, int]]:
    """Return the key of each contact: its elements, and a number if they touch repeatedly."""
    numbers: dict[tuple[int, int], int] = {}
    names = []
    for contact in contacts:
        for first, second in contact.identity.tolist():
            number = numbers[first, second] = numbers.get((first, second), -1) + 1
            names.append((first, second, number))
    return names
