"""Multipliers with friction: conditions of contact, and derivatives within modes."""

import numpy as np
import pytest

from sofa_softctl.runtime.derivatives.multipliers import (
    FrictionContacts,
    active_rows,
    multipliers,
    slides,
)

MU = 0.4


def drawn(seed):
    """A drive of both signs, one that only pulls, and four contacts with friction."""
    random = np.random.default_rng(seed)
    M = random.normal(size=(14, 20))
    missing = random.normal(size=14)
    one_sided = np.array([False, True, *[True, False, False] * 4])
    return M @ M.T / 20.0, missing, one_sided, FrictionContacts(np.arange(2, 14, 3), np.full(4, MU))


@pytest.mark.parametrize("seed", range(6))
def test_contacts_are_open_stick_or_slide(seed):
    """To what Newton's method leaves, 1e-12; each drawn problem has a solution."""
    W, missing, one_sided, rough = drawn(seed)
    lam, held = multipliers(W, missing, one_sided, rough)
    delta = W @ lam - missing
    assert abs(delta[0]) < 1e-12
    assert (lam[one_sided] >= 0.0).all() and (delta[one_sided] > -1e-9).all()
    assert np.abs(lam[one_sided] * delta[one_sided]).max() < 1e-12
    for n in rough.first:
        force, slip = lam[n + 1 : n + 3], delta[n + 1 : n + 3]
        assert np.hypot(*force) <= MU * lam[n] * (1.0 + 1e-12)
        if not held[n]:
            continue
        if slides(lam[n : n + 3], MU):
            assert force == pytest.approx(-MU * lam[n] * slip / np.hypot(*slip), abs=1e-12)
        else:
            assert np.abs(slip).max() < 1e-12


def test_derivatives_are_those_of_differences_and_the_transpose_is_one():
    kinds = set()
    for seed in range(6):
        W, missing, one_sided, rough = drawn(seed)
        lam, held = multipliers(W, missing, one_sided, rough)
        kinds |= {slides(lam[n : n + 3], MU) for n in rough.first if held[n]}
        modes = active_rows(held, lam, W @ lam - missing, rough)
        small, way = W[np.ix_(held, held)], np.random.default_rng(9).normal(size=14)
        found = modes.solve(small, way[held])
        ends = [multipliers(W, missing + s * way, one_sided, rough)[0] for s in (1e-6, -1e-6)]
        assert found == pytest.approx((ends[0] - ends[1])[held] / 2e-6, rel=1e-6, abs=1e-8)
        weight = np.random.default_rng(8).normal(size=int(held.sum()))
        back = modes.solve_transposed(small, weight)
        assert back @ way[held] == pytest.approx(weight @ found, rel=1e-10)
    assert kinds == {True, False}
