"""MechanicalMatrixMapper."""

from __future__ import annotations

from typing import ClassVar

from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.types import Bool, Text
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.helper.message import complain

_REDUCTION_DATA = ("performECSW", "usePrecomputedMass", "skipJ1tKJ1", "skipJ2tKJ2")


class MechanicalMatrixMapper(Component):
    """Was removed from SOFA in v23.12; accepted with a warning, without effect.

    The matrices of mapped masses and force fields reach the solver without it. The plugin
    ModelOrderReduction has a component for the same purpose.
    """

    category: ClassVar[str] = "inert"
    aliases = ("MechanicalMatrixMapperMOR",)

    object1 = LinkType("Unused: first state.")
    object2 = LinkType("Unused: second state.")
    nodeToParse = LinkType("Unused: node whose matrices were mapped.")
    forceFieldList = LinkType("Unused: force fields whose matrices were mapped.", many=True)
    stopAtNodeToParse = Bool(False, "Unused.")
    fastMatrixProduct = Bool(True, "Unused.")
    parallelTasks = Bool(True, "Unused.")
    timeInvariantMapping1 = Bool(False, "Unused: matrices are mapped in every step.")
    timeInvariantMapping2 = Bool(False, "Unused: matrices are mapped in every step.")
    skipJ1tKJ1 = Bool(False, "Not supported: no part of a matrix is left out.")
    skipJ2tKJ2 = Bool(False, "Not supported: no part of a matrix is left out.")
    performECSW = Bool(False, "Not supported: all elements are assembled.")
    listActiveNodesPath = Text("", "Unused without performECSW.")
    saveReducedMass = Bool(False, "Unused.")
    usePrecomputedMass = Bool(False, "Not supported: the scene's mass is used.")
    precomputedMassPath = Text("", "Unused without usePrecomputedMass.")

    def init(self) -> None:
        """Warn that it does nothing, and if that changes the motion."""
        names = [name for name in _REDUCTION_DATA if self._data[name].get()]
        change = f" {' and '.join(names)} would change the motion here." if names else ""
        problem = (
            "does nothing: SOFA has no such component since v23.12, the matrices of mapped "
            f"components reach the solver by themselves.{change} Remove its line."
        )
        complain(self, self.fault(problem))
