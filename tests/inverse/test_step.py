"""Steps of InverseController: what is built when somebody reads it, and which changes count."""

import numpy as np
import pytest

from sofa_softctl.qpcc.problem.problem import InverseProblem
from sofa_softctl.qpcc.solve.solve import solve
from sofa_softctl.scene.backend.backend import find_backend
from sofa_softctl.scene.session.session import Session
from sofa_softctl.testing.scene import small_scene

find_backend("embedded")

from sofa_softctl.inverse.controller import InverseController  # noqa: E402
from sofa_softctl.inverse.rows.effectors import add_effector  # noqa: E402

ASIDE = [7.0, 5.0, 40.0]
"""Goal that the tip does not reach in the first steps."""


def scene(root, **options):
    small = small_scene(root)
    root.addObject(
        InverseController(
            name="inverse",
            root=root,
            actuators=small.cables,
            effectors=[add_effector(small.tip.getContext())],
            goal=ASIDE,
            **options,
        )
    )


def test_a_step_that_nobody_looks_at_builds_no_problem(monkeypatch):
    session = Session(scene)
    session.step(2)
    checked = InverseProblem.__post_init__
    built = []
    monkeypatch.setattr(
        InverseProblem, "__post_init__", lambda self: (built.append(self), checked(self))
    )
    session.step(5)
    assert not built
    assert session.root.inverse.problem is session.root.inverse.problem is built[0]


def test_problem_and_solution_are_those_of_the_last_step():
    """To the last bit: one kernel computes both answers from the same numbers."""
    session = Session(scene, parameters={"effort_rate": 200.0})
    for _ in range(5):
        session.step()
        inverse = session.root.inverse
        anew = solve(inverse.problem)
        np.testing.assert_array_equal(anew.effort, inverse.effort.value)
        np.testing.assert_array_equal(inverse.solution.effort, inverse.effort.value)
        np.testing.assert_array_equal(inverse.solution.displacement, inverse.displacement.value)
        assert anew.active == inverse.solution.active
        assert inverse.status.value == anew.status.name == "SOLVED"


def test_looking_changes_nothing():
    quiet, watched = Session(scene), Session(scene)
    for _ in range(6):
        quiet.step()
        watched.step()
        assert (
            watched.root.inverse.problem is not None and watched.root.inverse.solution is not None
        )
    for name in ("effort", "tip", "error"):
        values = [getattr(session.root.inverse, name).value for session in (quiet, watched)]
        np.testing.assert_array_equal(*values)


def by_option(session, limit):
    session.root.inverse.displacement_max = limit


def by_data(session, limit):
    for cable in session.root.inverse.actuators:
        cable.maxPositiveDisp.value = limit


@pytest.mark.parametrize("set_limit", [by_option, by_data])
def test_a_limit_that_is_set_holds_from_the_next_step_on(set_limit):
    session = Session(scene)
    session.step(10)
    largest = float(session.root.inverse.displacement.value.max())
    set_limit(session, 0.5 * largest)
    session.step(3)
    displacement = session.root.inverse.displacement.value
    assert displacement.max() == pytest.approx(0.5 * largest, rel=1e-6)
    assert any("at its maximum" in text for text in session.root.inverse.solution.active)


def test_the_speed_of_motors_counts_with_the_present_dt():
    session = Session(scene, parameters={"motor_speed": 5.0})
    session.step()
    first = np.abs(session.root.inverse.displacement.value).max()
    assert first == pytest.approx(5.0 * session.dt, rel=1e-6)
    session.root.dt.value = 0.5 * session.dt
    before = session.root.inverse.displacement.value.copy()
    session.step()
    change = np.abs(session.root.inverse.displacement.value - before).max()
    assert change == pytest.approx(0.5 * first, rel=1e-6)


def test_a_snapshot_brings_back_efforts_and_counts():
    session = Session(scene, parameters={"effort_rate": 200.0})
    session.step(3)
    before = session.snapshot()
    session.step(4)
    inverse = session.root.inverse
    first = inverse.effort.value.copy(), dict(inverse.step_counts.limits_met)
    session.restore(before)
    session.step(4)
    np.testing.assert_array_equal(inverse.effort.value, first[0])
    assert inverse.step_counts.limits_met == first[1]


@pytest.mark.quick
def test_a_limit_that_is_taken_back_holds_no_longer():
    session = Session(scene)
    session.step(10)
    inverse = session.root.inverse
    largest = float(inverse.displacement.value.max())
    by_data(session, 0.5 * largest)
    session.step(3)
    assert inverse.displacement.value.max() == pytest.approx(0.5 * largest, rel=1e-6)
    for cable in inverse.actuators:
        cable.maxPositiveDisp.unset()
    session.step(3)
    assert inverse.displacement.value.max() > 0.6 * largest


@pytest.mark.quick
@pytest.mark.parametrize("name", ["effort_rate", "motor_speed"])
def test_rates_cannot_change_unnoticed(name):
    inverse = Session(lambda root: scene(root, **{name: [5.0, 5.0]})).root.inverse
    with pytest.raises(ValueError, match="read-only"):
        getattr(inverse, name)[:] = 1.0
