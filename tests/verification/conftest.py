import itertools

import numpy as np
import pytest

from sofa_softctl.runtime.core.node import Node
from sofa_softctl.runtime.simulation import simulation
from sofa_softctl.runtime.simulation.system_matrix import SystemMatrix


@pytest.fixture(scope="session")
def box():
    """Makes boxes of tetrahedra."""

    def make(cells, size, shake=0.0, along=(1.0, 1.0, 1.0)):
        """Six tetrahedra a cell from 0 to `size`; inner nodes moved at random.

        Args:
            cells: Cells along x, y and z.
            size: Lengths along x, y and z.
            shake: Greatest random move of inner nodes, in cells.
            along: Factors of that move along x, y and z. Nodes count as inner when they are inside
                in every direction that has a factor.

        Returns:
            Positions (n, 3) and tetrahedra (m, 4).
        """
        cells, size = np.array(cells), np.array(size, float)
        counts = cells + 1
        grid = np.array(list(itertools.product(*(range(count) for count in counts))))
        strides = np.array([counts[1] * counts[2], counts[2], 1])
        elements = []
        for corner in itertools.product(*(range(n) for n in cells)):
            for order in itertools.permutations(strides):
                elements.append(strides @ corner + np.cumsum([0, *order]))
        moves = np.array(along) != 0.0
        inner = (((grid > 0) & (grid < cells)) | ~moves).all(axis=1)
        random = np.random.default_rng(0)
        moved = shake * random.uniform(-1.0, 1.0, grid.shape) * along * inner[:, None]
        return (grid + moved) * size / cells, np.array(elements)

    return make


@pytest.fixture(scope="session")
def soft_body():
    """Adds bodies of tetrahedra to a scene."""

    def add(
        root, mesh, *, name="body", mass="DiagonalMass", density=1.0, method="small",
        young=1.0, poisson=0.0, linear_solver="SparseLDLSolver", **integrator,
    ):  # fmt: skip
        """The body's node, with an integrator, mass and elasticity of its own."""
        points, tetrahedra = mesh
        node = root.addChild(name)
        node.addObject("EulerImplicitSolver", name="integrator", **integrator)
        node.addObject(linear_solver, name="linear_solver")
        node.addObject("MeshTopology", position=points.tolist(), tetrahedra=tetrahedra.tolist())
        node.addObject("MechanicalObject", name="dofs", position=points.tolist())
        node.addObject(mass, name="mass", massDensity=density)
        node.addObject(
            "TetrahedronFEMForceField",
            name="elasticity",
            method=method,
            youngModulus=young,
            poissonRatio=poisson,
        )
        return node

    return add


@pytest.fixture(scope="session")
def particles():
    """Adds points without elasticity to a scene."""

    def add(root, positions, *, name="particles", mass=1.0, linear_solver="SparseLDLSolver",
            **integrator):  # fmt: skip
        """The node of the points, each of the given mass, with an integrator of its own."""
        node = root.addChild(name)
        node.addObject("EulerImplicitSolver", name="integrator", **integrator)
        node.addObject(linear_solver, name="linear_solver")
        node.addObject("MechanicalObject", name="dofs", position=positions)
        node.addObject("UniformMass", name="mass", vertexMass=mass)
        return node

    return add


@pytest.fixture(scope="session")
def run():
    """Initialises a scene and makes steps."""

    def steps(root, count):
        """Initialise, if that is still to do, and make `count` steps."""
        if not root.of("animation loop") or not simulation.loop_of(root).systems:
            simulation.init(root)
        simulation.animateNSteps(root, count)

    return steps


@pytest.fixture(scope="session")
def matrices():
    """Gives the matrices of a scene."""

    def assemble(root, number=0):
        """M and K of the system of that number as dense arrays (3 n, 3 n), held rows identity."""
        system = simulation.loop_of(root).systems[number]
        matrix = SystemMatrix(system)
        parts = []
        for m, k in ((1.0, 0.0), (0.0, 1.0)):
            parts.append(matrix.pattern.to_csr(matrix.assemble(m, k, 0.0)).toarray())
        return parts

    return assemble


@pytest.fixture
def root():
    """An empty scene without gravity, with steps of 0.01."""
    return Node("root", dt=0.01, gravity=[0.0, 0.0, 0.0])
