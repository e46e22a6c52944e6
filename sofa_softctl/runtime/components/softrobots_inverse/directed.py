"""Base class of actuators that push nodes along a direction."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.behavior.constraint import LagrangianConstraint
from sofa_softctl.runtime.core.data.types import Bool, Integers, Real, Reals


class DirectedActuator(LagrangianConstraint):
    """Nodes and a direction: of points three numbers, of bodies six (along, then about an axis)."""

    acts_on = ("Vec3", "Rigid3")

    indices = Integers([], "Nodes that are pushed; all when empty.")
    direction = Reals([], "Direction of the push: three numbers, for bodies six.")
    minForce = Real(0.0, "Least lambda.", unit="lambda of force")
    maxForce = Real(0.0, "Greatest lambda.", unit="lambda of force")
    initForce = Real(0.0, "lambda before the first step.", unit="lambda of force")
    applyForce = Bool(True, "False: seek, but do not apply.")

    def find_nodes(self) -> np.ndarray:
        """The nodes.

        Raises:
            SceneError: one does not exist.
        """
        given, count = self.indices.get(), self.state.count
        if not count:
            raise self.fault("acts on nodes, but there are none.")
        return self.checked(given if len(given) else np.arange(count))

    def find_direction(self) -> np.ndarray:
        """The direction as given, shape (deriv_size,); zero when none was given.

        Raises:
            SceneError: it has not as many numbers as a node has directions.
        """
        given, width = self.direction.get(), self.state.deriv_size
        if len(given) not in (0, width):
            raise self.fault(
                f"needs {width} numbers in 'direction' for {self.state.describe()} "
                f"({self.state.getTemplateName()}), got {len(given)}."
            )
        return given if len(given) else np.zeros(width)

    def reinit(self) -> None:
        """Start again."""
        self.init()

    def reset(self) -> None:
        """Start again."""
        self.init()

    def limit(self, name: str, unset: float) -> float:
        """A limit that a scene may leave unset."""
        data = self._data[name]
        return data.get() if data.isSet() else unset
