"""Corotational linear elasticity on hexahedra."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.behavior.mechanics import ForceField, Pairs
from sofa_softctl.runtime.components.elasticity.moduli import (
    elastic_moduli,
    lame_parameters,
    rest_shape,
)
from sofa_softctl.runtime.components.topology.base import complain_without_elements, linked_topology
from sofa_softctl.runtime.components.topology.sparse_grid import SparseGridTopology
from sofa_softctl.runtime.core.data.types import Bool, Choice, Int, Real, Reals, Text, Vectors
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.helper.message import complain
from sofa_softctl.runtime.kernels.elasticity import corotational
from sofa_softctl.runtime.kernels.elasticity import hexahedral as kernel


def find_hexahedra(field: ForceField) -> tuple[np.ndarray, np.ndarray]:
    """Return the hexahedra of a field's topology (m, 8), and factors of their stiffness (m,).

    Raises:
        SceneError: There is no topology, or a hexahedron has a vertex beyond the state's nodes.
    """
    topology = linked_topology(
        field,
        "needs hexahedra: add a RegularGridTopology, a HexahedronSetTopologyContainer or a "
        "MeshTopology to its node.",
    )
    elements = np.ascontiguousarray(topology.hexahedra.get())
    is_sparse = isinstance(topology, SparseGridTopology)
    filling = topology.stiffness_factors() if is_sparse else np.ones(len(elements))
    if not len(elements):
        complain_without_elements(field, "hexahedra", topology)
        return np.empty((0, 8), dtype=np.int64), filling
    if elements.max() >= field.state.count:
        raise field.fault(
            f"has a hexahedron with vertex {elements.max()}, but {field.state.describe()} has "
            f"{field.state.count} nodes."
        )
    return elements, filling


_REINIT_ATTRIBUTES = ("x0", "flat", "rest", "lame", "stiffness", "method_number")


class HexahedronFEMForceField(ForceField):
    """Linear elasticity in the rotated frame of each hexahedron, with trilinear shape functions.

    The stiffness omits the derivative of the rotations, as in SOFA. The rest shape is the state's
    rest_position at init and `reinit`, which also read youngModulus and poissonRatio. Cells that
    the surface of a SparseGridTopology meets have half the stiffness.

    Source: Nesme, Payan, Faure 2005; SOFA's component of the same name.
    """

    reads_rest = "reinit"

    methods: ClassVar[dict[str, int]] = {
        "small": corotational.SMALL,
        "large": corotational.LARGE,
        "polar": corotational.POLAR,
    }
    """Number of each method in the kernels."""

    topology = LinkType(
        "Topology that holds the hexahedra; the node's own by default.", kind="topology"
    )
    method = Choice(
        "large",
        "Rotation of an element: none, from mean edges, or their polar decomposition.",
        choices=("large", "polar", "small"),
        follows="reinit",
    )
    youngModulus = Reals(
        [5000.0],
        "Young's modulus; one for all, or one per element (missing entries equal the first).",
        unit="pressure",
        per="element",
        follows="reinit",
    )
    poissonRatio = Reals(
        [0.45], "Poisson's ratio, 0 to below 0.5; as youngModulus.", per="element", follows="reinit"
    )
    updateStiffnessMatrix = Bool(False, "Measure strains on the present, not the rest shape.")
    initialPoints = Vectors(3, [], "Rest shape; only a link counts.", unit="length")
    gatherPt = Int(0, "Unused.")
    gatherBsize = Int(0, "Unused.")
    drawing = Bool(True, "Draw the elements.")
    drawPercentageOffset = Real(0.15, "Size of the drawn elements.")

    def init(self) -> None:
        """Prepare the elements.

        Raises:
            SceneError: a hexahedron has a vertex that does not exist.
        """
        self.elements, self._filling = find_hexahedra(self)
        count = len(self.elements)
        self.frames = np.empty((count, 3, 3))
        self.reinit()

    def reinit(self) -> None:
        """Read the rest position, method, youngModulus and poissonRatio."""
        self.x0 = rest_shape(self)
        self.flat = self._find_flat()
        self.method_number = self.methods[self.method.get()]
        young, poisson = elastic_moduli(self, len(self.elements))
        self.lame = lame_parameters(poisson) * (young * self._filling)[:, None]
        self._compute_frames(self.x0)
        self.rest = np.empty((len(self.elements), 8, 3))
        kernel.local_rest(self.x0, self.elements, self.frames, self.rest)
        self.stiffness = np.empty((len(self.elements), 24, 24))
        self._set_stiffness(self.x0)
        self._rotate()

    def _find_flat(self) -> np.ndarray:
        """Return the numbers of hexahedra without volume, which have no stiffness."""
        sizes = kernel.signed_sizes(self.x0, self.elements)
        spans = np.ptp(self.x0[self.elements], axis=1).max(axis=1)
        is_flat = np.abs(sizes) <= 1e-12 * spans**3
        if is_flat.any():
            first = int(np.flatnonzero(is_flat)[0])
            problem = self.fault(
                f"has {int(is_flat.sum())} of {len(is_flat)} hexahedra without volume, first "
                f"hexahedra[{first}] = {self.elements[first].tolist()}. Repair the mesh: a flat "
                "hexahedron has no stiffness."
            )
            complain(self, problem)
        return np.flatnonzero(is_flat)

    def _set_stiffness(self, x: np.ndarray) -> None:
        """Compute the stiffness of the shape x in the present frames."""
        kernel.element_stiffness(x, self.elements, self.frames, self.lame, self.stiffness)
        self.stiffness[self.flat] = 0.0

    def _compute_frames(self, x: np.ndarray) -> None:
        """Compute the frames of the shape x."""
        kernel.rotate(x, self.elements, self.method_number, self.frames)
        if len(self.flat):
            self.frames[self.flat] = np.eye(3)

    def _rotate(self) -> None:
        x = self.state.position.get()
        self._compute_frames(x)
        if self.updateStiffnessMatrix.get():
            self._set_stiffness(x)

    @override
    def inverted_elements(self) -> int:
        sizes = kernel.signed_sizes(self.state.position.get(), self.elements)
        is_inverted = sizes * kernel.signed_sizes(self.x0, self.elements) <= 0.0
        is_inverted[self.flat] = False
        return int(is_inverted.sum())

    def snapshot(self) -> dict[str, Any]:
        """Return the attributes that `reinit` replaces."""
        return {name: vars(self)[name] for name in _REINIT_ATTRIBUTES}

    @override
    def restore(self, snapshot: dict[str, Any]) -> None:
        for name in _REINIT_ATTRIBUTES:
            setattr(self, name, snapshot[name])

    def reset(self) -> None:
        """Compute the rotations of the initial state."""
        self._rotate()

    @override
    def add_force(self, force: np.ndarray) -> None:
        self._rotate()
        x = self.state.position.get()
        kernel.add_force(x, self.elements, self.frames, self.rest, self.stiffness, force)

    @override
    def add_product(self, out: np.ndarray, v: np.ndarray, factor: float) -> None:
        kernel.add_product(v, self.elements, self.frames, self.stiffness, factor, out)

    @override
    def pairs(self) -> Pairs:
        return kernel.element_pairs(self.elements)

    @override
    def add_matrix(self, values: np.ndarray, slots: np.ndarray, factor: float) -> None:
        kernel.add_matrix(self.frames, self.stiffness, factor, slots.reshape(-1, 36), values)


class ParallelHexahedronFEMForceField(HexahedronFEMForceField):
    """HexahedronFEMForceField, under its name in SOFA's plugin MultiThreading; one processor."""

    nbThreads = Int(0, "Unused.")
    taskSchedulerType = Text("_default", "Unused.")
