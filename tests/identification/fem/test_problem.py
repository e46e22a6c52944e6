"""FEM robots as experiments: exact derivatives of what markers and cables show."""

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest

from sofa_softctl.errors import IdentificationError, SceneError, SimulationError
from sofa_softctl.identification.fem import parameter as unknown
from sofa_softctl.identification.fem.problem import FemProblem
from sofa_softctl.identification.fem.registration import Registration
from sofa_softctl.identification.fem.sensing import CableLength, Drive, Marker
from sofa_softctl.identification.model.parameter import starts
from sofa_softctl.identification.model.recording import Recording
from sofa_softctl.scene.session.loader import load_scene
from sofa_softctl.scene.session.session import Session

SCENES = Path(__file__).parents[3] / "scenes"

LOWER, UPPER = [-1.0, -1.0, -1.0, 21.0, 21.0, 40.0], [-1.0, -1.0, 40.0, 21.0, 21.0, 91.0]
OVERLAPPING = (("a", ()), ("b", (LOWER,)))
TURNED = Registration(
    np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
    np.array([5, 6, 7.0]),
    np.zeros(3),
)


@pytest.fixture(scope="module")
def scene(beam):
    def createScene(root, lower=400.0, upper=400.0, poisson_ratio=0.4, total_mass=0.04):
        node = beam(root, (2, 2, 5), cables=2)
        centres = node.mesh.position.value[node.mesh.tetrahedra.value].mean(axis=1)
        node.fem.youngModulus.value = np.where(centres[:, 2] < 40.0, lower, upper)
        node.fem.poissonRatio.value = [poisson_ratio]
        node.mass.totalMass.value = total_mass
        return root

    return createScene


@pytest.fixture
def problem(scene):
    """Every kind of parameter, drive and sensor."""
    return FemProblem(
        name="beam",
        scene=scene,
        parameters=(
            unknown.young_modulus("low", 300.0, box=LOWER, unit="kPa", scene_parameter="lower"),
            unknown.young_modulus("upper", 500.0, box=UPPER, unit="kPa", scene_parameter="upper"),
            unknown.poisson_ratio(start=0.4, scene_parameter="poisson_ratio"),
            unknown.total_mass(start=0.05, unit="kg"),
            unknown.rayleigh_mass(start=3.0),
            unknown.rayleigh_stiffness(start=0.02),
            *unknown.frame_parameters(),
        ),
        drives=(
            Drive("left", "/beam/cable_0/cable"),
            Drive("right", "/beam/cable_1/cable", by_length=True),
        ),
        sensors=(
            Marker("end", at=(10.0, 10.0, 90.0), deviation=0.5),
            CableLength("length", "/beam/cable_0/cable", deviation=0.2),
            Marker("middle", state="/beam/cable_1", index=1),
        ),
        frame=TURNED,
    )


def values(problem):
    """Where a search begins, the frame turned and moved."""
    own = {one.name: one.start for one in problem.parameters}
    frame = [f"frame.{kind}_{axis}" for kind in ("turn", "shift") for axis in "xyz"]
    own |= {
        name: v
        for name, v in zip(frame, (0.2, -0.1, 0.25, 3.0, -2.0, 1.0), strict=True)
        if name in own
    }
    return np.array(list(own.values()))


def recording(problem, times=None):
    """Both drives change all the time; samples lie between the steps of 0.01 s."""
    times = 4.0 + np.array([0.0, 0.004, 0.013, 0.024, 0.037, 0.06]) if times is None else times
    share = (times - times[0]) / 0.06
    left = 200.0 + 500.0 * np.sin(3.0 * share)
    right = 1.0 + 2.0 * share**2
    tension = [left if not drive.by_length else right for drive in problem.drives]
    empty = np.full((len(times), len(problem.channels)), np.nan)
    return Recording("run", times, np.column_stack(tension), empty)


def slope(function, value, relative=1e-3):
    """Central differences of fourth order."""
    h = relative * value
    ends = [function(value + k * h) for k in (1, -1, 2, -2)]
    return (8.0 * (ends[0] - ends[1]) - (ends[2] - ends[3])) / (12.0 * h)


@pytest.mark.parametrize("settled", [True, False])
def test_sensitivities_are_those_of_differences(problem, settled):
    """1e-6 of the largest sensitivity to a parameter: of every output at every time, the state of
    rest at the start included."""
    problem = dataclasses.replace(problem, settled=settled)
    run = problem.experiment(recording(problem))
    rho = values(problem)
    _, found = run.sensitivities(rho)
    for k, value in enumerate(rho):

        def outputs(changed, k=k):
            return run.outputs(np.where(np.arange(len(rho)) == k, changed, rho))

        expected = slope(outputs, value)
        assert np.abs(expected).max() > 0.0
        assert found[:, :, k] == pytest.approx(expected, abs=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("settled", [True, False])
def test_the_adjoint_is_the_forward_one(problem, settled):
    """The same sums in another order: 1e-10."""
    problem = dataclasses.replace(problem, settled=settled)
    run = problem.experiment(recording(problem))
    rho, weights = values(problem), np.random.default_rng(2).normal(size=(6, 7))
    outputs, slopes = run.sensitivities(rho)
    found = run.pull_back(rho, lambda y: weights * (y == outputs))
    assert found.outputs == pytest.approx(outputs, rel=1e-13)
    expected = np.einsum("ty,typ->p", weights, slopes)
    assert run.pull_back(rho, lambda y: weights).by_parameters == pytest.approx(expected, rel=1e-10)


def test_derivatives_by_recorded_inputs_are_those_of_differences(problem):
    """The first one also holds the robot before it moves."""
    rec = recording(problem)
    rho, weights = values(problem), np.random.default_rng(2).normal(size=(6, 7))
    found = problem.experiment(rec).pull_back(rho, lambda y: weights).by_inputs
    for time, column in ((0, 0), (0, 1), (3, 0), (4, 1)):

        def weighed(value, time=time, column=column):
            inputs = rec.inputs.copy()
            inputs[time, column] = value
            run = problem.experiment(dataclasses.replace(rec, inputs=inputs))
            return np.vdot(weights, run.outputs(rho))

        expected = slope(weighed, rec.inputs[time, column])
        assert found[time, column] == pytest.approx(expected, rel=1e-6)


def test_other_inputs_drive_the_same_experiment_otherwise(problem):
    """As a recording that had them does; the experiment itself stays as it is."""
    rec = recording(problem)
    rho, run = values(problem), problem.experiment(rec)
    before = run.outputs(rho)
    errors = np.random.default_rng(3).normal(size=rec.inputs.shape) * 0.05 * rec.inputs
    changed = problem.experiment(dataclasses.replace(rec, inputs=rec.inputs + errors))
    found = run.with_input_errors(errors).outputs(rho)
    assert found == pytest.approx(changed.outputs(rho), rel=1e-12)
    assert np.abs(found - before).max() > 1e-3
    assert run.outputs(rho) == pytest.approx(before, rel=1e-12)


def test_the_adjoint_needs_one_solve_a_step_however_many_parameters(problem, monkeypatch):
    """Twenty-four moduli, one a tetrahedron, cost the solves of one; and are derived as one."""
    every = problem.model.solids[0].elements
    each = tuple(
        unknown.young_modulus(f"E{number}", 400.0, elements=[number])
        for number in range(len(every))
    )
    together = (unknown.young_modulus("all", 400.0),)
    counts, found = [], []
    for parameters in (each, together):
        own = dataclasses.replace(
            problem, parameters=parameters, drives=problem.drives[:1], settled=False
        )
        run = own.experiment(recording(own))
        rho = starts(parameters)
        run.outputs(rho)
        solve, count = own.model.step.solve, []
        monkeypatch.setattr(
            own.model.step, "solve", lambda b, s=solve, c=count: c.append(1) or s(b)
        )
        found.append(run.pull_back(rho, np.ones_like).by_parameters)
        counts.append(len(count))
    assert counts == [6, 6]
    assert len(found[0]) == 24 and found[0].sum() == pytest.approx(found[1][0], rel=1e-10)


def test_predictions_are_those_of_the_scene_with_the_same_parameters(scene, problem):
    """The scene itself with these parameters; 1e-8 of the motion, see the test of the step."""
    given = {"lower": 350.0, "upper": 450.0, "poisson_ratio": 0.35, "total_mass": 0.05}
    own = dataclasses.replace(
        problem,
        parameters=problem.parameters[:4],
        drives=(Drive("left", "/beam/cable_0/cable"), Drive("right", "/beam/cable_1/cable")),
        settled=False,
        frame=None,
    )
    rec = recording(own, np.arange(0.0, 0.055, 0.01))
    found = own.experiment(rec).outputs(np.array(list(given.values())))
    session = Session(scene, backend="embedded", parameters=given)
    beam = session.root.beam
    for row, inputs in zip(found[1:], rec.inputs[1:], strict=True):
        beam.cable_0.cable.value.value, beam.cable_1.cable.value.value = [
            inputs[:1] * 0.01,
            inputs[1:] * 0.01,
        ]
        session.step()
        assert row[4:] == pytest.approx(beam.cable_1.dofs.position.value[1], abs=1e-8)


def test_one_experiment_does_not_see_the_others_of_its_problem(problem):
    """They share a scene: what was asked in between does not count."""
    rho = values(problem)
    one, other = (problem.experiment(recording(problem)) for _ in range(2))
    before = one.pull_back(rho, np.ones_like)
    other.outputs(1.1 * rho)
    after = one.pull_back(rho, np.ones_like)
    assert (before.by_parameters == after.by_parameters).all()


def test_results_go_back_as_parameters_of_the_scene(scene, problem):
    """Those of which it is said that they are one: a name that both have is not enough."""
    own = dataclasses.replace(problem, scene_parameters={"total_mass": 0.03})
    given = own.scene_values(np.array([1.5, 2.5, 0.3, 0.1, *np.zeros(8)]))
    assert given == {"lower": 1.5, "upper": 2.5, "poisson_ratio": 0.3, "total_mass": 0.03}
    assert own.not_in_scene == ("total_mass", "rayleigh_mass", "rayleigh_stiffness")
    node = Session(scene, backend="embedded", parameters=given).root.beam
    assert set(node.fem.youngModulus.value) == {1.5, 2.5}


def test_a_parameter_that_the_scene_does_not_take_is_told(problem):
    modulus = unknown.young_modulus("all", 300.0, scene_parameter="modulus")
    own = dataclasses.replace(problem, parameters=(modulus,))
    with pytest.raises(
        IdentificationError, match="'all' has scene_parameter 'modulus'.* lower, upper"
    ):
        own.scene_values(np.ones(1))


def test_the_frame_is_fitted_from_markers_on_the_clamp(problem):
    """Without noise exactly: 1e-9 of the distances."""
    clamp = tuple(
        Marker(name, at=(x, y, 0.0)) for name, x, y in (("a", 0, 0), ("b", 20, 0), ("c", 0, 20))
    )
    seen = dataclasses.replace(problem, sensors=(*problem.sensors, *clamp))
    rec = recording(seen)
    rho = starts(problem.parameters)  # as measured: the registration is of the start
    measured = seen.experiment(rec).outputs(rho)
    measured[2, 7:10] = np.nan
    physical = tuple(one for one in problem.parameters if not one.name.startswith("frame"))
    own = dataclasses.replace(seen, parameters=physical, frame=None, register_by=("a", "b", "c"))
    run = own.experiment(dataclasses.replace(rec, outputs=measured))
    assert run.frame.rotation == pytest.approx(TURNED.rotation, abs=1e-9)
    assert run.outputs(rho[:6])[:2] == pytest.approx(measured[:2], abs=1e-7)
    assert "fitted to the mean places of a, b, c in the first recording, " in run.notes[-1]
    assert "add frame_parameters()" in run.notes[-1]
    refined = dataclasses.replace(own, parameters=problem.parameters)
    assert "correct that fit" in refined.experiment(run.recording).notes[-1]
    with pytest.raises(IdentificationError, match="does not measure: 'q.x' is not in list"):
        dataclasses.replace(own, register_by=("q",)).experiment(rec)


def test_what_cannot_be_simulated_is_told(problem):
    """Steps are refused, the search goes on: SimulationError, whatever went wrong."""
    run = problem.experiment(recording(problem))
    rho = values(problem)
    before = run.outputs(rho)
    for k, value in ((0, -1.0), (2, 0.5), (3, 0.0), (0, np.nan)):
        with pytest.raises(SimulationError, match=f"with {problem.parameters[k].name} = "):
            run.outputs(np.where(np.arange(len(rho)) == k, value, rho))
    with pytest.raises(SimulationError, match="The robot does not come to rest"):
        run.outputs(np.where(np.arange(len(rho)) < 2, 1e-3, rho))
    assert (run.outputs(rho) == before).all()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            lambda r: {"inputs": r.inputs[:, :1]},
            r"inputs of shape \(6, 1\); .* \(6, 2\): left, right",
        ),
        (lambda r: {"outputs": r.outputs[:-1]}, r"outputs of shape \(5, 7\)"),
        (lambda r: {"inputs": r.inputs * np.nan}, "inputs are missing at some times"),
        (lambda r: {"time": r.time[::-1]}, "at times that increase"),
    ],
)
def test_a_recording_that_does_not_fit_is_told(problem, change, says):
    rec = recording(problem)
    with pytest.raises(IdentificationError, match=says):
        problem.experiment(dataclasses.replace(rec, **change(rec)))


@pytest.mark.parametrize(
    ("changes", "error", "says"),
    [
        (
            {"parameters": tuple(unknown.young_modulus(n, 1.0, boxes=b) for n, b in OVERLAPPING)},
            IdentificationError,
            "Regions 'a' and 'b' share tetrahedra, first 0",
        ),
        (
            {"parameters": (unknown.young_modulus("a", 1.0, box=[200, 0, 0, 300, 1, 1]),)},
            IdentificationError,
            "holds none of its 24 tetrahedra.* lies between",
        ),
        (
            {"drives": (Drive("left", "/beam/cable"),)},
            SceneError,
            "no cable or cavity '/beam/cable'. Name one of: /beam/cable_0/cable, /beam/cable_1/ca",
        ),
        ({"sensors": (Marker("m"),)}, IdentificationError, "Marker 'm' needs either 'at'"),
        ({"sensors": (Marker("m", state="/arm"),)}, SceneError, "No node '/arm' .* Known: /beam"),
    ],
)
def test_what_the_scene_does_not_have_is_told(problem, changes, error, says):
    with pytest.raises(error, match=says):
        own = dataclasses.replace(problem, **changes)
        own.experiment(recording(own))


def test_units_are_those_of_the_scene_file(problem):
    """A function says none: its numbers are in lengths and forces, whatever they are."""
    told = {one.name: one.unit for one in (*problem.inputs, *problem.channels)}
    assert told["left"] == "force" and told["right"] == told["end.x"] == told["length"] == "length"
    finger = load_scene(SCENES / "finger_identification.py").module.finger()
    assert (finger.inputs[0].unit, finger.channels[0].unit, finger.second) == ("mN", "mm", 1.0)


def test_parameters_are_in_the_units_of_the_scene_file():
    """mm, kg, s: whoever says MPa would be a thousand times off."""
    every = (
        unknown.young_modulus("modulus", 600.0),
        unknown.poisson_ratio(),
        unknown.total_mass(),
        unknown.rayleigh_mass(),
        unknown.rayleigh_stiffness(unit="s"),
        *unknown.frame_parameters(),
    )
    finger = load_scene(SCENES / "finger_identification.py").module.finger()
    own = dataclasses.replace(finger, parameters=every)
    units = [one.unit for one in own.parameters]
    assert units == ["kPa", "-", "kg", "1/s", "s", "rad", "rad", "rad", "mm", "mm", "mm"]
    mega = unknown.young_modulus("modulus", 0.6, unit="MPa")
    with pytest.raises(IdentificationError, match=r"'modulus' .* in MPa. Expected kPa: .*mm, kg"):
        dataclasses.replace(finger, parameters=(mega,))


def test_a_file_may_make_a_problem_of_its_own_scene_as_it_is_read(tmp_path):
    """Its units are then read from it once more, and not for ever."""
    (tmp_path / "own.py").write_text(
        "from sofa_softctl.identification.fem import FemProblem, rayleigh_mass\n"
        'UNITS = "cm, kg, s"\n'
        "def createScene(root): pass\n"
        "PROBLEM = FemProblem('own', __file__, (rayleigh_mass(),), (), ())\n"
    )
    (damping,) = load_scene(tmp_path / "own.py").module.PROBLEM.parameters
    assert damping.unit == "1/s"


def test_markers_off_the_robot_are_told_or_refused(problem):
    """The beam is 20 x 20 x 90 mm: 4.5 mm aside are a marker's own size, from 45 mm on it is a
    mistake. Distances are those to faces and edges; within the robot they are 0."""
    places = {
        "deep": (10.0, 10.0, 50.0),
        "on": (10.0, 0.0, 50.0),
        "near": (10.0, -4.0, 50.0),
        "edge": (-3.0, -4.0, 50.0),
    }
    sensors = tuple(Marker(name, at=at) for name, at in places.items())
    own = dataclasses.replace(problem, sensors=sensors, frame=None)
    (note,) = own.notes
    assert "marker 'edge' at (-3, -4, 50) is 5 length outside the robot's mesh" in note
    far = dataclasses.replace(own, sensors=(*sensors, Marker("far", at=(-30.0, -40.0, 90.0))))
    with pytest.raises(
        IdentificationError, match="'far' at .* is 50 length outside .* 90 length lo"
    ):
        far.experiment(recording(far))
    inner = dataclasses.replace(own, sensors=(Marker("middle", state="/beam/cable_1", index=1),))
    assert inner.notes == ()


def test_tetrahedra_in_no_region_are_told(problem):
    """Half of the beam's 24: centres of tetrahedra of a box lie at 1/4, 1/2 and 3/4 of its height.
    Without an unknown modulus there are no regions that could leave some out."""
    own = dataclasses.replace(problem, parameters=(problem.parameters[1],))
    (note,) = own.notes
    assert "belong to no region (upper): they keep the scene's Young's modulus, 400 pres" in note
    count, total = (int(number) for number in re.findall(r"\d+", note)[:2])
    assert total == 24 == count + len(own.derivative.parameters[0].elements)
    assert dataclasses.replace(problem, parameters=problem.parameters[3:]).notes == ()


def test_tensions_in_another_unit_are_told(problem):
    """A record's cable.force is an impulse: dt = 0.01 of the tension."""
    own = dataclasses.replace(problem, drives=problem.drives[:1], frame=None)
    sensors = (Marker("end", at=(10.0, 10.0, 90.0), deviation=0.01),)
    own = dataclasses.replace(own, parameters=own.parameters[:6], sensors=sensors)
    still = recording(own, np.linspace(0.0, 0.06, 20))
    run = dataclasses.replace(still, outputs=own.experiment(still).outputs(starts(own.parameters)))
    assert own.experiment(run).notes == ()
    (note,) = own.experiment(dataclasses.replace(run, inputs=0.01 * run.inputs)).notes
    assert "check the unit of inputs, left [force], and the starts" in note
    assert "cable.force of a record is that x dt, here 0.01 times as much" in note
