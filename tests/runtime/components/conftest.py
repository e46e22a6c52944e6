import itertools

import numpy as np
import pytest

from sofa_softctl.runtime.core.node import Node
from sofa_softctl.runtime.kernels.cholesky.block_matrix import BlockPattern
from sofa_softctl.runtime.simulation import simulation


@pytest.fixture
def root():
    """An empty scene without gravity, with steps of 0.01."""
    return Node("root", dt=0.01, gravity=[0.0, 0.0, 0.0])


@pytest.fixture(scope="session")
def grid():
    """Makes boxes of tetrahedra."""

    def make(cells, size):
        """Positions (n, 3) from 0 to `size` and six tetrahedra (m, 4) a cell."""
        counts = np.array(cells) + 1
        points = list(itertools.product(*(range(count) for count in counts)))
        strides = np.array([counts[1] * counts[2], counts[2], 1])
        elements = [
            strides @ corner + np.cumsum([0, *order])
            for corner in itertools.product(*(range(n) for n in cells))
            for order in itertools.permutations(strides)
        ]
        return np.array(points) * np.array(size, float) / cells, np.array(elements)

    return make


@pytest.fixture(scope="session")
def integrated():
    """Makes nodes that move."""

    def add(parent, name, positions, linear_solver="SparseLDLSolver", **integrator):
        """A node with an integrator, a linear solver and a state `dofs` at these positions."""
        node = parent.addChild(name)
        node.addObject("EulerImplicitSolver", name="integrator", **integrator)
        node.addObject(linear_solver, name="linear_solver")
        node.addObject("MechanicalObject", name="dofs", position=np.asarray(positions).tolist())
        return node

    return add


@pytest.fixture(scope="session")
def run():
    """Initialises a scene and makes steps."""

    def steps(root, count=0):
        """Initialise, if that is still to do, and make `count` steps."""
        if not root.of("animation loop") or not simulation.loop_of(root).systems:
            simulation.init(root)
        simulation.animateNSteps(root, count)

    return steps


@pytest.fixture(scope="session")
def dense():
    """Assembles the matrix of one mass or force field."""

    def matrix(entry, factor=1.0):
        """factor C by `add_matrix`, shape (3 n, 3 n)."""
        rows, cols = entry.pairs()
        pattern = BlockPattern.build(entry.state.count, rows, cols)
        values = np.zeros((len(pattern.indices), 3, 3))
        entry.add_matrix(values, pattern.slots(rows, cols), factor)
        return pattern.to_csr(values).toarray()

    return matrix


@pytest.fixture(scope="session")
def product():
    """Multiplies with the matrix of one mass or force field."""

    def multiply(entry, v, factor=1.0):
        """factor C v by `add_product`, on top of ones that are taken off again."""
        out = np.ones_like(v)
        entry.add_product(out, v, factor)
        return out - 1.0

    return multiply
