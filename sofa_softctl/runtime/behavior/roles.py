"""Further roles of components, for derivatives, equilibria and loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.behavior.constraint import LagrangianConstraint
from sofa_softctl.runtime.behavior.dofs import KINDS, DofType
from sofa_softctl.runtime.behavior.mechanics import ForceField
from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.box import box_of
from sofa_softctl.runtime.core.data.types import Bool, Elements, Integers, Real, Vector, Vectors


class Cable(LagrangianConstraint):
    """Constraint along straight segments from point to point of a state: one row.

    delta = L0 - L, positive when the cable is pulled in; lambda > 0 is tension.
    """

    indices = Integers([0], "Points of the cable, from the pull point on.", of="node")
    pullPoint = Vector(3, [0.0, 0.0, 0.0], "Fixed point from which it is pulled.", unit="length")
    hasPullPoint = Bool(True, "Whether it is pulled from a fixed point.")
    cableInitialLength = Real(0.0, "Length without tension; that at init by default.")

    row_count = 1

    @property
    def only_pulls(self) -> bool:
        """True if it goes slack instead of pushing."""
        raise NotImplementedError

    def check_differentiable(self) -> None:
        """Accept it: `derivatives.cables` has its derivative."""


class Cavity(LagrangianConstraint):
    """Constraint on the volume inside a surface of a state: one row.

    delta = V - V0, positive when the cavity grows; lambda > 0 is over-pressure along the normals.
    """

    triangles = Elements(
        3,
        [],
        "Triangles; with no quads either, all of the node's topology.",
        optional_link=True,
        of="node",
    )
    quads = Elements(
        4,
        [],
        "Quadrilaterals; with no triangles either, all of the topology.",
        optional_link=True,
        of="node",
    )
    flipNormal = Bool(False, "Turn the normals round: for surfaces that wind inwards.")
    initialCavityVolume = Real(0.0, "Volume at init.", unit="length^3", read_only=True)

    row_count = 1

    @property
    def only_inflates(self) -> bool:
        """True if its pressure is zero instead of negative."""
        raise NotImplementedError

    def check_differentiable(self) -> None:
        """Accept it: `derivatives.cavities` has its derivative."""


class ContactDetection(Component):
    """Detection of contacts in every step, at the positions at its start."""

    category: ClassVar[str] = "collision pipeline"

    contacts: Sequence[LagrangianConstraint]
    """Contacts of this step that are constraints."""
    penalties: Sequence[ForceField]
    """Contacts of this step that are penalty forces."""

    def prepare(self) -> None:
        """Prepare for the present graph."""
        raise NotImplementedError

    def detect(self) -> None:
        """Find the contacts of this step."""
        raise NotImplementedError


class SolidForceField(ForceField):
    """Elasticity of tetrahedra or hexahedra with parameters for each of them."""

    x0: np.ndarray
    """Positions at rest [length], shape (n, 3)."""
    elements: np.ndarray
    """Nodes of the elements, shape (m, 4) or (m, 8)."""

    def moduli(self) -> np.ndarray:
        """Return the present Young's modulus of each element [pressure], shape (m,)."""
        raise NotImplementedError

    def set_moduli(self, elements: np.ndarray | slice, young: np.ndarray | float) -> None:
        """Change Young's modulus [pressure] of some elements immediately."""
        raise NotImplementedError

    def add_force_per_modulus(self, elements: np.ndarray | slice, force: np.ndarray) -> None:
        """Add df/dE of some elements at the positions of the last `add_force`."""
        raise NotImplementedError

    def largest_force_per_modulus(self, elements: np.ndarray | slice) -> float:
        """Return about the largest force on a node of some elements for E = 1 and a strain of 1."""
        raise NotImplementedError


class ElasticForceField(SolidForceField):
    """Isotropic linear elasticity of tetrahedra with a Young's modulus for each of them.

    The stiffnesses of its `step_term` are V lambda and V mu of each tetrahedron, shape (m, 2):
    volume and Lame's parameters, lambda = E nu / ((1 + nu) (1 - 2 nu)), mu = E / (2 (1 + nu)).
    """

    stiffness: np.ndarray
    """Present V lambda and V mu of each tetrahedron [pressure length^3], shape (m, 2)."""
    unit_stiffness: np.ndarray
    """The same for E = 1, shape (m, 2)."""

    def poisson_ratio(self) -> float:
        """Return Poisson's ratio of all elements."""
        raise NotImplementedError

    def set_poisson_ratio(self, value: float) -> None:
        """Change Poisson's ratio of all elements immediately."""
        raise NotImplementedError


class HyperelasticForceField(SolidForceField):
    """Strain energy of tetrahedra that is linear in its parameters.

    The stiffnesses of its `step_term` are these parameters of each tetrahedron.
    """

    parameters: np.ndarray
    """Present parameters of each tetrahedron [pressure], shape (m, k)."""

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of the k parameters, such as 'mu' and 'lambda'."""
        raise NotImplementedError

    def set_parameters(self, elements: np.ndarray | slice, values: np.ndarray) -> None:
        """Change the parameters of some elements immediately, shape (k,) or (m', k)."""
        raise NotImplementedError

    def rest_moduli(self) -> tuple[np.ndarray, np.ndarray]:
        """Return shear and bulk modulus at rest [pressure] for small strains, shape (m,)."""
        raise NotImplementedError

    def parameters_for(self, shear: np.ndarray, bulk: np.ndarray) -> np.ndarray:
        """Return parameters with other moduli at rest [pressure], shape (m, k); linear in them.

        The ratios of those parameters that resist shear stay.
        """
        raise NotImplementedError


class Vertices(Vectors):
    """Points that are updated when they are read."""

    def __init__(self, help: str, **options: Any) -> None:
        super().__init__(3, [], help, unit="length", **options)
        self.computed = True  # and yet a scene may set them


class DrawnSurface(Component):
    """Surface that follows a state outside of steps: a mapping places it when it is read.

    A mapping treats it as a state of points without velocities and forces.
    """

    category: ClassVar[str] = "visual"

    position = Vertices("Vertices, where the mapping of the node puts them.")

    kind: ClassVar[DofType] = KINDS["Vec3"]
    coord_size: ClassVar[int] = 3
    deriv_size: ClassVar[int] = 3

    _mapping: Any = None
    """Mapping whose output it is."""
    _updating = False

    @property
    def count(self) -> int:
        """Number of vertices."""
        return len(self.position.get())

    @property
    def block_count(self) -> int:
        """Number of rows of three scalars of its velocity in the vectors of a system."""
        return self.count

    def resize(self, position: np.ndarray) -> None:
        """Set these positions of a mapping, if their number changes."""
        if self.count != len(position):
            self.position.set(position[:, :3].copy())

    def find_box(self) -> np.ndarray:
        """Return the smallest and largest corner of its vertices, once they are placed."""
        return box_of(self.position.get()) if self._initialised else super().find_box()

    def attach_mapping(self, mapping: Any) -> None:
        """Attach the mapping that places it, and remove a link to other vertices."""
        position = self.position
        position.set(position.get().copy())
        position.setParent(None)
        self._mapping = mapping

    @override
    def update_outputs(self) -> None:
        if self._mapping is not None and not self._updating:
            self._updating = True  # the mapping reads its follower's position
            try:
                self._mapping.draw()
            finally:
                self._updating = False
