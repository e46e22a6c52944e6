"""The boundary element equation of potential flow around links: H phi = V (normal velocities).

Green's third identity on the skins of all links, normals into the fluid, phi -> 0 far away:

    phi / 2 - K phi = -S dphi/dn        on flat faces, with K the double and S the single layer

phi is linear on triangles. Rows come in two kinds:

- A link upon itself: the identity averaged over the skin with the hat functions (Galerkin, by a
  three-point rule, points inside the triangles; inner integrals in closed form), and divided by
  their mass matrix. On a convex polyhedron vertices are the worst points for the identity: with
  collocation there, added mass at 353 vertices is 1 to 4 % wrong, so 0.02 to 0.1 %. These blocks
  do not depend on the pose and are computed once, so that it costs nothing later.
- A link upon another: collocation at the vertices, in closed form. The incident potential is
  smooth on the receiving skin, and linear interpolation loses no order.

Constants are exact: the closed-form solid angles of a closed surface sum to 2 pi on a flat face
and to zero outside, so that H of a constant is that constant: no null space, no free constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from softctl_swimmer.flow.layers import layer_potentials
from softctl_swimmer.flow.surface import Surface

_RULE = ((2 / 3, 1 / 6, 1 / 6), (1 / 6, 2 / 3, 1 / 6), (1 / 6, 1 / 6, 2 / 3))
"""Barycentric points of the three-point rule, exact for quadratic integrands."""


@dataclass(frozen=True)
class SelfBlock:
    """Equation of one isolated link, in its own frame."""

    H: np.ndarray
    """Operator on phi at the vertices [-], shape (P, P)."""
    V: np.ndarray
    """Single layer potential of the six unit twists [m] or [m^2], shape (P, 6)."""


def self_block(skin: Surface) -> SelfBlock:
    """Return the pose-independent block of a link: H phi = -V twist for the isolated link."""
    y, triangles = skin.vertices[skin.triangles], skin.triangles
    count = len(skin.vertices)
    H, V, mass = np.zeros((count, count)), np.zeros((count, 6)), np.zeros((count, count))
    for point in _RULE:
        N = np.array(point)  # hat functions of the corners there
        S, K = layer_potentials(skin.tables, N @ y, skin.twist_velocities)
        point_areas = skin.tables.double_areas / (2 * len(_RULE))  # (T,)
        test = np.zeros((count, len(triangles)))
        np.add.at(test, (triangles.T, np.arange(len(triangles))), N[:, None] * point_areas)
        interpolation = np.zeros_like(K)
        interpolation[np.arange(len(triangles))[:, None], triangles] = N  # phi at the points
        mass += test @ interpolation
        H += test @ (interpolation / 2 - K)
        V += test @ S
    factor = cho_factor(mass)
    block = SelfBlock(cho_solve(factor, H), cho_solve(factor, V))
    for array in (block.H, block.V):
        array.setflags(write=False)
    return block


@dataclass(frozen=True)
class Equation:
    """Equation at one pose: H phi = -sum over links b of V_b (twist of b in its frame)."""

    H: np.ndarray
    """Operator on phi at all vertices [-], shape (P, P); consumed by factorising in place."""
    V: np.ndarray
    """Potentials of the links' unit twists [m] or [m^2], shape (P, N, 6)."""


def equation(
    skins: Sequence[Surface],
    blocks: Sequence[SelfBlock],
    rotations: np.ndarray,
    positions: np.ndarray,
) -> Equation:
    """Assemble the equation of all links at one pose.

    Args:
        skins: Surface of each of the N links, in its frame.
        blocks: `self_block` of each link.
        rotations: Rotations of the links' frames in a common one, shape (N, 3, 3).
        positions: Positions of their origins [m], shape (N, 3).
    """
    rows = row_ranges(skins)
    count = rows[-1].stop
    H, V = np.empty((count, count), order="F"), np.empty((count, len(skins), 6))
    for b, source in enumerate(skins):
        for a, skin in enumerate(skins):
            if a == b:
                H[rows[a], rows[a]], V[rows[a], a] = blocks[a].H, blocks[a].V
                continue
            points = points_in(b, skin.vertices, a, rotations, positions)
            V[rows[a], b], K = layer_potentials(source.tables, points, source.twist_velocities)
            H[rows[a], rows[b]] = -K
    return Equation(H, V)


def row_ranges(skins: Sequence[Surface]) -> list[slice]:
    """Return the rows of each link's vertices among all."""
    ends = np.cumsum([len(skin.vertices) for skin in skins]).tolist()
    return [slice(end - len(skin.vertices), end) for skin, end in zip(skins, ends, strict=True)]


def points_in(
    b: int, points: np.ndarray, a: int, rotations: np.ndarray, positions: np.ndarray
) -> np.ndarray:
    """Transform points of link a's frame, shape (n, 3), to link b's frame."""
    common = points @ rotations[a].T + (positions[a] - positions[b])
    return np.ascontiguousarray(common @ rotations[b])
