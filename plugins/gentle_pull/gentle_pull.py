"""Example plugin: a controller that pulls a cable with a force that grows slowly.

Install it with `pip install plugins/gentle_pull`, or load it for one run:

    softctl run scene.py --plugin plugins/gentle_pull/gentle_pull.py

A scene then gets the class by its name, in SOFA and without it:

    from sofa_softctl import controller

    root.addObject(controller("gentle_pull")(name="pull", root=root, cable=cable, force=200.0))
"""

import Sofa.Core

from sofa_softctl import hookimpl


class GentlePull(Sofa.Core.Controller):
    """A controller that raises the force of a CableConstraint (valueType='force') to `force`.

    Args:
        root: Root of the scene, for its time.
        cable: The cable.
        force: Force at the end of the ramp [force].
        ramp: Time in which it is reached [time].
    """

    def __init__(self, *args, root, cable, force, ramp=1.0, **kwargs):
        Sofa.Core.Controller.__init__(self, *args, **kwargs)
        self.root, self.cable, self.force, self.ramp = root, cable, force, ramp

    def onAnimateBeginEvent(self, event):
        """Set the value of this step: dt times the force, as SOFA's cables expect."""
        dt = self.root.dt.value
        fraction = min((self.root.time.value + dt) / self.ramp, 1.0)
        self.cable.value.value = [fraction * self.force * dt]


@hookimpl
def softctl_register_controllers(register):
    """Register the controller "gentle_pull"."""
    register("gentle_pull", GentlePull)
