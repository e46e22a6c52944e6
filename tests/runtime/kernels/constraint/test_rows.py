"""Entries of constraint rows, against dense matrices."""

import numpy as np
import pytest

from sofa_softctl.runtime.kernels.constraint.rows import (
    Entries,
    add_rows_transposed,
)

ROWS, NODES = 3, 4


def entries():
    """Some rows meet a node twice, one has none."""
    random = np.random.default_rng(0)
    row, node = np.array([0, 0, 2, 2, 2]), np.array([1, 1, 3, 0, 2])
    return Entries(row, node, random.normal(size=(5, 3)))


def dense(found, nodes):
    matrix = np.zeros((ROWS, nodes, 3))
    np.add.at(matrix, (found.row, found.node), found.direction)
    return matrix.reshape(ROWS, -1)


def test_lambda_on_the_rows_is_their_transpose():
    found, lam, out = entries(), np.array([1.0, 2.0, -3.0]), np.zeros((NODES, 3))
    add_rows_transposed(found.row, found.node, found.direction, lam, out)
    assert out.ravel() == pytest.approx(dense(found, NODES).T @ lam, abs=1e-15)
