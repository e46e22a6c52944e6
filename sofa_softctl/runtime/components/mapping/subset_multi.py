"""SubsetMultiMapping: nodes collected from several states."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from sofa_softctl.runtime.behavior.state import MechanicalState
from sofa_softctl.runtime.components.mapping.copies import CopyMapping
from sofa_softctl.runtime.core.data.types import Integers
from sofa_softctl.runtime.core.link import LinkType


class SubsetMultiMapping(CopyMapping):
    """Node i of the follower is node b of driver a, with (a, b) pair i of `indexPairs`.

    All drivers must be below one time integrator.
    """

    indexPairs = Integers([], "Number of the driver and of its node, for each node.")
    input = LinkType("States that drive, separated by blanks.", kind="state", many=True)

    @cached_property
    def drivers(self) -> list[MechanicalState]:
        """See Mapping."""
        found: list[MechanicalState] = self._links["input"].getLinkedBases()
        if not found:
            raise self.fault(
                "needs 'input', the states that drive it, such as input='@../dofs @/rigid/dofs'."
            )
        return found

    @property
    def parent(self) -> MechanicalState:  # type: ignore[override]
        """The first of its drivers."""
        return self.drivers[0]

    def find_sources(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Read the pairs.

        Raises:
            SceneError: they are no pairs, or name a driver or node that does not exist.
        """
        pairs = self.indexPairs.get()
        if not len(pairs) or len(pairs) % 2:
            raise self.fault(
                f"has {len(pairs)} numbers in 'indexPairs': give two for each node, the number of "
                "its driver and that of the driver's node."
            )
        pairs = pairs.reshape(-1, 2)
        counts = np.array([driver.count for driver in self.drivers])
        wrong = (pairs[:, 0] < 0) | (pairs[:, 0] >= len(counts)) | (pairs[:, 1] < 0)
        wrong[~wrong] = pairs[~wrong, 1] >= counts[pairs[~wrong, 0]]
        if wrong.any():
            driver, node = pairs[wrong][0]
            raise self.fault(
                f"names node {node} of driver {driver} in 'indexPairs'; its drivers have "
                f"{', '.join(map(str, counts))} nodes."
            )
        self.child.resize(np.tile(self.child.kind.identity, (len(pairs), 1)))
        groups = [np.flatnonzero(pairs[:, 0] == number) for number in range(len(counts))]
        return [(nodes, pairs[nodes, 1]) for nodes in groups]
