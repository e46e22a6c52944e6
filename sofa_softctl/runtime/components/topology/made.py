"""Base class of topologies that make their vertices and elements."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.components.topology.mesh_topology import MeshTopology


class MadeTopology(MeshTopology):
    """Makes vertices and elements once, when somebody first needs them, and derives no others."""

    _made = False

    def make_ready(self) -> None:
        """See Topology."""
        if not self._made:
            self._made = True
            for data in self._data.values():
                data.follow_link(must=True)
            self.make()

    def make(self) -> None:
        """Make vertices and elements."""

    def derive(self) -> None:
        """See Topology: it has what it made."""

    def elements(self, kind: str) -> np.ndarray:
        """See Topology: it has what it made."""
        found: np.ndarray = self._data[kind].get()
        return found
