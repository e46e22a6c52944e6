"""The finger of three parts: the scene is what is identified, and its moduli are found."""

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import least_squares
from scipy.stats import norm

from sofa_softctl.cli.identify.outputs import show_scene
from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.data.files import read_recording
from sofa_softctl.identification.fem.parameter import rayleigh_stiffness
from sofa_softctl.identification.fem.record import recording_of
from sofa_softctl.identification.fem.registration import Registration
from sofa_softctl.identification.fem.sensing import Marker
from sofa_softctl.identification.model.parameter import bounds, starts
from sofa_softctl.identification.model.recording import Recording
from sofa_softctl.record.record import read_record
from sofa_softctl.record.writer import RecordWriter
from sofa_softctl.scene.session.loader import load_scene
from sofa_softctl.scene.session.session import Session

SCENE = Path(__file__).parents[2] / "scenes" / "finger_identification.py"
TRUTH = {"base": 450.0, "middle": 700.0, "tip": 550.0}
"""[kPa]; a search begins at 600 each."""
ASIDE = Registration(
    np.array([[0.0, 0.8, 0.6], [0.0, -0.6, 0.8], [1.0, 0.0, 0.0]]),
    np.array([200.0, 900.0, -50.0]),
    np.zeros(0),
)
"""Where a camera may stand."""


@pytest.fixture(scope="module")
def scene():
    return load_scene(SCENE).module


@pytest.fixture(scope="module")
def problem(scene):
    """In the scene's own frame."""
    whole = scene.finger()
    return dataclasses.replace(whole, parameters=whole.parameters[:3], register_by=())


def recorded(scene, problem, end=1.0, wait=0.0):
    """A simulated recording at 100 Hz, without noise; the pulls begin after a wait."""
    time = np.arange(0.0, end + 0.005, 0.01)
    inputs = np.array([[scene.tension(t - wait)] for t in time])
    empty = Recording("pull", time, inputs, np.full((len(time), len(problem.channels)), np.nan))
    truth = starts(problem.parameters)
    truth[: len(TRUTH)] = list(TRUTH.values())
    return dataclasses.replace(empty, outputs=problem.experiment(empty).outputs(truth))


def fitted(problem, recording):
    """Parameters by Gauss-Newton with bounds, and their standard deviations."""
    run = problem.experiment(recording)
    scale = np.array([one.deviation for one in run.channels])
    known: dict = {}

    def both(rho):
        if rho.tobytes() not in known:
            known.clear()
            known[rho.tobytes()] = run.sensitivities(rho)
        return known[rho.tobytes()]

    found = least_squares(
        lambda rho: ((both(rho)[0] - run.measured) / scale).ravel(),
        starts(problem.parameters),
        lambda rho: (both(rho)[1] / scale[:, None]).reshape(-1, len(rho)),
        bounds=bounds(problem.parameters),
        x_scale=[one.scale for one in problem.parameters],
        xtol=1e-8,
    )
    return found.x, np.sqrt(np.diag(np.linalg.inv(found.jac.T @ found.jac)))


def test_the_scene_moves_as_the_problem_predicts(scene, problem):
    """Both from the scene's start, with the same moduli: 1e-7 mm, what rounding in the solves of
    100 steps leaves. The finger bends by 13 mm."""
    own = dataclasses.replace(problem, settled=False)
    expected = recorded(scene, own, 1.0, scene.WAIT).outputs
    session = Session(SCENE, backend="embedded", parameters=TRUTH)
    for row in expected[1:]:
        session.step()
        found = session.root.finger.markers.dofs.position.value.ravel()
        assert row == pytest.approx(found, abs=1e-7)
    end = [one.name for one in problem.channels].index("end.y")
    assert expected[:, end].min() < -13.0


@pytest.mark.soak
def test_the_moduli_are_found_from_markers_without_noise(scene, problem):
    """Asked for: 1 %. The model is the same, so that only the end of the search counts."""
    found, _ = fitted(problem, recorded(scene, problem))
    assert found == pytest.approx(list(TRUTH.values()), rel=1e-5)


@pytest.mark.soak
def test_the_moduli_are_within_their_intervals_with_noise_of_half_a_millimetre(scene, problem):
    """95 % intervals of 2 to 12 % for one pull; they are not so wide that they say nothing."""
    exact = recorded(scene, problem)
    noise = np.random.default_rng(0).normal(scale=0.5, size=exact.outputs.shape)
    found, deviation = fitted(problem, dataclasses.replace(exact, outputs=exact.outputs + noise))
    truth = np.array(list(TRUTH.values()))
    assert (np.abs(found - truth) < norm.ppf(0.975) * deviation).all()
    assert (deviation < 0.08 * truth).all()


@pytest.mark.soak
def test_markers_in_a_cameras_frame_give_them_too(scene, problem):
    """The frame is registered by markers on the clamp, and then refined with the moduli: its
    errors count in the intervals."""
    seen = dataclasses.replace(problem, frame=ASIDE)
    exact = recorded(scene, seen)
    noise = np.random.default_rng(1).normal(scale=0.5, size=exact.outputs.shape)
    found, deviation = fitted(
        scene.finger(), dataclasses.replace(exact, outputs=exact.outputs + noise)
    )
    truth = np.array(list(TRUTH.values()))
    assert (np.abs(found[:3] - truth) < norm.ppf(0.975) * deviation[:3]).all()
    assert (deviation[:3] < 0.1 * truth).all()


def test_a_record_of_the_scene_is_a_recording(scene, problem, tmp_path):
    """Once the finger rests, but for what is left of its swing after WAIT: 0.03 mm; inputs exactly.
    Driven by the length that the cable was pulled in, it moves as under its tension."""
    session = Session(SCENE, backend="embedded", parameters=TRUTH)
    with session.recording(tmp_path / "run.mcap"):
        session.step(90)
    found = read_recording(tmp_path / "run.mcap", problem)
    assert found.time[0] == pytest.approx(scene.WAIT)
    pulled = [[scene.tension(t - scene.WAIT)] for t in found.time]
    assert found.inputs == pytest.approx(np.array(pulled), abs=1e-9)
    truth = np.array(list(TRUTH.values()))
    assert problem.experiment(found).outputs(truth) == pytest.approx(found.outputs, abs=0.03)
    by_length = dataclasses.replace(
        problem, drives=(dataclasses.replace(problem.drives[0], by_length=True),)
    )
    found = recording_of(by_length, tmp_path / "run.mcap", start=scene.WAIT)
    assert by_length.experiment(found).outputs(truth) == pytest.approx(found.outputs, abs=0.03)


def test_a_record_with_another_dt_has_the_same_tensions(scene, problem, tmp_path):
    """Forces of cables are impulses of the recorded run's steps, of 2 ms; the model's take 10."""
    session = Session(SCENE, backend="embedded", parameters={"dt": 0.002})
    with session.recording(tmp_path / "run.mcap"):
        session.step(300)
    found = recording_of(problem, tmp_path / "run.mcap", start=scene.WAIT)
    pulled = [[scene.tension(t - scene.WAIT)] for t in found.time]
    assert found.inputs == pytest.approx(np.array(pulled), abs=1e-9)


def test_a_record_that_does_not_say_its_dt_is_refused(scene, problem, tmp_path):
    session = Session(SCENE, backend="embedded")
    with session.recording(tmp_path / "run.mcap"):
        session.step(3)
    whole = read_record(tmp_path / "run.mcap")
    with RecordWriter(tmp_path / "bare.mcap", {}) as writer:
        for name, values in whole.channels.items():
            if values.dtype.kind == "f":
                writer.add_channel(name, unit="", shape=values.shape[1:])
        for k, t in enumerate(whole.time):
            numbers = {n: v[k] for n, v in whole.channels.items() if v.dtype.kind == "f"}
            writer.write(float(t), numbers)
    with pytest.raises(IdentificationError, match="does not say which dt its run had"):
        recording_of(problem, tmp_path / "bare.mcap")


def test_records_that_do_not_fit_are_told(scene, problem, tmp_path):
    session = Session(SCENE, backend="embedded")
    with session.recording(tmp_path / "run.mcap"):
        session.step(3)
    with pytest.raises(IdentificationError, match="ends at 0.03: it has no samples from 1"):
        recording_of(problem, tmp_path / "run.mcap", start=1.0)
    other = dataclasses.replace(load_scene(SCENE.parent / "trunk_identification.py").module.trunk())
    with pytest.raises(IdentificationError, match="it has no '/trunk/dofs.position'. It has: fin"):
        recording_of(other, tmp_path / "run.mcap")


def test_every_tetrahedron_has_one_part(scene, problem):
    """What identification calls a region is what the scene gives a modulus."""
    node = Session(SCENE, backend="embedded", parameters=TRUTH).root.finger
    given = node.fem.youngModulus.value
    regions = problem.derivative.parameters
    assert sum(len(region.elements) for region in regions) == len(given)
    for region, modulus in zip(regions, TRUTH.values(), strict=True):
        assert set(given[region.elements]) == {modulus}


def test_the_scene_takes_the_results(problem, capsys):
    """What it does not take is named, though a region of that name might be looked for there."""
    assert problem.scene_values(np.array([1.0, 2.0, 3.0])) == {
        "base": 1.0,
        "middle": 2.0,
        "tip": 3.0,
    }
    rest = dataclasses.replace(problem.parameters[1], name="rest", scene_parameter=None)
    own = dataclasses.replace(
        problem,
        parameters=(problem.parameters[0], rest, rayleigh_stiffness()),
        scene_parameters={"dt": 0.02},
    )
    show_scene(own, np.array([512.3456789, 640.0, 0.02]))
    told = capsys.readouterr().out
    assert f"softctl run {SCENE} --set dt=0.02 --set base=512.346\n" in told
    assert "rest, rayleigh_stiffness: no parameter of the scene." in told


def test_a_region_that_leaves_tetrahedra_out_and_a_marker_aside_are_told(scene, problem):
    """The base alone; 200 mm from a finger of 100 mm, a marker would stand still and stiffen it."""
    own = dataclasses.replace(problem, parameters=problem.parameters[:1])
    (note,) = own.notes
    count, total = (int(number) for number in re.findall("[0-9]+", note)[:2])
    assert total == count + len(own.derivative.parameters[0].elements)
    assert "x from -9" in note and "to -42" in note
    assert "belong to no region (base): they keep the scene's Young's modulus, 600 kPa" in note
    far = dataclasses.replace(problem, sensors=(Marker("far", at=(-300.0, 0.0, 0.0)),))
    with pytest.raises(IdentificationError, match="'far' at .* is 200 mm outside .* 100 mm long"):
        recorded(scene, far)
