"""BLAS inside compiled kernels, called from SciPy's libraries.

SciPy publishes the addresses of its Fortran routines for Cython; registered under a name with
LLVM they are ordinary calls of a kernel that can still be kept on disk. All matrices are
column-major, given as an array, the index of their first element in it, and their leading dimension
(elements between columns). A row-major (n, m) array is the column-major transpose, ld = m. Slices
instead of indices would take longer than small products: numba counts references to them.

The wrappers are compiled into the kernels that call them: after an edit see `jit`.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding
import numba
import numpy as np
from numba.core import cgutils

from sofa_softctl.base.jit import njit
from sofa_softctl.base.versions import blas_libraries as blas_libraries
from sofa_softctl.base.versions import one_blas_thread as one_blas_thread

types: Any = numba.types  # numba annotates only part of itself
intrinsic: Any = numba.extending.intrinsic
stack_copy: Any = cgutils.alloca_once_value

# Values of the Fortran flags.
N, T = ord("N"), ord("T")  # not transposed, transposed
L, R = ord("L"), ord("R")  # lower (or left), right

# Columns for one call of trsm; gemm does the remaining work, since OpenBLAS' trsm is several times
# slower. Measured: 12 to 24 are equal, 36 is slower.
TRIANGLE = 24


@njit
def gemm(
    trans_a: int, trans_b: int, m: int, n: int, k: int,
    alpha: float, a: np.ndarray, a0: int, ld_a: int, b: np.ndarray, b0: int, ld_b: int,
    beta: float, c: np.ndarray, c0: int, ld_c: int,
) -> None:  # fmt: skip
    """C (m x n) = alpha op(A) op(B) + beta C, op(A) m x k, op(B) k x n."""
    _dgemm(
        _char(trans_a), _char(trans_b), _int(m), _int(n), _int(k),
        _real(alpha), _element(a, a0), _int(ld_a), _element(b, b0), _int(ld_b),
        _real(beta), _element(c, c0), _int(ld_c),
    )  # fmt: skip


@njit
def gemv(
    trans: int, m: int, n: int, alpha: float, a: np.ndarray, a0: int, ld_a: int,
    x: np.ndarray, x0: int, beta: float, y: np.ndarray, y0: int,
) -> None:  # fmt: skip
    """Vector y = alpha op(A) x + beta y, A m x n."""
    _dgemv(
        _char(trans), _int(m), _int(n), _real(alpha), _element(a, a0), _int(ld_a),
        _element(x, x0), _int(1), _real(beta), _element(y, y0), _int(1),
    )  # fmt: skip


@njit
def syrk(
    n: int, k: int, alpha: float, a: np.ndarray, a0: int, ld_a: int,
    beta: float, c: np.ndarray, c0: int, ld_c: int,
) -> None:  # fmt: skip
    """Lower triangle of C (n x n) = alpha A A^T + beta C, A n x k."""
    _dsyrk(
        _char(L), _char(N), _int(n), _int(k),
        _real(alpha), _element(a, a0), _int(ld_a), _real(beta), _element(c, c0), _int(ld_c),
    )  # fmt: skip


@njit
def trsm(
    trans: int, m: int, n: int, l: np.ndarray, l0: int, ld_l: int,
    b: np.ndarray, b0: int, ld_b: int,
) -> None:  # fmt: skip
    """B (m x n) = B op(L)^-1, L n x n lower triangular."""
    _dtrsm(
        _char(R), _char(L), _char(trans), _char(N), _int(m), _int(n),
        _real(1.0), _element(l, l0), _int(ld_l), _element(b, b0), _int(ld_b),
    )  # fmt: skip


@njit
def trsv(trans: int, n: int, l: np.ndarray, l0: int, ld_l: int, x: np.ndarray, x0: int) -> None:
    """Vector x = op(L)^-1 x, L n x n lower triangular."""
    _dtrsv(
        _char(L), _char(trans), _char(N), _int(n),
        _element(l, l0), _int(ld_l), _element(x, x0), _int(1),
    )  # fmt: skip


def _address(kind: Any) -> Any:
    """Return the intrinsic that puts a scalar of this kind on the stack and returns its pointer."""

    def address(typing_context: Any, scalar: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            value = context.cast(builder, arguments[0], scalar, kind)
            return stack_copy(builder, value)

        return types.CPointer(kind)(scalar), generate

    return intrinsic(address)


def _pointer(typing_context: Any, array: Any, index: Any) -> Any:
    """Return type and code of the address of an element of an array in one run of memory."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(array)(context, builder, value=arguments[0]).data
        return builder.gep(data, [context.cast(builder, arguments[1], index, types.intp)])

    return types.CPointer(array.dtype)(array, index), generate


def _fortran(module: str, name: str, arguments: str) -> Any:
    """Return a routine of scipy.linalg; `arguments`: c(har), i(nt), d(ouble) pointers."""
    kinds = {"c": types.int8, "i": types.int32, "d": types.float64}
    pointers = [types.CPointer(kinds[letter]) for letter in arguments]
    address = numba.extending.get_cython_function_address(f"scipy.linalg.{module}", name)
    symbol = f"sofa_softctl_{name}"
    llvmlite.binding.add_symbol(symbol, address)
    return types.ExternalFunction(symbol, types.void(*pointers))


_char, _int, _real = _address(types.int8), _address(types.int32), _address(types.float64)
_element = intrinsic(_pointer)
_dgemm = _fortran("cython_blas", "dgemm", "cciiiddididdi")
_dgemv = _fortran("cython_blas", "dgemv", "ciiddididdi")
_dsyrk = _fortran("cython_blas", "dsyrk", "cciiddiddi")
_dtrsm = _fortran("cython_blas", "dtrsm", "cccciiddidi")
_dtrsv = _fortran("cython_blas", "dtrsv", "cccididi")
