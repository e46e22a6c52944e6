"""Identification problems by name: those of this package, and PROBLEMS of Python files."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sofa_softctl._internal import problem_files
from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.problem import Problem


def built_in() -> dict[str, Callable[[], Problem]]:
    """Problems of this package; what they need is imported when one is asked for."""
    from sofa_softctl.identification.problems.loop.problem import LoopProblem

    return {"loop": LoopProblem, "loop6": partial(LoopProblem, 6)}


def load_problem(name: str) -> Problem:
    """The problem of that name, or FILE.py:NAME of a file's PROBLEMS.

    PROBLEMS is a dict of problems, or of functions that make them; NAME may be left out if there is
    one.

    Raises:
        IdentificationError: There is no such problem.
    """
    found: Problem = problem_files.load_problem(
        name,
        built_in(),
        error=IdentificationError,
        page="docs/how-to/identify-a-model.md#declare-a-problem",
        has=("name", "parameters", "inputs", "channels", "experiment"),
    )
    return found
