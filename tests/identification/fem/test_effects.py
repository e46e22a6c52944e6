"""Effects on robots in scenes: derivatives against differences, and what they leave as it is."""

import numpy as np
import pytest

from sofa_softctl.identification.effects.selection import effects_of, effects_of_problem
from sofa_softctl.identification.fem.parameter import total_mass, young_modulus
from sofa_softctl.identification.fem.problem import FemProblem
from sofa_softctl.identification.fem.sensing import Drive, Marker
from sofa_softctl.identification.model.recording import Recording

NAMES = ("mass.beam/mass", "rayleigh.stiffness", "rayleigh.mass", "gain.left", "offset.end.x")


@pytest.fixture(scope="module")
def problem(beam):
    def createScene(root):
        beam(root, (2, 2, 4), cables=1)
        return root

    return FemProblem(
        name="beam",
        scene=createScene,
        parameters=(young_modulus("E", 400.0),),
        drives=(Drive("left", "/beam/cable_0/cable"),),
        sensors=(Marker("end", at=(10.0, 10.0, 90.0), deviation=0.5),),
        settled=False,
    )


@pytest.fixture(scope="module")
def run(problem):
    time = 0.01 * np.arange(7)
    left = 200.0 + 500.0 * np.sin(50.0 * time)
    return problem.experiment(Recording("run", time, left[:, None], np.full((7, 3), np.nan)))


def switched(one, *names):
    for name in names:
        one = next(each for each in effects_of(one) if each.name == name).add_to(one)
    return one


def test_a_scene_has_effects_on_masses_damping_and_signals(run, problem):
    names = {each.name for each in effects_of(run)}
    assert {*NAMES, "delay.left"} <= names
    assert names == {each.name for each in effects_of_problem(problem)}
    mass = FemProblem(**{**vars_of(problem), "parameters": (total_mass(start=0.1),)})
    assert not any(each.name.startswith("mass.") for each in effects_of(mass))


def vars_of(problem):
    return {name: getattr(problem, name) for name in ("name", "scene", "drives", "sensors")}


def test_effects_have_exact_derivatives_and_change_no_digit_at_0(run):
    affected = switched(run, *NAMES)
    assert [each.name for each in affected.parameters] == ["E", *NAMES]
    np.testing.assert_array_equal(
        affected.outputs(np.array([400.0, 0.0, 0.0, 0.0, 0.0, 0.0])), run.outputs([400.0])
    )
    rho = np.array([400.0, 0.2, 0.01, 1.0, 0.1, 2.0])
    y, by_rho = affected.sensitivities(rho)
    weights = np.random.default_rng(0).standard_normal(y.shape)
    swept = affected.pull_back(rho, lambda y: weights)
    np.testing.assert_allclose(
        swept.by_parameters, np.einsum("ty,tyr->r", weights, by_rho), rtol=1e-6
    )
    for k in range(1, 5):
        e = 1e-4 * np.eye(6)[k] * max(rho[k], 0.1)
        slope = (affected.outputs(rho + e) - affected.outputs(rho - e)) / (2.0 * e[k])
        np.testing.assert_allclose(by_rho[..., k], slope, atol=1e-5 * np.abs(slope).max())
