"""CorrectingLibraryController: measures, corrects each motion once, and plays what that gives."""

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.library.building.solving import solve
from sofa_softctl.library.motions.library import TrajectoryLibrary
from sofa_softctl.library.ocp.problem import Motion
from sofa_softctl.library.ocp.shooting import Program
from sofa_softctl.scene.backend.backend import find_backend
from sofa_softctl.scene.session.session import Session

find_backend("embedded")

from sofa_softctl.library import CorrectingLibraryController  # noqa: E402
from sofa_softctl.library.playing.correcting import AS_PLANNED  # noqa: E402

DT = 0.05
"""Of the scene; the cart's motions take a second in 10 intervals."""
AFTER = 0.4


@pytest.fixture(scope="module")
def carts(make_cart):
    """Motions of the cart at two distances."""
    program = Program(make_cart())
    entries = [solve(program, np.array([d, 0.0])).entry for d in (0.4, 0.6)]
    return TrajectoryLibrary(program.model, entries)


class Halved:
    """A correction that halves the inputs, and keeps what it was given."""

    def __init__(self):
        self.calls = []

    def __call__(self, p, motion, effort, measured):
        self.calls.append((p, effort, measured))
        return Motion(0.5 * motion.u, motion.x), [len(effort)]


def scene(library, correction, times=(0.1,), **given):
    """A point on a spring with a cable, and the controller."""

    def create(root):
        root.dt = DT
        root.addObject("FreeMotionAnimationLoop")
        root.addObject("GenericConstraintSolver")
        body = root.addChild("body")
        body.addObject("EulerImplicitSolver")
        body.addObject("SparseLDLSolver")
        dofs = body.addObject("MechanicalObject", name="dofs", position=[[0.0, 0.0, 0.0]])
        body.addObject("UniformMass", totalMass=0.1)
        body.addObject("RestShapeSpringsForceField", stiffness=1.0, points=[0])
        body.addObject("LinearSolverConstraintCorrection")
        line = body.addObject(
            "CableConstraint",
            name="cable",
            indices=[0],
            pullPoint=[100.0, 0.0, 0.0],
            valueType="force",
            value=[0.5 * DT],
        )

        def task(time):
            return [0.53, 0.0] if np.abs(time - np.array(times)).min() < 0.5 * DT else None

        options = {"measure": lambda: dofs.position.value[0], "correct": correction, "after": AFTER}
        root.addObject(
            CorrectingLibraryController(
                root=root, library=library, task=task, **{"lines": [line]} | options | given
            )
        )

    return Session(create)


def pulls(session, count):
    """What the cable pulls in each of the next steps [force]."""
    found = []
    for _ in range(count):
        session.step()
        found.append(session.root.body.cable.value.value[0] / DT)
    return np.array(found)


def test_the_rest_of_the_motion_is_the_corrected_one(carts):
    session = scene(carts, Halved())
    u = np.repeat(carts.query([0.53, 0.0]).motion.u[:, 0], 2)
    found = pulls(session, 22)
    assert found[:2] == pytest.approx([0.5, 0.5])
    assert found[2:10] == pytest.approx(u[:8])
    assert found[10:22] == pytest.approx(0.5 * u[8:])
    outputs = session.root.library.outputs
    assert outputs["estimate"].value == pytest.approx([9])
    assert outputs["correction_time"].value[0] > 0.0


def test_it_is_given_what_was_pulled_and_measured_from_the_start_of_the_motion_on(carts):
    """Sample 0 is before the first step of the motion, sample k after its k-th."""
    correct = Halved()
    session = scene(carts, correct)
    places, forces = [np.zeros(3)], [0.5]
    for _ in range(15):
        forces.append(pulls(session, 1)[0])
        places.append(np.array(session.root.body.dofs.position.value)[0])
    ((p, effort, measured),) = correct.calls
    assert p.tolist() == [0.53, 0.0]
    assert effort[:, 0] == pytest.approx(forces[2:11])
    assert measured == pytest.approx(np.array(places[2:11]))
    assert np.ptp(measured[:, 0]) > 0.0


def test_what_goes_on_as_planned_is_said(carts):
    """The first motion has no better one, the second has."""
    calls = []

    def correct(p, motion, effort, measured):
        calls.append(p)
        return (motion if len(calls) == 1 else Motion(0.5 * motion.u, motion.x)), [0.0]

    session = scene(carts, correct, times=(0.0, 1.0))
    (lead,) = session.controllers
    session.step(10)
    assert session.root.library.message.value == AS_PLANNED
    kept = session.snapshot()
    session.step(32)
    (count, planned) = lead.summary(None).report({"time": "s"}).lines
    assert count.text == "2 of 2 answers of the library executed."
    assert planned.level == "doubt" and planned.text.startswith("1 of them were left as planned")
    assert session.root.library.message.value != AS_PLANNED
    session.reset()
    assert lead.summary(None).uncorrected == 0
    session.restore(kept)
    assert lead.summary(None).uncorrected == 1


def test_each_of_two_motions_in_a_row_is_corrected_once(carts):
    correct = Halved()
    session = scene(carts, correct, times=(0.0, 1.0))
    session.step(42)
    assert [len(effort) for _, effort, _ in correct.calls] == [9, 9]
    assert correct.calls[1][1][0] == pytest.approx(0.5 * carts.query([0.53, 0.0]).motion.u[-1])


def test_snapshots_and_resets_keep_and_forget_what_was_measured(carts):
    correct = Halved()
    session = scene(carts, correct)
    session.step(6)
    before = session.snapshot()
    first = pulls(session, 10)
    session.restore(before)
    assert pulls(session, 10) == pytest.approx(first)
    for before, again in zip(correct.calls[0], correct.calls[1], strict=True):
        assert again == pytest.approx(before)
    session.reset()
    assert np.isnan(session.root.library.outputs["estimate"].value).all()
    session.step(16)
    assert correct.calls[2][2] == pytest.approx(correct.calls[0][2])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"after": 0.0}, "after must be a number > 0, got 0.0"),
        ({"measure": 3.0}, r"measure must be a function: measure\(\)"),
        ({"correct": lambda p: p}, r"correct must be a function: correct\(p, motion, effort"),
        ({"lines": "cables"}, "lines must be a list of components"),
        ({"befor": 1.0}, "no option 'befor'"),
    ],
)
def test_wrong_options_are_said(carts, wrong, message):
    with pytest.raises(SceneError, match=message):
        scene(carts, Halved(), **wrong)
