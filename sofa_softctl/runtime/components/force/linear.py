"""LinearForceField: forces by time."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.components.force.without_stiffness import ForceWithoutStiffness
from sofa_softctl.runtime.core.data.types import Derivs, Integers, Real, Reals
from sofa_softctl.runtime.core.link import LinkType


class LinearForceField(ForceWithoutStiffness):
    """A force on `points`, interpolated between its values `forces` at given `times`.

    Before the first time there is none. Between first and last it is multiplied by `force`; from
    the last time on it is the last of `forces` as it stands, as in SOFA.
    """

    points = Integers([], "Nodes on which the force acts.")
    force = Real(1.0, "Factor of the interpolated forces.")
    times = Reals([], "Times of `forces`, ascending.", unit="time")
    forces = Derivs([], "Forces at the `times`.", unit="force")
    arrowSizeCoef = Real(0.0, "Size of the drawn arrows.")
    topology = LinkType("Unused: the mesh does not change.")

    def init(self) -> None:
        """Check nodes and times.

        Raises:
            SceneError: a node does not exist, or there is not one force for each time.
        """
        self.checked(self.points.get(), "points")
        times, forces = self.times.get(), self.forces.get()
        if len(times) != len(forces) or (np.diff(times) <= 0.0).any():
            raise self.fault(
                f"needs ascending 'times' and as many 'forces', got {times.tolist()} and "
                f"{len(forces)} forces."
            )

    def add_force(self, force: np.ndarray) -> None:
        """See ForceField."""
        assert self._context is not None
        time, times, forces = self._context._data["time"].get(), self.times.get(), self.forces.get()
        if not len(times) or time < times[0]:
            return
        if time >= times[-1]:
            now = forces[-1]
        else:
            k = int(np.searchsorted(times, time, side="right")) - 1
            slope = (forces[k + 1] - forces[k]) * (1.0 / (times[k + 1] - times[k]))
            now = (slope * (time - times[k]) + forces[k]) * self.force.get()
        np.add.at(force, self.points.get(), now)
