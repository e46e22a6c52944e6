"""Second derivatives of equilibria by the adjoint method."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from sofa_softctl.runtime.equilibrium.statics import Equilibrium, Statics


def curvature(
    statics: Statics,
    at: Equilibrium,
    by_x: np.ndarray,
    by_lengths: np.ndarray,
    by_points: np.ndarray,
) -> np.ndarray:
    """Return the second derivative of the weighted sum of all outputs; see `EquilibriumMap`.

    With g = d(sum)/dx, K^T a = g, it is x_u^T [sum_k w_k L_k,xx - d(a^T K)/dx] x_u and the terms
    -scale (a^T L_j,xx x_u,k), made symmetric. Changes of K along each x_u,k are computed by
    central differences: two tangents for each control, without factorisation.
    """
    statics.pull(at.u)
    statics.place(at.x)
    statics.residual()
    g = by_x + _forces_on_nodes(statics, by_points)
    for line, weight in zip(statics.lines, by_lengths, strict=True):
        g -= weight * statics.line_force(line)
    statics.system.project(g)
    statics.tangent.factorise()
    a = statics.tangent.solve(g, transposed=True)
    d = statics.dimension
    columns = [np.ascontiguousarray(at.x_u[:, :, j]) for j in range(d)]
    elastic = np.zeros((d, d))
    directional = np.zeros((d, d))
    for j, column in enumerate(columns):
        step = 1e-4 * statics.size / max(float(np.abs(column).max()), 1e-300)
        change = np.zeros_like(a)
        for sign in (1.0, -1.0):
            statics.place(at.x + sign * step * column)
            for weight, line in zip(by_lengths, statics.lines, strict=True):
                line.measure()
                change -= sign * weight / (2.0 * step) * statics.line_force(line)
            statics.residual()
            change -= sign / (2.0 * step) * statics.tangent.transposed_product(a)
            for k, line in enumerate(statics.lines):
                line.measure()
                directional[k, j] += (
                    sign
                    * statics.scale
                    / (2.0 * step)
                    * float(np.vdot(a, statics.line_force(line)))
                )
        elastic[j] = [float(np.vdot(change, column_k)) for column_k in columns]
    return 0.5 * (elastic + elastic.T) + directional + directional.T


def _forces_on_nodes(statics: Statics, by_points: np.ndarray) -> np.ndarray:
    """Return forces on the watched points as forces on independent nodes, shape (n, 3)."""
    system = statics.system
    system.force[:] = 0.0
    for state in system.mapped:
        state.force.get()[:] = 0.0
    first = 0
    for state in statics.watched:
        state.force.get()[:] += by_points[first : first + state.count]
        first += state.count
    system.gather()
    return system.force.copy()
