"""Sessions, controllers and the constraint system in SOFA itself."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from sofa_softctl.bench import beam
from sofa_softctl.bench.compare import compare
from sofa_softctl.bench.speed import Case, measure

ROOT = Path(__file__).parents[2]


SCENES_WITHOUT_CONTACT = (
    "finger",
    "trunk",
    "laser_arm",
    "planar_arm",
    "finger_identification",
    "trunk_identification",
)


@pytest.mark.parametrize("name", SCENES_WITHOUT_CONTACT)
def test_scenes_move_as_in_the_embedded_runtime(sofa, name):
    """1e-6 of the robot's size over 200 steps is the promise; 1e-12 is what sums in another order
    come to in a scene that is not chaotic."""
    found = compare(ROOT / "scenes" / f"{name}.py", 200)
    assert found.steps == 200
    assert found.deviation_max <= 1e-12
    assert set(found.phases[0]) - {"collision"} == set(found.phases[1]) - {"collision"}


@pytest.mark.parametrize("parameters", [{"rows": 10}, {"contacts": 10}])
def test_the_beam_of_bench_scaling_runs_in_both(sofa, parameters):
    scene = Path(beam.__file__)
    speed = measure(
        Case("beam", scene, {"cells": 2} | parameters), steps=20, seconds=20.0, with_sofa=True
    )
    assert speed.note == "" and speed.ratio > 0.0 and speed.sofa.steps == 20
    assert compare(scene, 30, parameters={"cells": 2} | parameters).deviation_max <= 1e-6


def test_the_elastic_arm_picks_and_places_alike(sofa):
    """The arm moves by our arithmetic on both, and SOFA maps its blocks: 1e-9 is the promise, the
    same bits are what comes; over planning, a pick and a place."""
    found = compare(ROOT / "scenes" / "elastic_arm_pick_place.py", 480)
    assert found.deviation_max <= 1e-12


def test_the_loop_is_moved_and_identified_alike(in_sofa, embedded):
    """The robot moves by our arithmetic on both, as the elastic arm does, and SOFA maps its blocks;
    noise and fits are the same. Over the first fit, at 2 s."""
    code = """
session = Session("scenes/loop_manipulation.py")
session.step(205)
plant, refiner = session.controllers
values = [plant.angle.value, plant.torque.value, refiner.parameters.value, refiner.half_width.value]
result([np.concatenate(values), np.array(session.root.bodies.loop.dofs.position.value)])
"""
    (values, points), _ = in_sofa(code)
    expected, places = embedded(code)
    np.testing.assert_allclose(values, expected, rtol=1e-12)
    np.testing.assert_allclose(points, places, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "steps"),
    [("rolling_ring", 60), ("trunk_cup", 60), ("pushing", 30), ("cylinder_grasp", 60)],
)
def test_scenes_with_contacts_are_controlled_by_the_same_contact_problems(sofa, name, steps):
    """The contact rows of SOFA feed the same QPCC in the same order: 1e-9 of the size over 60
    steps, in which the robots settle, take hold and begin to move; 1e-6 is the promise. In step 33
    of pushing, rounding decides between two optima, on other processors too."""
    found = compare(ROOT / "scenes" / f"{name}.py", steps)
    assert found.steps == steps
    assert found.deviation_max <= 1e-9


def test_phases_add_up_to_the_step(in_sofa):
    """Both are sums over the same steps; what lies before and after the phases is a small part."""
    (phases, total), _ = in_sofa("""
from time import perf_counter
import robots
session = Session(robots.arm)
start = perf_counter()
session.step(50)
result([session.phases(), perf_counter() - start])
""")
    assert all(seconds > 0.0 for seconds in phases.values())
    assert 0.5 * total < sum(phases.values()) < total


def test_sofa_gives_the_records(in_sofa):
    """SOFA of another build may round differently: 1e-9 as for the embedded runtime."""
    parity = ROOT / "tests" / "parity"
    spec = importlib.util.spec_from_file_location("parity_scenes", parity / "parity_scenes.py")
    scenes = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(scenes)
    skipped = {*SCENES_WITHOUT_CONTACT, *scenes.INVERSE}  # SoftRobots.Inverse is not required
    names = [name for name in scenes.CASES if name not in skipped]
    found, _ = in_sofa(f"""
sys.path.insert(0, {str(parity)!r})
import parity_scenes as scenes
result({{name: scenes.run(Sofa, name) for name in {names!r}}})
""")
    for name in names:
        with np.load(parity / "records" / f"{name}.npz") as record:
            expected = record["positions"]
        size = np.ptp(expected[0], axis=0).max()
        assert np.abs(np.array(found[name]) - expected).max() <= 1e-9 * size


def test_an_error_of_a_users_controller_ends_the_step_and_reaches_the_caller(in_sofa):
    (kind, text, steps, calls), said = in_sofa("""
import robots
class Broken(Sofa.Core.Controller):
    def onAnimateBeginEvent(self, event):
        if self.getContext().time.value > 0.025:
            raise ZeroDivisionError("my mistake")
class Later(Sofa.Core.Controller):
    calls = 0
    def onAnimateEndEvent(self, event):
        self.calls += 1
def scene(root):
    robots.arm(root)
    root.addObject(Broken(name="broken"))
    root.addObject(Later(name="later"))
session = Session(scene)
try:
    session.step(10)
except ZeroDivisionError as error:
    result([type(error).__name__, str(error), session.step_count, session.root.later.calls])
""")
    assert (kind, text, steps, calls) == ("ZeroDivisionError", "my mistake", 3, 3)
    assert "Unable to execute code" not in said


def test_inverse_control_that_fails_holds_the_robot_and_pauses(in_sofa):
    """In runSofa nobody ends the simulation: it must be safe by itself."""
    found, said = in_sofa("""
import robots
def goal(time):
    return [14.0, 3.0, 80.0] if time < 0.105 else [1.0, 2.0]
root = Sofa.Core.Node("root")
robots.arm(root, goal)
root.animate = True
Sofa.Simulation.init(root)
forces = []
for _ in range(20):
    Sofa.Simulation.animate(root, root.dt.value)
    forces.append(root.body.cable.motor.force.value)
result([forces, root.animate.value, root.inverse.effort.value * root.dt.value])
""")
    forces, animate, effort = found
    assert forces[9] > 0.0
    assert forces[10:] == [forces[9]] * 10
    assert effort == [pytest.approx(forces[9], rel=1e-12)]
    assert not animate
    assert said.count("Unable to execute code") == 1
    assert "robots.py:" in said and "The goal of /inverse at t = 0.11 must be finite" in said


def test_a_divergence_is_an_error_with_the_state_and_the_step(in_sofa):
    found, _ = in_sofa("""
import robots
def scene(root):
    robots.arm(root, controlled=False)
session = Session(scene)
session.step(2)
position = np.array(session.root.body.dofs.position.value)
position[7, 1] = np.nan
session.root.body.dofs.position.value = position
try:
    session.step()
except DivergedError as error:
    result(str(error))
""")
    assert "/body/dofs diverged in the step from t = 0.02 to 0.03: " in found


def test_reset_gives_the_same_run_again(in_sofa):
    (first, again, effort), _ = in_sofa("""
import robots
session = Session(robots.arm)
def run():
    session.step(15)
    return session.positions()["body/dofs.position"]
first = run()
session.reset()
effort = session.root.inverse.effort.value.tolist()  # the value itself is a view
result([first, run(), effort])
""")
    assert effort == [0.0]
    np.testing.assert_allclose(again, first, rtol=0.0, atol=1e-12)


def test_reset_by_sofa_itself_resets_inverse_control(in_sofa):
    """As runSofa's button does: SOFA does not call Python controllers then."""
    (first, again), _ = in_sofa("""
import robots
root = Sofa.Core.Node("root")
robots.arm(root)
Sofa.Simulation.init(root)
def run():
    for _ in range(15):
        Sofa.Simulation.animate(root, root.dt.value)
    return np.array(root.body.dofs.position.value)
first = run()
Sofa.Simulation.reset(root)
result([first, run()])
""")
    np.testing.assert_allclose(again, first, rtol=0.0, atol=1e-12)


def test_an_unbuilt_constraint_solver_is_refused_with_the_remedy(in_sofa):
    found, _ = in_sofa("""
import robots
try:
    Session(lambda root: robots.arm(root, resolutionMethod="UnbuiltGaussSeidel")).step()
except SceneError as error:
    result(str(error))
""")
    assert "resolutionMethod='UnbuiltGaussSeidel', which builds no compliance matrix W" in found
    assert "BlockGaussSeidelConstraintSolver" in found


def test_other_built_solvers_of_sofa_give_the_same_motion(in_sofa):
    """What they find themselves is overwritten, so only the correction counts: rounding."""
    found, _ = in_sofa("""
import robots
found = {}
for name, values in {
    "GenericConstraintSolver": {"resolutionMethod": "ProjectedGaussSeidel"},
    "NNCG": {"resolutionMethod": "NonsmoothNonlinearConjugateGradient"},
    "LCPConstraintSolver": {},
}.items():
    kind = "LCPConstraintSolver" if name.startswith("LCP") else "GenericConstraintSolver"
    session = Session(lambda root: robots.arm(root, solver=kind, **values))
    session.step(20)
    found[name] = session.positions()["body/dofs.position"]
result(found)
""")
    expected = np.array(found["GenericConstraintSolver"])
    for positions in found.values():
        np.testing.assert_allclose(positions, expected, rtol=0.0, atol=1e-9)


def test_a_component_of_a_plugin_that_is_not_loaded_is_told_with_the_remedy(in_sofa):
    found, _ = in_sofa("""
def scene(root):
    root.addObject("QPInverseProblemSolver")
try:
    Session(scene)
except UnknownComponentError as error:
    result(str(error))
""")
    assert found == (
        "SOFA knows no component 'QPInverseProblemSolver'. Load the plugin that has it before: "
        "root.addObject('RequiredPlugin', pluginName='SoftRobots.Inverse')."
    )


CONTACTS = """
import robots
from sofa_softctl.scene.control.system import ComplianceSystem
from sofa_softctl.scene.control.contacts import contacts_of
seen = []
class Look(Sofa.Core.Controller):
    def onSolveConstraintSystemEndEvent(self, event):
        system = ComplianceSystem(self.getContext())
        W, lam = system.solver.W(), system.solver.lambda_force()
        seen.append([])
        for contact in contacts_of(system):
            seen[-1].append([contact.rows, contact.normal, contact.bodies, contact.point,
                         lam[contact.rows[0]], W[contact.rows[0], contact.rows[0]]])
def scene(root):
    robots.block_on_floor(root, mu={mu})
    root.addObject(Look(name="look"))
session = Session(scene)
session.step(40)
result([seen[-1], session.positions()["body/dofs.position"]])
"""


@pytest.mark.parametrize(("mu", "rows"), [(0.5, 3), (0.0, 1)])
def test_contacts_have_rows_normal_bodies_and_point(in_sofa, mu, rows):
    """At rest the normal impulses carry the weight: 0.03 kg * 9810 mm/s^2 * 0.01 s; 2 % for what
    is left of the bounce, and for tangents that lean."""
    (final, positions), _ = in_sofa(CONTACTS.format(mu=mu))
    heights = np.array(positions)[:, 1]
    assert heights.min() == pytest.approx(0.5, abs=0.01)  # the contact distance
    covered = np.sort(np.concatenate([entry[0] for entry in final]))
    np.testing.assert_array_equal(covered, np.arange(rows * len(final)))
    for _, normal, bodies, point, lam, compliance in final:
        assert np.linalg.norm(normal) == pytest.approx(1.0, abs=1e-12)
        assert normal[1] > 0.9  # it joins the closest points, so it may lean
        assert bodies == ["/floor", "/body"]
        assert 0.0 < point[1] < 3.0
        assert lam >= 0.0 and compliance > 0.0
    total = sum(entry[4] * entry[1][1] for entry in final)
    assert total == pytest.approx(0.03 * 9810.0 * 0.01, rel=0.02)
