"""An arm learns how stiff a flexible loop is while it moves it: by touch, from its own joints.

Robot: the right arm of a Baxter, seven joints, holds a loop of rubber tube (radius 0.355 m, 0.132
kg) that is clamped below; motors lead it along a motion of 20 s that stretches, presses, bends and
twists the loop. The loop is a chain of 24 links with springs and friction in their joints; what
moves it is the variational integrator of `sofa_softctl.identification.mechanism`.
Units: m, kg, s, so forces in N and torques in N m.
Physics to expect: sensors tell seven torques (noise 0.1 N m) and seven angles (3 mrad, by which the
hand is seen to 5 mm). Every 2 s the last 5 to 7 s are compared with a model of 12 links without
friction; what was before is remembered. From 5 N m/rad each, stretching brings kappa_theta to the
truth of 4.4 within 0.4 after 2 s. It says next to nothing of kappa_psi, which noise drives to 3 to
15 until twisting, from 12 s on, brings it near its truth of 1.0: at the end 4.5 +- 0.3 and
1.1 +- 0.2 N m/rad. The loop's model is a little wrong, as it is for a real one.
Paper: Caldwell, Coleman, Correll, "Optimal parameter identification for discrete mechanical systems
with application to flexible object manipulation", section IV, after the motion; here during it.

    softctl run scenes/loop_manipulation.py --plot stiffness.png --movie loop.gif
    softctl run scenes/loop_manipulation.py --record loop.mcap --set psi=2 --set background=True
    softctl run scenes/loop_manipulation.py --set memory=0
    softctl identify scenes/loop_manipulation.py --data loop.mcap --report found
    runSofa -l SofaPython3 scenes/loop_manipulation.py
"""

import numpy as np

from sofa_softctl import IdentificationController, parameters_from_argv
from sofa_softctl.identification.mechanism import MechanismPlant, kernels

from flexible_loop import baxter
from flexible_loop.model import RADIUS, TUBE
from flexible_loop.problem import LoopProblem
from flexible_loop.recording import ANGLE_NOISE, TORQUE_NOISE
from flexible_loop.robot import arm_motors, at_rest, robot

PLUGINS = """
Sofa.Component.AnimationLoop Sofa.Component.Collision.Geometry Sofa.Component.Mapping.NonLinear
Sofa.Component.StateContainer Sofa.Component.Topology.Container.Constant
Sofa.Component.Topology.Container.Dynamic
""".split()
"""Plugins that SOFA needs for this scene."""
UNITS = "m, kg, s"
DURATION = 20.0
FLOOR = -0.95
"""Height of the floor; the arm begins at 0 [m]."""
THICKNESS = (0.07, 0.062, 0.055, 0.052, 0.047, 0.042, 0.036)
"""Radii of the arm's links where they are drawn to begin."""
HAND = baxter.JOINTS[-1]
PROBLEMS = {"loop": LoopProblem}
"""Problems of `softctl identify` with a recording of this scene."""


@parameters_from_argv
def createScene(
    root,
    theta=4.4,
    psi=1.0,
    friction=0.02,
    links=24,
    model_links=12,
    window=5.0,
    every=2.0,
    memory=np.inf,
    background=False,
    seed=0,
    dt=0.01,
):
    """Build the scene.

    theta, psi: the loop's stiffnesses [N m/rad]. links, model_links: of the loop and of its model.
    memory: time after which data outside of the window count half [s]; 0 to drop them. background:
    refine in a separate process while the robot moves. seed: seed of the noise.
    """
    root.dt = dt
    root.gravity = [0.0, 0.0, -9.81]
    root.addObject("RequiredPlugin", pluginName=PLUGINS)
    root.addObject("DefaultAnimationLoop")

    motors = arm_motors()
    arm = robot(motors, links=links, stiffness=(theta, psi), friction=friction)
    shown = [*baxter.JOINTS, *(name for name in arm.coordinates if name.startswith("psi"))]
    plant = MechanismPlant(
        root=root,
        robot=arm,
        motors=motors,
        start=at_rest(arm, motors),
        frames=add_bodies(root, arm, shown, motors.motion(np.zeros(1))[0][0], links),
        shown=shown,
        angle_noise=ANGLE_NOISE,
        torque_noise=TORQUE_NOISE,
        seed=seed,
        substeps=max(round(dt / 1e-3), 2),
    )
    root.addObject(plant)
    signals = {
        f"{quantity}_{joint}": (plant.findData(quantity), k)
        for quantity in ("torque", "angle")
        for k, joint in enumerate(baxter.JOINTS)
    }
    root.addObject(
        IdentificationController(
            root=root,
            problem=LoopProblem(model_links),
            signals=signals,
            window=window,
            every=every,
            calm=[f"angle_{joint}" for joint in baxter.JOINTS],
            memory=memory,
            background=background,
        )
    )
    return root


def add_bodies(root, arm, shown, posture, links):
    """Everything that can be seen; returns the frames of the arm's and the loop's joints."""
    q = np.zeros(len(arm.coordinates))
    q[: len(posture)] = posture
    at = kernels.frames(arm.tree, np.zeros(0), q)  # the loop round
    places = {name: (at.x[arm.frame(name)], at.R[arm.frame(name)]) for name in shown}
    still = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    node = root.addChild("bodies")
    frames = node.addObject(
        "MechanicalObject", name="dofs", template="Rigid3", position=len(shown) * [still]
    )
    add_block(node, "loop", *loop(places, shown, links))
    add_block(node, "arm", *joined([(shown.index(name), part) for name, part in arm_parts()]))
    hand, axes = places[HAND]
    add_ground(root, hand + axes @ (np.array(baxter.HAND) + [0.0, 0.0, 2.0 * RADIUS]))
    return frames


def loop(places, shown, links):
    """A closed tube with rings at the joints and in the middles of links, each on one frame."""
    half = links // 2
    middle = 0.5 * 2.0 * RADIUS * np.tan(np.pi / links)
    left = [(f"psi_l{k}", z) for k in range(1, half + 1) for z in (0.0, middle)]
    right = [(f"psi_r{k}", z) for k in range(half, 0, -1) for z in (middle, 0.0)][1:]
    stations = [(HAND, baxter.HAND), *((name, (0.0, 0.0, z)) for name, z in left + right)]
    line = [places[name][0] + places[name][1] @ np.array(at) for name, at in stations]
    along = np.roll(line, -1, axis=0) - np.roll(line, 1, axis=0)
    across = places[HAND][1][:, 0]  # of the loop's plane
    rings = []
    for (name, _), centre, t in zip(stations, line, along, strict=True):
        x, R = places[name]
        rings.append((ring(centre, t, across, TUBE) - x) @ R)  # in the frame's axes
    count = len(rings[0])
    tetrahedra = [
        tetrahedron
        for k in range(len(rings))
        for tetrahedron in tetrahedra_between(count, count * k, count * ((k + 1) % len(rings)))
    ]
    frames = [shown.index(name) for name, _ in stations for _ in range(count)]
    return np.concatenate(rings).tolist(), tetrahedra, frames


def arm_parts():
    """Return the parts of the arm: per joint a drum and a bar to the next one; then a hand."""
    ends = [joint.moved for joint in baxter.joints()[1:]] + [(0.0, 0.0, 0.07)]
    for name, end, radius, after in zip(
        baxter.JOINTS, ends, THICKNESS, (*THICKNESS[1:], THICKNESS[-1]), strict=True
    ):
        reach = 1.1 * radius
        yield name, rod((0.0, 0.0, -reach), (0.0, 0.0, reach), 1.25 * radius)
        yield name, rod((0.0, 0.0, 0.0), end, 0.85 * radius, 0.85 * after)
    yield HAND, rod((0.0, 0.0, 0.05), (0.0, 0.0, 0.085), 0.045)
    for side in (-1.0, 1.0):
        x = 0.024 * side
        yield HAND, rod((x, 0.0, 0.08), (x, 0.0, baxter.HAND[2] + 0.02), 0.012, 0.009)


def add_ground(root, clamp):
    """A floor, the stand of the arm, and the clamp that holds the loop below."""
    corners = [(-0.35, -0.75), (1.15, -0.75), (1.15, 0.75), (-0.35, 0.75)]
    parts = [([[x, y, FLOOR] for x, y in corners], [[0, 1, 2], [0, 2, 3]])]
    parts.append(box((0.0, 0.0), 0.09, FLOOR, -0.02))
    parts.append(box(clamp[:2], 0.035, FLOOR, clamp[2]))
    points, triangles = [], []
    for corners, faces in parts:
        triangles += [[k + len(points) for k in face] for face in faces]
        points += corners
    ground = root.addChild("ground")
    ground.addObject("MeshTopology", position=points, triangles=triangles)
    ground.addObject("MechanicalObject", name="dofs", position=points)
    ground.addObject("TriangleCollisionModel", simulated=False, moving=False)


def add_block(node, name, points, tetrahedra, frames):
    """A body whose points are each carried by a frame."""
    child = node.addChild(name)
    child.addObject("TetrahedronSetTopologyContainer", position=points, tetrahedra=tetrahedra)
    child.addObject("MechanicalObject", name="dofs")
    child.addObject("TetrahedronSetGeometryAlgorithms", drawTetrahedra=True)
    child.addObject("RigidMapping", rigidIndexPerPoint=frames)


def joined(parts):
    """Points, tetrahedra and frames of several blocks, each with its frame."""
    points, tetrahedra, frames = [], [], []
    for frame, (corners, blocks) in parts:
        tetrahedra += [[k + len(points) for k in block] for block in blocks]
        points += corners
        frames += len(corners) * [frame]
    return points, tetrahedra, frames


def rod(start, end, radius, last=None):
    """A round bar between two points, with the radii of its ends."""
    along = np.subtract(end, start)
    across = np.eye(3)[np.argmin(np.abs(along))]
    radii = (radius, radius if last is None else last)
    rings = [ring(at, along, across, r) for at, r in zip((start, end), radii, strict=True)]
    return np.concatenate(rings).tolist(), tetrahedra_between(len(rings[0]), 0, len(rings[0]))


def ring(centre, along, across, radius, count=14):
    """Points around a centre, across a direction."""
    along = np.asarray(along, dtype=float) / np.linalg.norm(along)
    first = across - (across @ along) * along
    first /= np.linalg.norm(first)
    angles = np.linspace(0.0, 2.0 * np.pi, count, endpoint=False)
    around = np.outer(np.cos(angles), first) + np.outer(np.sin(angles), np.cross(along, first))
    return np.asarray(centre) + radius * around


def tetrahedra_between(count, low, high):
    """Return tetrahedra between two rings of points, three per triangle of a fan."""
    tetrahedra = []
    for b in range(1, count - 1):
        bottom, top = (low, low + b, low + b + 1), (high, high + b, high + b + 1)
        tetrahedra += [
            [*bottom, top[2]],
            [*bottom[:2], top[2], top[1]],
            [bottom[0], top[1], top[2], top[0]],
        ]
    return tetrahedra


def box(centre, half, low, high):
    """Corners and triangles of an upright block."""
    (x, y), h = centre, half
    square = [(x - h, y - h), (x + h, y - h), (x + h, y + h), (x - h, y + h)]
    points = [[float(a), float(b), float(z)] for z in (low, high) for a, b in square]
    sides = [
        face
        for k in range(4)
        for face in ([k, (k + 1) % 4, 4 + k], [(k + 1) % 4, 4 + (k + 1) % 4, 4 + k])
    ]
    return points, [*sides, [4, 5, 6], [4, 6, 7]]
