"""The swimmer in a scene: its frames are where the momentum of body and fluid takes them."""

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from softctl_swimmer import Flow, FlowInertia, IsolatedInertia, fish, prescribed_motion
from softctl_swimmer.planning.gait_table import GaitTable
from softctl_swimmer.planning.gaits import wave

from sofa_softctl.errors import SceneError
from sofa_softctl.scene.control.report import History
from sofa_softctl.scene.session.session import Session

SCENE = Path(__file__).parents[3] / "plugins" / "swimmer" / "scenes" / "swim.py"
DT, STEPS = 0.05, 12


def angles(time):
    """The gait of the scene."""
    return wave(time, amplitude=np.full(3, 0.7), phase=np.arange(3.0), frequency=0.5)


def swim(steps=STEPS, **parameters):
    """The session after some steps, and its frames."""
    session = Session(SCENE, backend="embedded", parameters={"vertices": "42"} | parameters)
    session.step(steps)
    return session, np.array(session.root.body.dofs.position.value)


def test_the_scene_swims_as_the_mechanics_say():
    """Link 0 as `prescribed_motion` moves it, link 3 at its pose from there; to rounding."""
    session, frames = swim()
    with session:
        path = angles(DT * np.arange(STEPS + 1))
        R, x = prescribed_motion(FlowInertia(Flow.from_swimmer(fish(), 42)), path)
        turns, places = fish().poses(path[-1])
        np.testing.assert_allclose(frames[:, :3], x[-1] + places @ R[-1].T, atol=1e-12)
        found = Rotation.from_quat(frames[:, 3:]).as_matrix()
        np.testing.assert_allclose(found, R[-1] @ turns, atol=1e-12)
        skin = np.array(session.root.body.skin.dofs.position.value)
        middles = skin.reshape(4, 42, 3).mean(axis=1)
        np.testing.assert_allclose(middles, frames[:, :3], atol=1e-9)


def test_a_run_says_how_far_it_swam():
    """The centre of mass of neutrally buoyant links, as the plan counts it."""
    session, frames = swim(0)
    with session:
        controller = session.root.swimmer
        history = History(np.zeros(0), {name: [] for name in ("centre", "turned")})
        assert controller.summary(history) is None
        for _ in range(STEPS):
            session.step()
            for name, values in history.values.items():
                values.append(np.array(controller.findData(name).value))
        ahead = np.array(session.root.body.dofs.position.value)[:, :3].mean(axis=0)
        found = controller.summary(history)
        np.testing.assert_allclose(found.way, ahead - frames[:, :3].mean(axis=0), atol=1e-14)
        assert found.turned > 0.0
        assert "The centre of mass swam" in found.report({}).lines[0].text


def test_a_reset_swims_the_same_way_again():
    session, frames = swim()
    with session:
        session.reset()
        session.step(STEPS)
        again = np.array(session.root.body.dofs.position.value)
        np.testing.assert_array_equal(again, frames)


def test_a_gait_of_a_file_is_swum(tmp_path):
    time = DT * np.arange(STEPS + 1)
    GaitTable(time, angles(time)).save(tmp_path / "gait.csv")
    session, frames = swim(gait=str(tmp_path / "gait.csv"))
    with session:
        other, wanted = swim()
        with other:
            np.testing.assert_allclose(frames, wanted, atol=1e-9)


def test_what_does_not_fit_is_refused(tmp_path, Sofa):
    from softctl_swimmer.controller import SwimmerController

    root = Sofa.Core.Node("root")
    frames = root.addObject("MechanicalObject", template="Rigid3", position=[[0.0] * 6 + [1.0]] * 4)
    inertia = FlowInertia(Flow.from_swimmer(fish(), 42))
    with pytest.raises(SceneError, match=r"an angle for each of 3 hinges.* Got: \(1, 2\)"):
        SwimmerController(
            root=root, inertia=inertia, gait=lambda t: np.zeros((1, 2)), frames=frames
        )
    short = FlowInertia(Flow.from_swimmer(fish(3), 42))
    with pytest.raises(SceneError, match="has 3 links. Got: a state of 4 frames"):
        SwimmerController(root=root, inertia=short, gait=lambda t: np.zeros((1, 2)), frames=frames)
    with pytest.raises(SceneError, match="no body 'whale'. There are: fish, eel, tadpole"):
        Session(SCENE, backend="embedded", parameters={"body": "whale"})
    (tmp_path / "gait.csv").write_text("time [s],hinge 1 [rad]\n0,0\n1,0\n")
    with pytest.raises(SceneError, match=r"expected the columns .* a swimmer with 3 hinges"):
        Session(SCENE, backend="embedded", parameters={"gait": str(tmp_path / "gait.csv")})


def test_links_that_would_touch_stop_the_scene(tmp_path):
    """At 1.5 rad each, beyond the hinges' limits, the meshes of neighbours may touch."""
    time = DT * np.arange(STEPS + 1)
    bent = np.linspace(0.0, 3.0, STEPS + 1)[:, None] * np.ones(3)
    GaitTable(time, bent).save(tmp_path / "gait.csv")
    with (
        Session(
            SCENE, backend="embedded", parameters={"gait": str(tmp_path / "gait.csv")}
        ) as session,
        pytest.raises(SceneError, match="Links . and . "),
    ):
        session.step(STEPS)


def test_mechanics_ask_for_the_mass_matrix_alone():
    """Its slopes take most of the time of a pose."""

    class NoSlopes(IsolatedInertia):
        def at(self, angles):
            raise AssertionError("slopes were asked for")

        def mass(self, angles):
            return IsolatedInertia(self.swimmer).mass(angles)

    _, x = prescribed_motion(NoSlopes(fish()), angles(DT * np.arange(41)))
    assert np.abs(x[-1]).max() > 1e-3
