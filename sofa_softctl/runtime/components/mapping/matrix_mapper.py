"""MechanicalMatrixMapper."""

from __future__ import annotations

from typing import ClassVar

from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.types import Bool, Text
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.helper.message import complain

_REDUCES = ("performECSW", "usePrecomputedMass", "skipJ1tKJ1", "skipJ2tKJ2")


class MechanicalMatrixMapper(Component):
    """Was removed from SOFA in v23.12; accepted with a warning, without effect.

    The matrices of mapped masses and force fields reach the solver by themselves. The plugin
    ModelOrderReduction has one of the same purpose.
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
    performECSW = Bool(False, "Not supported: the matrix is that of all elements.")
    listActiveNodesPath = Text("", "Unused without performECSW.")
    saveReducedMass = Bool(False, "Unused.")
    usePrecomputedMass = Bool(False, "Not supported: the mass is that of the scene.")
    precomputedMassPath = Text("", "Unused without usePrecomputedMass.")

    def init(self) -> None:
        """Say that it does nothing, and where that changes the motion."""
        wanted = [name for name in _REDUCES if self._data[name].get()]
        change = f" {' and '.join(wanted)} would change the motion here." if wanted else ""
        problem = (
            "does nothing: SOFA has no such component since v23.12, the matrices of mapped "
            f"components reach the solver by themselves.{change} Remove its line."
        )
        complain(self, self.fault(problem))
