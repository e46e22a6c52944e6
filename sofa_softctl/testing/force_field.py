"""Check of force fields: forces, stiffness product and matrix, derivative of a step."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.behavior.mechanics import ForceField
from sofa_softctl.testing.jacobian import check_jacobian
from sofa_softctl.testing.matrices import (
    assembled_matrix,
    displacement,
    moving,
    product_matrix,
    same,
    unchanged,
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

    This is done where its state is, and again with all nodes displaced by up to a fifth of `scale`.

    Args:
        field: In a scene that is initialised.
        at_rest: Compare only where the state is: for a stiffness that, as the corotational ones,
            is -df/dx at rest alone.
        inactive: Expect neither forces nor stiffness, such as of an obstacle that is out of reach.
        scale: Distance over which the force bends [length].
        tolerance: Largest deviation of a derivative, relative to the largest entry of its
            column [-].

    Raises:
        AssertionError: `add_force` does not add, `add_product` is not -df/dx, `add_matrix` not
            `add_product`; one of them changes the state or its argument; no force acts; or
            `check_differentiable` passes and `step_term` is not as `StepTerm` says.
    """
    name, state = field.getClassName(), field.state
    shape = (state.count, state.deriv_size)
    term, acts = find_step_term(field), False
    for u in (np.zeros(shape),) if at_rest else (np.zeros(shape), displacement(shape, scale, 1)):
        with moving(state) as move:
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
    """Forces and K, compared where the state is."""
    name, state = field.getClassName(), field.state

    def force(u: np.ndarray, start: float = 0.0) -> np.ndarray:
        move(u)
        out = np.full(u.shape, start)
        with unchanged(f"{name}.add_force", state):
            field.add_force(out)
        return out

    with moving(state) as move:
        here = np.zeros((state.count, state.deriv_size))
        value = force(here)
        same(force(here, start=1.0), 1.0 + value, f"{name}.add_force, force = 1 before")
        K = product_matrix(field)
        assembled = assembled_matrix(field)
        check_jacobian(
            force, -K, here, scale=scale, tolerance=tolerance, name=f"{name}: df/dx by add_product"
        )
    same(assembled, K, f"{name}: K by pairs and add_matrix, against add_product")
    if not field.skew:
        same(K.T, K, f"{name}: K transposed, against K (or say skew = True)", 1e-8)
    return value, K
