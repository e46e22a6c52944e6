"""Steps of inverse control as arrays that one kernel reads and returns."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np

from sofa_softctl.qp.active_set import SOLVED
from sofa_softctl.qpcc.problem.contacts import Contacts
from sofa_softctl.qpcc.problem.kernels import LIMITS, solve_tracking
from sofa_softctl.qpcc.problem.limits import active_limits
from sofa_softctl.qpcc.problem.modes import Mode, SearchOptions
from sofa_softctl.qpcc.problem.problem import UNLIMITED, InverseProblem
from sofa_softctl.qpcc.solve.solution import InverseSolution
from sofa_softctl.qpcc.solve.solve import ACTIVE_SET, TOLERANCE, solve, tracked_solution
from sofa_softctl.status import Status

Array = np.ndarray
Terms = tuple[Array, Array, Array, Array, Array]
"""W_ea, W_aa, delta_e_free, delta_a_free and effector_weight, see `InverseProblem`."""
TEXTS_MAX = 1000
"""Largest number of sets of active limits whose texts are kept."""


class TrackingStep:
    """The present step of inverse control with the same actuators.

    A step without contacts is solved by one kernel. `problem` and `solution` are objects for all
    others: they are built when something reads them, which must be before the next step.

    Args:
        names: Names of the actuators.
        energy_rows: Actuators in the energy term, shape (n_a,) of bool. None = all.
    """

    def __init__(self, names: Sequence[str], energy_rows: np.ndarray | None = None) -> None:
        self._names, count = tuple(names), len(names)
        self._energy_rows = energy_rows
        self._in_energy = np.ones(count, dtype=bool) if energy_rows is None else energy_rows
        self._limits = np.repeat(UNLIMITED, count, axis=1)
        self._texts: dict[bytes, tuple[str, ...]] = {}
        self.limits = dict(zip(LIMITS, self._limits, strict=True))
        """Limits of this step by the names of InverseProblem, shape (n_a,) each."""
        self.forget()

    def forget(self) -> None:
        """Forget the last step; limits stay."""
        self.effort = self.displacement = np.zeros(len(self._names))
        """Effort and displacement of each actuator, shape (n_a,)."""
        self.status: Status | None = None
        """Status of the last solved step, or None before the first."""
        self.active: tuple[str, ...] = ()
        self.relaxed: tuple[str, ...] = ()
        """Limits that are reached or exceeded, see `InverseSolution`."""
        self.modes: tuple[Mode, ...] = ()
        """Mode of each contact."""
        self._answer: tuple[Any, ...] | None = None
        self._terms: Terms | None = None
        self._energy = self._seconds = 0.0
        self._problem: InverseProblem | None = None
        self._solution: InverseSolution | None = None

    def set_limits(self, limits: np.ndarray) -> None:
        """Set all limits, shape (10, n_a) as `kernels.LIMITS`."""
        self._limits[:] = limits

    def remove_limits(self) -> None:
        """Remove all limits."""
        self._limits[:] = UNLIMITED

    def solve(
        self,
        terms: Terms,
        energy: float,
        contacts: Contacts | None,
        *,
        solver: str,
        search: SearchOptions,
        held: np.ndarray | None = None,
    ) -> None:
        """Solve the step, with the present `limits`.

        Args:
            terms: Mechanics of the step.
            energy: Weight of the energy term [-].
            contacts: Contacts as variables of the problem, or None if there are none.
            solver: Name of the QP solver.
            search: Options of the search for contact modes.
            held: Effort to hold if no answer can be trusted, shape (n_a,). Default: the previous.
        """
        if contacts is None and solver == ACTIVE_SET:
            start = perf_counter()
            outcome, answer = solve_tracking(
                *terms, self._limits, energy, self._in_energy, TOLERANCE
            )
            if outcome == SOLVED:
                self._seconds = perf_counter() - start
                self._terms, self._energy, self._problem = terms, energy, None
                self._answer, self._solution = answer, None
                self.effort, self.displacement, reached = answer[0], answer[1], answer[4]
                self.status, self.relaxed, self.modes = Status.SOLVED, (), ()
                self.active = self._text_of(reached) if len(reached) else ()
                return
        last = self.solution
        warm = None if last is None else last.warm
        self._terms, self._energy = terms, energy
        self._problem = self._build(contacts)
        self.adopt(solve(self._problem, solver=solver, warm=warm, search=search, held=held))

    def _text_of(self, reached: np.ndarray) -> tuple[str, ...]:
        key = reached.tobytes()
        texts = self._texts.get(key)
        if texts is None:
            if len(self._texts) >= TEXTS_MAX:
                self._texts.clear()
            texts = self._texts[key] = active_limits(self._names, reached)
        return texts

    def adopt(self, solution: InverseSolution) -> None:
        """Take a solution as that of the last step."""
        self._solution = solution
        self.effort, self.displacement = solution.effort, solution.displacement
        self.status, self.modes = solution.status, solution.modes
        self.active, self.relaxed = solution.active, solution.relaxed

    @property
    def solution(self) -> InverseSolution | None:
        """Solution of the last step, or None before the first."""
        if self._solution is None and self._answer is not None:
            self._solution = tracked_solution(self._names, self._answer, self._seconds)
        return self._solution

    @property
    def problem(self) -> InverseProblem | None:
        """Inverse problem of the last step, or None before the first."""
        if self._problem is None and self._terms is not None:
            self._problem = self._build(None)
        return self._problem

    def _build(self, contacts: Contacts | None) -> InverseProblem:
        assert self._terms is not None
        W_ea, W_aa, delta_e, delta_a, weight = self._terms
        return InverseProblem(
            W_ea=W_ea,
            W_aa=W_aa,
            delta_e_free=delta_e,
            delta_a_free=delta_a,
            effector_weight=weight,
            energy=self._energy,
            energy_rows=self._energy_rows,
            names=self._names,
            contacts=contacts,
            **self.limits,
        )
