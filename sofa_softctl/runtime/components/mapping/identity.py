"""IdentityMapping."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.components.mapping.copies import CopyMapping


class IdentityMapping(CopyMapping):
    """The follower gets the driver's size and positions; of bodies also points, their centres."""

    def find_sources(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Give the follower the driver's size."""
        self.child.resize(self.parent._data["position"].get())
        numbers = np.arange(self.parent.count)
        return [(numbers, numbers)]
