"""The constraint solver of scenes written for SoftRobots.Inverse."""

from __future__ import annotations

from typing import Any

import numpy as np

from sofa_softctl.inverse.problem import InverseProblem
from sofa_softctl.inverse.solution import InverseSolution
from sofa_softctl.inverse.solver import solve
from sofa_softctl.runtime import message
from sofa_softctl.runtime.components.effector.role import InverseRole
from sofa_softctl.runtime.constraint_problem import ConstraintProblem
from sofa_softctl.runtime.data_types import Bool, Int, Real, Reals, Text
from sofa_softctl.runtime.roles import ConstraintSolver, LagrangianConstraint
from sofa_softctl.status import Status

_PER_ROW = {
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
"""Limits of a row that its component leaves unset."""

_SOUGHT = (InverseRole.ACTUATOR, InverseRole.EQUALITY)
"""Whose multipliers are variables; those of effectors and sensors are zero."""


class QPInverseProblemSolver(ConstraintSolver):
    """Finds the actuators' lambda that bring effectors to their goals: one QP a step.

    Source: Coevoet, Escande, Duriez 2019, eq. (6) without contacts.
    """

    epsilon = Real(1e-3, "Weight of the actuators' energy.", aliases=("energyWeight",))
    actuatorsOnly = Bool(False, "Energy of actuators only, without equalities.")
    maxIterations = Int(250, "Unused without contacts.")
    tolerance = Real(1e-10, "Unused without contacts.")
    responseFriction = Real(0.0, "Unused without contacts.")
    allowSliding = Bool(False, "Unused without contacts.")
    minContactForces = Real(0.0, "Unused without contacts.")
    maxContactForces = Real(0.0, "Unused without contacts.")
    qpSolver = Text("daqp", "QP solver; qpOASES and proxQP of SOFA scenes are taken for ours.")
    multithreading = Bool(False, "Unused.")
    reverseAccumulateOrder = Bool(False, "Unused.")
    saveMatrices = Bool(False, "Unused.")
    displayTime = Bool(False, "Unused.")
    countdown = Int(1, "Unused.")
    objective = Real(0.0, "Half the squared distance of all effectors.", read_only=True)
    info = Reals([], "Numbers of effectors, actuators, equalities.", read_only=True)
    status = Text("", "How the last step was solved.", read_only=True)

    def __init__(self, *args: Any, **values: Any) -> None:
        super().__init__(*args, **values)
        self.solution: InverseSolution | None = None

    def attach(self, problem: ConstraintProblem) -> None:
        """Sort the constraints of the scene.

        Raises:
            SceneError: a constraint has no part in an inverse problem.
        """
        super().attach(problem)
        for constraint in problem.constraints:
            if not hasattr(constraint, "inverse_role"):
                raise constraint.fault(
                    "cannot be combined with QPInverseProblemSolver: it is neither actuator, nor "
                    "effector, nor equality. Use an actuator or equality instead, such as "
                    "CableActuator or SurfacePressureEquality."
                )
        self._names = {id(entry): entry.getPathName() for entry in problem.constraints}
        self._name = {"qpOASES": "daqp", "proxQP": "proxqp"}.get(
            self.qpSolver.get(), self.qpSolver.get()
        )

    def solve(self, problem: ConstraintProblem) -> None:
        """See ConstraintSolver."""
        variables = [entry for entry in problem.active if role_of(entry) in _SOUGHT]
        if not variables:
            return
        a = _rows(variables)
        e = _rows([entry for entry in problem.active if role_of(entry) == InverseRole.EFFECTOR])
        inverse = self._inverse_problem(problem, variables, a, e)
        last = self.solution
        known = last is not None and len(last.effort) == len(a)
        solution = solve(
            inverse,
            solver=self._name,
            warm=last.warm if known else None,  # type: ignore[union-attr]
            held=_held(last.effort, variables) if known else None,  # type: ignore[union-attr]
        )
        self._tell(solution)
        problem.lam[:] = 0.0
        problem.lam[a] = solution.effort
        delta = problem.W @ problem.lam + problem.delta_free
        self.objective.set(0.5 * float(delta[e] @ delta[e]))
        self.info.set(np.array([len(e), len(a)], dtype=float))
        for constraint in problem.active:
            start = constraint._data["constraintIndex"].get()
            rows = slice(start, start + constraint.row_count)
            constraint.store_inverse(problem.lam[rows], delta[rows])  # type: ignore[attr-defined]
            if constraint._data.get("applyForce") and not constraint._data["applyForce"].get():
                problem.lam[rows] = 0.0
        self.solution = solution

    def _inverse_problem(
        self,
        problem: ConstraintProblem,
        variables: list[LagrangianConstraint],
        a: np.ndarray,
        e: np.ndarray,
    ) -> InverseProblem:
        limits: dict[str, Any] = {}
        names: list[str] = []
        energy = np.ones(len(a), dtype=bool) if self.actuatorsOnly.get() else None
        start = 0
        for constraint in variables:
            stop = start + constraint.row_count
            for name, value in constraint.limits().items():  # type: ignore[attr-defined]
                if name not in limits:
                    limits[name] = np.full(len(a), _PER_ROW[name])
                limits[name][start:stop] = value
            names += [self._names[id(constraint)]] * constraint.row_count
            if energy is not None:
                energy[start:stop] = role_of(constraint) is InverseRole.ACTUATOR
            start = stop
        W = problem.W
        return InverseProblem(
            W_ea=W[np.ix_(e, a)],
            W_aa=W[np.ix_(a, a)],
            delta_e_free=problem.delta_free[e],
            delta_a_free=problem.delta_free[a],
            energy=self.epsilon.get(),
            energy_rows=energy,
            names=tuple(names),
            **limits,
        )

    def _tell(self, solution: InverseSolution) -> None:
        text = solution.status.value
        if solution.status is not Status.SOLVED and text != self.status.get():
            message.warning(self, f"{text} {solution.message}")
        self.status.set(text)

    def reset(self) -> None:
        """Forget the last solution."""
        self.solution = None
        self.status.set("")

    def snapshot(self) -> dict[str, Any]:
        """See Component."""
        return {"solution": self.solution}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """See Component."""
        self.solution = snapshot["solution"]


def role_of(constraint: LagrangianConstraint) -> InverseRole:
    """What the constraint is to the inverse problem."""
    return constraint.inverse_role  # type: ignore[attr-defined]


def _held(effort: np.ndarray, variables: list[LagrangianConstraint]) -> np.ndarray:
    """The last efforts to be held: zero where an effort is a change, as of a Young's modulus."""
    changes = [getattr(entry, "effort_is_a_change", False) for entry in variables]
    return np.where(np.repeat(changes, [entry.row_count for entry in variables]), 0.0, effort)


def _rows(constraints: list[LagrangianConstraint]) -> np.ndarray:
    parts = [
        np.arange(entry.row_count) + entry._data["constraintIndex"].get() for entry in constraints
    ]
    return np.concatenate(parts) if parts else np.empty(0, dtype=int)
