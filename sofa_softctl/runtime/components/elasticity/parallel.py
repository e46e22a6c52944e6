"""Elasticity under the names of SOFA's plugin MultiThreading; one processor is used."""

from __future__ import annotations

from sofa_softctl.runtime.components.elasticity.tetrahedron_fem import TetrahedronFEMForceField
from sofa_softctl.runtime.core.data.types import Int, Text


class ParallelTetrahedronFEMForceField(TetrahedronFEMForceField):
    """TetrahedronFEMForceField; here it uses one processor."""

    aliases = ()

    nbThreads = Int(0, "Unused.")
    taskSchedulerType = Text("_default", "Unused.")
