"""Collision detection under the names of SOFA's plugin MultiThreading; one processor is used."""

from __future__ import annotations

from sofa_softctl.runtime.components.collision.pipeline import BruteForceBroadPhase, BVHNarrowPhase
from sofa_softctl.runtime.core.data.types import Int, Text


class ParallelBruteForceBroadPhase(BruteForceBroadPhase):
    """BruteForceBroadPhase; here it uses one processor."""

    aliases = ()

    nbThreads = Int(0, "Unused.")
    taskSchedulerType = Text("_default", "Unused.")


class ParallelBVHNarrowPhase(BVHNarrowPhase):
    """BVHNarrowPhase; here it uses one processor."""

    aliases = ()

    nbThreads = Int(0, "Unused.")
    taskSchedulerType = Text("_default", "Unused.")
