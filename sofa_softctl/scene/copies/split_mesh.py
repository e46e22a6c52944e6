"""Scenes with tetrahedra split in eight: fixed nodes and checks against the original mesh."""

from __future__ import annotations

from typing import Any

import numpy as np

from sofa_softctl.errors import IdentificationError
from sofa_softctl.runtime.components.loader.mesh_loader import MeshLoader
from sofa_softctl.runtime.components.projective.fixed import FixedProjectiveConstraint
from sofa_softctl.runtime.components.spring.rest_shape import RestShapeSpringsForceField

ADVICE = (
    "Give the problem `finer_mesh`, parameters of createScene with which its mesh is twice as fine."
)
ROUNDING_TOLERANCE = 1e-9
"""Relative difference of masses and volumes that counts as rounding [-]."""


def centres_of_whole(x: np.ndarray, elements: np.ndarray, parts: int) -> np.ndarray:
    """Return the centre of the original tetrahedron of each part, shape (m, 3).

    Args:
        x: Nodes at rest [length], shape (n, 3).
        elements: Parts, grouped by tetrahedron, shape (m, 4).
        parts: Number of parts per tetrahedron, or 1 without a split.
    """
    centres: np.ndarray = x[elements].mean(axis=1)
    if parts == 1 or len(centres) % parts:  # the latter is refused by `check_split`
        return centres
    wholes = centres.reshape(-1, parts, 3).mean(axis=1)  # parts have the same volume
    repeated: np.ndarray = np.repeat(wholes, parts, axis=0)
    return repeated


def hold_between(root: Any) -> None:
    """Fix the new nodes of edges between two fixed nodes; a scene numbers only old nodes."""
    candidates = [candidate for node in root.walk() for candidate in node.of("loader")]
    loaders = [
        candidate
        for candidate in candidates
        if isinstance(candidate, MeshLoader) and candidate.split_ends
    ]
    for node in root.walk():
        for fixed in node.of("projective constraint"):
            loader = next((candidate for candidate in loaders if _carries(candidate, fixed)), None)
            if loader is not None:
                _hold(fixed, loader)


def _carries(loader: MeshLoader, fixed: Any) -> bool:
    """Return True if a constraint acts on the nodes of a loader's mesh."""
    if not isinstance(fixed, FixedProjectiveConstraint):
        return False
    rest, points = fixed.state.rest_position.get(), loader.position.get()
    return rest.shape == points.shape and bool(np.allclose(rest, points))


def _hold(fixed: Any, loader: MeshLoader) -> None:
    indices = fixed.indices.get()
    is_held = np.zeros(len(loader.position.get()), dtype=bool)
    is_held[indices] = True
    for first, ends in loader.split_ends:
        is_held[first : first + len(ends)] |= is_held[ends].all(axis=1)
    if is_held.sum() > len(np.unique(indices)):
        fixed.indices.value = np.flatnonzero(is_held).tolist()


def check_split(original: Any, parts: Any) -> None:
    """Refuse a split model that is not the same robot on a finer mesh.

    Args:
        original: StepModel of the scene.
        parts: StepModel of the same scene, tetrahedra split once.

    Raises:
        IdentificationError: Tetrahedra differ from a loader's, or in their order; masses differ; or
            springs act on single nodes.
    """
    for coarse, fine in zip(original.solids, parts.solids, strict=True):
        if not _is_split_in_eight(coarse, fine):
            raise IdentificationError(
                f"{coarse.describe()} has {len(coarse.elements)} tetrahedra that are not those of "
                f"a mesh file, in its order, so that they cannot be split in eight. {ADVICE}"
            )
    if not original.solids:
        raise IdentificationError(f"The scene has no tetrahedra to be split in eight. {ADVICE}")
    for path, mass in original.masses.items():
        fine_mass = parts.masses[path]
        if abs(fine_mass - mass) > ROUNDING_TOLERANCE * mass:
            raise IdentificationError(
                f"{path} gives mass to single nodes: {mass:.4g} in all, "
                f"{fine_mass:.4g} with a finer mesh. Give totalMass or massDensity there. {ADVICE}"
            )
    for field in parts.step.force_fields:
        if isinstance(field, RestShapeSpringsForceField):
            raise IdentificationError(
                f"{field.describe()} has springs on single nodes, of which a finer mesh has more. "
                f"{ADVICE}"
            )


def _is_split_in_eight(coarse: Any, fine: Any) -> bool:
    """Return True if each eight tetrahedra of the fine field fill one of the coarse field."""
    if len(fine.elements) != 8 * len(coarse.elements):
        return False
    centres = coarse.x0[coarse.elements].mean(axis=1)
    size = float(np.ptp(coarse.x0, axis=0).max())
    fine_centres = centres_of_whole(fine.x0, fine.elements, 8)[::8]
    return bool(np.abs(fine_centres - centres).max(initial=0.0) <= ROUNDING_TOLERANCE * size)
