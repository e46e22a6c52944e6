"""The checker of benchmarks/library_answers.py finds what breaks a tolerance or a limit."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.library_check import Checker
from benchmarks.library_problems import PROBLEMS
from sofa_softctl.library.ocp.shooting import Program

P = {"crane": np.array([0.95, 0.5]), "obstacle": np.array([0.1, 0.1, 0.9, 0.4])}
"""Tasks whose best motion reaches a limit: of a state, and `path`."""


def planned(name, **changes):
    """A checker, and the best motion at P."""
    program = Program(replace(PROBLEMS[name](), **changes))
    optimum = program.solve(P[name])
    assert optimum.status.ok
    return Checker(program.problem, program.model.path_scale), program.motion(optimum.v)


@pytest.fixture(scope="module", params=P)
def plan(request):
    """A checker, a good motion and its parameters."""
    return *planned(request.param), P[request.param]


def test_plans_break_nothing(plan):
    check, motion, p = plan
    assert check(motion, p).broken == ""


@pytest.mark.parametrize("name", P)
def test_a_limit_that_is_broken_between_instants_alone_is_found(name):
    """Without a margin, plans keep limits at the instants, as exactly as IPOPT solves."""
    check, motion = planned(name, margin=0.0)
    assert check.margins(motion.x.T, motion.u[0], motion.z, P[name]).min() > -1e-7
    assert check(motion, P[name]).broken.startswith("excess")


def test_a_motion_that_misses_its_goal_is_found(plan):
    """Goals are some hundred tolerances away: a tenth less of all inputs misses them."""
    check, motion, p = plan
    assert "error" in check(replace(motion, u=0.9 * motion.u), p).broken


def test_an_input_beyond_its_limit_is_found(plan):
    check, motion, p = plan
    u = motion.u.copy()
    u[0, 0] = check.problem.inputs[0].upper + 1e-9
    assert "inputs" in check(replace(motion, u=u), p).broken
