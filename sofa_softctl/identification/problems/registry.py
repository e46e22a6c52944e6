"""Registry of identification problems: built-in ones, and PROBLEMS of Python files."""

from __future__ import annotations

from sofa_softctl._internal.problem_files import ProblemRegistry
from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.problem import Problem

REGISTRY = ProblemRegistry[Problem](
    modules=[
        "sofa_softctl.identification.problems.loop.problem",
    ],
    error=IdentificationError,
    page="docs/how-to/identify-a-model.md#declare-a-problem",
    members=("name", "parameters", "inputs", "channels", "experiment"),
)


def load_problem(name: str) -> Problem:
    """The problem of that name, or FILE.py:NAME of a file's PROBLEMS.

    Raises:
        IdentificationError: There is no such problem.
    """
    return Problem.checked(REGISTRY.load(name))
