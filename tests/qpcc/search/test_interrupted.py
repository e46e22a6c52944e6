"""Searches that are spread over steps."""

import numpy as np
import pytest

from sofa_softctl.qpcc.problem.modes import INACTIVE, OPEN, SECTOR, SearchOptions
from sofa_softctl.qpcc.search.branch_and_bound import OpenNodes
from sofa_softctl.qpcc.search.interrupted import interrupt_search, resume_search
from sofa_softctl.qpcc.search.relaxation import Relaxation
from sofa_softctl.qpcc.solve.solve import solve
from sofa_softctl.status import Status
from tests.support.random_contact_problems import random_contact_problem

LOST = 0.2
"""Usual objective relative to the best one, so that a step's answer counts as lost [-]."""


@pytest.fixture
def relaxations(monkeypatch):
    """Count of the relaxations of each search, in a list."""
    counts, begin = [], Relaxation.__init__

    def count(self, *arguments):
        begin(self, *arguments)
        counts.append(self.shared.counts)

    monkeypatch.setattr(Relaxation, "__init__", count)
    return counts


def run(problem, best, steps, options=None):
    """Answers of steps with the same problem, the first of which begins with a lost object."""
    first = solve(problem, search=SearchOptions("pivoting"))
    warm, answers = first.warm._replace(usual=LOST * best), []
    for _ in range(steps):
        answers.append(solve(problem, warm=warm, search=options or SearchOptions()))
        warm = answers[-1].warm
    return answers


@pytest.mark.parametrize(
    ("contacts", "number", "best"), [(4, 123, 9.809595e-04), (6, 9, 0.04293947)]
)
def test_a_search_goes_on_in_the_next_steps_until_it_is_complete(contacts, number, best):
    """The references are by enumeration of all modes; pivoting misses them by 19 % and 51 %."""
    spread = SearchOptions(long_nodes=24)
    answers = run(random_contact_problem(0, number, contacts), best, 20, spread)
    assert answers[0].objective > 1.1 * best
    assert answers[-1].objective <= 1.001 * best
    assert answers[0].goes_on and not answers[-1].goes_on
    for answer in answers:
        assert answer.status is Status.SOLVED and answer.law_error <= 1e-6
        assert answer.bound <= best * (1.0 + 1e-6)
        assert answer.goes_on == ("The search goes on in the next step" in answer.message)
        assert not (answer.goes_on and answer.converged)


def test_a_step_solves_so_many_relaxations_and_one_in_fifty_more(relaxations):
    options, counts = SearchOptions(), []
    problem, best = random_contact_problem(0, 9, 6), 0.04293947
    warm = solve(problem, search=SearchOptions("pivoting")).warm
    for _ in range(30):
        relaxations.clear()
        warm = solve(problem, warm=warm._replace(usual=LOST * best), search=options).warm
        counts.append(sum(int(count[2]) for count in relaxations))
    children, starts = 5, 16  # those of the last node; what relaxations suggest to pivoting
    assert options.step_nodes < counts[0] <= options.long_nodes + children + starts
    assert max(counts[1:]) <= options.step_nodes + children + starts
    assert sum(counts) > options.new_nodes


def test_a_spread_search_repeats_to_the_last_bit():
    problem = random_contact_problem(0, 123, 4)
    first, second = (run(problem, 9.809595e-04, 6) for _ in range(2))
    for a, b in zip(first, second, strict=True):
        assert (a.effort == b.effort).all() and a.pieces == b.pieces


def test_the_only_step_is_searched_to_the_end():
    """As by callers of `solve` who have one problem: nobody goes on with its search."""
    answer = solve(random_contact_problem(0, 9, 6))
    assert not answer.goes_on
    assert answer.objective <= 1.001 * 0.04293947


def open_nodes(*kinds):
    """Nodes with these decisions."""
    kind = np.array(kinds, dtype=int).reshape(len(kinds), len(kinds[0]) if kinds else 1)
    return OpenNodes(kind, np.zeros((*kind.shape, 2)), np.zeros(len(kinds)))


def test_decisions_follow_their_contacts_and_new_ones_are_open():
    nodes = open_nodes([OPEN, INACTIVE, SECTOR])
    nodes.sector[0, 2] = 0.5, 1.0
    rest = interrupt_search(nodes, ["a", "b", "c"], nodes_left=7, gap=1e-4, enough=0.1)
    resumed = resume_search(rest, ["c", "new", "b", "a"])
    assert resumed.kind.tolist() == [[SECTOR, OPEN, INACTIVE, OPEN]]
    assert resumed.sector[0, 0].tolist() == [0.5, 1.0]
    assert (rest.nodes_left, rest.gap, rest.enough) == (7, 1e-4, 0.1)


@pytest.mark.parametrize(("nodes", "nodes_left"), [(open_nodes(), 5), (open_nodes([OPEN]), 0)])
def test_nothing_is_left_of_a_search_without_nodes_or_relaxations(nodes, nodes_left):
    assert interrupt_search(nodes, ["a"], nodes_left=nodes_left, gap=0.0, enough=0.0) is None
