"""The trunk, whose last position is written to the file that the environment names: for runSofa."""

import os
import sys

import numpy as np
import Sofa.Core

from sofa_softctl.scene.session.loader import load_scene

SCENES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scenes")
trunk = load_scene(os.path.join(SCENES, "trunk.py"))


class Writer(Sofa.Core.Controller):
    """Keeps the file up to date: runSofa does not say when it is done."""

    def onAnimateEndEvent(self, event):
        root = self.getContext()
        np.savez(
            os.environ["RECORDED"],
            position=np.array(root.trunk.dofs.position.value),
            step=round(root.time.value / root.dt.value),
            goal=np.array(root.inverse.goal.value),
        )


def createScene(root):
    sys.argv[0] = "trunk"  # as if runSofa had loaded that file
    trunk.create(root)
    root.addObject(Writer(name="writer"))
