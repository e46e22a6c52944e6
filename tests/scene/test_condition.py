"""What a run says of bodies that are inside out, torn apart or gone."""

import json

import numpy as np
import pytest

from sofa_softctl import Session
from sofa_softctl.errors import DivergedError
from sofa_softctl.scene.plausibility.bodies import bodies_of, signed_volumes
from sofa_softctl.scene.session.condition import is_inverted
from sofa_softctl.scene.session.run import run
from sofa_softctl.status import Verdict

HEXAHEDRON = np.array(
    [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]], float
)


@pytest.fixture
def session(beam, Sofa):
    """session(change, at) -> a session of a beam whose positions `change` sets at some step."""

    def make(change=None, at=3, **options):
        class Change(Sofa.Core.Controller):
            def onAnimateEndEvent(self, event):
                steps = round(float(self.getContext().time.value) / 0.01)
                if change is not None and steps == at:
                    dofs = self.getContext().beam.dofs
                    with dofs.position.writeable() as x:
                        x[:] = change(x.copy())

        def createScene(root):
            beam(root, **options)
            root.gravity = [0.0, 0.0, 0.0]
            root.addObject(Change(name="change"))

        return Session(createScene, backend="embedded")

    return make


def pierced(x):
    """The tip pushed through the foot."""
    x[x[:, 2] == 90.0, 2] = -60.0
    return x


def test_inverted_elements_are_a_finding_and_no_run_with_them_is_reached(session):
    summary = run(session(pierced, at=9), 10)
    (finding,) = summary.findings
    assert finding.is_failure and summary.verdict is Verdict.NOT_REACHED
    assert "tetrahedra of '/beam' were inside out, first seen at t = 0.1" in finding.text
    assert json.loads(json.dumps(summary.to_dict()))["findings"][0]["text"] == finding.text


def test_inversion_that_is_over_is_said_and_leaves_the_verdict(session):
    """Set back two checks later."""
    made = session(pierced, at=9)
    start = np.array(made.root.beam.dofs.position.value)
    made.step(10)
    made.root.beam.dofs.position = start
    made.root.beam.dofs.velocity = np.zeros_like(start)
    made.step(10)
    (finding,) = made.condition.findings()
    assert not finding.is_failure and "none at the end" in finding.text


def test_a_body_a_hundred_times_its_size_has_diverged(session):
    with pytest.raises(DivergedError, match="'/beam' diverged by t = 0.1: it is"):
        session(lambda x: 1e4 * x, at=9).step(10)


def test_reset_and_restore_forget_what_was_seen(session):
    made = session(pierced, at=9)
    snapshot = made.snapshot()
    made.step(10)
    assert made.condition.findings()
    made.restore(snapshot)
    assert not made.condition.findings()
    made.step(10)
    made.reset()
    assert not made.condition.findings()


def test_learning_ends_where_elements_are_inverted(session):
    made = session(pierced, at=3)
    made.step(3)
    with pytest.raises(DivergedError, match="inside out"):
        made.condition.raise_if_inverted(made.time)


@pytest.mark.parametrize(
    ("gravity", "speed", "left"),
    [
        ([0.0, -9.81, 0.0], 0.0, True),  # falls for two seconds
        ([0.0, 0.0, 0.0], 1e3, True),  # flies off
        ([0.0, 0.0, 0.0], 1.0, False),  # travels, two sizes of the scene
    ],
)
def test_a_body_that_leaves_for_good_is_said(root, Sofa, gravity, speed, left):
    def createScene(root):
        root.dt, root.gravity = 0.01, gravity
        ball = root.addChild("ball")
        ball.addObject("EulerImplicitSolver")
        ball.addObject("CGLinearSolver", iterations=25, tolerance=1e-12, threshold=1e-12)
        position = [[0.0, 0.0, 0.0, 0, 0, 0, 1], [0.5, 0.0, 0.0, 0, 0, 0, 1]]
        velocity = [[speed, 0, 0, 0, 0, 0]] * 2
        ball.addObject("MechanicalObject", template="Rigid3", position=position, velocity=velocity)
        ball.addObject("UniformMass", totalMass=1.0)

    summary = run(Session(createScene, backend="embedded"), 200)
    assert ["'/ball' has left the scene: since t = " in f.text for f in summary.findings] == (
        [True] if left else []
    )
    assert summary.verdict is None


@pytest.mark.parametrize("limit", [None, 0.3])
def test_an_imposed_displacement_that_is_not_reached_is_said(session, limit):
    """A force of 30 mN pulls the cable in by less than 3 mm."""
    made = session(cables=1, value_type="displacement", value=3.0)
    if limit is not None:
        made.root.beam.cable_0.cable.maxForce = limit
    texts = [finding.text for finding in run(made, 60).findings]
    expected = "imposes a displacement of 3, and at the end there are"
    assert [expected in text for text in texts] == ([] if limit is None else [True])


def test_volumes_are_signed():
    """A tetrahedron and a hexahedron, and both turned over."""
    tetrahedron = np.array([[0, 1, 3, 4]])
    hexahedron = np.arange(8)[None]
    assert signed_volumes(HEXAHEDRON, tetrahedron) == pytest.approx([1 / 6])
    assert signed_volumes(HEXAHEDRON, hexahedron) == pytest.approx([1.0])
    turned = HEXAHEDRON * [1.0, 1.0, -1.0]
    for elements in (tetrahedron, hexahedron):
        signs = np.sign(signed_volumes(HEXAHEDRON, elements))
        assert is_inverted(turned, elements, signs).all()
        assert not is_inverted(HEXAHEDRON, elements, signs).any()


def test_a_body_knows_its_volume(beam, Sofa):
    root = Sofa.Core.Node("root")
    beam(root)
    Sofa.Simulation.init(root)
    (body,) = bodies_of(root)
    assert body.volume == pytest.approx(20.0 * 20.0 * 90.0)
