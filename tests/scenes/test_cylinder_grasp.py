"""Friction alone lifts the cylinder, from where Coulomb's law says that it can."""

from pathlib import Path

import numpy as np
import pytest

from sofa_softctl.scene.session.session import Session

SCENE = Path(__file__).parents[2] / "scenes" / "cylinder_grasp.py"
GRAVITY, ON_TABLE, LIFT = 9810.0, 25.3, 15.0
LIFTED, ROLLED = 140, 210
"""Steps at which it is up, and has been rolled."""


def state(root):
    """Place of the centre above where it stands on the table, angle about y in degrees."""
    x, y, z, _, qy, _, qw = root.cylinder.dofs.position.value[0]
    return np.array([x, y - ON_TABLE, z]), np.degrees(2.0 * np.arctan2(qy, qw))


def carried(inverse):
    """Upward force on the cylinder by the fingers and by the table [mN]."""
    upward = np.zeros(2)
    names, forces = inverse.problem.contacts.names, inverse.contact_force.value
    for name, force in zip(names, forces, strict=True):
        first, second = name.split(" on ")  # the force acts on the second
        sign = 1.0 if second == "/cylinder" else -1.0
        upward[int("/table" in (first, second))] += sign * force[1]
    return upward


@pytest.mark.soak
def test_it_is_lifted_rolled_and_set_down():
    """At 1.1 times the friction that Coulomb's law asks for. Up by 15 mm to the tenth of a
    millimetre that pads and motors give, rolled by 30 degrees to the degree that contacts a few
    millimetres apart leave; in the air the fingers carry its weight, in the mean as what begins
    and ends at rest must be carried, each with no more than its grip and its friction allows; at
    the end it stands, let go, half a millimetre from its place."""
    threshold = 0.03 * GRAVITY / (2.0 * 400.0)
    session = Session(SCENE, parameters={"friction": 1.1 * threshold})
    root, inverse = session.root, session.root.inverse
    borne = []
    for step in range(1, 341):
        session.step()
        place, angle = state(root)
        if LIFTED <= step <= ROLLED:
            assert place == pytest.approx([0.0, LIFT, 0.0], abs=0.1)
            fingers, table = carried(inverse)
            borne.append(fingers)
            assert table == 0.0
            assert all(380.0 * 0.999 <= grasp.held <= 400.0 * 1.001 for grasp in inverse.grasps)
            normal = inverse.contact_normal.value
            size = np.linalg.norm(np.asarray(inverse.contact_force.value), axis=1)
            friction = np.sqrt(np.maximum(size**2 - normal**2, 0.0))
            assert (friction <= 1.1 * threshold * normal + 0.1).all()
        if step == ROLLED:
            assert angle == pytest.approx(30.0, abs=1.0)
    assert np.mean(borne) == pytest.approx(0.03 * GRAVITY, rel=0.005)  # lift ends at 3 mm/s: 4e-4
    assert place == pytest.approx([0.0, 0.0, 0.0], abs=0.5)
    assert angle == pytest.approx(30.0, abs=1.0)
    assert len(inverse.contact_normal.value) == 3  # its feet


@pytest.mark.soak
@pytest.mark.parametrize(("mass", "grip", "ratio"), [(0.036, 800.0, 0.9), (0.036, 800.0, 1.1)])
def test_it_leaves_the_table_where_friction_times_both_grips_is_its_weight(mass, grip, ratio):
    """Below, the table carries what friction does not, and the cylinder stands on one foot at
    least: its centre rises by less than a millimetre. Above, it is where it shall be. Speeding up
    takes 2.5 % more than its weight (15 mm in 0.6 s), less than the 10 % on either side. A lighter
    cylinder, gripped half as hard, is lifted at 1.1 above."""
    friction = ratio * mass * GRAVITY / (2.0 * grip)
    session = Session(SCENE, parameters={"friction": friction, "mass": mass, "grip": grip})
    inverse = session.root.inverse
    borne = []
    for _ in range(LIFTED):
        session.step()
        borne.append(carried(inverse))
    # While it is pulled up: single steps teeter on a foot, and a tilted face bears some weight.
    fingers, table = np.mean(borne[80:], axis=0)
    assert fingers <= 2.0 * friction * grip + 1e-3 * mass * GRAVITY or ratio > 1.0
    assert table > 0.05 * mass * GRAVITY or ratio > 1.0
    height = state(session.root)[0][1]
    if ratio > 1.0:
        assert height == pytest.approx(LIFT, abs=0.1)
    else:
        assert height < 1.0
