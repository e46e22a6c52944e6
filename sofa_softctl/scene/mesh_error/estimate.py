"""Estimate of how much stiffer its mesh makes each body of a scene.

The measure is the compliance c = f . u of the linear problem at rest, K u = f, under each load of
the body: its weight and a unit effort of each actuator; for a body that can move as a whole also
the inertia of its softest motion. A mesh with the compliance c_h is too stiff by c / c_h - 1, with
c that of the continuum.

c comes from meshes with edges of half and a quarter of the length and elements that do not lock,
10-node tetrahedra or hexahedra with enhanced strains: by Richardson, c = c_2 + (c_2 - c_1) /
(2^p - 1). Elements that do not lock on the same mesh are no measure: where walls and necks are one
element thick they are too stiff themselves, by 95 % in `scenes/trunk.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sofa_softctl.errors import SoftctlError
from sofa_softctl.scene.mesh_error.bodies import ElasticBody, elastic_bodies
from sofa_softctl.scene.mesh_error.body_model import BodyModel
from sofa_softctl.scene.mesh_error.elements import NOT_LOCKING, refine
from sofa_softctl.scene.mesh_error.result import (
    AIM,
    SOFTEST_MOTION,
    WEIGHT,
    LoadEstimate,
    MeshEstimate,
)

REFINED_NODES_MAX = 50_000
"""Nodes of a refined mesh up to which it is solved: twenty seconds, and 3 GB."""
QUICK_NODES_MAX = 1_500
"""Nodes of all bodies up to which the estimate after a run is made: one second."""
GROWTH = 6.0
"""Nodes of a refined mesh by those before [-]."""
RICHARDSON_ORDER = 1.6
"""Order p of the compliance of elements without locking: 2 and more where the solution is smooth,
1 at notches, where stresses are infinite [-]."""
ORDERS = (0.8, 2.0)
"""Least and greatest order of the present element that its advice believes [-]."""


def mesh_errors(root: Any, *, quick: bool = False) -> list[MeshEstimate]:
    """Return the estimate for each elastic body of a scene, which stays as it is.

    Args:
        root: Root of an initialised scene of the embedded runtime.
        quick: Refine once, compare nothing else, and leave out large scenes.
    """
    bodies = list(elastic_bodies(root))
    nodes = sum(len(body.parts[0].x) for _, body in bodies if isinstance(body, ElasticBody))
    errors = []
    for path, body in bodies:
        if isinstance(body, str):
            errors.append(MeshEstimate(path, reason=body))
        elif quick and nodes > QUICK_NODES_MAX:
            reason = f"{nodes} nodes take long; `softctl mesh error` estimates it"
            errors.append(MeshEstimate(path, reason=reason))
        else:
            errors.append(_estimate_or_reason(path, body, quick))
    return errors


def _estimate_or_reason(path: str, body: ElasticBody, quick: bool) -> MeshEstimate:
    try:
        return estimate(path, body, quick=quick)
    except (SoftctlError, np.linalg.LinAlgError, MemoryError) as error:
        return MeshEstimate(path, reason=str(error) or "there is not enough memory")


def estimate(path: str, body: ElasticBody, *, quick: bool = False) -> MeshEstimate:
    """Return the estimate for a body.

    Args:
        path: Path of its state.
        body: The body.
        quick: Refine once, and compare nothing else.
    """
    first = body.parts[0]
    cells = sum(len(part.cells) for part in body.parts)
    error = MeshEstimate(path, first.kind, len(first.x), cells, first.edge_length)
    model = BodyModel(body.parts, body.motion, body.support)
    loads = _loads(model, body)
    own = model.compliances(list(loads.values()))
    if own is None:
        return replace(error, reason="its stiffness at rest is not positive")
    levels = list(_refinements(model, list(loads.values()), 1 if quick else 2))
    known = [c for refined, densities in levels if (c := refined.compliances(densities)) is not None]
    if not known:
        return replace(error, reason=f"{len(first.x)} nodes are too many to be refined")
    limit = known[-1] + (known[-1] - known[0]) / (2.0**RICHARDSON_ORDER - 1.0)
    numbers: dict[str, np.ndarray] = {"excess": limit / own - 1.0}
    if len(known) > 1:
        numbers["difference"] = np.abs(known[1] / known[0] - 1.0)
    length = None
    if not quick:
        is_locking = any(part.kind != NOT_LOCKING for part in body.parts)
        same = model.with_elements([part.without_locking() for part in body.parts])
        if is_locking and (c := same.compliances(list(loads.values()))) is not None:
            numbers["without_locking"] = limit / c - 1.0
        if first.cells.shape[1] == 4 and not first.quadratic:
            numbers["quadratic"] = limit / known[0] - 1.0
        halves = _own_compliances(body, *levels[0])
        if halves is not None:
            length = _length_for_aim(first.edge_length, limit / own - 1.0, limit / halves - 1.0)
    rows = [dict(zip(numbers, row, strict=True)) for row in np.stack(list(numbers.values()), 1)]
    estimates = [LoadEstimate(name, **row) for name, row in zip(loads, _floats(rows), strict=True)]
    return replace(error, loads=estimates, edge_length_for_aim=length)


def _floats(rows: list[dict[str, Any]]) -> list[dict[str, float]]:
    return [{name: float(value) for name, value in row.items()} for row in rows]


def _loads(model: BodyModel, body: ElasticBody) -> dict[str, np.ndarray]:
    """Return the density of each load."""
    loads = {name: model.density(force) for name, force in body.loads.items()}
    if model.free.shape[1] == 6:
        loads.pop(WEIGHT, None)  # by which it only falls
    if model.free.shape[1] or not loads:
        softest = model.softest_motion()
        if softest is not None:
            loads = {SOFTEST_MOTION: softest, **loads}
    return loads


def _refinements(
    model: BodyModel, densities: Sequence[np.ndarray], count: int
) -> Iterator[tuple[BodyModel, list[np.ndarray]]]:
    """Yield the body and its loads on finer and finer meshes, while these are not too large."""
    for _ in range(count):
        if GROWTH * len(model.parts[0].x) > REFINED_NODES_MAX:
            return
        refinement = refine(model.parts)
        densities = [refinement.weights @ density for density in densities]
        model = model.refined(refinement.parts, refinement.weights)
        yield model, list(densities)


def _own_compliances(
    body: ElasticBody, refined: BodyModel, densities: Sequence[np.ndarray]
) -> np.ndarray | None:
    """Return the compliances of a body's present elements on the refined mesh."""
    parts = [
        replace(part, kind=own.kind, quadratic=own.quadratic)
        for part, own in zip(refined.parts, body.parts, strict=True)
    ]
    return refined.with_elements(parts).compliances(densities)


def _length_for_aim(length: float, excess: np.ndarray, halved: np.ndarray) -> float | None:
    """Return the edge length with which the excess under each load is AIM, or None if it is.

    The excess is C h^p, with p from the present mesh and that of half the edges.
    """
    is_above = excess > AIM
    if not is_above.any():
        return None
    excess, halved = excess[is_above], np.maximum(halved[is_above], 1e-3)
    order = np.clip(np.log2(excess / halved), *ORDERS)
    return float((0.5 * length * (AIM / halved) ** (1.0 / order)).min())
