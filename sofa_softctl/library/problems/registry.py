"""Registry of optimal control problems: built-in ones, and PROBLEMS of Python files."""

from __future__ import annotations

from sofa_softctl._internal.problem_files import ProblemRegistry
from sofa_softctl.errors import LibraryError
from sofa_softctl.library.ocp.problem import OptimalControlProblem

REGISTRY = ProblemRegistry[OptimalControlProblem](
    modules=[
        "sofa_softctl.library.problems.flexible_cart",
        "sofa_softctl.library.problems.tasks",
    ],
    error=LibraryError,
    page="docs/how-to/build-a-library.md#declare-a-problem",
    members=("name", "states", "inputs", "parameters", "dynamics"),
)


def load_problem(name: str) -> OptimalControlProblem:
    """The problem of that name, or FILE.py:NAME of a file's PROBLEMS.

    Raises:
        LibraryError: There is no such problem.
    """
    return REGISTRY.load(name)
