"""What `njit` compiles; how that is kept: `tests/base/test_kernel_cache.py`."""

import numpy as np
import pytest

from sofa_softctl.base.jit import njit
from tests.base.kernel_scripts import run


@njit
def ratio(a: float, b: float) -> float:
    return a / b


@njit(fastmath=True)
def is_nan(value: float) -> bool:
    return value != value


def test_division_by_zero_gives_infinity_as_in_numpy():
    assert ratio(1.0, 0.0) == np.inf
    assert np.isnan(ratio(0.0, 0.0))


def test_relaxed_kernels_still_see_nan():
    """numba's own fastmath takes it that there is none, and compiles this to False."""
    assert is_nan(np.nan)
    assert not is_nan(1.0)


@njit(inner=True)
def half(value: float) -> float:
    return 0.5 * value


@njit
def quarter(value: float) -> float:
    return half(half(value))


def test_an_inner_kernel_is_called_by_kernels_only():
    assert quarter(4.0) == 1.0
    with pytest.raises(TypeError, match=r"Only kernels can call half\(\)"):
        half(4.0)


def test_importing_kernels_compiles_nothing():
    code = (
        "from sofa_softctl.runtime.kernels.cholesky import block_matrix, substitution;"
        "from sofa_softctl.runtime.kernels.cholesky import supernodal, symbolic;"
        "modules = (block_matrix, substitution, supernodal, symbolic);"
        "kernels = [k for m in modules for k in vars(m).values() if hasattr(k, 'signatures')];"
        "print(len(kernels), sum(len(k.signatures) for k in kernels))"
    )
    kernels, compiled = run(code)
    assert int(kernels) > 20
    assert compiled == "0"
