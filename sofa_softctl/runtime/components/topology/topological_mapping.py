"""Base class of topological mappings: one topology filled from another, once at init."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from sofa_softctl.runtime.components.topology.base import Topology
from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.link import LinkType


class TopologicalMapping(Component):
    """Fills a topology with elements made of another's.

    Vertices keep their numbers, unless a subclass says otherwise; their positions are for a
    mapping of states to bring.
    """

    category: ClassVar[str] = "topological mapping"
    needs: ClassVar[str] = ""
    """Kind of elements of the input that there must be."""

    input = LinkType("Topology to read; of the node above by default.", kind="topology")
    output = LinkType("Topology to fill; the node's own by default.", kind="topology")

    def init(self) -> None:
        """Fill the output.

        Raises:
            SceneError: a topology is missing, or the input has no elements of the kind needed.
        """
        source, target = self.topologies()
        if self.needs and not len(source.elements(self.needs)):
            raise self.fault(f"finds no {self.needs} in {source.describe()}.")
        for kind, elements in self.mapped(source).items():
            target._data[kind].set(np.ascontiguousarray(elements))
        target.derive()

    def mapped(self, source: Topology) -> dict[str, np.ndarray]:
        """The elements to fill in, by kind."""
        raise NotImplementedError

    def topologies(self) -> tuple[Topology, Topology]:
        """Input and output.

        Raises:
            SceneError: one is missing.
        """
        source: Any = self._links["input"].getLinkedBase()
        target: Any = self._links["output"].getLinkedBase()
        node = self._context
        if target is None and node is not None:
            target = next(iter(node.of("topology")), None)
        if source is None and node is not None and node.parents:
            source = node.parents[0].find_upward("topology")
        if source is None or target is None:
            missing, place = ("input", "above") if source is None else ("output", "in")
            raise self.fault(
                f"has no {missing}: add a topology {place} its node, or link it with "
                f"{missing}='@...'."
            )
        return source, target
