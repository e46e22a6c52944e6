"""Role of visual models: what a GUI would draw, and where it is now."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from sofa_softctl.runtime.behavior.dofs import KINDS, DofType
from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.box import box_of
from sofa_softctl.runtime.core.data.types import Vectors


class Vertices(Vectors):
    """Points that are brought up to date when somebody asks where they are."""

    def __init__(self, help: str, **options: Any) -> None:
        super().__init__(3, [], help, unit="length", **options)
        self.computed = True  # and yet a scene may set them


class DrawnModel(Component):
    """A surface that follows a state, in no part of a step: a mapping places it when it is asked.

    To a mapping it is a state of points without velocities and forces.
    """

    category: ClassVar[str] = "visual"

    position = Vertices("Vertices, where the mapping of the node puts them.")

    kind: ClassVar[DofType] = KINDS["Vec3"]
    coord_size: ClassVar[int] = 3
    deriv_size: ClassVar[int] = 3

    _mapping: Any = None
    """The mapping whose output it is."""
    _asked = False

    @property
    def count(self) -> int:
        """Number of vertices."""
        return len(self._data["position"].get())

    @property
    def block_count(self) -> int:
        """See MechanicalState."""
        return self.count

    def resize(self, position: np.ndarray) -> None:
        """Take these positions, unless it has as many already: a mapping says so."""
        if self.count != len(position):
            self._data["position"].set(position[:, :3].copy())

    def find_box(self) -> np.ndarray:
        """Smallest and largest corner of its vertices, once they are placed."""
        return box_of(self._data["position"].get()) if self._initialised else super().find_box()

    def follow(self, mapping: Any) -> None:
        """Let a mapping place it from now on; a link to other vertices ends."""
        position = self._data["position"]
        position.set(position.get().copy())
        position.setParent(None)
        self._mapping = mapping

    def update_outputs(self) -> None:
        """See Base."""
        if self._mapping is not None and not self._asked:
            self._asked = True  # the mapping asks for its follower's position
            try:
                self._mapping.draw()
            finally:
                self._asked = False
