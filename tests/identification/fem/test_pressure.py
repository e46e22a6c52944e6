"""Problems with pressures, volumes and hyperelastic materials."""

import dataclasses

import numpy as np
import pytest

from sofa_softctl.errors import IdentificationError, SceneError
from sofa_softctl.identification.data.files import read_recording
from sofa_softctl.identification.data.table import template
from sofa_softctl.identification.fem import (
    CavityVolume,
    FemProblem,
    Marker,
    PressureDrive,
    material_parameter,
    young_modulus,
)
from sofa_softctl.identification.model.recording import Recording
from sofa_softctl.scene.session.session import Session

LOW, HIGH = np.array([4.0, 14.0, 15.0]), np.array([16.0, 18.0, 75.0])
QUADS = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
LOWER, UPPER = [-1.0, -1.0, -1.0, 21.0, 21.0, 45.0], [-1.0, -1.0, 45.0, 21.0, 21.0, 91.0]


@pytest.fixture(scope="module")
def scene(beam):
    """A beam of Neo-Hookean material with a chamber, whose pressure is played."""

    def createScene(root, lower=150.0, upper=150.0):
        node = beam(root, (3, 3, 5), loop="FreeMotionAnimationLoop")
        node.removeObject(node.fem)
        centres = node.mesh.position.value[node.mesh.tetrahedra.value].mean(axis=1)
        mu = np.where(centres[:, 2] < 45.0, lower, upper)
        node.addObject(
            "TetrahedronHyperelasticityFEMForceField",
            name="fem",
            materialName="NeoHookean",
            ParameterSet=np.column_stack([mu, np.full(len(mu), 500.0)]).ravel(),
        )
        corners = [[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)]
        chamber = node.addChild("chamber")
        chamber.addObject("MechanicalObject", position=LOW + (HIGH - LOW) * corners)
        chamber.addObject("SurfacePressureConstraint", name="pressure", quads=QUADS)
        chamber.addObject("BarycentricMapping")
        return root

    return createScene


@pytest.fixture
def problem(scene):
    return FemProblem(
        name="chamber",
        scene=scene,
        parameters=(
            material_parameter("lower", 170.0, parameter="mu", box=LOWER, scene_parameter="lower"),
            material_parameter("upper", 140.0, parameter="mu", box=UPPER, scene_parameter="upper"),
            material_parameter("lambda", 450.0),
        ),
        drives=(PressureDrive("pressure", "/beam/chamber/pressure", deviation=0.1),),
        sensors=(
            Marker("end", at=(10.0, 10.0, 90.0), deviation=0.5),
            CavityVolume("volume", "/beam/chamber/pressure", deviation=20.0),
        ),
    )


RHO = np.array([170.0, 140.0, 450.0])


def recording(problem, size=60.0):
    """The chamber is blown up within six steps."""
    time = np.arange(7) * 0.01
    empty = np.full((7, len(problem.channels)), np.nan)
    return Recording("run", time, size * (time / time[-1])[:, None], empty)


def slope(function, value, relative=1e-3):
    """Central differences of fourth order."""
    h = relative * value
    ends = [function(value + k * h) for k in (1, -1, 2, -2)]
    return (8.0 * (ends[0] - ends[1]) - (ends[2] - ends[3])) / (12.0 * h)


@pytest.mark.soak
@pytest.mark.parametrize("by_volume", [False, True])
def test_derivatives_are_those_of_differences(problem, by_volume):
    """Of markers and the volume, by parameters and inputs, the state of rest included: 1e-6 of the
    largest; forwards and by the adjoint. An imposed volume is met at the end of a step to first
    order, so that the measured one still depends on the material."""
    drive = dataclasses.replace(problem.drives[0], by_volume=by_volume)
    own = dataclasses.replace(problem, drives=(drive,))
    rec = recording(own, 400.0 if by_volume else 60.0)
    run = own.experiment(rec)
    _, found = run.sensitivities(RHO)
    for k, value in enumerate(RHO):
        expected = slope(lambda v, k=k: run.outputs(np.where(np.arange(3) == k, v, RHO)), value)
        size = np.abs(expected).max(axis=0)
        assert (size > 0.0).all()
        assert (np.abs(found[:, :, k] - expected) <= 1e-6 * size).all()
    weights = np.random.default_rng(2).normal(size=(7, 4))
    back = run.pull_back(RHO, lambda y: weights)
    assert back.by_parameters == pytest.approx(np.einsum("ty,typ->p", weights, found), rel=1e-9)
    for number in (2, 5):

        def moved(value, number=number):
            inputs = rec.inputs.copy()
            inputs[number, 0] = value
            other = own.experiment(dataclasses.replace(rec, inputs=inputs))
            return np.vdot(weights, other.outputs(RHO))

        expected = slope(moved, rec.inputs[number, 0])
        assert back.by_inputs[number, 0] == pytest.approx(expected, rel=1e-6)


def test_a_record_of_the_scene_is_a_recording(scene, problem, tmp_path):
    """Its pressure is that of the chamber, its volumes those of the surface; predicted as it moved
    with the same parameters, to 1e-8. By volume, the input is how much that has grown."""
    session = Session(scene, backend="embedded", parameters={"lower": 170.0, "upper": 140.0})
    cavity = session.root.beam.chamber.pressure
    with session.recording(tmp_path / "run.mcap"):
        for number in range(8):
            cavity.value.value = [10.0 * number * 0.01]
            session.step()
    own = dataclasses.replace(problem, settled=False)
    found = read_recording(tmp_path / "run.mcap", own)
    assert found.inputs[:, 0] == pytest.approx(10.0 * np.arange(8), abs=1e-10)
    initial = cavity.initialCavityVolume.value
    drive = dataclasses.replace(problem.drives[0], by_volume=True)
    by_volume = dataclasses.replace(own, drives=(drive,))
    again = read_recording(tmp_path / "run.mcap", by_volume)
    assert again.inputs[:, 0] == pytest.approx(found.outputs[:, 3] - initial, abs=1e-9)
    begin = dataclasses.replace(  # the scene's start is before the record's first sample
        found, time=np.append(0.0, found.time), inputs=np.vstack([[0.0], found.inputs]),
        outputs=np.vstack([found.outputs[:1], found.outputs]),
    )  # fmt: skip
    predicted = own.experiment(begin).outputs(np.array([170.0, 140.0, 500.0]))
    assert np.ptp(found.outputs[:, 3]) > 100.0
    assert predicted[0, 3] == pytest.approx(initial)
    assert predicted[1:] == pytest.approx(found.outputs, rel=1e-8)


def test_units_are_those_of_the_scene(problem, tmp_path):
    """kPa and mm^3 in a scene in mm, kg, s; the template says which other ones convert."""
    (tmp_path / "scene.py").write_text('UNITS = "mm, kg, s"\ndef createScene(root): pass\n')
    own = dataclasses.replace(problem, scene=tmp_path / "scene.py")
    told = {one.name: one.unit for one in (*own.inputs, *own.channels)}
    assert (told["pressure"], told["volume"], told["end.x"]) == ("kPa", "mm^3", "mm")
    assert {one.unit for one in own.parameters} == {"kPa"}
    text = template("run", own.inputs, own.channels, 0.01)
    assert "pressure [kPa]" in text and "volume [mm^3]" in text and "ml" in text


@pytest.mark.parametrize(
    ("changes", "error", "says"),
    [
        (
            {"parameters": (material_parameter("nu", 1.0),)},
            IdentificationError,
            "has no parameter 'nu'. Its material has: mu, lambda",
        ),
        (
            {"parameters": (young_modulus("all", 400.0), material_parameter("mu", 150.0))},
            IdentificationError,
            "Regions 'all' and 'mu' share tetrahedra, first 0",
        ),
        (
            {"drives": (PressureDrive("p", "/beam/pressure"),)},
            SceneError,
            "no cable or cavity '/beam/pressure'. Name one of: /beam/chamber/pressure",
        ),
    ],
)
def test_what_the_scene_does_not_have_is_told(problem, changes, error, says):
    with pytest.raises(error, match=says):
        own = dataclasses.replace(problem, **changes)
        own.experiment(recording(own))


def test_a_material_that_keeps_a_parameter_in_some_tetrahedra_is_told(problem):
    (note,) = dataclasses.replace(problem, parameters=problem.parameters[:1]).notes
    assert "belong to no region (lower): they keep the scene's 'mu', 150 pressure" in note


def test_pressures_in_another_unit_are_told(problem):
    """A record's pressure is that x dt: 0.01 of it."""
    sensors = (dataclasses.replace(problem.sensors[0], deviation=0.01),)
    own = dataclasses.replace(problem, sensors=sensors)
    still = recording(own)
    run = dataclasses.replace(still, outputs=own.experiment(still).outputs(RHO))
    (note,) = own.experiment(dataclasses.replace(run, inputs=0.01 * run.inputs)).notes
    assert "pressure.pressure of a record is that x dt, here 0.01 times as much" in note


def test_one_modulus_scales_a_hyperelastic_region(problem):
    """The modulus at rest of mu = 150, lambda = 500 kPa: mu (3 lambda + 2 mu) / (lambda + mu)."""
    own = dataclasses.replace(problem, parameters=(young_modulus("E", 400.0, box=LOWER),))
    (region,) = own.derivative.parameters
    assert region.get() == pytest.approx(150.0 * 1800.0 / 650.0)
