"""A scene's robot with derivatives of its time step, on a copy in the embedded runtime."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sparse

from sofa_softctl.errors import BackendError, IdentificationError, SceneError
from sofa_softctl.runtime.behavior.roles import (
    Cable,
    Cavity,
    ElasticForceField,
    HyperelasticForceField,
    SolidForceField,
)
from sofa_softctl.runtime.components.loader.mesh_loader import volumes_split
from sofa_softctl.runtime.components.topology.parts import boundary_triangles
from sofa_softctl.runtime.derivatives.implicit_step import ImplicitStep
from sofa_softctl.runtime.derivatives.outputs import StepOutputs
from sofa_softctl.runtime.derivatives.parameters import (
    MaterialParameter,
    Moduli,
    PoissonRatio,
    RayleighMass,
    RayleighStiffness,
    Region,
    RestModulus,
    StepParameter,
    StepResidual,
    TotalMass,
)
from sofa_softctl.runtime.derivatives.step_derivative import StepDerivative, Tangent
from sofa_softctl.runtime.derivatives.trajectory import MotionGradient, Trajectory, TrajectoryModel
from sofa_softctl.runtime.kernels.contact.inside import distances
from sofa_softctl.runtime.kernels.mapping.barycentric import locate
from sofa_softctl.runtime.simulation.system_matrix import mappings_above, total_jacobian
from sofa_softctl.scene.backend.backend import find_backend
from sofa_softctl.scene.copies.split_mesh import centres_of_whole, hold_between
from sofa_softctl.scene.graph.nodes import nodes_of
from sofa_softctl.scene.session.session import Session

__all__ = [
    "Cavity",
    "Moduli",
    "Region",
    "Trajectory",
    "MotionGradient",
    "TrajectoryModel",
    "StepDerivative",
    "StepModel",
    "StepOutputs",
    "StepParameter",
    "StepResidual",
    "Tangent",
]

Box = Sequence[float]
"""xmin, ymin, zmin, xmax, ymax, zmax, as BoxROI has it."""


class StepModel:
    """A scene in the embedded runtime, with its outputs and its differentiable parameters.

    Components are named by their paths, such as "/finger/fem"; where a scene has only one of a
    kind the path may be left out.

    Args:
        scene: Scene file or createScene.
        parameters: Of createScene.
        driven: Paths of the cables and cavities that are driven, with whether each is by
            displacement: a length or a growth of the volume.
        stiff: Whether steps have the stiffness that their tensions give to the driven cables, see
            `LineStiffness`.
        dt: Length of a step, in place of the scene's [time].
        split: How often each tetrahedron of the scene's mesh files is split in eight; regions and
            fixed nodes stay what they are, see `scene.split_mesh`.

    Raises:
        BackendError: This process runs SOFA, which gives no derivatives.
        SceneError: There is no such component, or one whose derivative is not known.
    """

    def __init__(
        self,
        scene: str | Path | Callable[..., Any],
        *,
        parameters: dict[str, Any] | None = None,
        driven: Sequence[tuple[str, bool]] = (),
        stiff: bool = False,
        dt: float | None = None,
        split: int = 0,
    ) -> None:
        if find_backend().name != "embedded":
            raise BackendError(
                "Derivatives of a simulation come from the embedded runtime, but this process runs "
                "SOFA. Identify in a process of its own, or with SOFTCTL_BACKEND=embedded."
            )
        fields: list[Any] = []

        def built(root: Any) -> None:
            self.root: Any = root
            if dt is not None:
                root.dt.value = dt
            if stiff:
                from sofa_softctl.scene.control.line_stiffness import add_line_stiffness

                fields.extend(add_line_stiffness(root, self.cable(path)) for path, _ in driven)

        self.split = split
        with volumes_split(split):
            self.units = Session(scene, parameters=parameters, add=built).units
        if split:
            hold_between(self.root)
        drives = [self.drive(path) for path, _ in driven]
        imposed = [by_displacement for _, by_displacement in driven]
        self.step = ImplicitStep(self.root, drives, imposed, stiffness=fields)
        masses = self.step.system.masses
        self.masses = {one.getPathName(): float(one._data["totalMass"].get()) for one in masses}
        """Total masses by path as the scene has them, whatever parameters are set later [mass]."""

    @property
    def solids(self) -> list[SolidForceField]:
        """Force fields of tetrahedra whose material has parameters."""
        return self._all("force field", SolidForceField)

    def cable(self, path: str | None = None) -> Cable:
        """The cable at a path."""
        found: Cable = self._pick(self._all("constraint", Cable), path, "cable")
        return found

    def cavity(self, path: str | None = None) -> Cavity:
        """The cavity at a path."""
        found: Cavity = self._pick(self._all("constraint", Cavity), path, "cavity")
        return found

    def drive(self, path: str) -> Cable | Cavity:
        """The cable or cavity at a path."""
        found = [*self._all("constraint", Cable), *self._all("constraint", Cavity)]
        driven: Cable | Cavity = self._pick(found, path, "cable or cavity")
        return driven

    def moduli(
        self,
        *,
        path: str | None = None,
        boxes: Sequence[Box] = (),
        elements: Sequence[int] | None = None,
    ) -> Region:
        """Young's modulus of those tetrahedra whose centre at rest is in one of some boxes.

        That of a hyperelastic material is its modulus at rest; all of its parameters scale with it.

        Args:
            path: Force field.
            boxes: Without any: all tetrahedra.
            elements: Numbers of tetrahedra, instead of boxes; of the scene's mesh, not of parts.
        """
        field: Any = self._pick(self.solids, path, "elastic force field")
        chosen = _elements(field, boxes, elements, 8**self.split)
        if isinstance(field, ElasticForceField):
            return Moduli(field, chosen)
        return RestModulus(field, chosen)

    def material_parameter(
        self,
        name: str,
        *,
        path: str | None = None,
        boxes: Sequence[Box] = (),
        elements: Sequence[int] | None = None,
    ) -> Region:
        """A parameter of a hyperelastic material in a region.

        Args:
            name: Its name, such as 'mu'.
            path, boxes, elements: As for `moduli`.
        """
        found = self._all("force field", HyperelasticForceField)
        field: HyperelasticForceField = self._pick(found, path, "hyperelastic force field")
        if name not in field.parameter_names:
            raise IdentificationError(
                f"{field.describe()} has no parameter '{name}'. Its material has: "
                f"{', '.join(field.parameter_names)}."
            )
        number = field.parameter_names.index(name)
        return MaterialParameter(field, number, _elements(field, boxes, elements, 8**self.split))

    def poisson_ratio(self, *, path: str | None = None) -> StepParameter:
        """Poisson's ratio of a force field."""
        field = self._pick(self.solids, path, "elastic force field")
        if not isinstance(field, ElasticForceField):
            raise IdentificationError(
                f"{field.describe()} has no Poisson's ratio of its own: identify a parameter of "
                f"its material, one of {', '.join(field.parameter_names)}."
            )
        return PoissonRatio(field)

    def total_mass(self, *, path: str | None = None) -> StepParameter:
        """A mass as a whole."""
        return TotalMass(self._pick(self.step.system.masses, path, "mass"))

    def rayleigh_mass(self) -> StepParameter:
        """The integrator's damping in proportion to the mass."""
        return RayleighMass(self.step.ode)

    def rayleigh_stiffness(self) -> StepParameter:
        """The integrator's damping in proportion to the stiffness."""
        return RayleighStiffness(self.step.ode)

    def point(self, path: str, index: int = 0) -> sparse.csr_array:
        """Weights of the robot's nodes in a point of the state of a node, shape (1, n)."""
        points = self.points(path)
        if not 0 <= index < points.shape[0]:
            count = points.shape[0]
            raise SceneError(f"The state of '{path}' has {count} points, not {index + 1}.")
        return points[[index]]

    def points(self, path: str) -> sparse.csr_array:
        """Weights of the robot's nodes in all points of the state of a node, shape (p, n)."""
        states = {n.getPathName(): n.getMechanicalState() for n in nodes_of(self.root)}
        state = states.get(path)
        if state is None:
            known = ", ".join(name for name, entry in states.items() if entry is not None)
            raise SceneError(f"No node '{path}' with a state. Known: {known}.")
        system = self.step.system
        known_here = id(state) in system.offset or id(state) in system.mapping_of
        if not known_here or not all(m.weighted for m in mappings_above(state, system)):
            raise SceneError(f"The state of '{path}' is not carried by the robot's mesh.")
        return sparse.csr_array(total_jacobian(state, system)[::3, ::3])

    def attached(self, points: np.ndarray) -> sparse.csr_array:
        """Weights of the robot's nodes in points that its tetrahedra carry from rest on, (p, n)."""
        if not self.solids:
            raise SceneError("The scene has no tetrahedra that could carry markers.")
        field = self.solids[0]
        points = np.ascontiguousarray(points, dtype=float).reshape(-1, 3)
        best, inner = np.empty(len(points), np.int64), np.zeros((len(points), 3))
        locate(points, field.x0, np.ascontiguousarray(field.elements), best, inner)
        weights = np.concatenate([1.0 - inner.sum(axis=1, keepdims=True), inner], axis=1)
        rows = np.repeat(np.arange(len(points)), 4)
        nodes = field.elements[best].ravel() + self.step.system.offset[id(field.state)]
        shape = (len(points), self.step.size)
        return sparse.csr_array((weights.ravel(), (rows, nodes)), shape=shape)

    def outside(self, weights: sparse.csr_array) -> np.ndarray:
        """Distance of points to the robot's tetrahedra at the start [length], shape (p,).

        Args:
            weights: Of the robot's nodes in each point, shape (p, n).
        """
        points = np.ascontiguousarray(weights @ self.step.x0)
        found = np.full(len(points), np.inf)
        for field in self.solids:
            begin = self.step.system.offset[id(field.state)]
            x = np.ascontiguousarray(self.step.x0[begin : begin + len(field.x0)])
            elements = np.ascontiguousarray(field.elements)
            best, inner = np.empty(len(points), np.int64), np.zeros((len(points), 3))
            locate(points, x, elements, best, inner)
            away = distances(points, x, boundary_triangles(elements))
            beyond = np.maximum(-inner.min(axis=1), inner.sum(axis=1) - 1.0)
            found = np.minimum(found, np.where(beyond <= 0.0, 0.0, away))
        return found

    @property
    def extent(self) -> float:
        """Of the robot as the scene starts, along the axis where it is longest [length]."""
        return float(np.ptp(self.step.x0, axis=0).max())

    def _all(self, category: str, kind: Any) -> list[Any]:
        entries = (entry for node in self.root.walk() for entry in node.of(category))
        return [entry for entry in entries if isinstance(entry, kind)]

    def _pick(self, found: Sequence[Any], path: str | None, what: str) -> Any:
        if path is None and len(found) == 1:
            return found[0]
        for entry in found:
            if entry.getPathName() == path:
                return entry
        known = ", ".join(entry.getPathName() for entry in found) or "none"
        asked = f"has no {what} '{path}'" if path else f"has {len(found)} of the kind: {what}"
        raise SceneError(f"The scene {asked}. Name one of: {known}.")


def _elements(
    field: SolidForceField, boxes: Sequence[Box], elements: Sequence[int] | None, parts: int
) -> np.ndarray:
    """Numbers of the tetrahedra of a region; see `StepModel.moduli`.

    Args:
        parts: In how many parts each of the scene's mesh is split.
    """
    if elements is not None:
        chosen = (parts * np.asarray(elements, dtype=int)[:, None] + np.arange(parts)).ravel()
    else:  # parts belong where the whole does
        centres = centres_of_whole(field.x0, field.elements, parts)
        inside = [inside_box(centres, box) for box in boxes] or [np.ones(len(centres), bool)]
        chosen = np.flatnonzero(np.any(inside, axis=0))
    count = len(field.elements)
    if not len(chosen) or chosen.min() < 0 or chosen.max() >= count:
        what = f"the boxes {[list(box) for box in boxes]}" if elements is None else "elements"
        raise IdentificationError(
            f"A region of {field.describe()} holds none of its {count} tetrahedra, or others: "
            f"look at {what}. The mesh lies between {field.x0.min(axis=0).tolist()} and "
            f"{field.x0.max(axis=0).tolist()}."
        )
    return chosen


def inside_box(points: np.ndarray, box: Box) -> np.ndarray:
    """Which points (n, 3) lie in a box, faces included; bool, shape (n,)."""
    low, high = np.minimum(box[:3], box[3:]), np.maximum(box[:3], box[3:])
    inside: np.ndarray = np.all((points >= low) & (points <= high), axis=1)
    return inside
