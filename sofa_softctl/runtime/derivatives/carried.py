"""Points of a constraint's state, by nodes of the system."""

from __future__ import annotations

import scipy.sparse as sparse

from sofa_softctl.runtime.behavior.constraint import LagrangianConstraint
from sofa_softctl.runtime.behavior.solvers import MechanicalSystem
from sofa_softctl.runtime.behavior.state import MechanicalState
from sofa_softctl.runtime.simulation.system_matrix import mappings_above, total_jacobian


def carried_points(
    entry: LagrangianConstraint, system: MechanicalSystem, state: MechanicalState | None = None
) -> sparse.csr_array:
    """Constant weights of the system's nodes in each point, shape (p, n).

    Args:
        entry: A constraint.
        system: The system.
        state: On which it acts; None: its only one.

    Raises:
        SceneError: it acts on a body that turns, or on another system.
    """
    state = entry.state if state is None else state
    known = id(state) in system.offset or id(state) in system.mapping_of
    if not known or not all(
        mapping.has_constant_weights for mapping in mappings_above(state, system)
    ):
        raise entry.fault(
            "hangs on something else than points of the robot's mesh, such as a body that turns, "
            "for which the derivatives of a step are not known."
        )
    return sparse.csr_array(total_jacobian(state, system)[::3, ::3])
