"""An underwater swimmer leads its hinges along a gait, and swims.

Robot: four rigid ellipsoids, 0.86 m long and neutrally buoyant, joined by three hinges with motors.
Units: m, kg, s.
Physics to expect: potential flow, solved by boundary elements in each step, without drag or wake.
From rest, only the path of the joint angles counts. The default gait, a wave that runs from
head to tail, moves it some centimetres in 4 s; a planned one more:

    softctl-swimmer plan --out gait.csv
    softctl run plugins/swimmer/scenes/swim.py --set gait=gait.csv --plot way.png --movie swim.gif
    runSofa -l SofaPython3 plugins/swimmer/scenes/swim.py

Paper: Jia, Pan, Manocha, "Fast motion planning for high-DOF robot systems using hierarchical system
identification", sections III-C and V.
"""

from functools import partial

import numpy as np
from softctl_swimmer import Flow, FlowInertia
from softctl_swimmer.bodies import body as body_of
from softctl_swimmer.controller import SwimmerController
from softctl_swimmer.planning.gait_table import GaitTable
from softctl_swimmer.planning.gaits import wave

from sofa_softctl import parameters_from_argv

PLUGINS = """
Sofa.Component.AnimationLoop Sofa.Component.Collision.Geometry Sofa.Component.Mapping.NonLinear
Sofa.Component.StateContainer Sofa.Component.Topology.Container.Constant
""".split()
"""Plugins that SOFA needs for this scene."""
UNITS = "m, kg, s"
DURATION = 4.0


@parameters_from_argv
def createScene(root, gait="", body="fish", vertices=98, dt=0.05):
    """Build the scene.

    gait: CSV file of `softctl-swimmer plan`, or "" for a wave. body: fish, eel or tadpole.
    vertices: number for the skin of each link. Use --duration for a gait of more or less than 4 s.
    """
    root.dt = dt
    root.gravity = [0.0, 0.0, 0.0]
    root.addObject("RequiredPlugin", pluginName=PLUGINS)
    root.addObject("DefaultAnimationLoop")

    swimmer = body_of(body)
    inertia = FlowInertia(Flow.from_swimmer(swimmer, vertices))
    n = swimmer.hinge_count
    swing = partial(wave, amplitude=np.full(n, 0.7), phase=1.0 * np.arange(n), frequency=0.5)
    root.addObject(
        SwimmerController(
            root=root,
            inertia=inertia,
            gait=GaitTable.load(gait, n) if gait else swing,
            frames=add_links(root, inertia.flow),
        )
    )
    return root


def add_links(root, flow):
    """Add the frames of the links and their skins; return the state of the frames."""
    node = root.addChild("body")
    still = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    links = len(flow.skins)
    frames = node.addObject(
        "MechanicalObject", name="dofs", template="Rigid3", position=links * [still]
    )
    points, triangles, carriers = [], [], []
    for k, skin in enumerate(flow.skins):
        triangles += (skin.triangles + len(points)).tolist()
        points += skin.vertices.tolist()
        carriers += len(skin.vertices) * [k]
    skin = node.addChild("skin")
    skin.addObject("MeshTopology", position=points, triangles=triangles)
    skin.addObject("MechanicalObject", name="dofs", position=points)
    skin.addObject("TriangleCollisionModel", simulated=False)
    skin.addObject("RigidMapping", rigidIndexPerPoint=carriers)
    return frames
