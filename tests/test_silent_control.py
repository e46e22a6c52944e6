"""One fault each in what drives a right scene: actuators, goals, controllers of the user's own."""

import re

import numpy as np
import pytest

from sofa_softctl import InverseController, Session, add_effector
from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.mesh.faces import TETRAHEDRON_TRIANGLES
from sofa_softctl.scene.session.run import run
from sofa_softctl.scene.watch.drive_faults import unused_drives
from sofa_softctl.scene.watch.drives import drives_of
from tests.test_silent_faults import (
    CABLE,
    POSITIONS,
    Scene,
    added,
    changed,
    dropped,
    gravity,
    moved,
    option,
)

pytestmark = pytest.mark.usefixtures("tolerant")
MOTOR, PUMP = ("body/cable", "CableConstraint"), ("body/chamber", "SurfacePressureConstraint")
DT = 0.01


class Own:
    """A controller of the user's own with a method for the start of a step.

    Args:
        begin: begin(self, root), called with the controller.
        name: Its name.
    """

    def __init__(self, begin, name="mine"):
        self.begin, self.name = begin, name

    def make(self, root):
        import Sofa

        begin = self.begin

        class Follow(Sofa.Core.Controller):
            force = 0.0
            old = 0.0

            def onAnimateBeginEvent(self, event):
                begin(self, root)

        return Follow(name=self.name)

    def __call__(self, scene):
        scene.options = None
        scene.controllers.append(self.make)


def drive(values):
    """A controller that gives the motor or the pump a value that is a function of time."""

    def begin(self, root):
        component = root.body.cable.motor if hasattr(root.body, "cable") else root.body.chamber.pump
        component.value.value = [values(float(root.time.value))]

    return Own(begin)


def both(*changes):
    return lambda scene: [change(scene) for change in changes]


def at_end(scene):
    """A controller that lets go of the motor after each step, which another one pulls anew."""
    import Sofa

    class LetGo(Sofa.Core.Controller):
        def __init__(self, *args, motor, **kwargs):
            Sofa.Core.Controller.__init__(self, *args, **kwargs)
            self.motor = motor

        def onAnimateEndEvent(self, event):
            self.motor.value.value = [0.0]

    scene.controllers.append(lambda root: LetGo(name="let_go", motor=root.body.cable.motor))


def never_added(scene):
    scene.options = None

    def make(root):
        Own(print).make(root)
        return Own(lambda self, root: None).make(root)

    scene.controllers.append(make)


def keeping(old):
    """A controller that compares positions with those of the step before, as `old` keeps them."""
    import Sofa

    class Rate(Sofa.Core.Controller):
        def __init__(self, *args, root, **kwargs):
            Sofa.Core.Controller.__init__(self, *args, **kwargs)
            self.root, self.old = root, 0.0

        def onAnimateBeginEvent(self, event):
            x = self.root.body.dofs.position.value
            self.rate = (x - self.old) / 0.01
            self.old = old(x)

    def change(scene):
        scene.options = None
        scene.controllers.append(lambda root: Rate(name="rate", root=root))

    return change


def of_motor(scene):
    """The motor of the inverse controller is set by another one, too."""
    Own(lambda self, root: setattr(root.body.cable.motor.value, "value", [1.0]))(scene)
    scene.options = {}


def second_cable(scene):
    scene.add("body/again", "MechanicalObject", position=CABLE[::2])
    scene.add("body/again", "CableConstraint", name="motor", indices=[0, 1, 2])
    scene.add("body/again", "BarycentricMapping")


def sheared(x):
    """The upper corners of a chamber on the other side: still corners of the hole."""
    x = x.copy()
    x[x[:, 2] > 15.0, 1] = 30.0 - x[x[:, 2] > 15.0, 1]
    return x


def own_method(method):
    """A controller of such a class, given by its method for the start of a step."""
    import Sofa

    kind = type("Push", (Sofa.Core.Controller,), {"onAnimateBeginEvent": method})

    def change(scene):
        scene.options = None
        scene.controllers.append(lambda root: _with_root(kind(name="push"), root))

    return change


def _with_root(controller, root):
    controller.root = root
    return controller


def change_a_copy(self, event):
    x = self.root.body.tip.MechanicalObject.position.value.copy()
    x[:, 0] += 0.1


def replace_a_view(self, event):
    with self.root.body.dofs.rest_position.writeable() as x:
        x = x + 0.0  # noqa: F841


def use_a_copy(self, event):
    x = self.root.body.dofs.position.value.copy()
    x[:, 0] += 0.0
    with self.root.body.dofs.position.writeable() as same:
        same += 0.0
    self.highest = x.max()


def outer_skin(scene):
    body = scene.line("body", "MeshTopology")[2]
    faces = np.array(body["tetrahedra"])[:, np.array(TETRAHEDRON_TRIANGLES)].reshape(-1, 3)
    _, first, count = np.unique(
        np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True
    )
    skin = faces[first[count == 1]]
    walls = np.array(body["position"])[skin]
    low, high = walls.min(axis=(0, 1)), walls.max(axis=(0, 1))
    is_outer = ((walls == low).all(axis=1) | (walls == high).all(axis=1)).any(axis=1)
    mesh = {"position": body["position"], "triangles": skin[is_outer]}
    scene.set("body/chamber", "MeshTopology", **mesh)


def erratic(reads):
    """A controller that pulls by the logistic map, which has no period.

    Args:
        reads: It reads a position, too, as a feedback does.
    """

    def begin(self, root):
        self.x = 3.99 * getattr(self, "x", 0.3) * (1.0 - getattr(self, "x", 0.3))
        if reads:
            root.body.tip.MechanicalObject.position.value  # noqa: B018
        root.body.cable.motor.value.value = [50.0 * self.x * DT]

    return Own(begin)


def by_key(scene):
    """A controller that pulls by a key that no event has."""
    import Sofa

    class ByKey(Sofa.Core.Controller):
        def onKeypressedEvent(self, event):
            key = event["key"]
            if key == "plus":
                self.pulls = True

    scene.options = None
    scene.controllers.append(lambda root: ByKey(name="keys"))


def followed_by_the_tip(scene):
    scene.add("body/aim", "MechanicalObject", name="dofs", position=[[8.0, 10.0, 88.0]])
    scene.add("body/aim", "BarycentricMapping")
    scene.options = {"goal": "@/body/aim/dofs.position"}


def on_a_carriage(change=lambda scene: None, x=lambda t: 40.0 * t, angle=lambda t: 0.0):
    """Hold the finger by springs on a carriage that a controller moves and turns."""

    def move(self, root):
        t, half = float(root.time.value), 0.5 * angle(float(root.time.value))
        place = [x(t), 0.0, 0.0, 0.0, 0.0, np.sin(half), np.cos(half)]
        root.carriage.dofs.position.value = [place]

    def build(scene):
        foot = np.flatnonzero(POSITIONS[:, 2] == 0.0)
        frame = {"template": "Rigid3", "position": [[0, 0, 0, 0, 0, 0, 1]]}
        scene.add("carriage", "MechanicalObject", name="dofs", **frame)
        scene.add(
            "carriage/flange", "MechanicalObject", name="dofs", position=POSITIONS[foot].tolist()
        )
        scene.add("carriage/flange", "RigidMapping")
        scene.drop("body", "FixedProjectiveConstraint")
        springs = {"points": foot.tolist(), "stiffness": [1e5]}
        springs["external_rest_shape"] = "@/carriage/flange/dofs"
        scene.add("body", "RestShapeSpringsForceField", **springs)
        Own(move, "move")(scene)
        change(scene)

    return build


def inverse_of(
    kind=InverseController, goal=lambda root: [8.0, 10.0, 88.0], path="cable", **options
):
    """An inverse controller of the test's own.

    Args:
        kind: Its class.
        goal: Its goal, given the root.
        path: Node below the body with the actuator as its object.
        options: Options of the controller.
    """

    def make(root):
        node = getattr(root.body, path)
        actuator = next(e for e in node.objects if e.getClassName().endswith("Constraint"))
        given = {"actuators": [actuator], "effectors": [add_effector(root.body.tip)], **options}
        return kind(name="inverse", root=root, goal=goal(root), **given)

    def change(scene):
        scene.options = None
        scene.controllers.append(make)

    return change


class Counts:
    """Beside a controller of the package, in one class."""


class Counting(Counts, InverseController):
    """Its method is not called any more, and so does nothing."""

    def onAnimateBeginEvent(self, event):
        self.steps = event


def beside_the_tip(root):
    x = root.body.tip.MechanicalObject.position.value
    return lambda t: x[0] + [1.0, 0.0, 0.0]


def with_tip(scene):
    scene.add("body/tip", "MechanicalObject", position=[[10.0, 10.0, 60.0]])
    scene.add("body/tip", "BarycentricMapping")


def change_a_value(self, event):
    value = self.root.body.cable.motor.value.value.copy()
    value[0] = 1.0


def pulses(self, root, reads_time=False):
    """Pull in half of each 20 steps, with the tip's position read as a feedback does."""
    self.n = getattr(self, "n", 0) + 1
    root.body.tip.MechanicalObject.position.value  # noqa: B018
    if reads_time:
        root.time.value  # noqa: B018
    root.body.cable.motor.value.value = [50.0 * max(0.0, np.sin(0.1 * np.pi * self.n)) * DT]


def pull_both(self, root):
    for node in (root.body.cable, root.body.again):
        node.motor.value.value = [0.02, 0.01]


def of_inverse(begin):
    """A controller beside the inverse one."""

    def change(scene):
        Own(begin)(scene)
        scene.options = {}

    return change


def outer_skin_by_identity(scene):
    outer_skin(scene)
    scene.drop("body/chamber", "BarycentricMapping")
    scene.add("body/chamber", "IdentityMapping")


def untied(scene):
    del scene.line("body", "RestShapeSpringsForceField")[2]["external_rest_shape"]


OF_LENGTH = changed(*MOTOR, valueType="displacement")
FAULTS = {
    # Cables and chambers
    "a skin in place of a chamber": (
        "chamber",
        outer_skin,
        "its surface is the outer one of the mesh of '/body', which reaches from [0, 0, 0]",
        0,
    ),
    "the same by another mapping": ("chamber", outer_skin_by_identity, "the outer one of the", 0),
    "a list of all for each": (
        "finger",
        both(second_cable, Own(pull_both)),
        "/body/again/motor each got the list of 2 values, of which each takes the first (0.02)",
        5,
    ),
    "a pressure's limit in another unit": (
        "chamber",
        both(with_tip, inverse_of(path="chamber", effort_max=900.0)),
        "effort_max=900 of 'chamber' limits nothing: already 2e+02 is 2 times what no body bears",
        0,
    ),
    "a method that is replaced": (
        "finger",
        inverse_of(Counting),
        "replaces that of InverseController, and does not call it.*finds the goals of the step",
        1,
    ),
    "a goal that is a view of the effector": (
        "finger",
        inverse_of(goal=beside_the_tip),
        "holds a view of the positions of '/body/tip', which is its effector",
        0,
    ),
    "an attribute that nearly is an option": (
        "finger",
        of_inverse(lambda self, root: setattr(root.InverseController, "effort_maximum", 60.0)),
        "has no option 'effort_maximum', so this .* Did you mean 'effort_max'",
        1,
    ),
    "a cable switched off": (
        "finger",
        of_inverse(lambda self, root: setattr(root.body.cable, "activated", False)),
        "/body/cable/motor should own row . of the constraint system.* switched off",
        1,
    ),
    "a copy called value": (
        "finger",
        own_method(change_a_value),
        "changes 'value', a copy of self.root.body.cable.motor.value.value, and no more",
        0,
    ),
    "a slow swing": ("finger", Own(pulses), "swings between 0 .* every 20 steps", 62),
    "a displacement beyond its limit": (
        "finger",
        both(
            changed(*MOTOR, valueType="displacement", minForce=0.0, maxPositiveDisp=1.0),
            drive(lambda t: 4.0),
        ),
        "imposes a displacement of 4, and at the end there are 1: its maxPositiveDisp=1 lets no",
        20,
    ),
    "a copy changed": (
        "finger",
        own_method(change_a_copy),
        "changes 'x', a copy of self.root.body.tip.MechanicalObject.position.value, and no more",
        0,
    ),
    "a view replaced": (
        "finger",
        own_method(replace_a_view),
        "replaces 'x', a view of self.root.body.dofs.rest_position, and writes nothing into it",
        0,
    ),
    "a cable of the first points": (
        "finger",
        changed(*MOTOR, indices=[0, 1]),
        "its 'indices' are the first 2 of 5 points of its node, which go on along the line",
        0,
    ),
    # A carriage
    "springs in another order": (
        "finger",
        on_a_carriage(moved("carriage/flange", "MechanicalObject", "position", lambda x: x[::-1])),
        "its pair 0 starts 28.3 apart",
        0,
    ),
    "springs on fixed nodes": (
        "finger",
        on_a_carriage(added("body", "FixedProjectiveConstraint", indices="@foot.indices")),
        "all of its 9 points are fixed, and do not follow '/carriage/flange/dofs'",
        0,
    ),
    "springs to nothing": (
        "finger",
        on_a_carriage(untied),
        "nothing follows it: no component refers to '/carriage/flange/dofs'",
        3,
    ),
    "a flange without a mapping": (
        "finger",
        on_a_carriage(dropped("carriage/flange", "RigidMapping")),
        "'/carriage/flange/dofs' stays where it is, and '/carriage/dofs' above it moves",
        3,
    ),
    "a carriage that jumps": (
        "finger",
        on_a_carriage(x=lambda t: 20.0 + t),
        "'/carriage/dofs' was moved by 20 in the first step, and by 0.01 in the second",
        3,
    ),
    "a turn in degrees": (
        "finger",
        on_a_carriage(angle=lambda t: 30.0 * t),
        "turns by 17.2 degrees in a step",
        8,
    ),
    "two points of a cable exchanged": (
        "finger",
        changed(*MOTOR, indices=[0, 2, 1, 3, 4]),
        "at [4, 10, 55] it turns and runs back over itself for 25",
        0,
    ),
    "a cable twice": (
        "finger",
        second_cable,
        "along the same line as CableConstraint '/body/ca",
        0,
    ),
    "a chamber sheared": (
        "chamber",
        moved("body/chamber", "MeshTopology", "position", sheared),
        "triangles are off the boundary of the mesh of '/body'",
        0,
    ),
    "a cable from the wrong end": (
        "finger",
        changed(*MOTOR, pullPoint=[4.0, 10.0, 95.0], hasPullPoint=True),
        "at [4, 10, 5] it turns and runs back over itself for 25",
        0,
    ),
    "a motor in the clamp": (
        "finger",
        both(
            moved("body/cable", "MechanicalObject", "position", lambda x: x * [1, 1, 0.05]),
            changed("body", "BoxROI", box=[-1, -1, -1, 61, 31, 19]),
        ),
        "cable moves nothing: all that it acts on is fixed",
        1,
    ),
    # What actuators are given
    "growth is limited": (
        "chamber",
        changed(*PUMP, value=[0.05], maxVolumeGrowth=1.0),
        "its value was cut at maxVolumeGrowth=1 in 2 of 2 steps",
        2,
    ),
    "pressure of the wrong sign": (
        "chamber",
        changed(*PUMP, value=[-0.02]),
        "its pressure was never positive, and down to -2 pressure",
        3,
    ),
    "pressure in bar": (
        "chamber",
        changed(*PUMP, value=[2e-4]),
        "its pressure of up to 0.02 pressure does nothing that one sees",
        21,
    ),
    "pressure in Pa": (
        "chamber",
        changed(*PUMP, value=[20.0]),
        "diverged.* its pressure came to 2000 pressure, and the modulus of the material is 100: no",
        50,
    ),
    "pressure without dt": (
        "chamber",
        changed(*PUMP, value=[2.0]),
        "SOFA's value is the pressure times 0.01 with this integrator and dt: was it mul",
        1,
    ),
    "pressure without dt that blows the chamber up": (
        "chamber",
        changed(*PUMP, value=[0.6]),
        "its pressure came to 60 pressure, where the modulus of the material is 100, and its vol",
        30,
    ),
    "growth in another unit": (
        "chamber",
        changed(*PUMP, valueType="volumeGrowth", value=[1.0]),
        "its volumeGrowth of up to 1 volume is 0.0003 of the volume at rest",
        21,
    ),
    "force in N": (
        "finger",
        drive(lambda t: 1.0 * DT),
        "its force of up to 1 force does nothing that one sees",
        21,
    ),
    "force without dt that folds the body": (
        "finger",
        drive(lambda t: 2500.0 * min(t / 0.2, 1.0)),
        "its force came to 2.5e.05 force, and the modulus of the material times its cross-section",
        30,
    ),
    "pressure where a growth is meant": (
        "chamber",
        changed(*PUMP, valueType="volumeGrowth", value=[0.02]),
        "its volumeGrowth of up to 0.02 volume is 5e-06 of the volume at rest",
        21,
    ),
    "a limit in another unit": (
        "chamber",
        changed(*PUMP, maxPressure=8.0),
        "times it, allows a pressure of 800, more than its material bears (100): it limits nothing",
        1,
    ),
    "a field of pressure in Pa": (
        "chamber",
        both(
            added("body/chamber", "SurfacePressureForceField", name="field", pressure=2000.0),
            lambda scene: scene.drop(*PUMP),
        ),
        "SurfacePressureForceField '/body/chamber/field': its pressure came to 2000 pressure",
        1,
    ),
    "force in kN": (
        "finger",
        both(drive(lambda t: 3e-6 * DT)),
        "its force of up to 3e-06 force does nothing that one sees",
        21,
    ),
    # Feedbacks
    "a runaway": (
        "finger",
        drive(lambda t: 1e5 * t * DT),
        "its value rose in 5. of 5. steps, to .* and still does",
        52,
    ),
    "a cable let out on and on": (
        "finger",
        both(OF_LENGTH, drive(lambda t: -80.0 * t)),
        "its value fell in 5. of 5. steps, to .* and still does",
        52,
    ),
    "a swing without a period": (
        "finger",
        erratic(reads=True),
        "its value swings between 0.* times in 60 steps at the end",
        62,
    ),
    "a cable that stops acting": (
        "finger",
        both(changed(*MOTOR, endTime=0.02), OF_LENGTH, drive(lambda t: 4.0)),
        "acts until its endTime=0.02 only, and is set later",
        20,
    ),
    "a swing": (
        "finger",
        drive(lambda t: 50.0 * (1.0 + np.sin(2.0 * np.pi * t / 0.07)) * DT),
        "its value swings between 0.0.* every 7 steps at the end",
        62,
    ),
    "always zero": (
        "finger",
        drive(lambda t: 0.0),
        "No actuator got anything but 0: '/body/cable/motor' was set in each of 50 steps",
        50,
    ),
    # Controllers
    "a controller not added": ("finger", never_added, "makes a Follow and adds it to no node", 0),
    "two controllers": (
        "finger",
        both(
            drive(lambda t: 1.0),
            Own(lambda self, root: setattr(root.body.cable.motor.value, "value", [0.0]), "b"),
        ),
        "is set by Follow '/mine', and in the same event by Follow '/b', which does not read it",
        3,
    ),
    "a view kept": ("finger", keeping(lambda x: x), "its attribute 'old' is a view of a Data", 3),
    "a part of a mapped position": (
        "finger",
        Own(lambda self, root: root.body.tip.MechanicalObject.position[0].__setitem__(1, 3.0)),
        "is computed by BarycentricMapping '/body/tip/BarycentricMapping' in every step",
        1,
    ),
    "a key of several characters": (
        "finger",
        by_key,
        "its onKeypressedEvent compares the key with 'plus', which it never is",
        0,
    ),
    "the inverse controller's motor": (
        "finger",
        of_motor,
        "but the InverseController that drives it computes its effort: what is set has no effect",
        2,
    ),
    # Goals
    "a goal on the robot": (
        "finger",
        followed_by_the_tip,
        "'/body/aim/dofs' is the goal of effector '/body/tip', and on the same body, '/body'",
        0,
    ),
    "a goal relative to the tip": (
        "finger",
        option(goal=[-2.0, 0.0, -2.0], effort_rate=1.0),
        "2.83 from the origin: is it given relative to the effector",
        2,
    ),
    "the effector in the foot": (
        "finger",
        moved("body/tip", "MechanicalObject", "position", lambda x: x - [0.0, 0.0, 85.0]),
        "from where effector '/body/tip' began: is it the effector that is meant",
        2,
    ),
    "a goal in metres from the second step on": (
        "finger",
        option(goal=lambda t: [8.0, 10.0, 88.0] if t < 0.015 else [0.008, 0.01, 0.088]),
        "Times 1000 the goal is .* away: is it in other units;",
        3,
    ),
    "a goal that hardly moves": (
        "finger",
        both(gravity(0.0, 0.0, 0.0), option(goal=lambda t: [10.0 - 0.1 * t, 10.0, 90.0])),
        "reached: .*; the goal never left the tolerance around where the effector started",
        5,
    ),
    "a goal that moves along axes of weight 0": (
        "finger",
        both(
            gravity(0.0, 0.0, 0.0),
            option(goal=lambda t: [10.0 - 200.0 * t, 10.0, 90.0], weight=[[0.0, 1.0, 1.0]]),
        ),
        "but the goal moves, by 8 length, only along axes of weight 0",
        5,
    ),
    "a clamp too large": (
        "finger",
        both(changed("body", "BoxROI", box=[-1, -1, -1, 61, 31, 60]), option(goal=[0, 10, 88])),
        "36 of 54 nodes of '/body' are fixed: is the clamp too large",
        2,
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named(name, caplog):
    kind, change, expected, steps = FAULTS[name]
    scene = Scene(kind)
    change(scene)
    expected = re.sub(r"([+()\[])", r"\\\1", expected)
    assert re.search(expected, _all_said(scene, caplog, steps), re.DOTALL)


def _all_said(scene, caplog, steps):
    """Findings and reasons of verdicts, too."""
    from sofa_softctl.inverse import summary

    text = []
    plain = summary.judge

    def judge(*args):
        verdict = plain(*args)
        text.append(verdict.verdict)
        return verdict

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(summary, "judge", judge)
        said = scene.said(caplog, steps)
    return "\n".join([said, *text])


@pytest.mark.parametrize(
    ("kind", "change", "steps"),
    [
        ("chamber", changed(*PUMP, value=[-0.02], minPressure=-0.1), 30),  # suction is meant
        ("finger", keeping(lambda x: x.copy()), 4),
        ("finger", own_method(use_a_copy), 4),
        ("finger", erratic(reads=False), 62),  # noise that is meant
        ("finger", Own(lambda self, root: pulses(self, root, reads_time=True)), 62),
        ("finger", on_a_carriage(), 4),
        ("finger", drive(lambda t: 100.0 * t * DT), 60),  # a ramp
        ("finger", drive(lambda t: 80.0 * max(0.0, t - 0.52) * DT), 60),  # one that has just begun
        ("finger", drive(lambda t: 50.0 * (t > 0.3) * np.sin(3.0 * (t - 0.3)) ** 2 * DT), 60),
        ("finger", both(drive(lambda t: 50.0 * DT), at_end), 60),
        ("finger", drive(lambda t: 50.0 * (1.0 + np.sin(2.0 * np.pi * t / 0.3)) * DT), 70),
        ("finger", drive(lambda t: 50.0 * DT * (round(t / DT) % 6 < 3)), 70),  # a valve
    ],
)
def test_what_is_meant_is_left_alone(kind, change, steps, caplog):
    scene = Scene(kind)
    change(scene)
    assert _all_said(scene, caplog, steps) == ""


@pytest.mark.parametrize(("duration", "expected"), [(0.0, True), (0.5, True), (1.0, False)])
def test_a_run_that_ends_before_its_controller_begins_is_left_alone(duration, expected, beam):
    def createScene(root):
        beam(root, cables=1)

    with Session(createScene, backend="embedded") as session:
        (idle,) = drives_of(session.root, None)
        for _ in range(50):
            idle.component.value.value = [0.0]
            idle.step()
        assert bool(unused_drives([idle], duration)) == expected


@pytest.mark.parametrize(
    ("name", "rows", "expected"),
    [
        ("velocity", lambda t: [t, 0, 0, 0, 0, 0], "'velocity' of .*its position does not"),
        ("free_position", lambda t: [t, 0, 0, 0, 0, 0, 1], "'free_position' of .* does not"),
        ("rest_position", lambda t: [t, 0, 0, 0, 0, 0, 1], "'rest_position' of .* does not"),
        ("position", lambda t: [0, 0, 0, 0, 0.5, 0, 1], "a quaternion of length 1.118 instead"),
        ("position", lambda t: [0, 0, 0, 0, 0, 0, 0], "a quaternion of length 0 instead"),
        ("position", lambda t: [0, 0, 0, 1, 0, 0, 0], "turns by 180 degrees in a step"),
        ("position", lambda t: [t, 0, 0, 0, np.sin(t), 0, np.cos(t)], ""),
    ],
)
def test_what_a_script_sets_of_a_body_is_named(name, rows, expected, caplog):
    def move(self, root):
        getattr(root.carriage.dofs, name).value = [rows(float(root.time.value))]
        if not expected:
            root.carriage.dofs.velocity.value = [[1.0, 0, 0, 0, 0, 0]]

    scene = Scene("finger")
    scene.add("carriage", "MechanicalObject", name="dofs", template="Rigid3")
    scene.line("carriage", "MechanicalObject")[2]["position"] = [[0, 0, 0, 0, 0, 0, 1]]
    both(Own(move, "move"), drive(lambda t: 50.0 * DT))(scene)
    said = _all_said(scene, caplog, 5)
    assert re.search(expected, said) if expected else said == ""
    assert said.count("dofs") <= 2


def test_one_that_reads_before_it_sets_may_follow_another(caplog):
    def limit(self, root):
        value = root.body.cable.motor.value
        value.value = [min(value.value[0], 0.5)]

    scene = Scene("finger")
    both(drive(lambda t: 1.0), Own(limit, "limit"))(scene)
    assert _all_said(scene, caplog, 5) == ""


@pytest.mark.parametrize("name", ["effort_min", "effort_max", "displacement_max", "effort_rate"])
def test_a_list_has_an_entry_for_each_actuator(name, caplog):
    scene = Scene("finger")
    scene.options = {name: [1.0, 1.0]}
    assert f"{name} must be a number" in scene.said(caplog, 0)


def test_a_list_of_one_is_not_for_two(Sofa):
    from sofa_softctl.scene.control import options

    controller = type("Mine", (), {"made_at": "scene.py:1"})()
    assert options.numbers(controller, "lead", [1.0], 1, "actuator").tolist() == [1.0]
    assert options.numbers(controller, "lead", 1.0, 2, "actuator").tolist() == [1.0, 1.0]
    with pytest.raises(SceneError, match="one for all or one for each of the 2 actuators"):
        options.numbers(controller, "lead", [1.0], 2, "actuator")


@pytest.mark.parametrize(("z", "expected"), [((88.0, 30.0), False), ((30.0, 88.0), True)])
def test_exchanged_goals_are_a_reason(beam, z, expected):
    """Two effectors at 90 and 30 mm."""

    def createScene(root):
        beam(root, cables=1)
        effectors = []
        for name, height in (("tip", 90.0), ("middle", 30.0)):
            node = root.beam.addChild(name)
            node.addObject("MechanicalObject", position=[[10.0, 10.0, height]])
            effectors.append(add_effector(node))
            node.addObject("BarycentricMapping")
        goal = [[5.0, 10.0, z[0]], [10.0, 10.0, z[1]]]
        motor = root.beam.cable_0.cable
        root.addObject(
            InverseController(
                root=root, actuators=[motor], effectors=effectors, goal=goal, effort_rate=0.1
            )
        )

    with Session(createScene, backend="embedded") as session:
        (inverse,) = run(session, 2).inverse
    assert ("are the goals exchanged" in inverse.goal.verdict) == expected


def test_a_motor_of_two_inverse_controllers_is_named(beam, caplog):
    def createScene(root):
        beam(root, cables=1)
        tip = root.beam.addChild("tip")
        tip.addObject("MechanicalObject", position=[[10.0, 10.0, 90.0]])
        effector = add_effector(tip)
        tip.addObject("BarycentricMapping")
        for name in ("first", "second"):
            root.addObject(
                InverseController(
                    name=name,
                    root=root,
                    actuators=[root.beam.cable_0.cable],
                    effectors=[effector],
                    goal=[9.0, 10.0, 90.0],
                    effort_min=0.0,
                )
            )

    Session(createScene, backend="embedded").close()
    (text,) = [entry.getMessage() for entry in caplog.records]
    assert "'/first', too: of two efforts in a step only the last acts" in text


def inverse_beam(root, beam, epsilon=1e-3):
    """Build a beam under a QPInverseProblemSolver, without cables; return a node at its tip."""
    beam(root, cables=1)
    solvers = [e for e in root.objects if e.getClassName() == "GenericConstraintSolver"]
    for entry in (*solvers, root.beam.cable_0.cable):
        entry.getContext().removeObject(entry)
    root.addObject("QPInverseProblemSolver", epsilon=epsilon)
    tip = root.beam.addChild("tip")
    tip.addObject("MechanicalObject", position=[[10.0, 10.0, 90.0]])
    return tip


SLACK = {"minForce": 0.0, "maxForce": 0.0}


@pytest.mark.parametrize(
    ("x", "cable", "effector", "epsilon", "expected"),
    [
        (4.0, SLACK, {}, 1e-3, "at maxForce=0 in 60"),
        (10.0, SLACK, {}, 1e-3, ""),
        (4.0, {"maxDispVariation": 1e-4}, {}, 1e-3, "at maxDispVariation=0.0001 in 60"),
        (4.0, {}, {"weight": 0.0}, 1e-3, "Its weight is 0"),
        (
            4.0,
            {},
            {"limitShiftToTarget": True, "maxShiftToTarget": 1e-4},
            1e-3,
            "limitShiftToTarget brings the goal to 0.0001 of it",
        ),
        (4.0, {}, {}, 100.0, "has epsilon=100, with which saving the actuators' energy counts"),
        (4.0, {"minForce": 0.0}, {}, 1e-3, ""),
        (4.0, {"minForce": 1.0, "maxForce": 1.0, "maxPositiveDisp": 0.0}, {}, 1e-3, "Exceeded: "),
    ],
)
def test_an_effector_that_stays_away_from_its_goal_is_named(
    beam, x, cable, effector, epsilon, expected, caplog
):
    def createScene(root):
        tip = inverse_beam(root, beam, epsilon)
        tip.addObject(
            "PositionEffector",
            indices=[0],
            effectorGoal=[[x, 10.0, 90.0]],
            useDirections=[1, 0, 0],
            **effector,
        )
        tip.addObject("BarycentricMapping")
        line = root.beam.addChild("line")
        points = np.linspace([4.0, 10.0, 20.0], [4.0, 10.0, 85.0], 4)
        line.addObject("MechanicalObject", position=points.tolist())
        line.addObject("CableActuator", indices=[0, 1, 2, 3], pullPoint=[4.0, 10.0, 0.0], **cable)
        line.addObject("BarycentricMapping")

    with Session(createScene, backend="embedded") as session:
        findings = [finding.text for finding in run(session, 60).findings]
    far = [text for text in findings if "from its goal" in text]
    assert not any("useDirections" in text for text in findings)
    said = "".join(far) + caplog.text
    assert expected in said if expected else not far


@pytest.mark.parametrize(
    ("source", "step", "expected"),
    [
        ("@/goal/dofs.position", 0.1, ""),
        ("@/goal/dofs.rest_position", 0.1, "'/beam/tip/PositionEffector' follows its rest_pos"),
        ([[9.0, 10.0, 90.0]], 0.1, "'/beam/tip/PositionEffector' has numbers. If it is the target"),
        ([[9.0, 10.0, 90.0]], 0.0, ""),
        ("@/goal/dofs.position", 300.0, "its goal was in reach, and then up to 1"),
        ("@/beam/cable_0/dofs.position", 0.0, "carries the goal along as it moves"),
    ],
)
def test_a_goal_that_stays_while_its_target_moves_is_named(beam, source, step, expected):
    def move(self, root):
        with root.goal.dofs.position.writeable() as x:
            x[0, 0] += step

    def createScene(root):
        tip = inverse_beam(root, beam)
        target = root.addChild("goal").addObject("MechanicalObject", name="dofs")
        target.position = [[10.0, 10.0, 90.0]]
        tip.addObject("PositionEffector", indices=[0], effectorGoal=source)
        tip.addObject("BarycentricMapping")
        root.addObject(Own(move).make(root))

    with Session(createScene, backend="embedded") as session:
        findings = [finding.text for finding in run(session, 5).findings]
    assert expected in "".join(findings) if expected else findings == []


def test_a_goal_that_moves_along_a_direction_that_does_not_count_is_named(beam, Sofa):
    class Lead(Sofa.Core.Controller):
        def onAnimateBeginEvent(self, event):
            goal = self.getContext().beam.tip.effector.effectorGoal
            goal.value = [[10.0, goal.value[0][1] + 1.0, 90.0]]

    def createScene(root):
        tip = inverse_beam(root, beam)
        goal = {"effectorGoal": [[10.0, 10.0, 90.0]], "useDirections": [1, 0, 0]}
        tip.addObject("PositionEffector", name="effector", indices=[0], **goal)
        tip.addObject("BarycentricMapping")
        root.addObject(Lead(name="lead"))

    with Session(createScene, backend="embedded") as session:
        findings = [finding.text for finding in run(session, 12).findings]
    assert any(
        "moves by 12 along a direction that 'useDirections' leaves out" in t for t in findings
    )


@pytest.mark.parametrize(
    ("node", "index", "direction", "expected"),
    [
        ("beam", 0, [1, 0, 0], "no actuator moves it along the directions that count"),
        ("tip", 0, [1, 0, 0], "/beam/line/CableActuator pushed in"),
    ],
)
def test_effectors_that_nothing_moves_and_cables_that_push_are_named(
    beam, node, index, direction, expected
):
    def createScene(root):
        tip = inverse_beam(root, beam)
        tip.addObject("BarycentricMapping")
        holder = root.beam if node == "beam" else tip
        goal = {"effectorGoal": [[14.0, 10.0, 90.0]], "useDirections": direction}
        holder.addObject("PositionEffector", indices=[index], **goal)
        line = root.beam.addChild("line")
        points = np.linspace([4.0, 10.0, 20.0], [4.0, 10.0, 85.0], 4)
        line.addObject("MechanicalObject", position=points.tolist())
        line.addObject("CableActuator", indices=[0, 1, 2, 3], pullPoint=[4.0, 10.0, 0.0])
        line.addObject("BarycentricMapping")

    with Session(createScene, backend="embedded") as session:
        (text,) = [finding.text for finding in run(session, 5).findings]
    assert expected in text


@pytest.mark.parametrize("is_sprung", [False, True])
def test_a_rest_position_that_nothing_reads_is_named(beam, is_sprung):
    def createScene(root):
        beam(root)
        goal = root.addChild("goal")
        goal.addObject("EulerImplicitSolver", firstOrder=True)
        goal.addObject("CGLinearSolver", iterations=20, tolerance=1e-5, threshold=1e-5)
        goal.addObject("MechanicalObject", name="dofs", position=[[0.0, 0.0, 0.0]])
        if is_sprung:
            goal.addObject("RestShapeSpringsForceField", points=[0], stiffness=[1.0])
        follow = Own(
            lambda self, root: setattr(root.goal.dofs.rest_position, "value", [[1.0, 0.0, 0.0]])
        )
        root.addObject(follow.make(root))

    with Session(createScene, backend="embedded") as session:
        findings = "".join(finding.text for finding in run(session, 5).findings)
    assert ("its rest_position was set while the scene ran" in findings) != is_sprung


def test_a_complaint_of_every_step_is_said_once(caplog):
    scene = Scene("finger")
    of_inverse(lambda self, root: setattr(root.body.UniformMass.totalMass, "value", 0.0))(scene)
    assert scene.said(caplog, 3).count("needs a positive mass") == 1


def test_two_motors_that_do_the_same_are_named(beam, caplog):
    def createScene(root):
        beam(root, cables=1)
        tip = root.beam.addChild("tip")
        tip.addObject("MechanicalObject", position=[[10.0, 10.0, 90.0]])
        effector = add_effector(tip)
        tip.addObject("BarycentricMapping")
        line = np.linspace([4.0, 10.0, 20.0], [4.0, 10.0, 85.0], 4)
        motors = []
        for name, shift in (("a", 0.0), ("b", 0.5)):
            node = root.beam.addChild(name)
            node.addObject("MechanicalObject", position=(line + [shift, 0.0, 0.0]).tolist())
            motors.append(node.addObject("CableConstraint", indices=[0, 1, 2, 3]))
            motors[-1].valueType = "force"
            node.addObject("BarycentricMapping")
        options = {"actuators": motors, "effectors": [effector], "goal": [9.0, 10.0, 90.0]}
        options["names"] = ["b", "a"]
        root.addObject(InverseController(root=root, effort_min=0.0, **options))

    with Session(createScene, backend="embedded") as session:
        session.step(2)
    assert "a and b do the same to the whole robot" in caplog.text
    assert "'names' are b, a, and the nodes of 'actuators' a, b: give the names in" in caplog.text
