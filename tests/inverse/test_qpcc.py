"""The inverse problem through contacts: against enumeration, and laws that any answer obeys."""

import itertools

import numpy as np
import pytest

from sofa_softctl.inverse.contacts import Law
from sofa_softctl.inverse.corpus import random_problem
from sofa_softctl.inverse.qp import QP
from sofa_softctl.inverse.qp_solvers import find
from sofa_softctl.inverse.solver import solve
from sofa_softctl.status import Status

STICKING = Law("sticking")


def whole(p):
    """H, g, rows of delta_c and of delta_a over z = (lam_a, lam_c), written out."""
    c = p.contacts
    B = np.concatenate((p.W_ea, c.W_ec), axis=1)
    H, g = B.T @ B, B.T @ p.delta_e_free
    a, c_unit = (1.0 / np.sqrt(np.diag(W)) for W in (p.W_aa, c.W_cc))
    tracking = [np.abs(E.T @ E).sum(axis=1).max() for E in (p.W_ea * a, c.W_ec * c_unit)]
    s = max(tracking) / np.abs(a[:, None] * p.W_aa * a).sum(axis=1).max()
    H[: p.n_a, : p.n_a] += p.energy * s * p.W_aa
    C = np.concatenate((c.W_ac.T, c.W_cc), axis=1)
    D = np.concatenate((p.W_aa, c.W_ac), axis=1)
    return H, g, C, D


def by_enumeration(p):
    """The least objective over all inactive and sticking contacts, by proxqp in all variables.

    None if no combination is possible.
    """
    H, g, C, D = whole(p)
    c = p.contacts
    best = None
    for touching in itertools.product((False, True), repeat=c.n_c):
        rows = np.repeat(touching, np.where(c.friction > 0.0, 3, 1))
        lam_low, lam_high = np.where(rows, -np.inf, 0.0), np.where(rows, np.inf, 0.0)
        low, high = np.where(rows, 0.0, -np.inf), np.where(rows, 0.0, np.inf)
        lam_low[c.starts] = 0.0
        low[c.starts] = 0.0
        lower = np.concatenate((p.effort_min, lam_low, low, p.displacement_min - p.delta_a_free))
        upper = np.concatenate((p.effort_max, lam_high, high, p.displacement_max - p.delta_a_free))
        n = len(g)
        lower[n : n + c.n_r] -= c.delta_c_free
        upper[n : n + c.n_r] -= c.delta_c_free
        qp = QP(H, g, np.concatenate((C, D)), lower, upper)
        result = find("proxqp")(qp)
        if result.outcome == "solved":
            value = 0.5 * result.x @ H @ result.x + g @ result.x
            value += 0.5 * p.delta_e_free @ p.delta_e_free
            best = value if best is None else min(best, value)
    return best


@pytest.mark.parametrize(("friction", "law"), [(0.0, Law()), (0.6, STICKING)])
def test_pivoting_is_never_better_than_the_best_piece(friction, law):
    """An answer is feasible, so it cannot be better than the best of all pieces (1e-6: proxqp)."""
    rng = np.random.default_rng(1)
    as_good = 0
    for _ in range(40):
        p = random_problem(rng, n_c=3, friction=friction, law=law)
        answer, best = solve(p), by_enumeration(p)
        if best is None:
            assert answer.status is not Status.SOLVED
            as_good += 1
            continue
        if answer.status is Status.SOLVED:
            assert answer.objective >= best * (1.0 - 1e-6) - 1e-9
            as_good += answer.objective <= best * (1.0 + 1e-5) + 1e-8
    assert as_good >= 28  # the rest are local optima
