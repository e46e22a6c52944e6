"""Check of force fields: forces, stiffness product and matrix."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.behavior.mechanics import ForceField
from sofa_softctl.testing.jacobian import check_jacobian
from sofa_softctl.testing.matrices import assembled_matrix, moving, product_matrix, same


def check_force_field(field: ForceField, *, scale: float = 1.0, tolerance: float = 1e-6) -> None:
    """Compare the stiffness of a force field, where its state is, with its forces.

    Args:
        field: In a scene that is initialised.
        scale: Distance over which the force bends [length].
        tolerance: Largest deviation of the stiffness, relative to its largest entry [-].

    Raises:
        AssertionError: `add_force` does not add, `add_product` is not -df/dx, or `add_matrix` not
            `add_product`.
    """
    name, state = field.getClassName(), field.state
    shape = (state.count, state.deriv_size)

    def force(u: np.ndarray, start: float = 0.0) -> np.ndarray:
        move(u)
        out = np.full(shape, start)
        field.add_force(out)
        return out

    with moving(state) as move:
        rest = np.zeros(shape)
        same(force(rest, start=1.0), 1.0 + force(rest), f"{name}.add_force, force = 1 before")
        K = product_matrix(field)
        assembled = assembled_matrix(field)
        check_jacobian(
            force, -K, rest, scale=scale, tolerance=tolerance, name=f"{name}: df/dx by add_product"
        )
    same(assembled, K, f"{name}: K by pairs and add_matrix, against add_product")
    if not field.skew:
        same(K.T, K, f"{name}: K transposed, against K (or say skew = True)", 1e-8)
