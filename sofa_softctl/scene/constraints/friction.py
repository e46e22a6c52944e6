"""Friction without creep, in forward simulations."""

from __future__ import annotations

from typing import Any

from sofa_softctl.scene.constraints.contacts import contacts_of
from sofa_softctl.scene.constraints.system import ComplianceSystem
from sofa_softctl.scene.controller import SceneController, pauses_on_error


class FrictionWithoutCreep(SceneController):
    """Lets sticking contacts stick: their tangents see the free motion of the whole step.

    SOFA leaves out of a contact's tangents what happens while its gap is open in the free motion.
    A contact that only constraints close, such as an object in a gripper that cables pull shut, is
    open all the time in that sense; SOFA then never sees how far gravity pulls the object down in
    the step, and every step lets it sink by that much, however large mu is. With this controller
    in the scene the tangents hold all of the motion, W lambda + delta_free, as in the papers.
    Contacts that close by themselves, such as a body on the ground, notice it only in the step in
    which they close.

    `InverseController` sees contacts so by itself.

    Args:
        root: Root of the scene.
        name: Of the controller.
    """

    def __init__(self, *, root: Any, name: str = "friction") -> None:
        super().__init__(name=name, root=root)
        self.system: Any = None

    @pauses_on_error
    def onBuildConstraintSystemEndEvent(self, event: Any) -> None:
        """The rows are there, and not yet solved."""
        del event
        if self.system is None:
            self.keep(system=ComplianceSystem(self.root))
        for contact in contacts_of(self.system):
            self.system.set_delta_free(contact.rows[1:], contact.free_slide)
