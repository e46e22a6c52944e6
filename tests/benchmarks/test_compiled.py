"""Compiled programs give the same optima."""

import shutil

import numpy as np
import pytest

from benchmarks.compiled import CompiledProgram
from sofa_softctl.errors import SoftctlError
from sofa_softctl.library.ocp.shooting import Program
from tests.library.ocp.test_shooting import rail


@pytest.mark.study
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_a_compiled_program_gives_the_same_optimum_and_digest():
    """Rounding differs, and the solver's tolerance is 1e-9."""
    problem = rail(
        dynamics=lambda x, u, z, p: [x[1], u[0] / p[1] - x[0] - x[1]],
        path=lambda x, u, z, p: [0.55 - x[1]],
        steps=3,
    )
    plain, compiled = Program(problem), CompiledProgram(problem)
    p = np.array([0.8, 1.5])
    one, other = plain.solve(p), compiled.solve(p)
    assert other.status.ok
    np.testing.assert_allclose(one.v, other.v, atol=1e-7)
    np.testing.assert_allclose(one.mu, other.mu, atol=1e-5)
    assert plain.digest == compiled.digest
    near = compiled.solve(p, other.v, multipliers=(other.lam, other.mu))
    assert near.iterations < other.iterations
    at = compiled.derivatives(other)
    assert np.abs(at.f_v - at.g_v.T @ other.lam - at.h_v.T @ other.mu).max() < 1e-6
    np.testing.assert_allclose(compiled.simulate(other.v, p), plain.simulate(other.v, p))


def test_without_a_compiler_the_message_says_what_to_do(monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(SoftctlError, match="no 'no-such-compiler'. Install gcc, or set CC."):
        CompiledProgram(rail()).solve(np.array([0.8, 1.5]))


def test_a_compiler_that_fails_is_quoted(monkeypatch):
    monkeypatch.setenv("CC", "false")
    with pytest.raises(SoftctlError, match="'false' could not compile the program"):
        CompiledProgram(rail()).solve(np.array([0.8, 1.5]))
