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
    ParameterDerivatives,
    Payload,
    PoissonRatio,
    RayleighMass,
    RayleighStiffness,
    Region,
    RestModulus,
    RestPoissonRatio,
    StepParameter,
    StepResidual,
    TotalMass,
)
from sofa_softctl.runtime.derivatives.step_derivative import StepDerivative, Tangent
from sofa_softctl.runtime.derivatives.trajectory import MotionGradient, Trajectory, TrajectoryModel
from sofa_softctl.runtime.kernels.contact.inside import distances
from sofa_softctl.runtime.kernels.mapping.barycentric import locate
from sofa_softctl.runtime.kernels.mapping.hexahedral import locate_in_hexahedra, trilinear
from sofa_softctl.runtime.simulation.jacobian import mappings_above, total_jacobian
from sofa_softctl.scene.backend.backend import find_backend
from sofa_softctl.scene.copies.split_mesh import centres_of_whole, hold_between
from sofa_softctl.scene.graph.nodes import nodes_of
from sofa_softctl.scene.session.session import Session

__all__ = [
    "Cavity",
    "Moduli",
    "Payload",
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
    "RayleighMass",
    "RayleighStiffness",
    "ParameterDerivatives",
    "TotalMass",
]

Box = Sequence[float]
"""xmin, ymin, zmin, xmax, ymax, zmax [length], as in BoxROI."""


class StepModel:
    """A scene in the embedded runtime, with its outputs and its differentiable parameters.

    Components are named by their paths, such as "/finger/fem"; the path of the only component of
    a kind may be omitted.

    Args:
        scene: Scene file or createScene.
        parameters: Parameters of createScene.
        driven: Paths of the driven cables and cavities, with True if driven by displacement, a
            length or a growth of the volume.
        stiff: Whether steps include the geometric stiffness of the driven cables, see
            `LineStiffness`.
        dt: Length of a step, instead of the scene's [time].
        split: Number of times that the tetrahedra of the scene's mesh files are split in eight;
            regions and fixed nodes are unchanged, see `scene.split_mesh`.

    Raises:
        BackendError: This process runs SOFA, which gives no derivatives.
        SceneError: A component does not exist, or its derivative is not known.
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
                "SOFA. Identify in a separate process, or with SOFTCTL_BACKEND=embedded."
            )
        fields: list[Any] = []

        def add_to_root(root: Any) -> None:
            self.root: Any = root
            if dt is not None:
                root.dt.value = dt
            if stiff:
                from sofa_softctl.scene.control.line_stiffness import add_line_stiffness

                fields.extend(add_line_stiffness(root, self.cable(path)) for path, _ in driven)

        self.split = split
        with volumes_split(split):
            self.units = Session(scene, parameters=parameters, add=add_to_root).units
        if split:
            hold_between(self.root)
        drives = [self.drive(path) for path, _ in driven]
        imposed = [by_displacement for _, by_displacement in driven]
        self.step = ImplicitStep(self.root, drives, imposed, stiffness=fields)
        masses = self.step.system.masses
        self.masses = {mass.getPathName(): float(mass.totalMass.get()) for mass in masses}
        """Total masses of the scene by path, without payloads, before parameters are set [mass]."""

    @property
    def solids(self) -> list[SolidForceField]:
        """Force fields of tetrahedra whose material has parameters."""
        return self._find("force field", SolidForceField)

    def cable(self, path: str | None = None) -> Cable:
        """Return the cable at a path."""
        match: Cable = self._pick(self._find("constraint", Cable), path, "cable")
        return match

    def cavity(self, path: str | None = None) -> Cavity:
        """Return the cavity at a path."""
        match: Cavity = self._pick(self._find("constraint", Cavity), path, "cavity")
        return match

    def drive(self, path: str) -> Cable | Cavity:
        """Return the cable or cavity at a path."""
        candidates = [*self._find("constraint", Cable), *self._find("constraint", Cavity)]
        match: Cable | Cavity = self._pick(candidates, path, "cable or cavity")
        return match

    def moduli(
        self,
        *,
        path: str | None = None,
        boxes: Sequence[Box] = (),
        elements: Sequence[int] | None = None,
    ) -> Region:
        """Return Young's modulus of the tetrahedra whose centre at rest is in one of some boxes.

        For a hyperelastic material it is the modulus at rest, with which all parameters scale.

        Args:
            path: Path of the force field.
            boxes: Boxes; none selects all tetrahedra.
            elements: Numbers of tetrahedra in the scene's mesh before a split, instead of boxes.
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
        """Return a parameter of a hyperelastic material in a region.

        Args:
            name: Name of the parameter, such as 'mu'.
            path, boxes, elements: See `moduli`.
        """
        fields = self._find("force field", HyperelasticForceField)
        field: HyperelasticForceField = self._pick(fields, path, "hyperelastic force field")
        if name not in field.parameter_names:
            raise IdentificationError(
                f"{field.describe()} has no parameter '{name}'. Its material has: "
                f"{', '.join(field.parameter_names)}."
            )
        number = field.parameter_names.index(name)
        return MaterialParameter(field, number, _elements(field, boxes, elements, 8**self.split))

    def poisson_ratio(self, *, path: str | None = None) -> StepParameter:
        """Return Poisson's ratio of a force field."""
        field = self._pick(self.solids, path, "elastic force field")
        return (PoissonRatio if isinstance(field, ElasticForceField) else RestPoissonRatio)(field)

    def total_mass(self, *, path: str | None = None) -> StepParameter:
        """Return the total mass of a mass component."""
        return TotalMass(self._pick(self.step.system.masses, path, "mass"))

    def payload(self, fractions: np.ndarray) -> StepParameter:
        """Add a load of mass 0 to the scene, and return its mass.

        Args:
            fractions: Fraction of the load at each node [-], shape (n,); weights of a point outside
                of its tetrahedron may be negative: these count as 0.
        """
        fractions = np.clip(fractions, 0.0, None)
        fractions = fractions / fractions.sum()
        system, masses = self.step.system, []
        for state in system.states:
            rows = self.step.rows(state)
            if fractions[rows].any():
                node: Any = state.getContext()
                mass = node.addObject("DiagonalMass", vertexMass=np.zeros(state.count))
                mass.init()
                masses.append((mass, rows))
        system.masses += [mass for mass, _ in masses]
        self.step.linear.renew()
        return Payload(masses, fractions)

    def rayleigh_mass(self) -> StepParameter:
        """Return the integrator's damping in proportion to the mass."""
        return RayleighMass(self.step.ode)

    def rayleigh_stiffness(self) -> StepParameter:
        """Return the integrator's damping in proportion to the stiffness."""
        return RayleighStiffness(self.step.ode)

    def point(self, path: str, index: int = 0) -> sparse.csr_array:
        """Return the weights of the robot's nodes in a point of a node's state, shape (1, n)."""
        points = self.points(path)
        if not 0 <= index < points.shape[0]:
            count = points.shape[0]
            raise SceneError(f"The state of '{path}' has {count} points, not {index + 1}.")
        return points[[index]]

    def points(self, path: str) -> sparse.csr_array:
        """Return the weights of the robot's nodes in all points of a state, shape (p, n)."""
        states = {n.getPathName(): n.getMechanicalState() for n in nodes_of(self.root)}
        state = states.get(path)
        if state is None:
            names = ", ".join(name for name, item in states.items() if item is not None)
            raise SceneError(f"No node '{path}' with a state. Known: {names}.")
        system = self.step.system
        known_here = id(state) in system.offset or id(state) in system.mapping_of
        if not known_here or not all(m.has_constant_weights for m in mappings_above(state, system)):
            raise SceneError(f"The state of '{path}' is not carried by the robot's mesh.")
        return sparse.csr_array(total_jacobian(state, system)[::3, ::3])

    def carrier_weights(self, points: np.ndarray) -> sparse.csr_array:
        """Return the weights of the robot's nodes in points carried by its elements, (p, n)."""
        if not self.solids:
            raise SceneError("The scene has no tetrahedra or hexahedra that could carry markers.")
        field = self.solids[0]
        points = np.ascontiguousarray(points, dtype=float).reshape(-1, 3)
        best, weights, _ = _locate_in(points, field.x0, field.elements)
        rows = np.repeat(np.arange(len(points)), weights.shape[1])
        nodes = field.elements[best].ravel() + self.step.system.offset[id(field.state)]
        shape = (len(points), self.step.size)
        return sparse.csr_array((weights.ravel(), (rows, nodes)), shape=shape)

    def mesh_distance(self, weights: sparse.csr_array) -> np.ndarray:
        """Return the distance of points to the robot's initial elements [length], shape (p,).

        Args:
            weights: Weights of the robot's nodes in each point [-], shape (p, n).
        """
        points = np.ascontiguousarray(weights @ self.step.x0)
        distance = np.full(len(points), np.inf)
        for field in self.solids:
            begin = self.step.system.offset[id(field.state)]
            x = np.ascontiguousarray(self.step.x0[begin : begin + len(field.x0)])
            _, _, is_inside = _locate_in(points, x, field.elements)
            gap = distances(points, x, boundary_triangles(field.elements))
            distance = np.minimum(distance, np.where(is_inside, 0.0, gap))
        return distance

    @property
    def extent(self) -> float:
        """Largest side of the robot's box at the start [length]."""
        return float(np.ptp(self.step.x0, axis=0).max())

    def _find(self, category: str, kind: Any) -> list[Any]:
        components = (component for node in self.root.walk() for component in node.of(category))
        return [component for component in components if isinstance(component, kind)]

    def _pick(self, components: Sequence[Any], path: str | None, kind: str) -> Any:
        if path is None and len(components) == 1:
            return components[0]
        for component in components:
            if component.getPathName() == path:
                return component
        names = ", ".join(component.getPathName() for component in components) or "none"
        problem = (
            f"has no {kind} '{path}'" if path else f"has {len(components)} of the kind: {kind}"
        )
        raise SceneError(f"The scene {problem}. Name one of: {names}.")


def _locate_in(
    points: np.ndarray, x: np.ndarray, elements: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the element of each point (p,), weights of its nodes (p, k), True if inside (p,).

    Args:
        points: Positions [length], shape (p, 3).
        x: Nodes [length], shape (n, 3).
        elements: Tetrahedra or hexahedra, shape (m, 4) or (m, 8).
    """
    if elements.shape[1] == 8:
        best, inner = locate_in_hexahedra(points, x, elements)
        weights = trilinear(inner)
        return best, weights, np.asarray((weights >= 0.0).all(axis=1))
    best, inner = np.empty(len(points), np.int64), np.zeros((len(points), 3))
    locate(points, x, np.ascontiguousarray(elements), best, inner)
    weights = np.concatenate([1.0 - inner.sum(axis=1, keepdims=True), inner], axis=1)
    return best, weights, np.asarray((weights >= 0.0).all(axis=1))


def _elements(
    field: SolidForceField, boxes: Sequence[Box], elements: Sequence[int] | None, parts: int
) -> np.ndarray:
    """Return the numbers of a region's tetrahedra; `parts`: per tetrahedron of the scene."""
    if elements is not None:
        chosen = (parts * np.asarray(elements, dtype=int)[:, None] + np.arange(parts)).ravel()
    else:  # parts belong to the region of the original tetrahedron
        centres = centres_of_whole(field.x0, field.elements, parts)
        inside = [inside_box(centres, box) for box in boxes] or [np.ones(len(centres), bool)]
        chosen = np.flatnonzero(np.any(inside, axis=0))
    count = len(field.elements)
    if not len(chosen) or chosen.min() < 0 or chosen.max() >= count:
        location = f"the boxes {[list(box) for box in boxes]}" if elements is None else "elements"
        raise IdentificationError(
            f"A region of {field.describe()} holds none of its {count} tetrahedra, or others: "
            f"look at {location}. The mesh lies between {field.x0.min(axis=0).tolist()} and "
            f"{field.x0.max(axis=0).tolist()}."
        )
    return chosen


def inside_box(points: np.ndarray, box: Box) -> np.ndarray:
    """Return the mask of points (n, 3) in a box, faces included, shape (n,)."""
    low, high = np.minimum(box[:3], box[3:]), np.maximum(box[:3], box[3:])
    inside: np.ndarray = np.all((points >= low) & (points <= high), axis=1)
    return inside
