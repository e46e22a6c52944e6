"""ForceSurfaceActuator."""

from __future__ import annotations

import math

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.behavior.constraint import InverseRole, LagrangianConstraint, read_limit
from sofa_softctl.runtime.components.radii import radii_for
from sofa_softctl.runtime.components.topology.base import topology_of
from sofa_softctl.runtime.core.data.types import Bool, Elements, Real, Reals, Vectors
from sofa_softctl.runtime.helper.message import complain, keeps_sofa_defects


class ForceSurfaceActuator(LagrangianConstraint):
    """Forces on a surface: one row per sphere, on the nodes with rest positions inside.

    A node at the distance s from the centre of a sphere of radius r gets the force
    lambda (1 - s / r) along the sphere's direction, by default along the normal of the surface in
    the sphere. delta is the motion by the force in the step; afterwards the centre moves by delta
    along the direction, so that other nodes may be in the sphere.

    Source: SoftRobots.Inverse's ForceSurfaceActuator. Limits hold for each row; SOFA has limits
    only for the first one, and reads beyond its memory for the others.
    """

    inverse_role = InverseRole.ACTUATOR

    centers = Vectors(
        3, [], "Centre of each sphere, which moves by delta in each step.", unit="length"
    )
    radii = Reals([], "Radius of each sphere, or one for all.", unit="length")
    directions = Vectors(
        3, [], "Direction of each force; normals if numbers differ.", per="centers", shared=False
    )
    updateNormals = Bool(False, "Use the normals of each step, not the initial ones.")
    triangles = Elements(
        3, [], "Triangles of the surface; the topology's by default.", follows="reinit", of="node"
    )
    quads = Elements(
        4, [], "Quads of the surface; the topology's by default.", of="node", follows="start"
    )
    position = Vectors(3, [], "Rest positions; by default the state's.")
    minForce = Real(0.0, "Smallest lambda.", unit="lambda of force")
    maxForce = Real(0.0, "Largest lambda.", unit="lambda of force")
    maxForceVariation = Real(0.0, "Largest change of lambda per step.", unit="lambda of force")
    minDisplacement = Real(0.0, "Smallest delta.", unit="length")
    maxDisplacement = Real(0.0, "Largest delta.", unit="length")
    applyForce = Bool(True, "Apply lambda, not only compute it.")
    force = Reals([0.0], "lambda of the last step.", unit="lambda of force", read_only=True)
    displacement = Reals([], "delta of the last step.", unit="length", read_only=True)
    drawForces = Bool(False, "Draw the forces.")
    drawSpheres = Bool(False, "Draw the spheres.")
    drawSurfaces = Bool(False, "Draw the surface in the spheres.")
    visuScale = Real(0.1, "Scale of the drawing.")

    def init(self) -> None:
        """Check surface and spheres, once the state has nodes.

        Raises:
            SceneError: there is no surface, or it has a vertex that does not exist.
        """
        self._start = self.centers.get().copy()
        self._uses_normals = len(self.directions.get()) != len(self._start)
        if self.state.count:  # a later IdentityMapping may create the nodes
            self._check()

    def bwdInit(self) -> None:
        """Check nodes that a mapping has created."""
        if not hasattr(self, "_weights"):
            self._check()

    def reinit(self) -> None:
        """Check again, and start from the present spheres."""
        self._start = self.centers.get().copy()
        self._check()

    def _check(self) -> None:
        self._find_surface()
        radii_for(self, self.row_count, "centers")
        self._find_nodes()
        self._set_directions()
        if not self.row_count:
            self.force.set(np.empty(0))
            complain(self, self.fault("does nothing without 'centers' of its spheres."))
        for sphere in np.flatnonzero(~self._is_inside.any(axis=1)):
            problem = (
                f"does nothing at {self.centers.get()[sphere].tolist()}: no node is within the "
                f"radius of {self.radii.get()[sphere]:g}."
            )
            complain(self, self.fault(problem))

    def _find_nodes(self) -> None:
        centers, radii = self.centers.get(), self.radii.get()
        distance = np.linalg.norm(self.position.get()[None] - centers[:, None], axis=2)
        self._is_inside = distance < radii[:, None]  # (spheres, nodes)
        self._row, self._nodes = np.nonzero(self._is_inside)
        self._weights = 1.0 - distance[self._row, self._nodes] / radii[self._row]

    def _find_surface(self) -> None:
        if not len(self.triangles.get()) and not len(self.quads.get()):
            topology = topology_of(self._context)
            if topology is None:
                raise self.fault(
                    "has no surface: give 'triangles' or 'quads', or add a MeshTopology with them "
                    "to its node."
                )
            for name in ("triangles", "quads"):
                self._data[name].set(topology.elements(name).copy())
        if not len(self.position.get()):
            self.position.set(self.state.rest_position.get().copy())
        count = len(self.position.get())
        if count != self.state.count:
            raise self.fault(
                f"has {count} points in 'position', but {self.state.describe()} has "
                f"{self.state.count} nodes."
            )
        for name in ("triangles", "quads"):
            elements = self._data[name].get()
            if len(elements) and (elements.min() < 0 or elements.max() >= count):
                wrong = elements.max() if elements.max() >= count else elements.min()
                raise self.fault(
                    f"has '{name}' with vertex {wrong}, but {self.state.describe()} has {count} "
                    "nodes."
                )

    def _set_directions(self) -> None:
        normals = self._normals() if self._uses_normals else self.directions.get()
        lengths = np.linalg.norm(normals, axis=1, keepdims=True)
        self.directions.set(normals / np.where(lengths == 0.0, 1.0, lengths))

    def _normals(self) -> np.ndarray:
        """Return the sum of area vectors of the elements in each sphere, (spheres, 3)."""
        x = self.state.position.get()
        total = np.zeros((self.row_count, 3))
        for name in ("triangles", "quads"):
            elements = self._data[name].get()[:, :3]  # also of quads, as in SOFA
            a, b, c = (x[elements[:, corner]] for corner in range(3))
            touched = self._is_inside[:, elements].any(axis=2)  # (spheres, elements)
            total += touched @ np.cross(b - a, c - a)
        return total

    @property
    @override
    def row_count(self) -> int:
        return len(self.centers.get())

    @override
    def build(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        counts = {name: len(self._data[name].get()) for name in ("centers", "radii", "directions")}
        if set(counts.values()) != {len(self._start)}:
            raise self.fault(f"has {counts} in a run that began with {len(self._start)} 'centers'.")
        if len(self.position.get()) != self.state.count:
            self._find_surface()
        self._find_nodes()
        if self._uses_normals and self.updateNormals.get():
            self._set_directions()
        directions = self.directions.get()[self._row] * self._weights[:, None]
        return self._row, self._nodes, directions

    def violation(self) -> np.ndarray:
        """Return zeros: without the force there is no motion."""
        return np.zeros(self.row_count)

    limit = read_limit

    def limits(self) -> dict[str, float | np.ndarray]:
        """Return the bounds of this step by the names of InverseProblem."""
        bounds: dict[str, float | np.ndarray] = {
            "effort_min": self.limit("minForce", -math.inf),
            "effort_max": self.limit("maxForce", math.inf),
            "effort_previous": self._last_force(),
            "effort_rate": self.limit("maxForceVariation", math.inf),
            "displacement_min": self.limit("minDisplacement", -math.inf),
            "displacement_max": self.limit("maxDisplacement", math.inf),
        }
        if self.row_count > 1 and keeps_sofa_defects():  # SOFA reads the others from zeroed memory
            first = np.arange(self.row_count) == 0
            for name, bound in bounds.items():
                if np.isfinite(bound).all():
                    bounds[name] = np.where(first, bound, 0.0)
        return bounds

    def _last_force(self) -> np.ndarray:
        last = self.force.get()
        return last if len(last) == self.row_count else np.zeros(self.row_count)

    def store_inverse(self, lam: np.ndarray, delta: np.ndarray) -> None:
        """Store lambda and the motion."""
        self.force.set(lam.copy())
        self.displacement.set(delta.copy())
        self.centers.set(self.centers.get() + self.directions.get() * delta[:, None])

    def reset(self) -> None:
        """Restore the state after init."""
        self.force.set(np.zeros(self.row_count))
        self.displacement.set(np.empty(0))
        self.centers.set(self._start.copy())
