"""The state whose positions are the rest of a spring."""

from __future__ import annotations

from sofa_softctl.errors import LinkError
from sofa_softctl.runtime.behavior.mechanics import ForceField
from sofa_softctl.runtime.behavior.state import MechanicalState
from sofa_softctl.runtime.helper.strictness import complain


def external_state(field: ForceField) -> MechanicalState | None:
    """Where `external_rest_shape` leads; None without it.

    A warning where it leads nowhere: SOFA then goes on with the state's own rest positions.
    """
    link = field._links["external_rest_shape"]
    try:
        found: MechanicalState | None = link.getLinkedBase()
    except LinkError as error:
        problem = f"{error} As in SOFA the springs pull to the nodes' own rest positions."
        complain(field, LinkError(problem))
        link.assign("", link.where)
        found = None
    return found
