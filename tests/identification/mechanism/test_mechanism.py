"""What a declaration may not say."""

import numpy as np
import pytest

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.mechanism.mechanism import Mechanism
from sofa_softctl.identification.mechanism.parts import Body, Joint, Scaled, Spring
from sofa_softctl.identification.model.parameter import Parameter


def test_a_misspelt_joint_is_said_with_the_one_that_was_meant():
    with pytest.raises(IdentificationError, match=r"no joint 'shouder'. Did you mean 'shoulder'"):
        Mechanism([Joint("shoulder")], [Body("shouder", 1.0)])


def test_a_misspelt_parameter_is_said_with_those_that_there_are():
    with pytest.raises(IdentificationError, match=r"no parameter 'kapa'.*Known: kappa"):
        Mechanism([Joint("a")], springs=[Spring("a", "kapa")], parameters=(Parameter("kappa", 1),))


def test_a_parent_stands_before_its_children():
    with pytest.raises(IdentificationError, match="no joint before 'a' 'b'"):
        Mechanism([Joint("a", "b"), Joint("b")])


def test_two_joints_of_one_name_are_refused():
    with pytest.raises(IdentificationError, match="each needs a name of its own"):
        Mechanism([Joint("a"), Joint("a")])


def test_an_axis_without_direction_is_refused():
    with pytest.raises(IdentificationError, match="its axis is"):
        Mechanism([Joint("a", axis=(0, 0, 0))])


def test_a_rigid_joint_is_no_coordinate():
    fixed = Mechanism([Joint("arm"), Joint("length", "arm", sliding=True, rigid=0.3)])
    assert fixed.coordinates == ("arm",)
    with pytest.raises(IdentificationError, match="no moving joint 'length'"):
        fixed.coordinate("length")


def test_numbers_may_be_multiples_of_parameters():
    one = Mechanism([Joint("a")], parameters=(Parameter("k", 2.0), Parameter("m", 3.0)))
    rho = np.array([2.0, 3.0])
    numbers = [0.5, "m", Scaled("k", 4.0, constant=1.0)]
    np.testing.assert_allclose(one.values(numbers, rho), [0.5, 3.0, 9.0])
    np.testing.assert_allclose(one.by_rho(numbers), [[0, 0], [0, 1], [4, 0]])
