"""Total mass matrix of a swimmer in its fluid and its derivative."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from typing_extensions import override

from softctl_swimmer.body import Swimmer
from softctl_swimmer.flow.added_mass import added_mass_derivative, added_mass_of
from softctl_swimmer.flow.lamb import ellipsoid_added_mass
from softctl_swimmer.flow.potential import Flow
from softctl_swimmer.motion.kinematics import sum_of_links


class Inertia(Protocol):
    """Total kinetic energy of bodies and fluid, xi^T M(q) xi / 2: exact, interpolated or other."""

    def at(self, angles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return M and dM/dq at joint angles, for xi = (twist of link 0 in its frame, hinge rates).

        Args:
            angles: Angles of the hinges [rad], shape (n,).

        Returns:
            M: [kg, kg m, kg m^2], shape (6 + n, 6 + n), symmetric positive definite.
            dM: Exact derivative of M, otherwise the energy drifts, shape (6 + n, 6 + n, n).
        """

    def mass(self, angles: np.ndarray) -> np.ndarray:
        """Return only M, which may cost a fraction of both."""


@dataclass(frozen=True)
class FlowInertia:
    """Bodies and potential flow with all interactions: boundary elements at each pose."""

    flow: Flow
    """The flow and its swimmer."""

    @property
    def digest(self) -> str:
        """SHA-256 of bodies and skins."""
        sha256 = hashlib.sha256(repr(self.flow.swimmer).encode())
        for skin in self.flow.skins:
            for array in (skin.vertices, skin.triangles):
                sha256.update(np.ascontiguousarray(array).tobytes())
        return sha256.hexdigest()

    def at(self, angles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return M and dM/dq; raises the errors of `Flow.solve`."""
        solution = self.flow.solve(angles)
        M, dM = self.flow.swimmer.rigid_mass(angles)
        M += added_mass_of(self.flow, angles, solution.f)
        dM += added_mass_derivative(self.flow, angles, solution.f, self.flow.derivative(solution))
        return M, dM

    def mass(self, angles: np.ndarray) -> np.ndarray:
        """Return only M, in a quarter of the time of both."""
        M, _ = self.flow.swimmer.rigid_mass(angles)
        return M + added_mass_of(self.flow, angles, self.flow.solve(angles).f)


@dataclass(frozen=True)
class IsolatedInertia:
    """Bodies with the added masses of isolated links: closed form, no interactions.

    A cheap model of the same structure, for tests and first guesses; links may even overlap.
    """

    swimmer: Swimmer
    """The bodies."""

    @override
    def at(self, angles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return sum_of_links(*self.swimmer.jacobians(angles), self._inertias)

    @override
    def mass(self, angles: np.ndarray) -> np.ndarray:
        return self.at(angles)[0]

    @cached_property
    def _inertias(self) -> np.ndarray:
        inertias = self.swimmer.link_inertias.copy()
        for inertia, link in zip(inertias, self.swimmer.links, strict=True):
            fluid = ellipsoid_added_mass(link.semi_axes, self.swimmer.fluid_density)
            inertia[np.diag_indices(6)] += fluid
        inertias.setflags(write=False)
        return inertias
