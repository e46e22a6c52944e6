"""Check of masses: matrix and weight."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.behavior.mechanics import Mass
from sofa_softctl.testing.matrices import (
    assembled_matrix,
    check_unchanged,
    compare_arrays,
    product_matrix,
)

GRAVITY = np.array([1.0, -9.81, 0.5])


def check_mass(mass: Mass) -> None:
    """Check that a mass is symmetric and positive definite, and that its weight is M g.

    Args:
        mass: Mass in an initialised scene.

    Raises:
        AssertionError: The matrix is not symmetric or not positive definite, `add_matrix` is not
            `add_product`, `add_gravity` not M g, or one of them changes the state or its argument.
    """
    name, state = mass.getClassName(), mass.state
    M = product_matrix(mass)
    compare_arrays(M.T, M, f"{name}: M transposed, against M", 1e-12)
    eigenvalue_min = float(np.linalg.eigvalsh(M)[0])
    if not eigenvalue_min > 0.0:
        raise AssertionError(
            f"{name}: expected a positive definite matrix, got the eigenvalue {eigenvalue_min:.3g}."
        )
    compare_arrays(
        assembled_matrix(mass), M, f"{name}: M by pairs and add_matrix, against add_product"
    )
    g = np.tile(state.kind.linear(GRAVITY), (state.count, 1))
    weight = np.ones_like(g)
    gravity = GRAVITY.copy()
    with check_unchanged(f"{name}.add_gravity", state, gravity=gravity):
        mass.add_gravity(weight, gravity)
    expected = 1.0 + (M @ g.ravel()).reshape(g.shape)
    compare_arrays(
        weight, expected, f"{name}.add_gravity with {GRAVITY.tolist()}, force = 1 before"
    )
