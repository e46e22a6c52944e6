"""A strip that hangs, bent by a line along each face: a scene with LEARNING and SURROGATE."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "surrogate"))
import heavy_strip

from sofa_softctl import add_line_stiffness, parameters_from_argv
from sofa_softctl.learning import Action, Limits, Observation, Task

UNITS = "mm, kg, s"
TIP = "/strip/tip/dofs"
SURROGATE = {"scale": 200.0, "spacing": 0.5, "points": ["/strip/tip"]}


def bend(far=10.0, high=80.0, rate=400.0, decisions=8):
    def begin(episode):
        episode.goal["x"] = np.array([far * episode.random.uniform(-1.0, 1.0)])
        episode.memory["off"] = off(episode)

    def off(episode):
        return float(abs(episode.read(f"{TIP}.position")[0, 0] - episode.goal["x"][0]))

    def reward(episode):
        before, episode.memory["off"] = episode.memory["off"], off(episode)
        return before - episode.memory["off"]

    return Task(
        observation=[
            Observation("tip", f"{TIP}.position", -200.0, 200.0, "length"),
            Observation("speed", f"{TIP}.velocity", -1e4, 1e4, "mm/s"),
            Observation("goal", lambda e: e.goal["x"], -far, far, "length"),
            Observation("pulls", lambda e: e.action, 0.0, high, "force"),
            Observation("time", lambda e: e.time, 0.0, 100.0, "time"),
        ],
        action=[
            Action(f"/strip/{side}/CableConstraint", 0.0, high, rate=rate)
            for side in ("right", "left")
        ],
        reward=reward,
        begin=begin,
        success=lambda episode: episode.memory["off"] < 1.0,
        limits=Limits(decisions=decisions, hold=2, settle=0),
    )


LEARNING = {"bend": bend}


@parameters_from_argv
def createScene(root, damping=0.05, gravity=0.0):
    heavy_strip.createScene(root, young_modulus=60.0)
    root.gravity = [0.0, 0.0, gravity]
    root.strip.EulerImplicitSolver.rayleighStiffness = damping
    root.strip.tip.MechanicalObject.name = "dofs"
    for line in (root.strip.right, root.strip.left):
        add_line_stiffness(root, line.CableConstraint)
    return root
