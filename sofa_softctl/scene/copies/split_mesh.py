"""Scenes whose tetrahedra are split in eight: what must stay as it is on the mesh of the scene."""

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
SAME = 1e-9
"""Relative difference of masses and volumes that counts as rounding."""


def centres_of_whole(x: np.ndarray, elements: np.ndarray, parts: int) -> np.ndarray:
    """Centres of the tetrahedra that were split, one for each part, shape (m, 3).

    Args:
        x: Nodes at rest, shape (n, 3).
        elements: Parts, those of each tetrahedron together, shape (m, 4).
        parts: Number of parts of each; 1: not split.
    """
    centres: np.ndarray = x[elements].mean(axis=1)
    if parts == 1 or len(centres) % parts:  # the latter is refused by `check_split`
        return centres
    whole = centres.reshape(-1, parts, 3).mean(axis=1)  # parts have the same volume
    found: np.ndarray = np.repeat(whole, parts, axis=0)
    return found


def hold_between(root: Any) -> None:
    """Hold the new nodes of edges between two held nodes: numbers in a scene name old ones only."""
    every = [one for node in root.walk() for one in node.of("loader")]
    loaders = [one for one in every if isinstance(one, MeshLoader) and one.split_ends]
    for node in root.walk():
        for fixed in node.of("projective constraint"):
            loader = next((one for one in loaders if _carries(one, fixed)), None)
            if loader is not None:
                _hold(fixed, loader)


def _carries(loader: MeshLoader, fixed: Any) -> bool:
    """Whether a constraint acts on the nodes of a loader's mesh."""
    if not isinstance(fixed, FixedProjectiveConstraint):
        return False
    rest, points = fixed.state._data["rest_position"].get(), loader._data["position"].get()
    return rest.shape == points.shape and bool(np.allclose(rest, points))


def _hold(fixed: Any, loader: MeshLoader) -> None:
    given = fixed.indices.get()
    held = np.zeros(len(loader._data["position"].get()), dtype=bool)
    held[given] = True
    for first, ends in loader.split_ends:
        held[first : first + len(ends)] |= held[ends].all(axis=1)
    if held.sum() > len(np.unique(given)):
        fixed.indices.value = np.flatnonzero(held).tolist()


def check_split(whole: Any, parts: Any) -> None:
    """Refuse a split model that is not the same robot on a finer mesh.

    Args:
        whole: StepModel of the scene.
        parts: StepModel of the same scene, tetrahedra split once.

    Raises:
        IdentificationError: Tetrahedra do not come from a loader, in its order; masses differ; or
            springs act on single nodes.
    """
    for one, other in zip(whole.solids, parts.solids, strict=True):
        if not _in_eight(one, other):
            raise IdentificationError(
                f"{one.describe()} has {len(one.elements)} tetrahedra that are not those of a mesh "
                f"file, in its order, so that they cannot be split in eight. {ADVICE}"
            )
    if not whole.solids:
        raise IdentificationError(f"The scene has no tetrahedra to be split in eight. {ADVICE}")
    masses = zip(whole.step.system.masses, parts.step.system.masses, strict=True)
    for one, other in masses:
        before, after = whole.masses[one.getPathName()], parts.masses[other.getPathName()]
        if abs(after - before) > SAME * before:
            raise IdentificationError(
                f"{one.describe()} gives mass to single nodes: {before:.4g} in all, {after:.4g} "
                f"with a finer mesh. Give totalMass or massDensity there. {ADVICE}"
            )
    for field in parts.step.force_fields:
        if isinstance(field, RestShapeSpringsForceField):
            raise IdentificationError(
                f"{field.describe()} has springs on single nodes, of which a finer mesh has more. "
                f"{ADVICE}"
            )


def _in_eight(one: Any, other: Any) -> bool:
    """Whether each eight tetrahedra of a field fill one of another."""
    if len(other.elements) != 8 * len(one.elements):
        return False
    centres = one.x0[one.elements].mean(axis=1)
    size = float(np.ptp(one.x0, axis=0).max())
    found = centres_of_whole(other.x0, other.elements, 8)[::8]
    return bool(np.abs(found - centres).max(initial=0.0) <= SAME * size)
