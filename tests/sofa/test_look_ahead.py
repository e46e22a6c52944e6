"""The look-ahead in SOFA, whose rollouts run on an embedded copy in a process of its own."""

import numpy as np

ROLLED = """
from sofa_softctl.inverse.aspects.look_ahead import UNCHANGED
from sofa_softctl.scene.copies.rollout import copy_of
session = Session("scenes/{scene}.py", parameters={parameters!r})
session.step({start})
runner = session.root.inverse.look_ahead_runner
runner.options = None
rolled = runner.rollouts(copy_of(session.root))(UNCHANGED, 20)
found = []
for _ in range(20):
    session.step()
    found.append(session.root.inverse.error.value.copy())
result([rolled, np.sqrt(np.mean(np.square(found), axis=1))])
"""


def test_a_rollout_is_what_sofa_does_next(in_sofa):
    """The ring from step 40 on: 1e-6 of its size of 40 mm, as for all scenes with contacts."""
    code = ROLLED.format(scene="rolling_ring", parameters={"look_ahead": False}, start=40)
    (rolled, found), _ = in_sofa(code)
    assert np.ptp(found) > 1e-2  # mm: it moves
    np.testing.assert_allclose(rolled, found, rtol=0.0, atol=1e-6 * 40.0)


LOOKED = """
session = Session("scenes/rolling_ring.py", parameters={"start": 10.0})
session.step(50)
inverse = session.root.inverse
inverse.look_ahead_runner.options = LookAhead(horizon=12)
inverse.look_ahead_runner._has_stalled = lambda gained: True
session.step(3)
names = [choice.candidate.name for _, choice in inverse.look_ahead_runner.choices]
result([inverse.look_ahead.value, names])
"""


def test_the_look_ahead_chooses_as_in_the_embedded_runtime(in_sofa, embedded):
    """Which candidate, and by how much; once, as it is followed for the whole horizon."""
    (text, names), _ = in_sofa(LOOKED)
    assert len(names) == 1, text
    assert [text, names] == embedded(LOOKED)


def test_a_scene_whose_making_is_unknown_says_so_once(in_sofa):
    said, printed = in_sofa("""
from sofa_softctl.scene.session.loader import load_scene
root = Sofa.Core.Node("root")
load_scene("scenes/rolling_ring.py").create(root, look_ahead=True)
Sofa.Simulation.init(root)
root.inverse.look_ahead_runner._has_stalled = lambda gained: root.inverse.solution is not None
for _ in range(4):
    Sofa.Simulation.animate(root, root.dt.value)
result(root.inverse.look_ahead.value)
""")
    assert said == ("No look-ahead: it is not known how the scene was made: run it with a Session.")
    assert printed.count(f"[InverseController(inverse)] {said}") == 1
