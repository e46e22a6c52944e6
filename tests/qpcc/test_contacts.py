import re

import numpy as np
import pytest

from sofa_softctl.errors import ProblemError
from sofa_softctl.qpcc.problem.contacts import Contacts, Law, NormalSum
from sofa_softctl.qpcc.problem.problem import InverseProblem


def contacts(**changes):
    """Two contacts, one with friction: four rows."""
    fields = {
        "W_ec": np.zeros((1, 4)),
        "W_ac": np.zeros((2, 4)),
        "W_cc": np.eye(4),
        "delta_c_free": np.zeros(4),
        "friction": [0.0, 0.5],
    }
    return Contacts(**fields | changes)


def test_a_contact_with_friction_has_three_rows_and_one_without_has_one():
    c = contacts()
    assert (c.n_c, c.n_r, c.starts.tolist()) == (2, 4, [0, 1])
    assert contacts(friction=[0.5, 0.0]).starts.tolist() == [0, 3]


def test_arrays_are_read_only_copies():
    W = np.eye(4)
    c = contacts(W_cc=W)
    W[0, 0] = 7.0
    assert c.W_cc[0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        c.W_cc[0, 0] = 2.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"friction": [0.5, 0.5]}, "W_ec must have 6 columns: the 2 contacts have 6 rows"),
        ({"friction": [0.0, -0.5]}, "friction must be a finite number >= 0"),
        ({"delta_c_free": [0.0, 0.0, np.nan, 0.0]}, "delta_c_free[2] is nan"),
        ({"W_cc": np.eye(4) + np.eye(4, k=1)}, "W_cc must be symmetric to 1e-8: W_cc[0, 1] is 1.0"),
        ({"identity": ["a", "a"]}, "identities of contacts must differ"),
        ({"names": ["one"]}, "names must have one entry for each of the 2 contacts, got 1"),
        ({"sums": [NormalSum("cup", [0, 2], 1.0)]}, "cup: contacts must be numbers below 2"),
        ({"sums": [NormalSum("cup", [0], 2.0, 1.0)]}, "cup: give a minimum that is not above"),
    ],
)
def test_bad_contacts_are_refused(changes, message):
    with pytest.raises(ProblemError, match=re.escape(message)):
        contacts(**changes)


def test_the_law_knows_two_kinds_of_friction():
    with pytest.raises(ProblemError, match="friction must be 'coulomb' or 'sticking', got 'slip'"):
        Law("slip")


def test_contacts_must_fit_the_problem():
    with pytest.raises(ProblemError, match=re.escape("contacts.W_ac must have 3 rows, as many as")):
        InverseProblem(
            W_ea=np.zeros((1, 3)),
            W_aa=np.eye(3),
            delta_e_free=[0.0],
            delta_a_free=np.zeros(3),
            contacts=contacts(),
        )
