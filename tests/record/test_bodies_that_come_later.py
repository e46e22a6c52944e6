"""A body that is added while a scene runs is recorded from then on, and NaN once it is removed."""

import numpy as np
import pytest

from sofa_softctl.record.record import read_record
from sofa_softctl.scene.backend.backend import find_backend
from sofa_softctl.scene.session.geometry import geometry_in
from sofa_softctl.scene.session.session import Session
from sofa_softctl.testing.scene import bar, small_scene
from sofa_softctl.view.pages.run import findings_of
from sofa_softctl.view.paraview.pieces import pieces_of


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    Sofa = find_backend("embedded").Sofa

    class Guest(Sofa.Core.Controller):
        """Adds a second bar in step 4, and removes it in step 8."""

        step = 0

        def onAnimateBeginEvent(self, event):
            self.step += 1
            root = self.getContext().getRoot()
            if self.step == 4:
                points, tetrahedra = bar()
                late = root.addChild("late")
                late.addObject("EulerImplicitSolver")
                late.addObject("SparseLDLSolver")
                late.addObject(
                    "TetrahedronSetTopologyContainer",
                    position=points + [30.0, 0.0, 0.0],
                    tetrahedra=tetrahedra,
                )
                late.addObject("MechanicalObject", name="dofs")
                late.addObject("UniformMass", totalMass=0.01)
                late.addObject("TetrahedronFEMForceField", youngModulus=500.0, poissonRatio=0.4)
                late.addObject("LinearSolverConstraintCorrection")
                late.init()
            elif self.step == 8:
                root.removeChild(root.late)

    def create(root):
        small_scene(root)
        root.addObject(Guest(name="guest"))

    path = tmp_path_factory.mktemp("late") / "run.mcap"
    session = Session(create, backend="embedded")
    with session.recording(path):
        session.step(10)
    return read_record(path)


def test_a_body_is_recorded_from_its_first_step_on(record):
    assert record.complete and len(record.time) == 10
    late = record.channels["late/dofs.position"]
    is_there = np.isfinite(late).all(axis=(1, 2))
    assert is_there.tolist() == [False] * 3 + [True] * 4 + [False] * 3
    assert np.isfinite(record.channels["body/dofs.position"]).all()
    assert (np.diff(late[3:7, 0, 2]) < 0.0).all()  # it falls


def test_its_mesh_is_in_the_recording_and_shown_while_it_is_there(record):
    assert [body.name for body in geometry_in(record).bodies] == ["body/dofs", "late/dofs"]
    (piece,) = (piece for piece in pieces_of(record) if piece.name == "late/dofs")
    assert [len(piece.grid(step).points) for step in (0, 4, 9)] == [0, 12, 0]


def test_the_report_says_when_it_came_and_went(record):
    texts = [text for text, _ in findings_of(record)]
    assert "late/dofs.position begins at t = 0.04." in texts
    assert "late/dofs.position ends at t = 0.07." in texts
    assert not any("not finite" in text for text in texts)


def test_a_session_that_records_to_one_file_twice_is_warned(tmp_path, caplog):
    session = Session(small_scene, backend="embedded")
    for _ in range(2):
        with session.recording(tmp_path / "run.mcap"):
            session.step()
    (text,) = [r.getMessage() for r in caplog.records if "recorded by this session" in r.message]
    assert "run.mcap' was recorded by this session before: that recording is replaced" in text
