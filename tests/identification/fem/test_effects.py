"""Effects on robots in scenes: derivatives against differences, and what they leave as it is."""

from dataclasses import replace

import numpy as np
import pytest

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.effects.selection import effects_of, effects_of_problem
from sofa_softctl.identification.fem.parameter import payload, total_mass, young_modulus
from sofa_softctl.identification.fem.problem import FemProblem
from sofa_softctl.identification.fem.sensing import Drive, Marker
from sofa_softctl.identification.fitting.estimate import estimate
from sofa_softctl.identification.model.parameter import Prior
from sofa_softctl.identification.model.recording import Recording
from sofa_softctl.identification.report.make import make_report
from sofa_softctl.scene.session.session import Session

NAMES = (
    *("mass.beam/mass", "rayleigh.stiffness", "rayleigh.mass", "payload.free_end"),
    *("gain.left", "offset.end.x"),
)
NOISE = 0.03
"""Of markers [mm]; the beam sags by 1.5 mm."""


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
        affected.outputs(np.array([400.0, *np.zeros(len(NAMES))])), run.outputs([400.0])
    )
    rho = np.array([400.0, 0.2, 0.01, 1.0, 0.01, 0.1, 2.0])
    y, by_rho = affected.sensitivities(rho)
    weights = np.random.default_rng(0).standard_normal(y.shape)
    swept = affected.pull_back(rho, lambda y: weights)
    np.testing.assert_allclose(
        swept.by_parameters, np.einsum("ty,tyr->r", weights, by_rho), rtol=1e-6
    )
    for k in range(1, 6):
        e = 1e-4 * np.eye(len(rho))[k] * max(rho[k], 0.1)
        slope = (affected.outputs(rho + e) - affected.outputs(rho - e)) / (2.0 * e[k])
        np.testing.assert_allclose(by_rho[..., k], slope, atol=1e-5 * np.abs(slope).max())


def test_a_payload_is_a_mass_at_nodes_of_the_scene(problem, beam):
    """The scene with that mass in its nodes takes the same steps: 1e-10 of its size, rounding."""
    box = [-1.0, -1.0, 89.0, 21.0, 21.0, 91.0]
    load = payload("load", 0.01, box=box)

    def createScene(root):
        node = beam(root, (2, 2, 4), cables=1)
        is_end = node.mesh.position.value[:, 2] > 89.0
        masses = node.mass.totalMass.value / len(is_end) + 0.01 * is_end / is_end.sum()
        node.removeObject(node.mass)
        node.addObject("DiagonalMass", vertexMass=masses)
        return root

    time = 0.01 * np.arange(7)
    recording = Recording("run", time, 200.0 + 1e4 * time[:, None], np.full((7, 3), np.nan))
    carrying = replace(problem, parameters=(*problem.parameters, load)).experiment(recording)
    expected = replace(problem, scene=createScene).experiment(recording)
    empty = problem.experiment(recording).outputs([400.0])
    outputs = carrying.outputs([400.0, 0.01])
    np.testing.assert_allclose(outputs, expected.outputs([400.0]), atol=1e-8)
    assert np.abs(outputs - empty).max() > 0.1


def test_payloads_are_tested_where_data_tell_them_apart(problem):
    """Cross-sections of a mesh of three layers, and a marker beside them: others are near one, or
    on the clamp."""
    places = {"end": (10.0, 90.0), "clamp": (10.0, 0.0), "side": (20.0, 45.0), "near": (20.0, 46.0)}
    sensors = tuple(Marker(name, at=(10.0, y, z)) for name, (y, z) in places.items())
    with_markers = replace(problem, sensors=sensors)

    def payloads(problem):
        return [e.name for e in effects_of_problem(problem) if e.name.startswith("payload.")]

    sections = ["payload.free_end", "payload.80%", "payload.50%", "payload.40%"]
    assert payloads(with_markers) == [*sections, "payload.side"]
    at = {"hook": (10.0, 0.0, 60.0)}
    assert payloads(replace(with_markers, payload_at=at)) == ["payload.hook"]


def test_a_payload_without_a_place_or_without_nodes_is_refused(problem):
    with pytest.raises(IdentificationError, match="'load' needs one of .* Got: none of them"):
        payload("load", 0.01)
    with pytest.raises(IdentificationError, match="Got: at and box"):
        payload("load", 0.01, at=(0.0, 0.0, 0.0), box=[0.0] * 6)
    empty = payload("load", 0.01, box=[200.0, 0.0, 0.0, 201.0, 1.0, 1.0])
    with pytest.raises(IdentificationError, match="no node in its box .* The nodes lie between"):
        _ = replace(problem, parameters=(empty,)).derivative


MARKERS = {"middle": (10.0, 20.0, 54.0), "end": (10.0, 10.0, 90.0)}


def loaded_report(beam, place, load=0.008, prior=None, mass=None, **values):
    """Report of a beam of 380 kPa with a point mass, which has other inertia than the model's."""

    def createScene(root, load=0.0):
        node = beam(root, (2, 2, 6), cables=1)
        root.gravity.value = [9810.0, 0.0, 0.0]
        node.fem.youngModulus.value = 380.0
        if load:
            body = node.addChild("load")
            body.addObject("MechanicalObject", position=[list(place)])
            body.addObject("UniformMass", totalMass=load)
            body.addObject("BarycentricMapping")
        return root

    problem = FemProblem(
        name="beam",
        scene=createScene,
        parameters=(young_modulus("E", 300.0, lower=10.0, prior=prior), *([mass] if mass else [])),
        drives=(Drive("left", "/beam/cable_0/cable"),),
        sensors=tuple(Marker(name, at=at, deviation=NOISE) for name, at in MARKERS.items()),
        **values,
    )
    experiment = problem.experiment(robot_recording(createScene, MARKERS, load=load))
    return make_report("beam", estimate([experiment]), [experiment])


@pytest.mark.soak(keep=1)
@pytest.mark.parametrize("place", [(10.0, 10.0, 88.0), (10.0, 15.0, 50.0)])
def test_a_payload_of_the_real_robot_is_named_first(beam, place):
    """A cable's gain of -25 % and a heavier body fit nearly as well, and shift the modulus."""
    report = loaded_report(beam, place)
    first = report.causes.first
    assert first.name == ("payload.free_end" if place[2] > 80.0 else "payload.middle")
    assert first.change == pytest.approx(0.008, rel=0.15)
    assert first.explains_residuals
    assert report.estimate.value("E") + first.shifts["E"] == pytest.approx(380.0, rel=0.03)
    assert "A payload at" in report.verdict.text
    assert "mass explains it: --with payload" in report.verdict.text


def test_a_robot_without_a_payload_is_left_alone(beam):
    assert loaded_report(beam, None, load=0.0).causes.first is None


@pytest.mark.soak
def test_no_cause_is_advised_that_contradicts_what_is_declared(beam):
    """No payload is tested at the right place: a heavier body fits next best, then a gain of the
    cable with a modulus of 262, below bounds or far from the prior."""
    place, foot = (10.0, 10.0, 88.0), {"foot": (10.0, 10.0, 10.0)}
    report = loaded_report(beam, place, payload_at=foot, prior=Prior(380.0, 10.0))
    first, *others = report.causes.found
    assert first.name == "mass.beam/mass" and first.contradiction == ""
    assert "of it: --with mass.beam/mass. It does not explain middle.x." in report.verdict.text
    assert all(cause.contradiction.startswith("E = 2") for cause in others)

    mass = total_mass("mass", 0.04, prior=Prior(0.04, 1e-4))
    report = loaded_report(beam, place, payload_at=foot, prior=Prior(380.0, 10.0), mass=mass)
    assert report.causes.first.name == "gain.left"
    assert " explain " in report.verdict.text and "only with E = " in report.verdict.text
    assert "declared as 380 ± 10" in report.verdict.text
    assert "--with" not in report.verdict.text


def robot_recording(createScene, markers, **parameters):
    """Record markers of the scene at rest, then pulled, with noise."""

    def add_markers(root):
        node = root.beam.addChild("markers")
        node.addObject("MechanicalObject", name="dofs", position=[*map(list, markers.values())])
        node.addObject("BarycentricMapping")

    session = Session(createScene, backend="embedded", parameters=parameters, add=add_markers)
    beam, dt = session.root.beam, session.root.dt.value
    time = dt * np.arange(60)
    tension = 400.0 * np.sin(np.pi * time / time[-1]) ** 2
    for _ in range(300):
        session.step()
    outputs = []
    for value in tension:
        beam.cable_0.cable.value.value = [value * dt]
        session.step()
        outputs.append(beam.markers.dofs.position.value.ravel().copy())
    noise = NOISE * np.random.default_rng(0).standard_normal((60, 3 * len(markers)))
    return Recording("run", time, tension[:, None], np.array(outputs) + noise)
