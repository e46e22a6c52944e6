"""How far limits keep commands behind their targets."""

from types import SimpleNamespace

import numpy as np

from sofa_softctl.bridge.course.lag import Lag


def test_what_counts_is_a_hundredth_of_each_actuators_range():
    """A cable of 100 mm is 0.5 mm behind half of the time, a joint of 0.2 rad by 0.005 rad."""
    cable = SimpleNamespace(name="cable", position_min=-40.0, position_max=60.0, unit="mm")
    joint = SimpleNamespace(name="joint", position_min=-0.1, position_max=0.1, unit="rad")
    lag, still = Lag([cable, joint]), np.zeros(2)
    assert lag.notes() == []
    for k in range(8):
        lag.add(np.array([0.5, 0.005]) if k % 4 else still, still)
    (note,) = lag.notes()
    assert note.startswith("'joint' could not follow the scene")
    assert "behind in 75% of the time, by up to 0.005 rad" in note
    lag.add(np.array([-1.5, 0.0]), still)
    assert "'cable'" in lag.notes()[0] and "in 11% of the time, by up to 1.5 mm" in lag.notes()[0]
