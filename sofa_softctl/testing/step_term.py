"""Check of a force field's term in the residual of a time step."""

from __future__ import annotations

import numpy as np

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.behavior.mechanics import ForceField
from sofa_softctl.runtime.behavior.step_term import StepTerm
from sofa_softctl.testing.jacobian import check_jacobian
from sofa_softctl.testing.matrices import (
    DISPLACEMENT_RATIO,
    assembled_matrix,
    check_unchanged,
    columns,
    compare_arrays,
    movable,
)

H, BETA = 0.01, 0.02
"""Length of the step, and rayleighStiffness [time]."""


def find_step_term(field: ForceField) -> StepTerm | None:
    """Return the term of a force field, or None if `check_differentiable` raises.

    Raises:
        AssertionError: `check_differentiable` passes, and `step_term` returns no StepTerm.
    """
    try:
        field.check_differentiable()
    except SceneError:
        return None
    label = f"{field.getClassName()}.step_term, as check_differentiable passes"
    try:
        term = field.step_term()
    except NotImplementedError as error:
        raise AssertionError(f"{label}: expected a StepTerm, got NotImplementedError.") from error
    if not isinstance(term, StepTerm):
        raise AssertionError(f"{label}: expected a StepTerm, got {term!r}.")
    return term


def check_step_term(field: ForceField, term: StepTerm, *, scale: float, tolerance: float) -> None:
    """Compare the derivatives of r = h f - h (h + beta) K w with differences, at the present state.

    Args:
        field: Force field on points, whose f and K have passed `check_force_field`.
        term: Step term of the field, from `find_step_term`.
        scale: Distance over which the force bends [length].
        tolerance: Largest deviation, relative to the largest entry of its column [-].

    Raises:
        AssertionError: `add_by_positions` is not dr/dx, `add_transposed` is not the transpose of it
            or of `add_by_stiffness`, or one of them does not add.
    """
    name, state = f"{field.getClassName()}.step_term()", field.state
    shape = (state.count, state.deriv_size)
    random = np.random.default_rng(2)
    w = random.uniform(-1.0, 1.0, shape) * DISPLACEMENT_RATIO * scale / (H + BETA)

    def residual(u: np.ndarray) -> np.ndarray:
        move(u)
        r, Kw = np.zeros(shape), np.zeros(shape)
        field.add_force(r)
        field.add_product(Kw, w, 1.0)
        return H * r - H * (H + BETA) * Kw

    with movable(state) as move:
        residual(np.zeros(shape))
        assembled_matrix(field)  # as a step does before: the skew part belongs to it
        x = state.position.get().copy()
        with check_unchanged(f"{name}.at", state, x=x, w=w):
            term.at(x, w, H, BETA)
        D = _by_positions(name, term, shape)
        _check_transposed(name, term, D, shape)
        check_jacobian(
            residual,
            D,
            np.zeros(shape),
            scale=scale,
            tolerance=tolerance,
            name=f"{name}: dr/dx by add_by_positions",
        )


def _by_positions(name: str, term: StepTerm, shape: tuple[int, int]) -> np.ndarray:
    """Return dr/dx, shape (n, n) in scalars."""
    size = shape[0] * shape[1]
    dx = np.eye(size).reshape(size, *shape)
    out, ones = np.zeros_like(dx), np.ones_like(dx)
    with check_unchanged(f"{name}.add_by_positions", dx=dx):
        term.add_by_positions(dx, out)
        term.add_by_positions(dx, ones)
    compare_arrays(ones, 1.0 + out, f"{name}.add_by_positions, out = 1 before")
    return out.reshape(size, size).T


def _check_transposed(name: str, term: StepTerm, D: np.ndarray, shape: tuple[int, int]) -> None:
    def add_transposed(y: np.ndarray, start: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        out, by_stiffness = np.full(shape, start), np.full(term.stiffness_shape, start)
        with check_unchanged(f"{name}.add_transposed", y=y):
            term.add_transposed(y, out, by_stiffness)
        return out, by_stiffness

    Dt = columns(lambda y: add_transposed(y)[0], shape)
    compare_arrays(Dt, D.T, f"{name}: (dr/dx)^T by add_transposed, against add_by_positions", 1e-9)
    random = np.random.default_rng(3)
    y, change = random.normal(size=shape), random.normal(size=term.stiffness_shape)
    (out, slope), (out_plus, slope_plus) = add_transposed(y), add_transposed(y, start=1.0)
    compare_arrays(out_plus, 1.0 + out, f"{name}.add_transposed, out = 1 before")
    compare_arrays(slope_plus, 1.0 + slope, f"{name}.add_transposed, by_stiffness = 1 before")
    if change.size:
        dr, dr_plus = np.zeros(shape), np.ones(shape)
        term.add_by_stiffness(change, dr)
        term.add_by_stiffness(change, dr_plus)
        compare_arrays(dr_plus, 1.0 + dr, f"{name}.add_by_stiffness, out = 1 before")
        actual, expected = np.array([np.vdot(slope, change)]), np.array([np.vdot(y, dr)])
        compare_arrays(
            actual, expected, f"{name}: by_stiffness by add_transposed, against y . dr", 1e-9
        )
