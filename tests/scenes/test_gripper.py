"""The gripper takes the box, carries it through the air, and puts it down."""

from pathlib import Path

import numpy as np
import pytest

from sofa_softctl.inverse.rows.grasp import Grasp
from sofa_softctl.scene.session.session import Session

SCENE = Path(__file__).parents[2] / "scenes" / "gripper.py"
WEIGHT = 0.03 * 9810.0  # [mN]


@pytest.mark.soak
@pytest.mark.parametrize(("contacts", "tolerance"), [("coulomb", 2.0), ("sticking", 2.0)])
def test_the_box_is_grasped_carried_and_placed(contacts, tolerance):
    """Lifted by 50 mm and carried over 70 mm, each of its four points within the tolerance [mm] of
    its path; in the air its weight hangs on the fingers' friction, whose normal forces sum up to
    the wanted grip; at the end it rests within half a millimetre of its place, carried by the table
    alone. With `sticking`, until it hangs in the air."""
    session = Session(SCENE, parameters={"contacts": contacts})
    inverse, box = session.root.inverse, session.root.box.dofs
    for step in range(440 if contacts == "coulomb" else 235):
        session.step()
        height = box.position.value[0, 1] - 15.5
        if height > 1.0:
            assert inverse.contact_normal.value.sum() > 0.99 * inverse.grasps[0].minimum
        if 150 <= step < 310:
            assert inverse.error.value[:4].max() < tolerance
        if step == 230:
            assert height == pytest.approx(50.0, abs=tolerance)
            forces = inverse.contact_force.value
            assert abs(forces[:, 1].sum()) == pytest.approx(WEIGHT, rel=0.05)
            normal = inverse.contact_normal.value
            assert normal.sum() >= 0.99 * 700.0
            friction = np.sqrt(np.maximum((forces**2).sum(axis=1) - normal**2, 0.0))
            if contacts == "coulomb":
                assert (friction <= 0.8 * normal + 1e-3 * WEIGHT).all()
    if contacts == "sticking":
        return
    assert box.position.value[0, :3] == pytest.approx([70.0, 15.5, 0.0], abs=0.5)
    assert inverse.grasps[0].dropped_at is None and inverse.grasps[0].held is None
    assert inverse.contact_normal.value.sum() == pytest.approx(WEIGHT, rel=1e-3)
    assert session.root.gripper.wrist.dofs.position.value[0, 1] == pytest.approx(143.0, abs=0.1)


def test_only_the_holders_contacts_count_where_a_holder_is_named():
    grasp = Grasp("/box", by="/gripper")
    assert grasp.holds(("/gripper/pads", "/box/skin")) and grasp.holds(("/box", "/gripper"))
    assert not grasp.holds(("/table", "/box/skin"))
    assert not grasp.holds(("/gripper/pads", "/table"))
    assert not grasp.holds(("/grippers", "/box"))


def test_what_is_let_go_is_not_dropped():
    """The same loss of contact: a drop at first, then wanted."""
    touch, nothing = (np.array([2.0]), np.array([0.0])), (np.array([]), np.array([]))
    grasp = Grasp("/box")
    grasp.look(0.1, *touch)
    grasp.look(0.2, *nothing)
    assert grasp.dropped_at == 0.2
    grasp.look(0.3, *touch)
    assert grasp.dropped_at is None and grasp.held == 2.0
    grasp.let_go = True
    grasp.look(0.4, *nothing)
    assert grasp.dropped_at is None and grasp.held is None
