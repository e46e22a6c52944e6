"""Check of force fields: forces, stiffness product and matrix, derivative of a step."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.behavior.mechanics import ForceField
from sofa_softctl.testing.jacobian import check_jacobian
from sofa_softctl.testing.matrices import (
    assembled_matrix,
    check_unchanged,
    compare_arrays,
    displacement,
    movable,
    product_matrix,
)
from sofa_softctl.testing.step_term import check_step_term, find_step_term


def check_force_field(
    field: ForceField,
    *,
    at_rest: bool = False,
    inactive: bool = False,
    scale: float = 1.0,
    tolerance: float = 1e-6,
) -> None:
    """Compare the stiffness of a force field with its forces, and its step term with both.

    This is done at the present state, and again with nodes displaced by up to a fifth of `scale`.

    Args:
        field: Force field in an initialised scene.
        at_rest: Compare only at the present state: for stiffnesses that are -df/dx only at rest,
            such as corotational ones.
        inactive: Expect neither forces nor stiffness, such as of an obstacle out of reach.
        scale: Distance over which the force bends [length].
        tolerance: Largest deviation of a derivative, relative to the largest entry of its
            column [-].

    Raises:
        AssertionError: `add_force` does not add, `add_product` is not -df/dx, `add_matrix` not
            `add_product`; one of them changes the state or its argument; no force acts; or
            `check_differentiable` passes and `step_term` breaks the contract of `StepTerm`.
    """
    name, state = field.getClassName(), field.state
    shape = (state.count, state.deriv_size)
    term, acts = find_step_term(field), False
    for u in (np.zeros(shape),) if at_rest else (np.zeros(shape), displacement(shape, scale, 1)):
        with movable(state) as move:
            move(u)
            force, K = _check_here(field, scale, tolerance)
            acts = acts or bool(force.any() or K.any())
            if term is not None:
                check_step_term(field, term, scale=scale, tolerance=tolerance)
    if not acts and not inactive:
        raise AssertionError(
            f"{name}: forces and stiffness are all zero, so there is nothing to compare: no force "
            "acts here: give a state where it does, or say inactive = True."
        )
    if acts and inactive:
        raise AssertionError(f"{name}: inactive = True, expected neither forces nor stiffness.")


def _check_here(field: ForceField, scale: float, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
    """Return forces and K, compared at the present state."""
    name, state = field.getClassName(), field.state

    def force(u: np.ndarray, start: float = 0.0) -> np.ndarray:
        move(u)
        out = np.full(u.shape, start)
        with check_unchanged(f"{name}.add_force", state):
            field.add_force(out)
        return out

    with movable(state) as move:
        zero = np.zeros((state.count, state.deriv_size))
        value = force(zero)
        compare_arrays(force(zero, start=1.0), 1.0 + value, f"{name}.add_force, force = 1 before")
        K = product_matrix(field)
        assembled = assembled_matrix(field)
        check_jacobian(
            force, -K, zero, scale=scale, tolerance=tolerance, name=f"{name}: df/dx by add_product"
        )
    compare_arrays(assembled, K, f"{name}: K by pairs and add_matrix, against add_product")
    if not field.skew:
        compare_arrays(K.T, K, f"{name}: K transposed, against K (or say skew = True)", 1e-8)
    return value, K
