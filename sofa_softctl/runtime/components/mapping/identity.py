"""A state that copies another."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.components.mapping.linear import LinearMapping


class IdentityMapping(LinearMapping):
    """The follower gets the driver's size and positions."""

    def find_weights(self) -> None:
        """Give the follower the driver's size."""
        parent, child = self.parent, self.child
        if child.count != parent.count:
            child._data["position"].set(parent._data["position"].get().copy())
            child.init()
        numbers = np.arange(parent.count)[:, None]
        self.set_weights(numbers, np.ones((parent.count, 1)))
