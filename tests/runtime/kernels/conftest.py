from collections.abc import Callable

import numpy as np
import pytest

from sofa_softctl.runtime.kernels.cholesky.block_matrix import BlockPattern

# Six tetrahedra of a cube, corners numbered by the bits x y z.
CUBE = np.array(
    [[0, 1, 3, 7], [0, 1, 5, 7], [0, 2, 3, 7], [0, 2, 6, 7], [0, 4, 5, 7], [0, 4, 6, 7]]
)


def box(*cubes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Nodes in a box of so many unit cubes, jittered and numbered at random, and tetrahedra."""
    random = np.random.default_rng(seed)
    sides = [np.arange(n + 1) for n in cubes]
    nodes = np.stack(np.meshgrid(*sides, indexing="ij"), -1).reshape(-1, 3)
    strides = np.array([(cubes[1] + 1) * (cubes[2] + 1), cubes[2] + 1, 1])
    corners = [nodes[(nodes < cubes).all(axis=1)] @ strides + bits @ strides for bits in BITS]
    tetrahedra = np.stack(corners, axis=1)[:, CUBE].reshape(-1, 4)
    number = random.permutation(len(nodes))
    positions = np.empty(nodes.shape)
    positions[number] = nodes + random.uniform(-0.1, 0.1, nodes.shape)
    return positions, number[tetrahedra]


BITS = np.array([[i >> 2 & 1, i >> 1 & 1, i & 1] for i in range(8)])


def elastic_body(*cubes: int, seed: int = 0, mass: float = 0.1) -> tuple[BlockPattern, np.ndarray]:
    """Stiffness (Lame's lambda 4, mu 1) plus mass of a box; positive definite for mass > 0."""
    positions, tetrahedra = box(*cubes, seed=seed)
    edges = positions[tetrahedra[:, 1:]] - positions[tetrahedra[:, :1]]
    volume = np.abs(np.linalg.det(edges)) / 6.0
    inner = np.linalg.inv(edges).transpose(0, 2, 1)
    gradient = np.concatenate([-inner.sum(axis=1, keepdims=True), inner], axis=1)  # (m, 4, 3)
    outer = np.einsum("mai,mbj->mabij", gradient, gradient)
    dot = np.einsum("mabii->mab", outer)[..., None, None] * np.eye(3)
    blocks = volume[:, None, None, None, None] * (4.0 * outer + outer.swapaxes(3, 4) + dot)
    a, b = (index.ravel() for index in np.meshgrid(range(4), range(4), indexing="ij"))
    rows, cols = tetrahedra[:, a].ravel(), tetrahedra[:, b].ravel()
    pattern = BlockPattern.build(len(positions), rows, cols)
    slots = pattern.slots(rows, cols)
    values = np.zeros((len(pattern.indices), 3, 3))
    np.add.at(values, slots[slots >= 0], blocks.reshape(-1, 3, 3)[slots >= 0])
    values[pattern.indptr[1:] - 1] += mass * np.eye(3)
    return pattern, values


@pytest.fixture(scope="session", name="elastic_body")
def elastic_body_fixture() -> Callable[..., tuple[BlockPattern, np.ndarray]]:
    return elastic_body


def dense(pattern: BlockPattern, values: np.ndarray) -> np.ndarray:
    """The whole matrix, block by block from the definition of the pattern."""
    matrix = np.zeros((pattern.n_nodes, pattern.n_nodes, 3, 3))
    for row in range(pattern.n_nodes):
        for k in range(pattern.indptr[row], pattern.indptr[row + 1]):
            matrix[pattern.indices[k], row] = values[k].T
            matrix[row, pattern.indices[k]] = values[k]
    return matrix.transpose(0, 2, 1, 3).reshape(3 * pattern.n_nodes, 3 * pattern.n_nodes)


@pytest.fixture(scope="session", name="dense")
def dense_fixture() -> Callable[[BlockPattern, np.ndarray], np.ndarray]:
    return dense
