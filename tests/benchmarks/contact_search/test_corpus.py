import numpy as np
import pytest

from benchmarks.contact_search.corpus import (
    load_corpus,
    measure,
    save_corpus,
    statistics,
)
from sofa_softctl.qpcc.problem.contacts import Law, NormalSum
from sofa_softctl.qpcc.problem.modes import SearchOptions
from sofa_softctl.qpcc.solve.solve import solve
from tests.support.random_contact_problems import random_problem


def test_random_problems_are_elastic_bodies():
    """[[W_aa, W_ac], [W_ca, W_cc]] = H A^-1 H^T has no negative eigenvalue, to rounding."""
    p = random_problem(np.random.default_rng(0), n_a=5, n_c=6)
    W = np.block([[p.W_aa, p.contacts.W_ac], [p.contacts.W_ac.T, p.contacts.W_cc]])
    values = np.linalg.eigvalsh(W)
    assert values[0] > -1e-12 * values[-1]


def test_a_corpus_comes_back_as_it_was_written(tmp_path):
    rng = np.random.default_rng(1)
    problems = [
        random_problem(rng, friction=0.0),
        random_problem(rng, law=Law("sticking"), pull=False),
    ]
    contacts = problems[0].contacts
    vars(contacts)["sums"] = (NormalSum("cup", np.array([0, 2]), 0.5),)
    save_corpus(tmp_path / "corpus.npz", problems)
    for before, after in zip(problems, load_corpus(tmp_path / "corpus.npz"), strict=True):
        assert after.contacts.W_cc == pytest.approx(before.contacts.W_cc, abs=0.0)
        assert after.effort_min == pytest.approx(before.effort_min, abs=0.0)
        assert after.contacts.law == before.contacts.law
        assert [s.name for s in after.contacts.sums] == [s.name for s in before.contacts.sums]
        assert solve(after).objective == solve(before).objective


def test_statistics_of_gaps():
    told = statistics([0.0, 0.0, 0.0, 1.0])
    assert (told["count"], told["best"], told["median"], told["largest"]) == (4, 0.75, 0.0, 1.0)


def test_a_search_is_measured_against_the_exact_one():
    """Without friction exact is exact: all are proven, and no answer beats it beyond what QPs
    leave, 1e-6; pivoting finds 70 % of the best ones at least."""
    rng = np.random.default_rng(3)
    problems = [random_problem(rng, friction=0.0) for _ in range(10)]
    told = measure(problems, SearchOptions("pivoting"))
    assert told["proven"] == 1.0
    assert told["best"] >= 0.7
    assert told["count"] + round(told["lost"] * 10) == 10
    for problem in problems:
        fast, best = (solve(problem, search=SearchOptions(name)) for name in ("pivoting", "exact"))
        assert fast.relaxed or fast.objective >= best.objective * (1.0 - 1e-6)
