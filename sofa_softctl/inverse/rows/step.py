"""Problem and solution of a controller's step, in arrays that kernels read and return."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from sofa_softctl.qp.active_set import SOLVED
from sofa_softctl.qpcc.problem.kernels import LIMITS, solve_tracking
from sofa_softctl.qpcc.problem.limits import active_limits
from sofa_softctl.qpcc.problem.modes import Mode, SearchOptions
from sofa_softctl.qpcc.problem.problem import UNLIMITED, InverseProblem
from sofa_softctl.qpcc.solve.solution import InverseSolution
from sofa_softctl.qpcc.solve.solve import ACTIVE_SET, TOLERANCE, solve, tracked_solution
from sofa_softctl.status import Status

if TYPE_CHECKING:
    from sofa_softctl.inverse.rows.contact_rows import ContactRows
    from sofa_softctl.qpcc.problem.contacts import Contacts

Array = np.ndarray
Terms = tuple[Array, Array, Array, Array, Array]
"""W_ea, W_aa, delta_e_free, delta_a_free and effector_weight, see `InverseProblem`."""
TEXTS_MAX = 1000
"""Largest number of sets of active limits whose texts are kept."""
_NOTHING = np.empty(0)
_PREVIOUS_EFFORT = LIMITS.index("effort_previous")
_PREVIOUS_DISPLACEMENT = LIMITS.index("displacement_previous")


class ControlStep:
    """The present step of a controller.

    A step without contacts is solved by one kernel. `problem` and `solution` are objects for all
    others: they are built when something reads them, which must be before the next step.

    Args:
        names: Names of the actuators.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names, count = tuple(names), len(names)
        self._given_limits = np.repeat(UNLIMITED, count, axis=1)
        self._limits = self._given_limits.copy()
        self.limits = dict(zip(LIMITS, self._limits, strict=True))
        """Limits of this step by the names of InverseProblem, shape (n_a,) each."""
        self._in_energy = np.ones(count, dtype=bool)
        self._texts: dict[bytes, tuple[str, ...]] = {}
        self.forget()

    def forget(self) -> None:
        """Return to the state before the first step."""
        count = len(self._names)
        self.start = self.end = 0.0
        """Time at the start and at the end of the step [time]."""
        self.effort, self.displacement = np.zeros(count), np.zeros(count)
        """Effort and displacement of each actuator, shape (n_a,)."""
        self.displacement_before = self.displacement
        """Displacement of each actuator in the step before, shape (n_a,); 0 in the first one."""
        self.status: Status | None = None
        self.status_before: Status | None = None
        """Status of this step and of the one before; None if there is none."""
        self.active: tuple[str, ...] = ()
        self.relaxed: tuple[str, ...] = ()
        """Limits that are reached or exceeded, see `InverseSolution`."""
        self.modes: tuple[Mode, ...] = ()
        """Mode of each contact."""
        self.contacts: ContactRows | None = None
        """Contacts of the step, or None if there are none."""
        self.normal = self.slide = _NOTHING
        """Normal force [force] and slip in the step [length] of each contact, shape (n_c,)."""
        self._answer: tuple[Any, ...] | None = None
        self._terms: Terms | None = None
        self._energy = self._seconds = 0.0
        self._problem: InverseProblem | None = None
        self._solution: InverseSolution | None = None

    def begin(self, start: float, end: float, held: np.ndarray) -> None:
        """Begin a step, with the limits of `set_limits`.

        Args:
            start: Time at the start of the step [time].
            end: Time at its end [time].
            held: Efforts from which rates count, and to hold without a solution, shape (n_a,).
        """
        self.start, self.end = start, end
        self.status_before, self.displacement_before = self.status, self.displacement
        self.contacts, self.normal, self.slide = None, _NOTHING, _NOTHING
        self._given_limits[_PREVIOUS_EFFORT] = held
        self._given_limits[_PREVIOUS_DISPLACEMENT] = self.displacement
        self._limits[:] = self._given_limits

    def set_limits(self, limits: dict[str, Any]) -> None:
        """Set limits for this step and those to come, a number or shape (n_a,) each."""
        for name, limit in limits.items():
            self._given_limits[LIMITS.index(name)] = self.limits[name][:] = limit

    def solve(
        self,
        terms: Terms,
        energy: float,
        contacts: Contacts | None,
        solver: str,
        search: SearchOptions,
    ) -> None:
        """Solve the step.

        Args:
            terms: Mechanics of the step.
            energy: Weight of the energy term [-].
            contacts: Contacts as variables of the problem, or None if there are none.
            solver: Name of the QP solver.
            search: Options of the search for contact modes.
        """
        warm = None if contacts is None or self.solution is None else self.solution.warm
        self._terms, self._energy, self._problem = terms, energy, None
        if contacts is None and solver == ACTIVE_SET:
            start = perf_counter()
            outcome, answer = solve_tracking(
                *terms, self._limits, energy, self._in_energy, TOLERANCE
            )
            if outcome == SOLVED:
                self._seconds = perf_counter() - start
                self._take_answer(answer)
                return
        self._problem = self._build(contacts)
        self.adopt(solve(self._problem, solver=solver, warm=warm, search=search))

    def _take_answer(self, answer: tuple[Any, ...]) -> None:
        self._answer, self._solution = answer, None
        self.effort, self.displacement, reached = answer[0], answer[1], answer[4]
        self.status, self.relaxed, self.modes = Status.SOLVED, (), ()
        self.active = self._text_of(reached) if len(reached) else ()

    def _text_of(self, reached: np.ndarray) -> tuple[str, ...]:
        key = reached.tobytes()
        texts = self._texts.get(key)
        if texts is None:
            if len(self._texts) >= TEXTS_MAX:
                self._texts.clear()
            texts = self._texts[key] = active_limits(self._names, reached)
        return texts

    def adopt(self, solution: InverseSolution) -> None:
        """Adopt a solution."""
        self._solution = solution
        self.effort, self.displacement = solution.effort, solution.displacement
        self.status, self.modes = solution.status, solution.modes
        self.active, self.relaxed = solution.active, solution.relaxed

    @property
    def solution(self) -> InverseSolution | None:
        """Solution of the last solved step, or None before the first."""
        if self._solution is None and self._answer is not None:
            self._solution = tracked_solution(self._names, self._answer, self._seconds)
        return self._solution

    @property
    def problem(self) -> InverseProblem | None:
        """Inverse problem of the last solved step, or None before the first."""
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
            names=self._names,
            contacts=contacts,
            **self.limits,
        )
