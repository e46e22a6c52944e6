"""An arm with springs between its motors and its links picks three objects up, and places them.

Robot: two links of 0.22 m that turn in a level plane, moved by geared motors through springs of
0.7 N m/rad, with a hand that takes 0.1 s to close. Masses, inertias and friction are from the
paper's Table 1; bodies are drawn as simple blocks, the narrow ones on top point to where the
springs would be relaxed.
Units: m, kg, s, so forces in N and torques in N m.
Physics to expect: the arm swings at some 0.4 Hz with little damping, and weighs 0.1 kg more with an
object. The motors follow the plan to a few milliradians, so that the hand comes to its goals within
millimetres. Plans end with relaxed springs, and the next is made when the robot is at rest.
Paper: Marcucci, Garabini, Gasparri, Artoni, Gabiccini, Bicchi, "Parametric trajectory libraries for
online motion planning with application to soft robots", section 6, Fig. 4.

    softctl run scenes/elastic_arm_pick_place.py --record arm.mcap --movie arm.gif
    softctl run scenes/elastic_arm_pick_place.py --set planning_time=measured
    softctl library build scenes/elastic_arm_pick_place.py --out arm.library --failure-rate 0.03
    softctl run scenes/elastic_arm_pick_place.py --set plan=library --set library=arm.library
    softctl run scenes/elastic_arm_pick_place.py --set seed=7
    python -m benchmarks.pick_place
    runSofa -l SofaPython3 scenes/elastic_arm_pick_place.py
"""

from itertools import combinations

import numpy as np

from sofa_softctl import parameters_from_argv
from sofa_softctl.errors import SceneError

from elastic_arm.in_scene import FINGER, FRAMES, ElasticArm
from elastic_arm.pick_place import Move, PickAndPlace
from elastic_arm.planners import library_planner, nlp_planner
from elastic_arm.tasks import Ground, Posture, pick_and_place

PLUGINS = """
Sofa.Component.AnimationLoop Sofa.Component.Collision.Geometry Sofa.Component.Mapping.NonLinear
Sofa.Component.StateContainer Sofa.Component.Topology.Container.Constant
Sofa.Component.Topology.Container.Dynamic
""".split()
"""Plugins that SOFA needs for this scene."""
UNITS = "m, kg, s"
DURATION = 16.0
OBJECTS = ((0.15, 0.40), (0.20, 0.30), (0.30, 0.25))
"""Positions (x, y) of the objects, without a seed [m]."""
TRAY = (-0.30, 0.30)
"""Position (x, y) where each object is placed [m]."""
MASS, HORIZON = 0.1, 1.5
"""Mass of an object [kg]; duration of a motion [s]."""
ANGLES = (np.radians(90.0), np.radians(30.0))
"""Angles of the links at the start, not given in the paper [rad]."""
RADIUS, THICKNESS, GROUND = 0.02, 0.03, -0.10
"""Radius and thickness of an object; height of the floor relative to the plane of the arm [m]."""
TASKS = Ground(near=0.34, far=0.435, middle=-0.7, width=0.32, masses=(0.05, 0.15))
FRONT = np.radians(95.0)
"""Random tasks: objects on one side, a tray opposite; directions count from the front, which is the
middle between them."""
APART = 0.08
"""Least distance of objects in random places: the hand, which reaches 0.04 m, can catch one only.
"""


def experiment():
    """Return random tasks similar to this scene's, for its library."""
    return pick_and_place(
        "constant",
        stiffness=(0.7, 0.7),
        horizon=HORIZON,
        ground=TASKS,
        start=Posture((ANGLES[0] - FRONT, ANGLES[1])),
        objects=len(OBJECTS),
    )


PROBLEMS = {"experiment": experiment}
"""Problems of `softctl library build` in this file."""


def planner(plan, library, stiffness):
    """Return a function that plans a motion, and whether it needs the robot at rest."""
    if plan == "nlp":
        return nlp_planner(stiffness, HORIZON), True
    if plan == "library":
        if not library:
            raise SceneError(
                "plan=library needs the file of a library of the arm's motions: --set library=FILE,"
                " from softctl library build scenes/elastic_arm_pick_place.py --out FILE."
            )
        return library_planner(library, stiffness, HORIZON), False
    raise SceneError(f"plan must be nlp or library; got '{plan}'.")


def spots(seed=""):
    """Return the positions (x, y) of the objects: `OBJECTS`, or random ones with a seed."""
    if seed == "":
        return OBJECTS
    try:
        rng = np.random.default_rng(int(seed))
    except ValueError:
        raise SceneError(f"seed must be a whole number from 0 on; got '{seed}'.") from None
    while True:
        drawn = [TASKS.draw(rng, picked=True) for _ in OBJECTS]
        positions = [(rho * np.cos(FRONT + at), rho * np.sin(FRONT + at)) for rho, at in drawn]
        if min(np.hypot(*np.subtract(a, b)) for a, b in combinations(positions, 2)) > APART:
            return positions


@parameters_from_argv
def createScene(
    root,
    plan="nlp",
    library="",
    stiffness=0.7,
    stiffness_error=0.0,
    planning_time="",
    rest=0.01,
    seed="",
    bandwidth=40.0,
    dt=0.01,
):
    """Build the scene.

    stiffness_error: how much stiffer the plans take the springs to be, as a share; a library must
    be of springs as stiff as that. planning_time: simulated time that planning takes, or
    'measured'; by default the paper's mean for the NLP, and none for the library. rest: swing of a
    spring that counts as rest [rad]. seed: of random places of the objects.
    """
    root.dt = dt
    root.gravity = [0.0, 0.0, -9.81]
    root.addObject("RequiredPlugin", pluginName=PLUGINS)
    root.addObject("DefaultAnimationLoop")
    springs = (stiffness, stiffness)
    believed = [(1.0 + stiffness_error) * k for k in springs]
    plans, settle = planner(plan, library, believed)

    places = spots(seed)
    frames, objects = add_bodies(root, places)
    arm = ElasticArm(
        root=root,
        frames=frames,
        objects=objects,
        masses=len(places) * [MASS],
        thickness=THICKNESS,
        ground=GROUND,
        angles=ANGLES,
        stiffness=springs,
        bandwidth=bandwidth,
    )
    root.addObject(arm)
    moves = [Move(*at, pick) for spot in places for at, pick in ((spot, True), (TRAY, False))]
    if not planning_time:
        planning_time = 0.853 if plan == "nlp" else 0.0
    measured = planning_time == "measured"
    root.addObject(
        PickAndPlace(
            root=root,
            arm=arm,
            moves=moves,
            plan=plans,
            horizon=HORIZON,
            settle=settle,
            rest=rest,
            planning_time=None if measured else float(planning_time),
        )
    )
    return root


def add_bodies(root, places):
    """Add all visible bodies; return the frames of the arm and of the objects."""
    add_floor(root, places)
    still = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    things = root.addChild("things")
    objects = things.addObject(
        "MechanicalObject",
        name="dofs",
        template="Rigid3",
        position=[[*spot, *still[2:]] for spot in places],
    )
    robot = root.addChild("robot")
    frames = robot.addObject(
        "MechanicalObject", name="dofs", template="Rigid3", position=len(FRAMES) * [still]
    )
    frame = {name: number for number, name in enumerate(FRAMES)}
    add_blocks(
        robot,
        "bars",
        (frame["base"], disc(0.05, GROUND, 0.03)),
        (frame["link 1"], bar(-0.03, 0.25, 0.04, 0.03, 0.05)),
        (frame["link 2"], bar(-0.03, 0.18, 0.034, 0.052, 0.07)),
    )
    add_blocks(
        robot,
        "motors",
        (frame["motor 1"], bar(-0.02, 0.11, 0.012, 0.052, 0.062)),
        (frame["motor 2"], bar(-0.02, 0.11, 0.012, 0.072, 0.082)),
    )
    add_blocks(things, "blocks", *((k, disc(RADIUS, 0.0, THICKNESS)) for k in range(len(places))))
    length = 0.02 - FINGER[0]
    add_blocks(
        robot,
        "hand",
        (frame["hand"], bar(FINGER[0] - 0.02, FINGER[0], 0.06, 0.0, 0.052)),
        (frame["left finger"], bar(-0.008, length, 0.01, 0.002, 0.03)),
        (frame["right finger"], bar(-0.008, length, 0.01, 0.002, 0.03)),
    )
    return frames, objects


def add_floor(root, places):
    """A floor, stands under the objects, and a tray where they are put."""
    floor = root.addChild("floor")
    corners = [
        [x, y, GROUND - 0.005] for x, y in ((-0.5, -0.2), (0.5, -0.2), (0.5, 0.5), (-0.5, 0.5))
    ]
    floor.addObject("MeshTopology", position=corners, triangles=[[0, 1, 2], [0, 2, 3]])
    floor.addObject("MechanicalObject", name="dofs", position=corners)
    floor.addObject("TriangleCollisionModel", simulated=False, moving=False)
    stands = [disc(RADIUS, GROUND, -0.001, at) for at in places]
    stands.append(disc(0.05, GROUND - 0.004, GROUND, TRAY))
    points, tetrahedra = joined(stands)
    targets = root.addChild("targets")
    targets.addObject("TetrahedronSetTopologyContainer", position=points, tetrahedra=tetrahedra)
    targets.addObject("MechanicalObject", name="dofs")
    targets.addObject("TetrahedronSetGeometryAlgorithms", drawTetrahedra=True)


def add_blocks(node, name, *parts):
    """A body of blocks, each with the frame that carries it."""
    points, tetrahedra = joined([block for _, block in parts])
    child = node.addChild(name)
    child.addObject("TetrahedronSetTopologyContainer", position=points, tetrahedra=tetrahedra)
    child.addObject("MechanicalObject", name="dofs")
    child.addObject("TetrahedronSetGeometryAlgorithms", drawTetrahedra=True)
    frames = [number for number, block in parts for _ in block[0]]
    child.addObject("RigidMapping", rigidIndexPerPoint=frames)


def joined(blocks):
    """Points and tetrahedra of several blocks."""
    points = [point for block in blocks for point in block[0]]
    first = np.cumsum([0, *(len(block[0]) for block in blocks)])
    tetrahedra = [
        [int(k + node) for node in tetrahedron]
        for k, block in zip(first, blocks, strict=False)
        for tetrahedron in block[1]
    ]
    return points, tetrahedra


def bar(start, end, width, low, high):
    """A bar along x with its corners cut, from one height to another."""
    half, cut = 0.5 * width, 0.3 * width
    outline = [(start, cut - half), (start + cut, -half), (end - cut, -half), (end, cut - half)]
    return prism(outline + [(x, -y) for x, y in outline[::-1]], low, high)


def disc(radius, low, high, centre=(0.0, 0.0)):
    """A round block."""
    angles = np.linspace(0.0, 2.0 * np.pi, 20, endpoint=False)
    outline = np.array(centre) + radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return prism(outline.tolist(), low, high)


def prism(outline, low, high):
    """A convex polygon (x, y) between two heights: points, and three tetrahedra a triangle."""
    n = len(outline)
    points = [[float(x), float(y), z] for z in (low, high) for x, y in outline]
    tetrahedra = []
    for b in range(1, n - 1):
        a, c = 0, b + 1
        tetrahedra += [[a, b, c, n + c], [a, b, n + c, n + b], [a, n + b, n + c, n + a]]
    return points, tetrahedra
