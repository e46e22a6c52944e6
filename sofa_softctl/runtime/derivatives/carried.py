"""Weights of the system's nodes in points of a constraint's state."""

from __future__ import annotations

import scipy.sparse as sparse

from sofa_softctl.runtime.behavior.constraint import LagrangianConstraint
from sofa_softctl.runtime.behavior.solvers import MechanicalSystem
from sofa_softctl.runtime.behavior.state import MechanicalState
from sofa_softctl.runtime.simulation.jacobian import mappings_above, total_jacobian


def carried_points(
    constraint: LagrangianConstraint, system: MechanicalSystem, state: MechanicalState | None = None
) -> sparse.csr_array:
    """Return the constant weights of the system's nodes in each point, shape (p, n).

    Args:
        constraint: Constraint on the points.
        system: System of the nodes.
        state: State of the points; by default the only state of the constraint.

    Raises:
        SceneError: It acts on a body that rotates, or on another system.
    """
    state = constraint.state if state is None else state
    is_moved = id(state) in system.offset or id(state) in system.mapping_of
    if not is_moved or not all(m.has_constant_weights for m in mappings_above(state, system)):
        raise constraint.fault(
            "hangs on something else than points of the robot's mesh, such as a body that turns, "
            "for which the derivatives of a step are not known."
        )
    return sparse.csr_array(total_jacobian(state, system)[::3, ::3])
