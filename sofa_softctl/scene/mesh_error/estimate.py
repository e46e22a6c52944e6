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
QUICK_TETRAHEDRA_MAX = 4_000
"""Tetrahedra of all bodies up to which the estimate after a run is made: a second, and less than
100 steps; a hexahedron counts as six."""
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
    count = sum(_count_tetrahedra(body) for _, body in bodies if isinstance(body, ElasticBody))
    too_many = f"{count} tetrahedra take long; `softctl mesh error` estimates it"
    is_large = quick and count > QUICK_TETRAHEDRA_MAX
    return [
        MeshEstimate(path, reason=body if isinstance(body, str) else too_many)
        if is_large or isinstance(body, str)
        else _estimate_or_reason(path, body, quick)
        for path, body in bodies
    ]


def _count_tetrahedra(body: ElasticBody) -> int:
    return sum(
        part.cells.size // 4 if part.cells.shape[1] == 4 else 6 * len(part.cells)
        for part in body.parts
    )


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
    result = MeshEstimate(path, first.kind, len(first.x), cells, first.edge_length)
    model = BodyModel(body.parts, body.motion, body.support)
    loads = _loads(model, body)
    densities = list(loads.values())
    present = model.compliances(densities)
    if present is None:
        return replace(result, reason="its stiffness at rest is not positive")
    refinements = list(_refinements(model, densities, 1 if quick else 2))
    solved = [c for fine, on_fine in refinements if (c := fine.compliances(on_fine)) is not None]
    if not solved:
        return replace(result, reason=f"{len(first.x)} nodes are too many to be refined")
    limit = solved[-1] + (solved[-1] - solved[0]) / (2.0**RICHARDSON_ORDER - 1.0)
    excess = limit / present - 1.0
    columns = {"excess": excess}
    if len(solved) == 2:
        columns["difference"] = np.abs(solved[1] / solved[0] - 1.0)
    length = None
    if not quick:
        if any(part.kind != NOT_LOCKING for part in body.parts):
            unlocked = model.with_elements([part.without_locking() for part in body.parts])
            if (compliances := unlocked.compliances(densities)) is not None:
                columns["without_locking"] = limit / compliances - 1.0
        if first.cells.shape[1] == 4 and not first.quadratic:
            columns["quadratic"] = limit / solved[0] - 1.0
        halved = _with_present_elements(refinements[0][0], body).compliances(refinements[0][1])
        if halved is not None:
            length = _length_for_aim(first.edge_length, excess, limit / halved - 1.0)
    estimates = [
        LoadEstimate(load, **{name: float(values[k]) for name, values in columns.items()})
        for k, load in enumerate(loads)
    ]
    return replace(result, loads=estimates, edge_length_for_aim=length)


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
        model = model.with_refinement(refinement.parts, refinement.weights)
        yield model, list(densities)


def _with_present_elements(fine: BodyModel, body: ElasticBody) -> BodyModel:
    """Return a refined body with the kinds of elements that it has at present."""
    parts = zip(fine.parts, body.parts, strict=True)
    return fine.with_elements(
        [replace(part, kind=coarse.kind, quadratic=coarse.quadratic) for part, coarse in parts]
    )


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
