"""Problems by name: those of this package, and PROBLEMS of Python files."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sofa_softctl._internal import problem_files
from sofa_softctl.errors import LibraryError
from sofa_softctl.library.ocp.problem import OptimalControlProblem


def built_in() -> dict[str, Callable[[], OptimalControlProblem]]:
    """Problems of this package."""
    from sofa_softctl.library.problems import tasks
    from sofa_softctl.library.problems.flexible_cart import flexible_cart

    return {
        "elastic_arm": partial(tasks.pick_and_place, "constant"),
        "elastic_arm_variable": partial(tasks.pick_and_place, "variable"),
        "rigid_arm": partial(tasks.pick_and_place, "rigid"),
        "flexible_cart": flexible_cart,
    }


def load_problem(name: str) -> OptimalControlProblem:
    """The problem of that name, or FILE.py:NAME of a file's PROBLEMS.

    PROBLEMS is a dict of problems, or of functions that make them; NAME may be left out if there is
    one.

    Raises:
        LibraryError: There is no such problem.
    """
    found: OptimalControlProblem = problem_files.load_problem(
        name,
        built_in(),
        error=LibraryError,
        page="docs/how-to/build-a-library.md#declare-a-problem",
        has=("name", "states", "inputs", "parameters", "dynamics"),
    )
    return found
