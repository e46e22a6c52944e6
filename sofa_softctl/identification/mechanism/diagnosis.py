"""Diagnosis of singular steps: joints without mass, redundant constraints."""

from __future__ import annotations

import numpy as np

from sofa_softctl.identification.mechanism import kernels
from sofa_softctl.identification.mechanism.mechanism import Mechanism
from sofa_softctl.identification.mechanism.parts import Clamp, Pin, Rod

RELATIVE = 1e-9
"""Singular values and inertias below this share of the largest are zero."""
ROWS = {Pin: 3, Clamp: 6, Rod: 1}
"""Number of equations of each constraint."""


def why_singular(mechanism: Mechanism, rho: np.ndarray, q: np.ndarray) -> str:
    """Why the step is singular at a configuration, and what to do; empty: unknown."""
    return " ".join(filter(None, [_massless(mechanism, rho, q), _redundant(mechanism, rho, q)]))


def _massless(mechanism: Mechanism, rho: np.ndarray, q: np.ndarray) -> str:
    """Message on joints without inertia."""
    tree = mechanism.tree
    L = kernels.lagrangian(tree, rho, q, np.zeros(len(q)), False)
    inertia = np.diag(L.vv)[tree.joint]
    none = inertia <= RELATIVE * inertia.max(initial=0.0)
    names = [name for name, bare in zip(mechanism.coordinates, none, strict=True) if bare]
    if not names:
        return ""
    return (
        f"There is no inertia about {_joints(names)}: add a Body to it, or to a joint after it, "
        "off the axis or with a gyration, or an Armature."
    )


def _redundant(mechanism: Mechanism, rho: np.ndarray, q: np.ndarray) -> str:
    """Message on redundant constraint equations."""
    tree = mechanism.tree
    n_h = len(tree.closed.kind)
    h, Dh = np.empty(n_h), np.empty((n_h, len(tree.parent)))
    kernels.measure(tree, tree.closed, rho, kernels.frames(tree, rho, q), h, Dh)
    Dh = Dh[:, tree.joint]
    missing = n_h - _rank(Dh)
    if not missing:
        return ""
    return (
        f"{_equations(mechanism, Dh, missing)} follow from the others, or do not depend on any "
        "joint, as those normal to the plane of a planar mechanism. Use a Rod, or add a sliding "
        "joint along the redundant direction: it stays at zero."
    )


def _equations(mechanism: Mechanism, Dh: np.ndarray, missing: int) -> str:
    """Which constraints have redundant equations."""
    row, named = 0, []
    for one in mechanism.constraints:
        rows = range(row, row := row + ROWS[type(one)])
        rank = _rank(np.delete(Dh, rows, axis=0))
        if len(Dh) - len(rows) - rank < missing:  # without it, fewer are redundant
            named.append(f"the {type(one).__name__} of '{one.one}'")
    return f"{missing} of the {len(Dh)} equations of {', '.join(named)}"


def _rank(matrix: np.ndarray) -> int:
    if not matrix.size:
        return 0
    values = np.linalg.svd(matrix, compute_uv=False)
    return int((values > RELATIVE * max(values.max(), 1e-300)).sum())


def _joints(names: list[str]) -> str:
    quoted = ", ".join(f"'{name}'" for name in names)
    return f"joint {quoted}" if len(names) == 1 else f"the joints {quoted}"
