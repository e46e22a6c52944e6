"""MeshTopology."""

from __future__ import annotations

from sofa_softctl.runtime.components.topology.base import Topology
from sofa_softctl.runtime.core.data.types import Text


class MeshTopology(Topology):
    """Keeps exactly the elements that it is given."""

    aliases = ("Mesh",)

    filename = Text("", "Unused: load with a loader and src='@loader'.")
