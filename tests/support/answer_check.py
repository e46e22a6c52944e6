"""Verify an answer to an inverse problem with contacts from its numbers alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sofa_softctl.qpcc.problem.problem import InverseProblem
from sofa_softctl.qpcc.solve.solution import InverseSolution
from tests.support.mode_rows import law_errors
from tests.support.statement import effort_limits, state

EXCEEDED = 1e-5
"""Excess of a limit that must be reported, relative to the free motion or so [-]."""


@dataclass(frozen=True)
class AnswerCheck:
    """Residuals of an answer's efforts and contact forces."""

    objective: float
    """Objective [displacement^2]."""
    law_error: float
    """Largest distance of a contact from its law, relative to the free motion or so [-]."""
    violation: float
    """1/2 the sum of the squared excesses of soft limits [energy]."""
    unreported: tuple[str, ...]
    """Limits that are exceeded and that the answer does not name."""


def check_answer(problem: InverseProblem, solution: InverseSolution) -> AnswerCheck:
    """Check an answer, without trusting anything that it says of itself but `relaxed`."""
    stated = state(problem)
    m, soft, length = stated.mechanics, stated.soft, stated.length
    effort, force = solution.effort / m.a_unit, solution.contact_force / m.c_unit
    both = np.concatenate((effort, force))
    value = soft.R @ both
    excess = np.maximum(0.0, np.maximum(soft.low - value, value - soft.high))
    low, high = (end / m.a_unit for end in effort_limits(problem))
    broken = np.maximum(low - effort, effort - high) > EXCEEDED * length
    unreported = [
        f"{problem.names[i]}: effort out of its bounds" for i in np.flatnonzero(broken).tolist()
    ]
    for i in np.flatnonzero(excess > EXCEEDED * length).tolist():
        words = _words(problem, soft.labels[i])
        if not any(text.startswith(words) for text in solution.relaxed):
            unreported.append(f"{words} (exceeded by {excess[i] / length:.1e})")
    return AnswerCheck(
        objective=m.objective(effort, force),
        law_error=float(law_errors(stated.statement, both / length).max()),
        violation=0.5 * float(excess @ excess),
        unreported=tuple(unreported),
    )


def _words(problem: InverseProblem, label: str) -> str:
    """Prefix of a limit in an answer's report, from its label in `Soft`."""
    quantity, *_, number = label.split()
    if quantity == "sum":
        assert problem.contacts is not None
        return f"{problem.contacts.sums[int(number)].name}: normal force"
    return f"{problem.names[int(number)]}: {quantity}"
