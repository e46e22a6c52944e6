"""Contacts of a step, as controllers see them."""

from pathlib import Path

import pytest

from sofa_softctl.scene.control.contacts import may_touch
from sofa_softctl.scene.session.session import Session

SCENES = Path(__file__).parents[3] / "scenes"
RING = SCENES / "rolling_ring.py"


def test_contacts_are_listed_by_the_nodes_that_touch():
    """The ring's nodes on the ground's triangles, which SOFA gives no nodes of; so the order is the
    same on both backends, and what a contact is called stays as others come and go."""
    session = Session(RING, parameters={"look_ahead": False})
    session.step(30)
    found = session.root.inverse.problem.contacts.identity
    assert len(found) > 2
    assert list(found) == sorted(found)
    for (ground, ring), number in found:
        assert (ground, len(ring), number) == ((), 1, 0)


@pytest.mark.parametrize(("scene", "expected"), [("finger", False), ("rolling_ring", True)])
def test_scenes_without_collisions_have_no_contacts(scene, expected):
    """Theirs need not be prepared for, which takes a minute where nothing is compiled."""
    assert may_touch(Session(SCENES / f"{scene}.py", backend="embedded").root) == expected
