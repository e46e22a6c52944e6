import numpy as np
import pytest

from sofa_softctl.qpcc.pieces.contact_law import law_error
from sofa_softctl.qpcc.pieces.gauss_seidel import contact_gauss_seidel
from sofa_softctl.qpcc.pieces.mechanics import build_mechanics, contact_forces
from sofa_softctl.qpcc.problem.contacts import Law
from tests.support.random_contact_problems import random_problem


def forces(W, delta, mu, sticking=False, sweeps=500):
    W, delta = np.asarray(W, dtype=float), np.asarray(delta, dtype=float)
    lam = np.zeros(len(delta))
    done, error = contact_gauss_seidel(
        W, delta, np.array([0]), np.array([mu]), sticking, 1e-12, sweeps, lam
    )
    return lam, done, error


def test_a_block_at_rest_sticks_under_a_push_within_its_cone():
    """W = 1: weight 2 and push 0.9 < 0.5 * 2 are borne."""
    lam, *_ = forces(np.eye(3), [-2.0, 0.9, 0.0], 0.5)
    assert lam == pytest.approx([2.0, -0.9, 0.0], abs=1e-12)


def test_a_block_pushed_beyond_its_cone_slides_against_its_friction():
    """The friction of 1 points against the push (3, 4)."""
    lam, *_ = forces(np.eye(3), [-2.0, 3.0, 4.0], 0.5)
    assert lam == pytest.approx([2.0, -0.6, -0.8], abs=1e-12)


def test_a_contact_that_would_have_to_pull_is_inactive():
    lam, *_ = forces(np.eye(3), [0.1, 3.0, 4.0], 0.5)
    assert lam == pytest.approx(np.zeros(3))


def test_a_sticking_contact_holds_whatever_it_takes():
    lam, *_ = forces(np.eye(3), [-2.0, 3.0, 4.0], 0.5, sticking=True)
    assert lam == pytest.approx([2.0, -3.0, -4.0], abs=1e-12)


def test_coupled_rows_of_a_contact_that_sticks_are_solved_at_once():
    """The block of a sticking contact is inverted: one sweep, and one that sees no change."""
    W = np.array([[1.0, 0.3, -0.2], [0.3, 0.8, 0.1], [-0.2, 0.1, 1.2]])
    lam, sweeps, _ = forces(W, [-2.0, 0.1, 0.1], 0.9)
    assert W @ lam + [-2.0, 0.1, 0.1] == pytest.approx(np.zeros(3), abs=1e-12)
    assert sweeps == 2


def test_too_few_sweeps_are_told():
    W = np.array([[1.0, 0.6, 0.0], [0.6, 1.0, 0.0], [0.0, 0.0, 1.0]])
    _, sweeps, error = forces(W, [-2.0, 3.0, 0.0], 0.3, sweeps=2)
    assert sweeps == 2
    assert error > 1e-12


@pytest.mark.parametrize("friction", [0.0, 0.4])
def test_the_forces_of_an_elastic_body_obey_coulombs_law(friction):
    """To 1e-7: the sweeps end at changes of 1e-9, and converge by at least 1 % a sweep."""
    rng = np.random.default_rng(2)
    for _ in range(20):
        problem = random_problem(rng, n_c=8, friction=friction, law=Law())
        mechanics = build_mechanics(problem, problem.contacts, np.zeros(problem.n_a))
        effort = rng.uniform(0.0, 1.0, problem.n_a)
        force, error = contact_forces(mechanics, effort)
        assert error <= 1e-9
        assert law_error(mechanics, effort, force).max() < 1e-7
