import numpy as np
import pytest

from sofa_softctl.errors import ProblemError
from tests.support.random_contact_problems import KINDS, kind_of, random_contact_problem


def whole(problem):
    c = problem.contacts
    return np.block([[problem.W_aa, c.W_ac], [c.W_ac.T, c.W_cc]])


@pytest.mark.parametrize("k", range(len(KINDS)))
def test_a_problem_depends_on_its_seed_and_number_alone(k):
    first, again = random_contact_problem(3, k), random_contact_problem(3, k)
    other = random_contact_problem(4, k)
    assert np.array_equal(whole(first), whole(again))
    assert np.array_equal(first.effort_max, again.effort_max)
    assert whole(first).shape != whole(other).shape or not np.allclose(whole(first), whole(other))


@pytest.mark.parametrize("k", range(30))
def test_compliances_are_those_of_a_body(k):
    """H A^-1 H^T has no negative eigenvalue, to rounding."""
    values = np.linalg.eigvalsh(whole(random_contact_problem(0, k)))
    assert values[0] > -1e-12 * values[-1]


@pytest.mark.parametrize("contacts", [3, 4, 6, 12])
def test_no_problem_has_more_contacts_than_asked_for(contacts):
    counts = [random_contact_problem(0, k, contacts).contacts.n_c for k in range(60)]
    assert max(counts) == contacts
    assert min(counts) >= 1


def test_contacts_of_a_plate_depend_on_each_other():
    """A rigid body moves in six ways, whatever the number of its contacts' rows."""
    plates = [random_contact_problem(0, k) for k in range(60) if kind_of(k) == "plate"]
    ranks = [np.linalg.matrix_rank(p.contacts.W_cc, tol=1e-9) for p in plates]
    assert set(ranks) == {6}


def test_a_corpus_has_everything_that_a_problem_can_have():
    problems = [random_contact_problem(0, k) for k in range(120)]
    contacts = [p.contacts for p in problems]
    assert any((c.friction == 0.0).any() and (c.friction > 0.0).any() for c in contacts)
    assert any(len(c.sums) for c in contacts)
    assert {c.law.friction for c in contacts} == {"coulomb", "sticking"}
    assert any(p.n_a > p.n_e for p in problems) and any(p.n_a < p.n_e for p in problems)
    assert any(p.has("effort_rate") for p in problems)
    weights = [p.energy for p in problems if p.energy > 0.0]
    assert min(weights) < 1e-5 and max(weights) > 0.3


def test_a_plate_needs_three_contacts():
    with pytest.raises(ProblemError, match="at least 3"):
        random_contact_problem(0, 2, 2)
