"""The swimmer: rigid ellipsoids joined by hinges, its kinematics and its mass without the fluid."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, product

import numpy as np

from sofa_softctl.errors import SceneError
from softctl_swimmer.flow.contact import contact_scale
from softctl_swimmer.motion.kinematics import link_jacobians, link_poses, sum_of_links

WATER_DENSITY = 1000.0
"""Density of the fluid by default [kg/m^3]."""


@dataclass(frozen=True)
class Link:
    """A homogeneous ellipsoid; its frame stands at its centre, along its axes."""

    semi_axes: tuple[float, float, float]
    """Semi-axes along x, y and z [m]."""
    density: float | None = None
    """Density [kg/m^3], or None for the fluid's (neutrally buoyant)."""


@dataclass(frozen=True)
class Hinge:
    """Joint between a link and the next one of the list; at angle zero both frames are parallel."""

    parent: int
    """Number of the link that carries it; hinge j moves link j + 1, and parent <= j."""
    in_parent: tuple[float, float, float]
    """Position in the parent's frame [m]."""
    in_child: tuple[float, float, float]
    """Position in the moved link's frame [m]."""
    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)
    """Direction of its axis, in both frames; normalised."""
    limits: tuple[float, float] = (-1.2, 1.2)
    """Lowest and highest angle [rad]."""


@dataclass(frozen=True)
class Swimmer:
    """Links and hinges. Link 0 is the base; velocities are xi = (its twist, hinge rates).

    Raises:
        SceneError: Links are missing, or not one hinge less than links; values are not numbers of
            the expected kind; limits are empty, or every pose within them has contact.
    """

    links: tuple[Link, ...]
    """The N bodies, at least one."""
    hinges: tuple[Hinge, ...] = ()
    """The n = N - 1 joints."""
    fluid_density: float = WATER_DENSITY
    """Density of the fluid [kg/m^3]."""
    _axes: np.ndarray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check(self)
        axes = np.array([hinge.axis for hinge in self.hinges], dtype=float).reshape(-1, 3)
        axes /= np.linalg.norm(axes, axis=1, keepdims=True)
        object.__setattr__(self, "_axes", axes)
        _check_reachable(self)

    @property
    def hinge_count(self) -> int:
        """Number n of joint angles."""
        return len(self.hinges)

    @property
    def length(self) -> float:
        """Largest extent along an axis of link 0, all angles zero [m]."""
        _, centres = self.poses(np.zeros(self.hinge_count))
        semi_axes = np.array([link.semi_axes for link in self.links])
        return float(((centres + semi_axes).max(axis=0) - (centres - semi_axes).min(axis=0)).max())

    def poses(self, angles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return rotations (N, 3, 3) and positions [m] (N, 3) of the links in the base's frame.

        Args:
            angles: Angles of the hinges [rad], shape (n,).

        Raises:
            ValueError: not n finite numbers.
        """
        angles = np.asarray(angles, dtype=float)
        if angles.shape != (self.hinge_count,) or not np.isfinite(angles).all():
            raise ValueError(
                f"Joint angles are {angles}; expected {self.hinge_count} finite numbers [rad]."
            )
        parents, inner, outer = self._tree
        return link_poses(parents, inner, outer, self._axes, angles)

    def jacobians(self, angles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the twist of each link, in its own frame, for unit xi, with its derivatives.

        Args:
            angles: Angles of the hinges [rad], shape (n,).

        Returns:
            J: Shape (N, 6, 6 + n); twists are (linear, angular).
            dJ: Shape (N, 6, 6 + n, n).
        """
        parents, inner, _ = self._tree
        return link_jacobians(parents, inner, self._axes, *self.poses(angles))

    def rigid_mass(self, angles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the bodies' mass matrix without fluid, energy xi^T M xi / 2, and its derivative.

        Args:
            angles: Angles of the hinges [rad], shape (n,).

        Returns:
            M: [kg, kg m, kg m^2], shape (6 + n, 6 + n), symmetric positive definite.
            dM: By the angles, shape (6 + n, 6 + n, n).
        """
        return sum_of_links(*self.jacobians(angles), self.link_inertias)

    @cached_property
    def link_inertias(self) -> np.ndarray:
        """Inertia of each link in its frame, for twists (linear, angular), shape (N, 6, 6)."""
        inertias = np.zeros((len(self.links), 6, 6))
        for inertia, link in zip(inertias, self.links, strict=True):
            a2 = np.square(link.semi_axes)
            density = self.fluid_density if link.density is None else link.density
            mass = density * 4 / 3 * math.pi * np.prod(link.semi_axes)
            inertia[np.diag_indices(6)] = mass * np.r_[1, 1, 1, (a2.sum() - a2) / 5]
        inertias.setflags(write=False)
        return inertias

    @cached_property
    def _tree(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return (
            np.array([hinge.parent for hinge in self.hinges], dtype=np.int64),
            np.array([hinge.in_parent for hinge in self.hinges], dtype=float).reshape(-1, 3),
            np.array([hinge.in_child for hinge in self.hinges], dtype=float).reshape(-1, 3),
        )

    def contact(self, angles: np.ndarray) -> tuple[float, int, int]:
        """Return the smallest factor by which two links can grow until they touch, and these.

        Args:
            angles: Angles of the hinges [rad], shape (n,).

        Returns:
            The factor (above 1: all links are apart; infinite for one link) and two links.
        """
        R, p = self.poses(angles)
        closest = (math.inf, 0, 0)
        for a, b in combinations(range(len(self.links)), 2):
            axes_first, axes_second = self.links[a].semi_axes, self.links[b].semi_axes
            scale = contact_scale(axes_first, axes_second, R[a].T @ R[b], R[a].T @ (p[b] - p[a]))
            closest = min(closest, (scale, a, b))
        return closest

    def check_pose(self, angles: np.ndarray, *, growth: float = 1.0) -> None:
        """Raise an error for a pose at which links touch or overlap: there is no flow between them.

        Args:
            angles: Angles of the hinges [rad], shape (n,).
            growth: Factor by which the ellipsoids are scaled before, such as to contain meshes.

        Raises:
            SceneError: two links touch or overlap.
        """
        scale, a, b = self.contact(angles)
        if scale > growth * (1.0 + TOUCHING_TOLERANCE):
            return
        relation = "touch" if abs(scale - 1.0) <= TOUCHING_TOLERANCE else "overlap"
        if scale > 1.0 + TOUCHING_TOLERANCE:
            relation = f"are so close that their meshes, {growth:.4g} times as large, may touch,"
        raise SceneError(
            f"Links {a} and {b} {relation} at joint angles {np.asarray(angles).tolist()} rad: "
            f"their ellipsoids touch when scaled by {scale:.4g}; expected more than {growth:.4g}. "
            "Narrow the limits of the hinges between them, move these farther from the tips, or "
            "take more vertices for skins that lie closer."
        )


TOUCHING_TOLERANCE = 1e-9
"""Largest deviation from 1 of a factor that counts as touching [-]."""


def fish(
    link_count: int = 4,
    *,
    semi_axes: tuple[float, float, float] = (0.1, 0.03, 0.05),
    gap: float = 0.02,
    limit: float = 1.2,
    fluid_density: float = WATER_DENSITY,
) -> Swimmer:
    """Return a chain of equal, neutrally buoyant links along -x from the head, hinges about z.

    Args:
        link_count: Number of links, 4 in the paper.
        semi_axes: Semi-axes of each link [m]: long in x, flat in y, the direction in which it
            beats.
        gap: Distance between neighbours' tips at rest [m]; the hinge is in its middle.
        limit: Largest angle of each hinge in both directions [rad].
        fluid_density: Density of the fluid [kg/m^3].

    Raises:
        SceneError: As for `Swimmer`.
    """
    hinge_distance = semi_axes[0] + gap / 2
    hinges = [
        Hinge(j, (-hinge_distance, 0.0, 0.0), (hinge_distance, 0.0, 0.0), limits=(-limit, limit))
        for j in range(link_count - 1)
    ]
    return Swimmer((Link(semi_axes),) * link_count, tuple(hinges), fluid_density)


def _check(swimmer: Swimmer) -> None:
    links, hinges = swimmer.links, swimmer.hinges
    if not links or len(hinges) != len(links) - 1:
        raise SceneError(
            f"A swimmer of {len(links)} links has {len(hinges)} hinges; expected at least one link "
            "and one hinge less than links (hinge j moves link j + 1)."
        )
    if not _positive(swimmer.fluid_density):
        raise SceneError(f"fluid_density is {swimmer.fluid_density}; expected > 0 [kg/m^3].")
    for number, link in enumerate(links):
        if np.shape(link.semi_axes) != (3,) or not all(map(_positive, link.semi_axes)):
            raise SceneError(
                f"Link {number} has semi_axes {link.semi_axes}; expected three numbers > 0 [m]."
            )
        if link.density is not None and not _positive(link.density):
            raise SceneError(f"Link {number} has density {link.density}; expected > 0 [kg/m^3].")
    for j, hinge in enumerate(hinges):
        if not 0 <= hinge.parent <= j:
            raise SceneError(
                f"Hinge {j} moves link {j + 1} and has parent {hinge.parent}; expected a link of "
                f"0 to {j}. List links so that each comes after its parent."
            )
        for attribute in ("in_parent", "in_child", "axis"):
            value = getattr(hinge, attribute)
            if np.shape(value) != (3,) or not np.isfinite(value).all():
                raise SceneError(
                    f"Hinge {j} has {attribute} {value}; expected three finite numbers."
                )
        if not np.any(hinge.axis):
            raise SceneError(f"Hinge {j} has the axis {hinge.axis}; expected a direction.")
        low, high = hinge.limits if np.shape(hinge.limits) == (2,) else (math.nan, math.nan)
        if not -math.pi <= low < high <= math.pi:
            raise SceneError(
                f"Hinge {j} has limits {hinge.limits} rad, which hold no range of angles; expected "
                "-pi <= lower < upper <= pi."
            )


def _positive(value: float) -> bool:
    return bool(np.isfinite(value) and value > 0)


def _check_reachable(swimmer: Swimmer) -> None:
    """Check that a pose within the limits is free of contact, at 3 to 5 angles of each hinge."""
    per_hinge = max(3, 6 - swimmer.hinge_count) if swimmer.hinge_count < 6 else 2
    angles = [np.linspace(*hinge.limits, per_hinge) for hinge in swimmer.hinges]
    middle = np.array([np.mean(hinge.limits) for hinge in swimmer.hinges])
    if swimmer.contact(middle)[0] > 1.0 + TOUCHING_TOLERANCE:
        return
    best = max((swimmer.contact(np.array(pose)) for pose in product(*angles)), default=None)
    if best is not None and best[0] <= 1.0 + TOUCHING_TOLERANCE:
        raise SceneError(
            f"At every pose tried within the joint limits, links overlap; best: links {best[1]} "
            f"and {best[2]}, which would have to shrink to {best[0]:.4g} of their size. Expected "
            "limits with at least one pose free of contact."
        )
