"""Elasticity of tetrahedra and hexahedra without locking."""

from __future__ import annotations

from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.behavior.mechanics import Pairs
from sofa_softctl.runtime.behavior.step_term import StepTerm
from sofa_softctl.runtime.components.elasticity.energies import ENERGIES
from sofa_softctl.runtime.components.elasticity.hexahedron_fem import find_hexahedra
from sofa_softctl.runtime.components.elasticity.hourglass import (
    Hourglass,
    hexahedral_jacobians,
    mean_gradients,
)
from sofa_softctl.runtime.components.elasticity.moduli import elastic_moduli
from sofa_softctl.runtime.components.elasticity.strain_point_field import (
    StrainPointForceField,
    StrainPointTerm,
    element_stresses,
)
from sofa_softctl.runtime.components.elasticity.strain_points import (
    StrainPoints,
    element_points,
    points_of,
    quadratic_points,
    regions_of,
    smoothed_points,
)
from sofa_softctl.runtime.components.elasticity.tetrahedral import TetrahedralForceField
from sofa_softctl.runtime.components.topology.base import linked_topology
from sofa_softctl.runtime.core.data.types import Bool, Choice, Integers, Reals
from sofa_softctl.runtime.kernels.elasticity import hourglass as hourglass_kernel
from sofa_softctl.runtime.kernels.elasticity.hexahedral import signed_sizes
from sofa_softctl.runtime.mesh.quadratic import (
    describe_far_middles,
    describe_folds,
    quadratic_jacobians,
)
from sofa_softctl.runtime.mesh.split import quadratic_nodes

MODULI = ("youngModulus", "poissonRatio", "ParameterSet")
"""Data of the moduli, changes of which count in the next step."""


class AssumedStrainFEMForceField(TetrahedralForceField, StrainPointForceField):
    """Elasticity of tetrahedra or hexahedra that locks neither in bending nor at constant volume.

    A coarse mesh bends as a fine one does, for Poisson's ratios up to 0.499, with the nodes that it
    has. Strains are averaged where the linear elements of SOFA lock: see `strain_points` for
    tetrahedra of 4 and of 10 nodes, and `hourglass` for hexahedra. Averages keep within regions:
    elements whose moduli do not jump at init.

    It is not one of SOFA's components: `sofa_softctl.add_elasticity` adds it where it exists, and
    SOFA's elements elsewhere.
    """

    youngModulus = Reals(
        [5000.0],
        "Young's modulus; one for all, or one per element (missing entries equal the first).",
        unit="pressure",
        per="element",
    )
    poissonRatio = Reals([0.45], "Poisson's ratio, 0 to below 0.5; as youngModulus.", per="element")
    materialName = Choice(
        "Corotational",
        "Strain energy: Corotational (linear in the rotated frame), StVenantKirchhoff, NeoHookean, "
        "StableNeoHookean, MooneyRivlin or ArrudaBoyce.",
        choices=tuple(ENERGIES),
        follows="reinit",
    )
    ParameterSet = Reals(
        [],
        "Parameters of the material instead of youngModulus and poissonRatio: mu and lambda, c1, "
        "c2 and k of MooneyRivlin, mu and k of ArrudaBoyce; for the body, or for each element.",
        unit="pressure",
    )
    regions = Integers(
        [],
        "Region of each element: strains are averaged within regions; by default elements whose "
        "moduli do not jump by a fifth at init are one.",
        per="element",
        follows="start",
    )
    computeVonMisesStress = Bool(False, "Record stresses and strain energies of elements.")
    vonMisesPerElement = Reals([], "Stress of each element.", unit="pressure", computed=True)
    vonMisesPerNode = Reals([], "Mean stress around each node.", unit="pressure", computed=True)
    strainEnergyPerElement = Reals([], "Energy of each element.", unit="energy", computed=True)
    quadratic = Bool(
        False,
        "The tetrahedra are the eighths of 10-node ones, as `softctl mesh quadratic` writes them.",
        follows="start",
    )

    _counters: tuple[int, ...] | None = None
    """Counters of MODULI when they were read, or None after a restored snapshot."""
    _hourglass: Hourglass | None = None
    """Further energy of hexahedra."""

    def init(self) -> None:
        """Prepare the elements.

        Raises:
            SceneError: There is no topology, tetrahedra and hexahedra are mixed, an element has no
                volume or is folded, or the material is invalid.
        """
        self.x0 = self.state.rest_position.get().copy()
        self._filling: np.ndarray | float = 1.0
        topology = linked_topology(
            self,
            "needs tetrahedra or hexahedra: add a TetrahedronSetTopologyContainer, a MeshTopology "
            "or a grid to its node.",
        )
        counts = len(topology.tetrahedra.get()), len(topology.hexahedra.get())
        if all(counts):
            raise self.fault(
                f"finds {counts[0]} tetrahedra and {counts[1]} hexahedra in {topology.describe()}: "
                "it takes one kind. Put each kind in a topology of its own, with a force field "
                "each."
            )
        self._are_hexahedra = bool(counts[1])
        if self._are_hexahedra and self.quadratic.get():
            raise self.fault(
                f"has quadratic=True, which is for tetrahedra, and finds {counts[1]} hexahedra in "
                f"{topology.describe()}: leave it out."
            )
        if self._are_hexahedra:
            self.elements, self._filling = find_hexahedra(self)
        else:
            self.elements = self.find_elements()
        self._read_law()
        self._prepare_points()
        self.reinit()

    def reinit(self) -> None:
        """Read the moduli and the material."""
        self._read_law()
        self._use_parameters(self._read_parameters())
        self.check_parameters(self.materialName.get())
        if len(self.ParameterSet.get()):
            self._show_moduli()
            self._counters = self._data_counters()
        self.deform()

    @override
    def check_parameters(self, name: str) -> None:
        super().check_parameters(name)
        shear, bulk = self.rest_moduli()
        has_none = (shear <= 0.0) | (bulk <= 0.0)
        if len(self.ParameterSet.get()) and has_none.any():
            first = int(np.flatnonzero(has_none)[0])
            raise self.fault(
                f"has a ParameterSet without stiffness at rest for {name}: "
                f"{', '.join(self.parameter_names)} = {self.parameters[first].tolist()} make a "
                f"shear modulus of {shear[first]:g} and a bulk modulus of {bulk[first]:g}. Both "
                "must be above 0."
            )

    def _read_law(self) -> None:
        self._use_law(ENERGIES[self.materialName.get()])

    def _read_parameters(self) -> np.ndarray:
        """Return the parameters of each element, shape (m, k)."""
        if len(self.ParameterSet.get()):
            parameters = self.read_parameters(self.materialName.get())
        else:
            young, poisson = elastic_moduli(self, len(self.elements))
            shear = 0.5 * young / (1.0 + poisson)
            bulk = young / (3.0 * (1.0 - 2.0 * poisson))
            parameters = self.law.parameters_of(shear, bulk)
        return np.ascontiguousarray(parameters * np.reshape(self._filling, (-1, 1)))

    @property
    def element(self) -> str:
        """Kind of the elements: smoothed, quadratic or hexahedra; see `points_of`."""
        if self._are_hexahedra:
            return "hexahedra"
        return "quadratic" if self.quadratic.get() else "smoothed"

    def _prepare_points(self) -> None:
        """Find the strain points; they stay, since the matrix of the system has their pattern."""
        if not len(self.elements):
            self.points = points_of("linear", self.x0, self.elements, np.empty((0, 1)))
        elif self._are_hexahedra:
            self._prepare_hexahedra()
        elif self.quadratic.get():
            self.points = self._quadratic_points()
        else:
            self.points = smoothed_points(self.x0, self.elements, self._find_regions())

    def _find_regions(self) -> np.ndarray:
        """Return the number of each element's region, shape (m,)."""
        regions, count = self.regions.get(), len(self.elements)
        if not len(regions):
            return regions_of(self._read_parameters())
        if len(regions) != count:
            raise self.fault(
                f"needs a number for each of {count} elements in 'regions', got {len(regions)}."
            )
        return np.asarray(regions)

    def _quadratic_points(self) -> StrainPoints:
        nodes = quadratic_nodes(self.elements)
        if nodes is None:
            raise self.fault(
                f"has quadratic=True, but its {len(self.elements)} tetrahedra are not the eighths "
                "of 10-node ones, in groups of eight. Make such a mesh with `softctl mesh "
                "quadratic`, or set quadratic=False."
            )
        jacobians = np.linalg.det(quadratic_jacobians(self.x0, nodes))
        self._refuse(describe_far_middles(self.x0, nodes))
        self._refuse(describe_folds(self.x0, nodes, jacobians, "10-node tetrahedron"))
        return quadratic_points(self.x0, nodes, self._find_regions()[::8])

    def _prepare_hexahedra(self) -> None:
        jacobians = np.linalg.det(hexahedral_jacobians(self.x0, self.elements))
        self._refuse(describe_folds(self.x0, self.elements, jacobians, "hexahedron"))
        gradients, determinants = mean_gradients(self.x0, self.elements)
        volumes = np.abs(determinants.sum(axis=1))
        self.points = element_points(gradients, volumes, self.elements)
        self._hourglass = Hourglass(self.x0, self.elements, gradients, volumes)

    def _refuse(self, problem: str) -> None:
        if problem:
            raise self.fault(problem)

    def _data_counters(self) -> tuple[int, ...]:
        """Return how often each of the Data of the moduli was set."""
        return tuple(self._data[name].getCounter() for name in MODULI)

    @override
    def _use_parameters(self, parameters: np.ndarray) -> None:
        super()._use_parameters(parameters)
        self._counters = self._data_counters()
        if self._hourglass is not None:
            self._hourglass.set_moduli(*self.lame(parameters))

    @override
    def restore(self, snapshot: dict[str, Any]) -> None:
        super().restore(snapshot)
        self._counters = None  # the Data are restored too, and show these parameters rounded

    def lame(self, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return Lame's mu and lambda at rest of these parameters [pressure], shapes (m,)."""
        shear, bulk = self.law.rest_moduli(parameters)
        return shear, bulk - 2.0 / 3.0 * shear

    @override
    def show_parameters(self) -> None:
        if len(self.ParameterSet.get()):
            super().show_parameters()
        self._show_moduli()
        self._counters = self._data_counters()

    def _show_moduli(self) -> None:
        """Set youngModulus and poissonRatio to the present ones."""
        shear, bulk = self.law.rest_moduli(self.parameters / np.reshape(self._filling, (-1, 1)))
        if not (shear > 0.0).all() or not (bulk > 0.0).all():
            return  # of elements without stiffness
        young = 9.0 * bulk * shear / (3.0 * bulk + shear)
        poisson = (3.0 * bulk - 2.0 * shear) / (2.0 * (3.0 * bulk + shear))
        self.youngModulus.set(young if np.ptp(young) else young[:1].copy())
        self.poissonRatio.set(poisson if np.ptp(poisson) else poisson[:1].copy())

    def update_outputs(self) -> None:
        """Compute stresses and energies at the present positions, if enabled."""
        if not (self.computeVonMisesStress.get() and self._initialised):
            return
        from sofa_softctl.runtime.kernels.elasticity.von_mises import mean_at_nodes, von_mises

        x = self.state.position.get()
        state = self.law.at(self.points.gradients_of(x), self._point_parameters)
        stress = von_mises(element_stresses(self.points, state))
        energy = self.points.sum_in_elements(state.energies())
        if self._hourglass is not None:
            energy += self._hourglass.energies(x)
        self.vonMisesPerElement.set(stress)
        self.vonMisesPerNode.set(mean_at_nodes(stress, self.elements, len(x)))
        self.strainEnergyPerElement.set(energy)

    @override
    def inverted_elements(self) -> int:
        if not self._are_hexahedra:
            return super().inverted_elements()
        sizes = signed_sizes(self.state.position.get(), self.elements)
        return int((sizes * signed_sizes(self.x0, self.elements) <= 0.0).sum())

    @override
    def energy(self) -> float:
        total = super().energy()
        if self._hourglass is not None:
            total += float(self._hourglass.energies(self.state.position.get()).sum())
        return total

    @override
    def deform(self) -> None:
        super().deform()
        self._bending: tuple[bool, np.ndarray] | None = None

    def _hourglass_tangents(self, hourglass: Hourglass) -> np.ndarray:
        """Return the stiffness of bending at the last `deform`, shape (m, 24, 24)."""
        is_exact = self.exact_tangent
        if self._bending is None or self._bending[0] != is_exact:
            x = self.state.position.get()
            self._bending = is_exact, hourglass.tangents(x, is_exact=is_exact)
        return self._bending[1]

    @override
    def add_force(self, force: np.ndarray) -> None:
        counters = self._data_counters()
        if self._counters not in (None, counters):
            self.reinit()
        self._counters = counters
        super().add_force(force)
        if self._hourglass is not None:
            forces = self._hourglass.forces(self.state.position.get())
            hourglass_kernel.add_forces(self.elements, forces, force)

    @override
    def add_force_per_modulus(self, elements: np.ndarray | slice, force: np.ndarray) -> None:
        super().add_force_per_modulus(elements, force)
        if self._hourglass is not None:
            parameters = self._parameters_per_modulus(elements)
            stiffness = self._hourglass.combine(*self.lame(parameters))
            forces = self._hourglass.forces(self.state.position.get(), stiffness)
            hourglass_kernel.add_forces(self.elements, forces, force)

    @override
    def add_product(self, out: np.ndarray, v: np.ndarray, factor: float) -> None:
        super().add_product(out, v, factor)
        if self._hourglass is not None:
            tangents = self._hourglass_tangents(self._hourglass)
            hourglass_kernel.add_product(v, self.elements, tangents, factor, out)

    @override
    def pairs(self) -> Pairs:
        rows, columns = super().pairs()
        if self._hourglass is None:
            return rows, columns
        further_rows, further_columns = self._hourglass.pairs()
        return np.concatenate([rows, further_rows]), np.concatenate([columns, further_columns])

    @override
    def add_matrix(self, values: np.ndarray, slots: np.ndarray, factor: float) -> None:
        hourglass = self._hourglass
        if hourglass is not None:
            count = 36 * len(self.elements)
            tangents = self._hourglass_tangents(hourglass)
            further = slots[-count:].reshape(-1, 36) if count else slots.reshape(-1, 36)
            hourglass_kernel.add_matrix(tangents, factor, further, values)
            slots = slots[: len(slots) - count]
        super().add_matrix(values, slots, factor)

    @override
    def step_term(self) -> StepTerm:
        return StrainPointTerm(self) if self._hourglass is None else HexahedralTerm(self)


class HexahedralTerm(StrainPointTerm):
    """Term of hexahedra: with the energy that the mean strain leaves out."""

    def __init__(self, field: Any) -> None:
        super().__init__(field)
        self.hourglass: Hourglass = field._hourglass

    @override
    def at(self, x: np.ndarray, w: np.ndarray, h: float, beta: float) -> None:
        super().at(x, w, h, beta)
        self.matrices = self.h * self.hourglass.tangents(self.x, is_exact=True)
        is_exact = self.field.law.has_exact_steps
        self.matrices += self.c * self.hourglass.tangent_rates(self.x, self.w, is_exact=is_exact)

    @override
    def add_by_positions(self, dx: np.ndarray, out: np.ndarray) -> None:
        super().add_by_positions(dx, out)
        elements = self.hourglass.elements
        for direction, change in zip(dx, out, strict=True):
            hourglass_kernel.add_product(direction, elements, self.matrices, -1.0, change)

    @override
    def add_transposed(self, y: np.ndarray, out: np.ndarray, by_stiffness: np.ndarray) -> None:
        super().add_transposed(y, out, by_stiffness)
        transposed = self.matrices.transpose(0, 2, 1).copy()
        hourglass_kernel.add_product(y, self.hourglass.elements, transposed, -1.0, out)
        for number, unit in enumerate(np.eye(self.stiffness_shape[1])):
            residual = self._residual(np.tile(unit, (len(by_stiffness), 1)))
            by_stiffness[:, number] += np.einsum("eai,eai->e", y[self.hourglass.elements], residual)

    @override
    def add_by_stiffness(self, change: np.ndarray, out: np.ndarray) -> None:
        super().add_by_stiffness(change, out)
        hourglass_kernel.add_forces(self.hourglass.elements, self._residual(change), out)

    def _residual(self, parameters: np.ndarray) -> np.ndarray:
        """Return h f - c K w of each element with these parameters, shape (m, 8, 3)."""
        hourglass = self.hourglass
        stiffness = hourglass.combine(*self.field.lame(parameters))
        is_exact = self.field.law.has_exact_steps
        products = hourglass.products(self.x, self.w, stiffness, is_exact=is_exact)
        return self.h * hourglass.forces(self.x, stiffness) + self.c * products
