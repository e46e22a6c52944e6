import numpy as np
import pytest

from sofa_softctl.base.jit import njit
from sofa_softctl.runtime.kernels.cholesky import blas

RANDOM = np.random.default_rng(3)


@njit
def multiply(trans_a, trans_b, m, n, k, a, ld_a, b, ld_b, c):
    blas.gemm(trans_a, trans_b, m, n, k, 2.0, a, 0, ld_a, b, 0, ld_b, 0.5, c, 0, m)


@njit
def multiply_from(a, a0, b, b0, c, c0):
    blas.gemm(blas.N, blas.N, 2, 1, 1, 1.0, a, a0, 3, b, b0, 1, 0.0, c, c0, 2)


@njit
def multiply_vector(trans, m, n, a, x, y):
    blas.gemv(trans, m, n, 2.0, a, 0, m, x, 0, 0.5, y, 0)


@njit
def square(n, k, a, c):
    blas.syrk(n, k, 2.0, a, 0, n, 0.5, c, 0, n)


@njit
def divide(trans, m, n, l, b):
    blas.trsm(trans, m, n, l, 0, n, b, 0, m)


@njit
def divide_vector(trans, n, l, x):
    blas.trsv(trans, n, l, 0, n, x, 0)


def columns(matrix: np.ndarray) -> np.ndarray:
    """The numbers of a matrix, column by column."""
    return matrix.ravel(order="F").copy()


def lower_triangle(n: int) -> np.ndarray:
    return np.tril(RANDOM.uniform(-1, 1, (n, n))) + 2 * n * np.eye(n)


@pytest.mark.parametrize("trans_a", "NT")
@pytest.mark.parametrize("trans_b", "NT")
def test_gemm_is_the_matrix_product(trans_a, trans_b):
    m, n, k = 5, 4, 3
    a = RANDOM.normal(size=(m, k) if trans_a == "N" else (k, m))
    b = RANDOM.normal(size=(k, n) if trans_b == "N" else (n, k))
    c = RANDOM.normal(size=(m, n))
    expected = 2 * (a if trans_a == "N" else a.T) @ (b if trans_b == "N" else b.T) + 0.5 * c
    out = columns(c)
    multiply(ord(trans_a), ord(trans_b), m, n, k, columns(a), len(a), columns(b), len(b), out)
    np.testing.assert_allclose(out, columns(expected), rtol=0, atol=1e-13)  # rounding


@pytest.mark.parametrize("trans", "NT")
def test_gemv_is_the_product_with_a_vector(trans):
    a = RANDOM.normal(size=(5, 3))
    op = a if trans == "N" else a.T
    x, y = RANDOM.normal(size=op.shape[1]), RANDOM.normal(size=op.shape[0])
    expected = 2 * op @ x + 0.5 * y
    multiply_vector(ord(trans), 5, 3, columns(a), x, y)
    np.testing.assert_allclose(y, expected, rtol=0, atol=1e-13)


def test_syrk_fills_the_lower_triangle_only():
    a, c = RANDOM.normal(size=(4, 3)), RANDOM.normal(size=(4, 4))
    out = columns(c)
    square(4, 3, columns(a), out)
    expected = np.tril(2 * a @ a.T + 0.5 * c) + np.triu(c, 1)
    np.testing.assert_allclose(out, columns(expected), rtol=0, atol=1e-13)


@pytest.mark.parametrize("trans", "NT")
def test_trsm_and_trsv_invert_a_lower_triangle(trans):
    L = lower_triangle(4)
    op = L if trans == "N" else L.T
    b, x = RANDOM.normal(size=(5, 4)), RANDOM.normal(size=4)
    quotient, solution = columns(b), x.copy()
    divide(ord(trans), 5, 4, columns(L), quotient)
    divide_vector(ord(trans), 4, columns(L), solution)
    np.testing.assert_allclose(quotient.reshape(4, 5).T @ op, b, rtol=0, atol=1e-13)
    np.testing.assert_allclose(op @ solution, x, rtol=0, atol=1e-13)


def test_matrices_begin_at_their_index():
    """The second column of A times the last row of B."""
    a, b, out = np.arange(6.0), np.arange(4.0), np.zeros(5)
    multiply_from(a, 3, b, 1, out, 2)
    np.testing.assert_array_equal(out, [0.0, 0.0, 3.0 * 1.0, 4.0 * 1.0, 0.0])


def test_one_blas_thread_is_undone_even_after_an_error():
    libraries = blas.blas_libraries()
    assert libraries
    before = [library.get_num_threads() for library in libraries]
    with pytest.raises(KeyError), blas.one_blas_thread():
        assert [library.get_num_threads() for library in libraries] == [1] * len(libraries)
        raise KeyError
    assert [library.get_num_threads() for library in libraries] == before


def test_one_blas_thread_can_be_nested():
    libraries = blas.blas_libraries()
    with blas.one_blas_thread():
        with blas.one_blas_thread():
            pass
        assert [library.get_num_threads() for library in libraries] == [1] * len(libraries)
