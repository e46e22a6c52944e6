"""The finger of three parts: the scene is what is identified, and its moduli are found."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import least_squares
from scipy.stats import norm

from sofa_softctl.identification.fem_parameter import frame_parameters
from sofa_softctl.identification.parameter import bounds, starts
from sofa_softctl.identification.recording import Recording
from sofa_softctl.identification.registration import Registration
from sofa_softctl.scene.loader import load_scene
from sofa_softctl.scene.session import Session

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
    return dataclasses.replace(scene.finger(), register_by=())


def recorded(scene, problem, end=1.0):
    """A simulated recording at 100 Hz, without noise."""
    time = np.arange(0.0, end + 0.005, 0.01)
    inputs = np.array([[scene.tension(t)] for t in time])
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
    60 steps leaves. The finger bends by 13 mm."""
    own = dataclasses.replace(problem, settled=False)
    expected = recorded(scene, own, 0.6).outputs
    session = Session(SCENE, backend="embedded", parameters=TRUTH)
    for row in expected[1:]:
        session.step()
        found = session.root.finger.markers.dofs.position.value.ravel()
        assert row == pytest.approx(found, abs=1e-7)
    end = [one.name for one in problem.channels].index("end.y")
    assert expected[:, end].min() < -13.0


def test_the_moduli_are_found_from_markers_without_noise(scene, problem):
    """Asked for: 1 %. The model is the same, so that only the end of the search counts."""
    found, _ = fitted(problem, recorded(scene, problem))
    assert found == pytest.approx(list(TRUTH.values()), rel=1e-5)


def test_the_moduli_are_within_their_intervals_with_noise_of_half_a_millimetre(scene, problem):
    """95 % intervals of 2 to 12 % for one pull; they are not so wide that they say nothing."""
    exact = recorded(scene, problem)
    noise = np.random.default_rng(0).normal(scale=0.5, size=exact.outputs.shape)
    found, deviation = fitted(problem, dataclasses.replace(exact, outputs=exact.outputs + noise))
    truth = np.array(list(TRUTH.values()))
    assert (np.abs(found - truth) < norm.ppf(0.975) * deviation).all()
    assert (deviation < 0.08 * truth).all()


def test_markers_in_a_cameras_frame_give_them_too(scene, problem):
    """The frame is registered by markers on the clamp, and then refined with the moduli: its
    errors count in the intervals."""
    seen = dataclasses.replace(problem, frame=ASIDE)
    exact = recorded(scene, seen)
    noise = np.random.default_rng(1).normal(scale=0.5, size=exact.outputs.shape)
    asked = scene.finger()
    own = dataclasses.replace(asked, parameters=(*asked.parameters, *frame_parameters(unit="mm")))
    found, deviation = fitted(own, dataclasses.replace(exact, outputs=exact.outputs + noise))
    truth = np.array(list(TRUTH.values()))
    assert (np.abs(found[:3] - truth) < norm.ppf(0.975) * deviation[:3]).all()


def test_every_tetrahedron_has_one_part(scene, problem):
    """What identification calls a region is what the scene gives a modulus."""
    node = Session(SCENE, backend="embedded", parameters=TRUTH).root.finger
    given = node.fem.youngModulus.value
    regions = problem.derivative.parameters
    assert sum(len(region.elements) for region in regions) == len(given)
    for region, modulus in zip(regions, TRUTH.values(), strict=True):
        assert set(given[region.elements]) == {modulus}


def test_the_scene_takes_the_results(problem):
    assert problem.scene_values(np.array([1.0, 2.0, 3.0])) == {
        "base": 1.0,
        "middle": 2.0,
        "tip": 3.0,
    }
