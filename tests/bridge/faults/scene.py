"""A bar whose two cables are pulled in and let out at 25 mm/s, until something happens.

Environment: MOVING, a file that gets the monotonic clock when the robot has moved for a while, or
at the moment of FAULT, what the scene itself does then.
"""

import math
import os
import time

from sofa_softctl.scene import SceneController
from sofa_softctl.testing.scene import small_scene

UNITS = "mm, kg, s"
DURATION = float(os.environ.get("DURATION", 0.5))
MOMENT = float(os.environ.get("MOMENT", 0.2))
"""At which something happens [s]."""
FAULT = os.environ.get("FAULT", "")
WRONG = {"NaN": math.nan, "inf": math.inf, "over-range": 26.0, "jump": 9.0}
"""What the first cable is to do at the moment, instead of 5 mm [mm]."""


def pulled(moment):
    """How far the cables are pulled in [mm]: to and fro, up to 10 mm."""
    phase = 25.0 * moment % 20.0
    return min(phase, 20.0 - phase), 0.5 * min(phase, 20.0 - phase)


class Pull(SceneController):
    """What it asks of the robot is its output `displacement`, as that of an InverseController."""

    def __init__(self, *args, root, cables, **options):
        super().__init__(*args, root=root, **options)
        self.actuators, self.happened = cables, False
        self.add_output("displacement", [0.0, 0.0], "How far the cables are pulled in.")

    def onAnimateBeginEvent(self, event):
        moment = self.time.value + self.dt.value
        pull = list(pulled(moment))
        for cable, length in zip(self.actuators, pull, strict=True):
            cable.value.value = [length]
        if moment > MOMENT and not self.happened:
            self.happened = True
            pull[0] = WRONG.get(FAULT, pull[0])
            self.happen()
        if moment > MOMENT and FAULT == "slow":
            time.sleep(0.03)
        self.outputs["displacement"].value = pull

    def happen(self):
        with open(os.environ["MOVING"] + ".part", "w") as file:
            file.write(repr(time.monotonic()))
        os.replace(file.name, os.environ["MOVING"])
        if FAULT == "raises":
            raise RuntimeError("the goal is lost")
        if FAULT == "stalls":
            time.sleep(2.0)


def createScene(root):
    scene = small_scene(root)
    for cable in scene.cables:
        cable.valueType.value = "displacement"
    root.addObject(Pull(name="pull", root=root, cables=list(scene.cables)))
