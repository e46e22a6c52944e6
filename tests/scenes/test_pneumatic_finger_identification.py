"""The finger of two pours: the scene is what is identified, and its moduli are found."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import least_squares
from scipy.stats import norm

from sofa_softctl.identification.model.parameter import bounds, starts
from sofa_softctl.identification.model.recording import Recording
from sofa_softctl.scene.session.loader import load_scene
from sofa_softctl.scene.session.session import Session

SCENE = Path(__file__).parents[2] / "scenes" / "pneumatic_finger_identification.py"
TRUTH = {"base": 130.0, "tip": 180.0}
"""[kPa]; a search begins at 150 each."""
LONG = 0.05
"""Steps of the search [s]."""
VALUES = np.array(list(TRUTH.values()))


@pytest.fixture(scope="module")
def scene():
    return load_scene(SCENE).module


def plain(problem, **changes):
    """A problem in the scene's own frame."""
    return dataclasses.replace(
        problem, parameters=problem.parameters[:2], register_by=(), **changes
    )


@pytest.fixture(scope="module")
def problem(scene):
    """In steps that are longer than the scene's, which saves time."""
    return plain(scene.finger(dt=LONG))


def recorded(scene, problem, end, dt, wait=0.0):
    """A simulated recording of every step, without noise; the first pulse begins after a wait."""
    time = np.arange(0.0, end + 0.01, dt)
    inputs = np.array([[scene.pressure(t - wait)] for t in time])
    empty = Recording("pulse", time, inputs, np.full((len(time), len(problem.channels)), np.nan))
    return dataclasses.replace(empty, outputs=problem.experiment(empty).outputs(VALUES))


@pytest.mark.parametrize(("name", "steps"), [("finger", 32), ("neo_hookean", 10)])
def test_the_scene_moves_as_the_problem_predicts(scene, name, steps):
    """Both from the scene's start, with the same moduli: 1e-9 mm, what rounding leaves."""
    own = plain(getattr(scene, name)(), settled=False)
    expected = recorded(scene, own, 0.02 * steps, 0.02, scene.WAIT).outputs
    given = own.scene_parameters | TRUTH
    session = Session(SCENE, backend="embedded", parameters=given)
    for row in expected[1:]:
        session.step()
        found = session.root.finger.markers.dofs.position.value.ravel()
        assert row == pytest.approx(found, abs=1e-9)


@pytest.mark.soak
def test_the_moduli_are_found_from_pressure_and_markers(scene, problem):
    """From one pulse, without noise: asked for is 1 %; the model is the same."""
    run = problem.experiment(recorded(scene, problem, 0.7, LONG))
    begin = starts(problem.parameters)
    found = least_squares(
        lambda rho: (run.outputs(rho) - run.measured).ravel(),
        begin,
        lambda rho: run.sensitivities(rho)[1].reshape(-1, len(rho)),
        bounds=bounds(problem.parameters),
        x_scale=begin,
        xtol=1e-3,
    )
    assert found.x == pytest.approx(VALUES, rel=1e-3)


def test_the_moduli_are_within_their_intervals_with_noise(scene, problem):
    """95 % intervals with 0.5 mm of noise, linearised at the truth, in 200 draws: 190 expected, 3.1
    standard deviation. They are not so wide that they say nothing."""
    run = problem.experiment(recorded(scene, problem, 0.7, LONG))
    J = run.sensitivities(VALUES)[1].reshape(-1, 2) / 0.5
    noise = np.random.default_rng(0).normal(size=(len(J), 200))
    off = np.linalg.lstsq(J, noise)[0]  # (2, 200)
    deviation = np.sqrt(np.diag(np.linalg.inv(J.T @ J)))
    held = (np.abs(off) < norm.ppf(0.975) * deviation[:, None]).sum(axis=1)
    assert (np.abs(held - 190) < 4.0 * 3.1).all()
    assert (deviation < 0.1 * VALUES).all()


def test_every_tetrahedron_has_one_part_in_every_material(scene):
    """What identification calls a region is what the scene gives a modulus."""
    for name in ("finger", "neo_hookean"):
        material = {} if name == "finger" else {"material": "NeoHookean"}
        own = plain(getattr(scene, name)(), scene_parameters=TRUTH | material)
        regions = own.derivative.parameters
        assert sum(len(region.elements) for region in regions) == len(regions[0].values())
        for region, modulus in zip(regions, VALUES, strict=True):
            assert region.values()[region.elements] == pytest.approx(modulus, rel=1e-12)
        assert own.scene_values(VALUES) == TRUTH | material
