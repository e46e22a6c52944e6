"""The trunk of three parts: the scene is what is identified, and its moduli and mass are found."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import least_squares

from sofa_softctl.identification.model.parameter import bounds, starts
from sofa_softctl.identification.model.recording import Recording
from sofa_softctl.scene.session.loader import load_scene
from sofa_softctl.scene.session.session import Session

SCENE = Path(__file__).parents[2] / "scenes" / "trunk_identification.py"
TRUTH = {"lower": 1500.0, "middle": 2500.0, "upper": 1800.0, "total_mass": 0.06}
"""[kPa], [kg]; a search begins at 2000 and 0.07."""


@pytest.fixture(scope="module")
def scene():
    return load_scene(SCENE).module


@pytest.fixture(scope="module")
def problem(scene):
    """In the scene's own frame."""
    whole = scene.trunk()
    return dataclasses.replace(whole, parameters=whole.parameters[:4], register_by=())


def recorded(scene, problem, end, wait=0.0):
    """A simulated recording at 100 Hz, without noise; the pulls begin after a wait."""
    time = np.arange(0.0, end + 0.005, 0.01)
    inputs = np.array([scene.tensions(t - wait) for t in time])
    empty = Recording("pull", time, inputs, np.full((len(time), len(problem.channels)), np.nan))
    run = problem.experiment(empty)
    return dataclasses.replace(empty, outputs=run.outputs(np.array(list(TRUTH.values()))))


@pytest.mark.soak
def test_the_scene_moves_as_the_problem_predicts(scene, problem):
    """Both from the scene's start, with the same moduli and mass: 1e-7 mm, as for the finger. The
    first cable lifts the end by 23 mm from where the trunk sags to."""
    own = dataclasses.replace(problem, settled=False)
    expected = recorded(scene, own, 1.2, scene.WAIT).outputs
    session = Session(SCENE, backend="embedded", parameters=TRUTH)
    for row in expected[1:]:
        session.step()
        found = session.root.trunk.markers.dofs.position.value.ravel()
        assert row == pytest.approx(found, abs=1e-7)
    height = recorded(scene, problem, 0.3).outputs[:, -2]
    assert height.max() - height[0] == pytest.approx(23.0, abs=0.5)


@pytest.mark.soak
def test_moduli_and_mass_are_found_from_markers_without_noise(scene, problem):
    """Asked for: 1 %. Two pulls suffice; the model is the same."""
    recording = recorded(scene, problem, 0.8)
    run = problem.experiment(recording)
    start = starts(problem.parameters)
    found = least_squares(
        lambda rho: (run.outputs(rho) - run.measured).ravel(),
        start,
        lambda rho: run.sensitivities(rho)[1].reshape(-1, len(rho)),
        bounds=bounds(problem.parameters),
        x_scale=start,
        xtol=1e-7,
    )
    assert found.x == pytest.approx(list(TRUTH.values()), rel=1e-4)


def test_every_tetrahedron_has_one_part(problem):
    """What identification calls a region is what the scene gives a modulus."""
    node = Session(SCENE, backend="embedded", parameters=TRUTH).root.trunk
    given = node.fem.youngModulus.value
    regions = problem.derivative.parameters[:3]
    assert sum(len(region.elements) for region in regions) == len(given)
    for region, modulus in zip(regions, TRUTH.values(), strict=False):
        assert set(given[region.elements]) == {modulus}
    assert problem.scene_values(np.array(list(TRUTH.values()))) == TRUTH
