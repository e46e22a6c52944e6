"""One fault each in three right scenes: what would go on in silence is named, with its cause."""

import copy
import itertools
import re

import numpy as np
import pytest

from sofa_softctl import InverseController, Session, add_effector
from sofa_softctl.errors import SoftctlError
from sofa_softctl.runtime.mesh.faces import TETRAHEDRON_TRIANGLES
from sofa_softctl.scene.session.run import run
from tests.conftest import box_of_tetrahedra

pytestmark = pytest.mark.usefixtures("tolerant")

# -- three right scenes: a list of [node, class, Data] ---------------------------------------------


def header():
    return [
        ["", "FreeMotionAnimationLoop", {}],
        ["", "GenericConstraintSolver", {"maxIterations": 1000, "tolerance": 1e-7}],
    ]


def soft_body(positions, tetrahedra, modulus=400.0):
    return [
        ["body", "EulerImplicitSolver", {"rayleighStiffness": 0.02}],
        ["body", "SparseLDLSolver", {}],
        ["body", "MeshTopology", {"name": "mesh", "position": positions, "tetrahedra": tetrahedra}],
        ["body", "MechanicalObject", {"name": "dofs"}],
        ["body", "UniformMass", {"totalMass": 0.04}],
        ["body", "TetrahedronFEMForceField", {"youngModulus": modulus, "poissonRatio": 0.4}],
        ["body", "BoxROI", {"name": "foot", "box": [-1, -1, -1, 61, 31, 1]}],
        ["body", "FixedProjectiveConstraint", {"indices": "@foot.indices"}],
        ["body", "LinearSolverConstraintCorrection", {}],
    ]


POSITIONS = box_of_tetrahedra(3, 3, 6)[0]
CABLE = [[4.0, 10.0, z] for z in (5.0, 30.0, 55.0, 70.0, 85.0)]


def finger():
    """A beam of 20 x 20 x 90 mm with a cable inside, and a goal that it reaches."""
    positions, tetrahedra = box_of_tetrahedra(3, 3, 6)
    return [
        *header(),
        *soft_body(positions, tetrahedra),
        ["body/cable", "MechanicalObject", {"position": CABLE}],
        [
            "body/cable",
            "CableConstraint",
            {"name": "motor", "indices": [0, 1, 2, 3, 4], "valueType": "force", "minForce": 0.0},
        ],
        ["body/cable", "BarycentricMapping", {}],
        ["body/tip", "MechanicalObject", {"position": [[10.0, 10.0, 90.0]]}],
        ["body/tip", "BarycentricMapping", {}],
    ]


def chamber():
    """A box of 60 x 30 x 30 mm with a hole of 40 x 10 x 10 mm under pressure."""
    positions, tetrahedra = box_of_tetrahedra(7, 4, 4, size=(60.0, 30.0, 30.0))
    centre = positions[tetrahedra].mean(axis=1)
    in_hole = ((centre > 10.0) & (centre < [50.0, 20.0, 20.0])).all(axis=1)
    faces = tetrahedra[in_hole][:, np.array(TETRAHEDRON_TRIANGLES)].reshape(-1, 3)
    _, first, count = np.unique(
        np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True
    )
    corners, triangles = np.unique(faces[first[count == 1]], return_inverse=True)
    used, kept = np.unique(tetrahedra[~in_hole], return_inverse=True)
    wall = {"position": positions[corners], "triangles": triangles.reshape(-1, 3)}
    return [
        *header(),
        *soft_body(positions[used], kept.reshape(-1, 4), modulus=100.0),
        ["body/chamber", "MeshTopology", {"name": "mesh", **wall}],
        ["body/chamber", "MechanicalObject", {"name": "dofs"}],
        [
            "body/chamber",
            "SurfacePressureConstraint",
            {"name": "pump", "valueType": "pressure", "value": [0.02]},
        ],
        ["body/chamber", "BarycentricMapping", {}],
    ]


CORNERS = np.array(list(itertools.product((-0.2, 0.2), (0.1, 0.5), (-0.2, 0.2))))
SKIN = np.array(
    [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1]]
    + [[2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]]
)
FLOOR = np.array([[-5.0, 0.0, -5.0], [6.0, 0.0, -5.0], [6.0, 0.0, 5.5], [-5.0, 0.0, 5.5]])


def cube():
    """A soft cube (m, kg, s) that falls 0.1 m onto a floor."""
    grid = {"n": [4, 4, 4], "min": [-0.2, 0.1, -0.2], "max": [0.2, 0.5, 0.2]}
    mesh = {"name": "mesh", "position": CORNERS, "triangles": SKIN}
    return [
        *header(),
        ["", "CollisionPipeline", {}],
        ["", "BruteForceBroadPhase", {}],
        ["", "BVHNarrowPhase", {}],
        [
            "",
            "CollisionResponse",
            {"response": "FrictionContactConstraint", "responseParams": "mu=0.5"},
        ],
        ["", "LocalMinDistance", {"alarmDistance": 0.05, "contactDistance": 0.01}],
        ["floor", "MeshTopology", {"position": FLOOR, "triangles": [[0, 2, 1], [0, 3, 2]]}],
        ["floor", "MechanicalObject", {"name": "dofs"}],
        ["floor", "TriangleCollisionModel", {"moving": False, "simulated": False}],
        ["body", "EulerImplicitSolver", {}],
        ["body", "SparseLDLSolver", {}],
        ["body", "RegularGridTopology", {"name": "mesh", **grid}],
        ["body", "MechanicalObject", {"name": "dofs"}],
        ["body", "UniformMass", {"totalMass": 8.0}],
        ["body", "HexahedronFEMForceField", {"youngModulus": 50e3, "poissonRatio": 0.3}],
        ["body", "LinearSolverConstraintCorrection", {}],
        ["body/skin", "MeshTopology", mesh],
        ["body/skin", "MechanicalObject", {"name": "dofs"}],
        ["body/skin", "TriangleCollisionModel", {}],
        ["body/skin", "LineCollisionModel", {}],
        ["body/skin", "PointCollisionModel", {}],
        ["body/skin", "BarycentricMapping", {}],
    ]


SCENES = {"finger": finger, "chamber": chamber, "cube": cube}
GRAVITY = {"finger": [0.0, -9810.0, 0.0], "chamber": [0.0, 0.0, 0.0], "cube": [0.0, -9.81, 0.0]}


def create(kind, lines, controllers, gravity, options):
    """createScene of a list of lines."""

    def createScene(root):
        root.dt, root.gravity = 0.01, gravity
        nodes, made = {"": root}, {}
        for path, name, values in lines:
            for depth in range(path.count("/") + 1):
                parent, _, last = "/".join(path.split("/")[: depth + 1]).rpartition("/")
                here = f"{parent}/{last}" if parent else last
                if here not in nodes:
                    nodes[here] = nodes[parent].addChild(last)
            plain = {
                key: getattr(value, "tolist", lambda v=value: v)() for key, value in values.items()
            }
            made[path, name] = nodes[path].addObject(name, **plain)
        if kind == "finger" and options is not None:
            effector = add_effector(nodes["body/tip"])
            given = {"energy": 0.0, "goal": lambda t: [8.0, 10.0, 88.0]} | options
            motor = made["body/cable", "CableConstraint"]
            root.addObject(
                InverseController(root=root, actuators=[motor], effectors=[effector], **given)
            )
        for controller in controllers:
            root.addObject(controller(root))

    return createScene


class Scene:
    """A right scene, to which a test does one wrong thing."""

    def __init__(self, kind):
        self.kind, self.lines = kind, copy.deepcopy(SCENES[kind]())
        self.controllers, self.gravity, self.options = [], GRAVITY[kind], {}

    def line(self, path, name):
        return next(line for line in self.lines if line[0] == path and line[1] == name)

    def set(self, path, kind, **values):
        self.line(path, kind)[2].update(values)

    def drop(self, path, name):
        self.lines.remove(self.line(path, name))

    def add(self, path, kind, **values):
        self.lines.append([path, kind, values])

    def said(self, caplog, steps):
        """All that is said of it: warnings, errors, findings."""
        try:
            scene = create(self.kind, self.lines, self.controllers, self.gravity, self.options)
            with Session(scene, backend="embedded") as session:
                if steps:
                    summary = run(session, steps)
                    for finding in summary.findings:
                        caplog.handler.records.append(_record(finding.text))
        except SoftctlError as error:
            caplog.handler.records.append(_record(str(error)))
        return "\n".join(record.getMessage() for record in caplog.records)


def _record(text):
    import logging

    return logging.LogRecord("findings", logging.WARNING, "", 0, text, None, None)


# -- faults: scene, what is done to it, what must be said, steps -----------------------------------

SURFACES = ("TriangleCollisionModel", "LineCollisionModel", "PointCollisionModel")


def of_skin(**values):
    def change(scene):
        for name in SURFACES:
            scene.set("body/skin", name, **values)

    return change


def in_class(name, change):
    """A controller with a method of that name."""

    def add(scene):
        def make(root):
            import Sofa

            body = {name: lambda self, event: change(root)}
            return type("Mine", (Sofa.Core.Controller,), body)(name="mine")

        scene.options = None
        scene.controllers.append(make)

    return add


def dropped(path, name):
    return lambda scene: scene.drop(path, name)


def changed(path, kind, **values):
    return lambda scene: scene.set(path, kind, **values)


def added(path, kind, **values):
    return lambda scene: scene.add(path, kind, **values)


def option(**values):
    return lambda scene: scene.options.update(values)


def gravity(*values):
    return lambda scene: setattr(scene, "gravity", list(values))


def moved(path, name, key, change):
    def move(scene):
        values = scene.line(path, name)[2]
        values[key] = change(np.asarray(values[key]))

    return move


def folded(x):
    x = x.copy()
    x[20] += [0.0, 15.0, 40.0]
    return x


def thrown(scene):
    def make(root):
        import Sofa

        class Throw(Sofa.Core.Controller):
            def onAnimateBeginEvent(self, event):
                if root.time.value == 0.0:
                    root.body.dofs.velocity = [[0.0, -60.0, 0.0]] * 64

        return Throw(name="throw")

    scene.controllers.append(make)


def iterative(**values):
    def change(scene):
        at = scene.lines.index(scene.line("body", "SparseLDLSolver"))
        scene.lines[at] = [
            "body",
            "CGLinearSolver",
            {"iterations": 25, "tolerance": 1e-9, **values},
        ]
        scene.drop("body", "LinearSolverConstraintCorrection")
        scene.add("body", "UncoupledConstraintCorrection")

    return change


FAULTS = {
    # Contact detection
    "no pipeline": (
        "cube",
        dropped("", "CollisionPipeline"),
        "no CollisionPipeline at the root",
        0,
    ),
    "no broad phase": ("cube", dropped("", "BruteForceBroadPhase"), "has no broad phase", 0),
    "no narrow phase": ("cube", dropped("", "BVHNarrowPhase"), "Add BVHNarrowPhase", 0),
    "no response": ("cube", dropped("", "CollisionResponse"), "no collision response", 0),
    "no method": ("cube", dropped("", "LocalMinDistance"), "no intersection method", 0),
    "two pipelines": (
        "cube",
        added("", "CollisionPipeline", name="b"),
        "only one of them counts",
        0,
    ),
    "distances in mm": (
        "cube",
        changed("", "LocalMinDistance", alarmDistance=50.0, contactDistance=10.0),
        "it hovers. Are the distances in another unit",
        0,
    ),
    "distances in km": (
        "cube",
        changed("", "LocalMinDistance", alarmDistance=5e-5, contactDistance=1e-5),
        "is seen only once it is through",
        0,
    ),
    "one group": (
        "cube",
        lambda scene: (of_skin(group=1)(scene), scene.set("floor", SURFACES[0], group=1)),
        "no two may touch",
        0,
    ),
    "all still": ("cube", of_skin(moving=False, simulated=False), "no two may touch", 0),
    "inactive": ("cube", changed("floor", SURFACES[0], active=False), "no two may touch", 0),
    "skin inside out": (
        "cube",
        moved("body/skin", "MeshTopology", "triangles", lambda t: t[:, ::-1]),
        "is turned inside out",
        0,
    ),
    "skin beside its body": (
        "cube",
        moved("body/skin", "MeshTopology", "position", lambda x: x + [2.0, 0.0, 0.0]),
        "8 of 8 points are that far out",
        0,
    ),
    "skin in mm": (
        "cube",
        moved("body/skin", "MeshTopology", "position", lambda x: 1000.0 * x),
        "Times 0.001 they lie in it: are they in another unit?",
        0,
    ),
    "skin without mapping": (
        "cube",
        dropped("body/skin", "BarycentricMapping"),
        "MechanicalObject '/body/skin/dofs' has neither mass nor stiffness",
        1,
    ),
    "friction misspelt": (
        "cube",
        changed("", "CollisionResponse", responseParams="nu=0.5"),
        "no contact reads 'nu'",
        0,
    ),
    "loop without constraints": (
        "cube",
        lambda scene: scene.lines.__setitem__(0, ["", "DefaultAnimationLoop", {}]),
        "DefaultAnimationLoop solves none",
        0,
    ),
    "no iterations": (
        "cube",
        changed("", "GenericConstraintSolver", maxIterations=0),
        "may not iterate",
        0,
    ),
    "too few iterations": (
        "cube",
        lambda scene: (
            scene.set("", "GenericConstraintSolver", maxIterations=1, tolerance=1e-12),
            scene.set("body", "RegularGridTopology", min=[-0.2, 0.02, -0.2], max=[0.2, 0.42, 0.2]),
            moved("body/skin", "MeshTopology", "position", lambda x: x - [0, 0.08, 0])(scene),
        ),
        "stopped at maxIterations=1 in",
        60,
    ),
    "friction in percent": (
        "cube",
        changed("", "CollisionResponse", responseParams="mu=60"),
        "has mu=60: coefficients of friction are 0.1 to 2",
        0,
    ),
    "hovering": (
        "cube",
        changed("", "LocalMinDistance", alarmDistance=0.2, contactDistance=0.15),
        "is 0.4 long: it hovers",
        0,
    ),
    "pressure beyond its limit": (
        "chamber",
        changed("body/chamber", "SurfacePressureConstraint", maxPressure=0.01),
        "its value was cut at maxPressure=0.01 in 5 of 5 steps",
        5,
    ),
    "everything is reached": (
        "finger",
        option(goal_tolerance=90.0),
        "nearly everything counts as reached",
        0,
    ),
    "any error will do": (
        "cube",
        changed("", "GenericConstraintSolver", tolerance=1e6),
        "accepts an error of tolerance=1e+06, and the smallest body is 0.4 long",
        0,
    ),
    "one iteration of CG": ("cube", iterative(iterations=1), "stops after iterations=1", 0),
    "any residual will do": ("cube", iterative(tolerance=1e3), "it need not solve", 0),
    "all velocity lost": (
        "cube",
        changed("body", "EulerImplicitSolver", rayleighMass=1e4),
        "takes nearly all velocity away",
        0,
    ),
    "damping that drives": (
        "cube",
        changed("body", "EulerImplicitSolver", rayleighMass=-0.1),
        "has rayleighMass=-0.1, which drives the motion",
        0,
    ),
    "thrown through the floor": ("cube", thrown, "'/body' has left the scene: since t = 0.1", 30),
    "gravity upwards": ("cube", gravity(0.0, 9.81, 0.0), "'/body' has left the scene", 100),
    # Materials, masses, meshes
    "two masses": (
        "cube",
        added("body", "DiagonalMass", name="b", totalMass=8.0),
        "their masses add up",
        0,
    ),
    "two materials": (
        "cube",
        added("body", "HexahedronFEMForceField", name="b", youngModulus=50e3),
        "their materials add up",
        0,
    ),
    "elements twice": (
        "finger",
        moved("body", "MeshTopology", "tetrahedra", lambda t: np.concatenate([t, t[:9]])),
        "9 of 129 tetrahedra are there twice",
        0,
    ),
    "mesh twice": (
        "finger",
        lambda scene: scene.set(
            "body",
            "MeshTopology",
            position=np.tile(box_of_tetrahedra(3, 3, 6)[0], (2, 1)),
            tetrahedra=np.concatenate([t := box_of_tetrahedra(3, 3, 6)[1], t + 54]),
        ),
        "54 nodes lie where another one lies",
        0,
    ),
    "a node moved through others": (
        "finger",
        moved("body", "MeshTopology", "position", folded),
        "tetrahedra overlap at",
        0,
    ),
    "a node unused": (
        "finger",
        lambda scene: (
            moved("body", "MeshTopology", "position", lambda x: np.vstack([[[9, 9, 50]], x]))(
                scene
            ),
            moved("body", "MeshTopology", "tetrahedra", lambda t: t + 1)(scene),
        ),
        "1 of 55 nodes belong to no tetrahedron",
        0,
    ),
    # Chambers
    "chamber beside": (
        "chamber",
        moved("body/chamber", "MeshTopology", "position", lambda x: x + 200.0),
        "more than an element",
        0,
    ),
    "chamber in metres": (
        "chamber",
        moved("body/chamber", "MeshTopology", "position", lambda x: 1e-3 * x),
        "Times 1000 they lie in it",
        0,
    ),
    "chamber in the material": (
        "chamber",
        moved("body/chamber", "MeshTopology", "position", lambda x: x + 5.0),
        "the pressure acts within the material, or in the void",
        0,
    ),
    "chamber open": (
        "chamber",
        moved("body/chamber", "MeshTopology", "triangles", lambda t: t[4:]),
        "its surface is open",
        0,
    ),
    "chamber twice": (
        "chamber",
        moved("body/chamber", "MeshTopology", "triangles", lambda t: np.concatenate([t, t])),
        "belong to three triangles or more: it is there twice",
        0,
    ),
    "some triangles turned": (
        "chamber",
        moved(
            "body/chamber",
            "MeshTopology",
            "triangles",
            lambda t: np.concatenate([t[:9, ::-1], t[9:]]),
        ),
        "its triangles are not turned alike",
        0,
    ),
    "chamber inside out": (
        "chamber",
        changed("body/chamber", "SurfacePressureConstraint", flipNormal=True),
        "The normals of the closed surface point inwards",
        0,
    ),
    "chamber copied": (
        "chamber",
        lambda scene: scene.line("body/chamber", "BarycentricMapping").__setitem__(
            1, "IdentityMapping"
        ),
        "elements and indices there mean other nodes now",
        0,
    ),
    # Cables and goals
    "cable in metres": (
        "finger",
        moved("body/cable", "MechanicalObject", "position", lambda x: 1e-3 * x),
        "Times 1000 they lie in it",
        0,
    ),
    "cable to and fro": (
        "finger",
        changed("body/cable", "CableConstraint", indices=[0, 3, 1, 4, 2]),
        "turns back on itself at 3 of its 5 points",
        0,
    ),
    "a point twice": (
        "finger",
        changed("body/cable", "CableConstraint", indices=[0, 1, 1, 2]),
        "entries 1 and 2 of its 'indices' are points at the same place",
        0,
    ),
    "clamp in metres": (
        "finger",
        changed("body", "BoxROI", box=[0.001, 0.001, -0.001, 0.021, 0.021, 0.001]),
        "holds no node of 54, which lie from .* Times 0.001 some are inside",
        0,
    ),
    "picture in metres": (
        "finger",
        lambda scene: (
            scene.add("body/picture", "OglModel", position=1e3 * POSITIONS, triangles=[[0, 1, 9]]),
            scene.add("body/picture", "BarycentricMapping"),
        ),
        "Times 0.001 they lie in it",
        0,
    ),
    "tip is moved, not the body": (
        "finger",
        in_class(
            "onAnimateBeginEvent",
            lambda root: setattr(root.body.tip.MechanicalObject, "position", [[0.0, 0.0, 0.0]]),
        ),
        "is computed by BarycentricMapping '/body/tip/BarycentricMapping' in every step",
        2,
    ),
    "pairs in another order": (
        "finger",
        added(
            "body",
            "RestShapeSpringsForceField",
            points=[0, 53],
            external_points=[53, 0],
            external_rest_shape="@dofs",
            stiffness=[1.0],
        ),
        "its pair 0 starts 94.3 apart",
        0,
    ),
    "no weight": ("finger", option(weight=[[0.0, 0.0, 0.0]]), "all entries of 'weight' are 0", 0),
    "weight of the wrong axis": (
        "finger",
        option(weight=[[0.0, 1.0, 0.0]], goal=[4.0, 10.0, 90.0]),
        "6 from it along those whose weight is 0, so that nothing need move",
        0,
    ),
    "limit in another unit": ("finger", option(effort_max=1e12), "limits nothing: already", 0),
    "no mapping of the cable": (
        "finger",
        dropped("body/cable", "BarycentricMapping"),
        "MechanicalObject '/body/cable/MechanicalObject' has neither mass nor stiffness",
        1,
    ),
    # Names
    "attribute misspelt": (
        "finger",
        in_class(
            "onAnimateBeginEvent", lambda root: setattr(root.body.cable.motor, "valeu", [1.0])
        ),
        "has no Data 'valeu', so this makes an attribute of Python's, which nothing reads",
        1,
    ),
    "gravity misspelt": (
        "finger",
        in_class("onAnimateBeginEvent", lambda root: setattr(root, "gravty", [1.0])),
        "Did you mean 'gravity'?",
        1,
    ),
    "event of SofaPython": (
        "finger",
        in_class("onBeginAnimationStep", lambda root: None),
        "no event calls its method 'onBeginAnimationStep'.*Did you mean 'onAnimateBeginEvent'",
        0,
    ),
    "event misspelt": (
        "finger",
        in_class("onKeyPressedEvent", lambda root: None),
        "Did you mean 'onKeypressedEvent'",
        0,
    ),
    "plugin misspelt": (
        "finger",
        added("", "RequiredPlugin", pluginName=["SoftRobot"]),
        "Did you mean 'SoftRobots'?",
        0,
    ),
}


@pytest.mark.parametrize("name", SCENES)
def test_of_a_right_scene_nothing_is_said(name, caplog):
    scene = Scene(name)
    assert scene.said(caplog, 40) == ""


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named(name, caplog):
    kind, change, expected, steps = FAULTS[name]
    scene = Scene(kind)
    change(scene)
    assert re.search(expected.replace("+", r"\+").replace("(", r"\("), scene.said(caplog, steps))
