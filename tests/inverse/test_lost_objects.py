"""Which objects a controller can no longer move."""

import numpy as np
import pytest

from sofa_softctl.inverse.aspects.objects import LostObjects
from sofa_softctl.inverse.rows.grasp import Grasp
from sofa_softctl.qpcc.problem.contacts import Contacts
from sofa_softctl.qpcc.problem.problem import InverseProblem

HAND, TABLE = ("/hand", "/box"), ("/table", "/box")


def problem(*, by_actuator=(0.0,), by_contact=None):
    """One actuator, effectors with three rows each that it and one contact move by so much."""
    W_ea = np.outer(np.repeat(by_actuator, 3), [1.0])
    contacts = None
    if by_contact is not None:
        W_ec = np.outer(np.repeat(by_contact, 3), [1.0])
        contacts = Contacts(
            W_ec=W_ec, W_ac=[[0.3]], W_cc=[[2.0]], delta_c_free=[0.1], friction=[0.0]
        )
    n_e = len(W_ea)
    return InverseProblem(
        W_ea=W_ea, W_aa=[[1.0]], delta_e_free=np.ones(n_e), delta_a_free=[0.0], contacts=contacts
    )


FREE = problem()
HELD = problem(by_contact=(0.5,))


def test_an_object_is_lost_from_when_nothing_touches_it_until_something_does():
    objects = LostObjects(["/box"])
    assert objects.look(0.1, FREE, []) == [] and objects.left == {}  # falls onto the table first
    assert objects.look(0.2, HELD, [HAND]) == []
    assert objects.look(0.3, FREE, []) == ["/box"]
    assert objects.look(0.4, FREE, []) == []
    assert objects.left == {"/box": 0.3}
    assert objects.look(0.5, HELD, [TABLE]) == [] and objects.left == {}
    assert objects.look(0.6, FREE, []) == []  # named once
    assert objects.left == {"/box": 0.6}


def test_an_object_that_is_set_down_is_not_lost():
    objects = LostObjects(["/box"], [Grasp("/box", by="/hand")])
    for time, pairs in enumerate(([HAND], [HAND, TABLE], [TABLE], [TABLE])):
        assert objects.look(time, HELD, pairs) == []
    assert objects.left == {}


def test_a_robots_own_tip_is_not_lost_when_it_stops_touching():
    """Its actuator moves it, however little."""
    objects = LostObjects(["/robot"])
    objects.look(0.1, problem(by_actuator=(1e-6,), by_contact=(0.5,)), [("/robot", "/wall")])
    assert objects.look(0.2, problem(by_actuator=(1e-6,)), []) == []
    assert objects.left == {}


def test_rounding_is_no_coupling():
    """1e-16 of the actuator's own compliance, and of the contact's."""
    objects = LostObjects(["/box"])
    objects.look(0.1, HELD, [HAND])
    rest = problem(by_actuator=(1e-16,), by_contact=(1e-16,))
    assert objects.look(0.2, rest, [("/hand", "/wall")]) == ["/box"]


def test_what_never_touched_anything_is_not_lost():
    objects = LostObjects(["/trunk"])
    for step in range(3):
        assert objects.look(step, FREE, []) == []


@pytest.mark.parametrize("let_go", [False, True])
def test_what_is_let_go_may_fly(let_go):
    """Said before it leaves; said afterwards, it does not bring back what is lost."""
    grasp = Grasp("/box")
    objects = LostObjects(["/box"], [grasp])
    objects.look(0.1, HELD, [HAND])
    grasp.let_go = let_go
    assert objects.look(0.2, FREE, []) == ([] if let_go else ["/box"])
    grasp.let_go = not let_go
    objects.look(0.3, FREE, [])
    assert objects.left == ({} if let_go else {"/box": 0.2})


def test_an_object_that_only_a_grasp_names_is_lost_by_its_contacts():
    """Another body's contacts do not count, nor those of a path that only begins alike."""
    objects = LostObjects(["/robot"], [Grasp("/box")])
    driven = problem(by_actuator=(1.0,), by_contact=(0.0,))
    objects.look(0.1, driven, [("/robot", "/box/skin")])
    assert objects.look(0.2, driven, [("/robot", "/boxes")]) == ["/box"]


def test_each_body_counts_for_itself():
    """Two effectors on the box, one on the ball; the contact moves one point of the box only."""
    objects = LostObjects(["/box", "/box", "/ball"])
    none = (0.0,) * 3
    objects.look(0.1, problem(by_actuator=none, by_contact=(1.0, 1.0, 1.0)), [HAND])
    later = problem(by_actuator=none, by_contact=(0.0, 1.0, 0.0))
    assert objects.look(0.2, later, [HAND]) == ["/ball"]


def test_what_it_knows_can_be_kept_taken_back_and_forgotten():
    objects = LostObjects(["/box"])
    objects.look(0.1, HELD, [HAND])
    before = objects.snapshot()
    assert objects.look(0.2, FREE, []) == ["/box"]
    objects.restore(before)
    assert objects.left == {} and objects.look(0.2, FREE, []) == ["/box"]
    objects.forget()
    assert objects.look(0.3, FREE, []) == [] and objects.left == {}
