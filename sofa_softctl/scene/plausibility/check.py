"""All checks of a scene as it starts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sofa_softctl.scene.graph.nodes import nodes_of
from sofa_softctl.scene.plausibility.bodies import Body, StartWarning, bodies_of
from sofa_softctl.scene.plausibility.gravity import gravity_warnings, response_warnings
from sofa_softctl.scene.plausibility.holding import holding_warnings
from sofa_softctl.scene.plausibility.leaving import leaving_warnings
from sofa_softctl.scene.plausibility.materials import material_warnings, mesh_warnings
from sofa_softctl.scene.plausibility.misread import misread_warnings
from sofa_softctl.scene.plausibility.names import name_warnings
from sofa_softctl.scene.plausibility.places.placement import placement_warnings
from sofa_softctl.scene.plausibility.places.points import point_warnings
from sofa_softctl.scene.plausibility.solvers import solver_warnings
from sofa_softctl.units import Units


def implausible(root: Any, units: Units | None = None) -> list[StartWarning]:
    """Return warnings of implausible settings in a scene at its start; its state is unchanged.

    Checks use Data and graph, so they are the same on both backends, except sag and period, which
    need a linear solve of the embedded runtime.

    Args:
        root: Root of an initialised scene.
        units: Units that the scene declares.
    """
    bodies = bodies_of(root)
    return [
        *gravity_warnings(root, bodies, units),
        *material_warnings(bodies, units),
        *(held := holding_warnings(root, bodies)),
        *leaving_warnings(root, bodies),
        *mesh_warnings(bodies),
        *placement_warnings(bodies),
        *point_warnings(root),
        *_warnings_by_kind(root, bodies, units),
        *solver_warnings(root, bodies, units),
        *misread_warnings(root, units),
        *name_warnings(root),
        *([] if held else response_warnings(root, bodies)),
    ]


def _warnings_by_kind(
    root: Any, bodies: Sequence[Body], units: Units | None
) -> Iterator[StartWarning]:
    """Warn of kinds of components that few scenes have, with late imports."""
    kinds = {component.getClassName() for node in nodes_of(root) for component in node.objects}
    if any(np.shape(body.state.position.value)[1] == 7 for body in bodies):
        from sofa_softctl.scene.plausibility.rigid_bodies import rigid_body_warnings

        yield from rigid_body_warnings(bodies, units)
    if any(kind.endswith("CollisionModel") for kind in kinds):
        from sofa_softctl.scene.plausibility.contacts import contact_warnings

        yield from contact_warnings(root)
    if any(kind.endswith(("Monitor", "Exporter")) for kind in kinds):
        from sofa_softctl.scene.plausibility.outputs import output_warnings

        yield from output_warnings(root)
