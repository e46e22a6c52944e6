"""Roles beside those of a step: what derivatives, equilibria and loops must know of a component."""

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
    """A constraint along straight segments from point to point of a state: one row.

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
        """Its derivative is known: it follows from its points."""


class Cavity(LagrangianConstraint):
    """A constraint on the volume inside a surface of a state: one row.

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
        """Its derivative is known: it follows from its surface."""


class ContactDetection(Component):
    """Finds contacts in every step, in the positions at its start."""

    category: ClassVar[str] = "collision pipeline"

    contacts: Sequence[LagrangianConstraint]
    """The contacts of this step that are constraints."""
    penalties: Sequence[ForceField]
    """Those that push like springs."""

    def prepare(self) -> None:
        """Get ready for the graph as it is now."""
        raise NotImplementedError

    def detect(self) -> None:
        """Find the contacts of this step."""
        raise NotImplementedError


class SolidForceField(ForceField):
    """Elasticity of tetrahedra, each with its own parameters."""

    x0: np.ndarray
    """Positions at rest [length], shape (n, 3)."""
    elements: np.ndarray
    """Nodes of the tetrahedra, shape (m, 4)."""


class ElasticForceField(SolidForceField):
    """Isotropic linear elasticity of tetrahedra, each with its own Young's modulus.

    The stiffnesses of its `step_term` are V lambda and V mu of each tetrahedron, shape (m, 2):
    volume and Lame's parameters, lambda = E nu / ((1 + nu) (1 - 2 nu)), mu = E / (2 (1 + nu)).
    """

    stiffness: np.ndarray
    """V lambda and V mu of each as they are now [pressure length^3], shape (m, 2)."""
    unit_stiffness: np.ndarray
    """The same for E = 1, shape (m, 2)."""

    def moduli(self) -> np.ndarray:
        """Young's modulus of each element as it acts now [pressure], shape (m,)."""
        raise NotImplementedError

    def set_moduli(self, elements: np.ndarray | slice, young: np.ndarray | float) -> None:
        """Change Young's modulus [pressure] of some elements, at once."""
        raise NotImplementedError

    def poisson_ratio(self) -> float:
        """Poisson's ratio of all elements."""
        raise NotImplementedError

    def set_poisson_ratio(self, value: float) -> None:
        """Change Poisson's ratio of all elements, at once."""
        raise NotImplementedError


class HyperelasticForceField(SolidForceField):
    """A strain energy of tetrahedra that is linear in its parameters.

    The stiffnesses of its `step_term` are these parameters, of each tetrahedron.
    """

    parameters: np.ndarray
    """Those of each tetrahedron as they are now [pressure], shape (m, k)."""

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of the k parameters, such as 'mu' and 'lambda'."""
        raise NotImplementedError

    def set_parameters(self, elements: np.ndarray | slice, values: np.ndarray) -> None:
        """Change the parameters of some elements, at once, shape (k,) or (m', k)."""
        raise NotImplementedError

    def rest_moduli(self) -> tuple[np.ndarray, np.ndarray]:
        """Shear and bulk modulus at rest [pressure], of linear elasticity there, shape (m,)."""
        raise NotImplementedError


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
        return len(self.position.get())

    @property
    def block_count(self) -> int:
        """Rows of three scalars that its velocity takes in the vectors of a system."""
        return self.count

    def resize(self, position: np.ndarray) -> None:
        """Take these positions, unless it has as many already: a mapping says so."""
        if self.count != len(position):
            self.position.set(position[:, :3].copy())

    def find_box(self) -> np.ndarray:
        """Smallest and largest corner of its vertices, once they are placed."""
        return box_of(self.position.get()) if self._initialised else super().find_box()

    def follow(self, mapping: Any) -> None:
        """Let a mapping place it from now on; a link to other vertices ends."""
        position = self.position
        position.set(position.get().copy())
        position.setParent(None)
        self._mapping = mapping

    @override
    def update_outputs(self) -> None:
        if self._mapping is not None and not self._asked:
            self._asked = True  # the mapping asks for its follower's position
            try:
                self._mapping.draw()
            finally:
                self._asked = False
