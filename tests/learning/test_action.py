"""Actuators: limits of the scene, drives, rates, and what cannot be driven."""

import numpy as np
import pytest
from tiny import createScene

from sofa_softctl import Session
from sofa_softctl.errors import SceneError, SoftctlError
from sofa_softctl.learning.task.action import Action, Actuation


@pytest.fixture
def root():
    with Session(createScene, parameters={"policy": None}) as session:
        yield session.root


def test_limits_are_those_of_the_component_without_the_factor(root):
    """maxForce = 0.4 of SOFA's multiplier, dt times the force, is 40 mN at dt = 10 ms."""
    found = Actuation([Action("/body/cable")], root, None).quantities
    assert (found.low[0], found.high[0]) == (0.0, pytest.approx(40.0))


def test_a_displacement_has_its_own_limits(root):
    cable = root.body.cable
    cable.maxPositiveDisp.value, cable.maxDispVariation.value = 5.0, 0.25
    driven = Actuation([Action("/body/cable", low=0.0, drive="displacement")], root, None)
    assert cable.valueType.value == "displacement"
    assert driven.quantities.high[0] == 5.0
    driven.request(np.array([4.0]))
    driven.advance()
    assert driven.applied[0] == 0.25 == cable.value.value[0]


def test_a_value_that_stays_is_not_set_again(root):
    """It counts as a change of the scene's data, which costs time in each step."""
    driven = Actuation([Action("/body/cable", rate=1000.0)], root, None)
    driven.request(np.array([15.0]))
    for _ in range(2):  # 10 mN a step
        driven.advance()
    reached, changes = root.body.cable.value.value.copy(), root.body.cable.value.getCounter()
    driven.advance()
    assert root.body.cable.value.getCounter() == changes
    root.body.cable.value.value = [0.0]  # as another one may do
    driven.advance()
    assert np.array_equal(root.body.cable.value.value, reached)


def test_reset_brings_back_the_values_of_the_scene(root):
    driven = Actuation([Action("/body/cable")], root, None)
    driven.request(np.array([30.0]))
    driven.advance()
    driven.reset()
    assert driven.asked[0] == driven.applied[0] == root.body.cable.value.value[0] == 0.0


def test_an_action_of_zero_is_the_idle_value(root):
    """Half way between the limits, where nothing is given."""
    for given, expected in ((None, 20.0), (0.0, 0.0), (30.0, 30.0), (40.0, 40.0)):
        action = Action("/body/cable", 0.0, 40.0, idle=given)
        quantities = Actuation([action], root, None).quantities
        assert quantities.at(np.zeros(1))[0] == expected


@pytest.mark.parametrize(
    ("actions", "error", "message"),
    [
        ([], SceneError, "one at least"),
        ([Action("/body/cable")] * 2, SceneError, "of their own"),
        ([Action("/body/cabel")], SceneError, "Did you mean '/body/cable'"),
        ([Action("/body/dofs")], SceneError, "cannot be driven"),
        ([Action("/body/cable", low=5.0, high=5.0)], SceneError, "low below high"),
        ([Action("/body/cable", drive="displacement")], SceneError, "maxPositiveDisp"),
        ([Action("/body/cable", rate=0.0)], SceneError, "positive rate"),
        ([Action("/body/cable", high=np.inf)], SoftctlError, "finite bounds"),
        ([Action("/body/cable", 0.0, 40.0, idle=-1.0)], SoftctlError, "idles at -1"),
        ([Action("/body/cable", 0.0, 40.0, idle=np.nan)], SoftctlError, "idles at nan"),
    ],
)
def test_what_cannot_be_driven_is_named(root, actions, error, message):
    with pytest.raises(error, match=message):
        Actuation(actions, root, None)
