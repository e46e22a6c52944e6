"""LibraryController: motions reach the lines in time, and what may not be executed is held."""

import numpy as np
import pytest

from sofa_softctl.errors import LibraryError, SceneError
from sofa_softctl.library.building.solving import solve
from sofa_softctl.library.motions.library import TrajectoryLibrary
from sofa_softctl.library.ocp.shooting import Program
from sofa_softctl.scene.backend.backend import find_backend
from sofa_softctl.scene.session.session import Session
from sofa_softctl.status import Verdict

find_backend("embedded")

from sofa_softctl import LibraryController, controller  # noqa: E402

DT = 0.05
"""Of the scene; the cart's motions take a second in 10 intervals."""


@pytest.fixture(scope="module")
def carts(make_cart):
    """Motions of the cart at two distances; its inputs are forces of at most 3."""
    program = Program(make_cart())
    entries = [solve(program, np.array([d, 0.0])).entry for d in (0.4, 0.6)]
    return TrajectoryLibrary(program.model, entries)


def scene(library, task, first_order=False, **given):
    """A block of one tetrahedron with a cable, and the controller."""

    def create(root):
        root.dt = DT
        root.gravity = [0.0, 0.0, 0.0]
        root.addObject("FreeMotionAnimationLoop")
        root.addObject("GenericConstraintSolver")
        body = root.addChild("body")
        body.addObject("EulerImplicitSolver", firstOrder=first_order)
        body.addObject("SparseLDLSolver")
        corners = [[0, 0, 0], [10, 0, 0], [0, 10, 0], [0, 0, 10]]
        body.addObject("MeshTopology", position=corners, tetrahedra=[[0, 1, 2, 3]])
        body.addObject("MechanicalObject", name="dofs")
        body.addObject("UniformMass", totalMass=0.1)
        body.addObject("TetrahedronFEMForceField", youngModulus=100.0, poissonRatio=0.3)
        body.addObject("FixedProjectiveConstraint", indices=[0, 1, 2])
        body.addObject("LinearSolverConstraintCorrection")
        line = body.addObject(
            "CableConstraint",
            name="cable",
            indices=[3],
            pullPoint=[0.0, 0.0, -20.0],
            valueType="force",
            value=[0.0],
        )
        root.addObject(
            LibraryController(root=root, lines=[line], library=library, task=task, **given)
        )

    return Session(create)


def once(p, at=0.0):
    """A task that comes up at one time."""
    return lambda time: p if abs(time - at) < 0.5 * DT else None


def pulled(session):
    """What the cable pulls after a step [force]."""
    session.step()
    return session.root.body.cable.value.value[0] / DT


@pytest.mark.parametrize(("first_order", "factor"), [(False, DT), (True, 1.0)])
def test_each_step_pulls_with_the_input_of_its_interval(carts, first_order, factor):
    """Two steps an interval. Cables take impulses, force times dt, but forces in first order."""
    session = scene(carts, once([0.53, 0.0], at=0.1), first_order)
    session.step(2)
    assert session.root.body.cable.value.value[0] == 0.0
    u = carts.query([0.53, 0.0]).motion.u
    for wanted in np.repeat(u[:, 0], 2):
        session.step()
        assert session.root.library.effort.value == pytest.approx([wanted])
        assert session.root.body.cable.value.value == pytest.approx([factor * wanted])
    assert session.root.library.status.value == "SOLVED"
    assert session.root.library.message.value == ""
    assert session.root.library.answer_time.value[0] > 0.0


def test_a_command_says_what_the_lines_pull_in_the_course_of_a_motion(carts):
    shares = []

    def command(motion, share):
        shares.append(share)
        return [10.0 + share]

    session = scene(carts, once([0.5, 0.0]), command=command)
    forces = [pulled(session) for _ in range(22)]
    assert shares == pytest.approx(np.arange(20) * DT)
    assert forces == pytest.approx([*(10.0 + np.array(shares)), 10.95, 10.95])


def test_it_asks_again_when_the_motion_is_over_and_only_then(carts):
    """A motion takes 20 steps; in between, nothing is asked."""
    asked = []

    def task(time):
        asked.append(round(time / DT))
        return [0.5, 0.0] if len(asked) != 3 else None

    session = scene(carts, task)
    session.step(42)
    assert asked == [0, 20, 40, 41]


def test_what_is_infeasible_is_held_and_said(carts):
    """0.75 m in a second are the most with 3 N. The line goes on as before, here with what the
    first motion ended with."""
    session = scene(
        carts, lambda time: [0.5, 0.0] if time < 0.5 else [0.99, 0.0] if time < 1.2 else None
    )
    session.step(20)
    last = carts.query([0.5, 0.0]).motion.u[-1, 0]
    for _ in range(3):
        assert pulled(session) == pytest.approx(last)
    assert session.root.library.status.value == "REJECTED"
    assert "Do not execute it" in session.root.library.message.value


def test_what_is_beyond_the_problems_range_is_held_and_said(carts):
    session = scene(carts, once([0.4, -0.52]))
    assert pulled(session) == 0.0
    message = session.root.library.message.value
    assert "Beyond the problem's range: speed [m/s] = -0.52" in message
    assert "not executed. Ask for less, build a wider library, or give extrapolate" in message


def test_a_run_says_what_was_held_and_when(carts):
    """Three tasks, of which the second has no motion: HELD, with the reason. A snapshot before it
    knows of none."""
    asked = {0.0: 0.5, 1.0: 0.99, 1.05: 0.4}
    session = scene(
        carts, lambda time: [asked[round(time, 3)], 0.0] if round(time, 3) in asked else None
    )
    (lead,) = session.controllers
    assert lead.summary(None).report({"time": "s"}).lines[0].text.startswith("The library was not")
    session.step(20)
    before, kept = lead.summary(None), session.snapshot()
    assert (before.executed, before.held, before.verdict, before.message) == (1, 0, None, "")
    session.step(4)
    found = lead.summary(None)
    assert (found.executed, found.held, found.verdict) == (2, 1, Verdict.HELD)
    (line,) = found.report({"time": "s"}).lines
    assert line.level == "doubt" and line.text.startswith(
        "2 of 3 answers of the library executed. At 1 s the lines held their forces: Not accepted"
    )
    session.restore(kept)
    assert lead.summary(None) == before


def test_a_run_says_how_far_from_their_goals_motions_ended(carts):
    """Measured once, in the step after the last of the motion; the third motion is not over."""
    asked, errors = [], [0.004, 0.03]

    def measure(p):
        asked.append((p.tolist(), round(float(session.root.time.value) / DT)))
        return errors[len(asked) - 1]

    given = {"measure_error": measure, "error_max": 0.01}
    session = scene(carts, lambda time: [0.4 + 0.1 * time, 0.0], **given)
    (lead,) = session.controllers
    for count, verdict in ((20, None), (1, Verdict.REACHED), (20, Verdict.NOT_REACHED)):
        session.step(count)
        assert lead.summary(None).verdict is verdict
        kept = session.snapshot()
    (first, one), (second, other) = asked
    assert first == pytest.approx([0.4, 0.0]) and second == pytest.approx([0.5, 0.0])
    assert (one, other) == (20, 40)
    assert session.root.library.end_error.value == [0.03]
    assert [line.text for line in lead.summary(None).report({"time": "s"}).lines] == [
        "3 of 3 answers of the library executed.",
        "Motions ended 0.004, 0.03 from their goals: 1 of 2 missed by more than 0.01.",
    ]
    session.reset()
    assert lead.summary(None).errors == () and np.isnan(session.root.library.end_error.value[0])
    session.restore(kept)
    assert lead.summary(None).errors == (0.004, 0.03)


def test_how_far_is_near_enough_can_be_given(carts):
    given = {"measure_error": lambda p: 0.03, "error_max": 0.05}
    session = scene(carts, once([0.5, 0.0]), **given)
    session.step(21)
    found = session.controllers[0].summary(None)
    assert found.verdict is Verdict.REACHED
    (_, line) = found.report({"time": "s"}).lines
    assert line.text == "Motions ended 0.03 from their goals, within 0.05."
    with pytest.raises(SceneError, match="error_max"):
        scene(carts, once([0.5, 0.0]), measure_error=lambda p: 0.0, error_max=-1.0)
    with pytest.raises(SceneError, match=r"measure_error\(p\)"):
        scene(carts, once([0.5, 0.0]), measure_error=lambda: 0.0)


def test_an_error_that_is_not_a_number_is_a_miss(carts):
    session = scene(carts, once([0.5, 0.0]), measure_error=lambda p: np.nan)
    session.step(21)
    assert session.controllers[0].summary(None).verdict is Verdict.NOT_REACHED


def test_what_is_beyond_the_range_is_executed_if_one_wants_to(carts):
    session = scene(carts, once([0.4, -0.55]), extrapolate=True)
    answer = carts.query([0.4, -0.55])
    assert answer.status.ok
    assert pulled(session) == pytest.approx(answer.motion.u[0, 0])
    message = session.root.library.message.value
    assert "Beyond the problem's range" in message and "not executed" not in message


def test_an_answer_that_comes_late_is_held(carts):
    """There is no time for the tangent QP: what is cut off at the limits ends elsewhere."""
    session = scene(carts, once([0.7, 0.05]), budget=0.0)
    assert pulled(session) == 0.0
    assert session.root.library.status.value == "REJECTED"
    assert "Not accepted: error" in session.root.library.message.value
    assert carts.query([0.7, 0.05]).status.ok


def test_after_a_reset_all_is_as_at_first(carts):
    """Also before the first motion: the line pulls what the scene gave it, not what it did last."""
    session = scene(carts, once([0.5, 0.0], at=0.1))
    first = [pulled(session) for _ in range(6)]
    assert first[:2] == [0.0, 0.0]
    session.reset()
    assert session.root.library.status.value == ""
    assert session.root.library.effort.value == [0.0]
    assert [pulled(session) for _ in range(6)] == first


def test_a_snapshot_goes_on_within_the_motion(carts):
    session = scene(carts, once([0.5, 0.0]))
    session.step(3)
    kept = session.snapshot()
    expected = [pulled(session) for _ in range(20)]
    assert len(set(expected)) > 5
    session.restore(kept)
    assert [pulled(session) for _ in range(20)] == expected


def test_after_an_error_the_line_is_held_until_a_reset(carts):
    session = scene(carts, lambda time: [0.5] if time > 0.9 else [0.5, 0.0])
    session.step(20)
    held = session.root.body.cable.value.value[0]
    with pytest.raises(LibraryError, match="2 finite numbers: distance .m., speed .m/s."):
        session.step()
    assert session.root.body.cable.value.value[0] == held
    assert not session.root.animate.value
    session.step()  # it does not ask again
    session.reset()
    session.root.animate.value = True
    assert pulled(session) == pytest.approx(carts.query([0.5, 0.0]).motion.u[0, 0])


def test_a_library_can_be_given_as_its_file(carts, tmp_path, make_cart):
    from sofa_softctl.library.motions.storage import LibraryFile

    program = Program(make_cart())
    with LibraryFile.create(tmp_path / "a", program.model) as file:
        file.append(carts.entries, None, carts.trials)
    session = scene(tmp_path / "a", once([0.4, 0.0]))
    assert pulled(session) == pytest.approx(carts.entries[0].v[program.u_at[0, 0]])
    with pytest.raises(LibraryError, match="there is no such library"):
        scene(tmp_path / "b", once([0.4, 0.0]))


def test_it_is_a_controller_of_the_package():
    assert controller("library") is LibraryController
