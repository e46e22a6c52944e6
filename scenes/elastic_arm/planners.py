"""Planners of the elastic arm's motions: by a nonlinear program, or from a library."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import numpy as np

from sofa_softctl.errors import LibraryError, SoftctlError
from sofa_softctl.library.motions.storage import load
from sofa_softctl.library.ocp.model import check_plant
from sofa_softctl.library.ocp.problem import Motion

from .problem import arm, plant_of

Planner = Callable[[np.ndarray], Motion]
"""Parameters p of `elastic_arm.PARAMETERS` -> a motion of the arm; SoftctlError: there is none."""


def nlp_planner(stiffness: Sequence[float], horizon: float) -> Planner:
    """Planner that solves the optimal control problem, with relaxed springs at the end.

    Source: section 6, Fig. 4a.

    Raises:
        SoftctlError: CasADi is not installed; of the planner: the problem has no solution at p.
    """
    from sofa_softctl.library.ocp.shooting import Program

    program = Program(arm(stiffness=stiffness, horizon=horizon, settled=True))

    def plan(p: np.ndarray) -> Motion:
        solution = program.solve(p)
        if not solution.status.ok:
            names = [parameter.name for parameter in program.problem.parameters]
            at = ", ".join(f"{name}: {value:.4g}" for name, value in zip(names, p, strict=True))
            raise SoftctlError(f"There is no plan for {at}. {solution.message}")
        return program.motion(solution.v)

    return plan


def library_planner(
    library: str | os.PathLike[str], stiffness: Sequence[float], horizon: float
) -> Planner:
    """Planner with motions of a library, each of which passed its acceptance test.

    Args:
        library: The file.
        stiffness: Stiffness of both springs, as assumed by plans [N m / rad].
        horizon: Duration of a motion [s].

    Source: section 6, Fig. 4b.

    Raises:
        LibraryError: the file cannot be read, is of other springs, or has motions of another
            duration; of the planner: there is no motion at p that may be executed.
    """
    motions = load(library)
    check_plant(motions.model, plant_of(stiffness), f"{library}")
    motions.prepare()
    if abs(motions.model.horizon - horizon) > 1e-9:
        raise LibraryError(
            f"{library}: motions must take {horizon} s. Got: {motions.model.horizon} s. Build a "
            "library for this scene: softctl library build SCENE --out FILE."
        )

    def plan(p: np.ndarray) -> Motion:
        answer = motions.query(p)
        if not answer.status.ok:
            raise LibraryError(f"{library}: {answer.message}")
        if answer.beyond:
            raise LibraryError(
                f"{library}: beyond the range of its problem: {'; '.join(answer.beyond)}."
            )
        return answer.motion

    return plan
