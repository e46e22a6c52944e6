"""A planar chain of masses that is its own equilibrium map, in closed form."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest

from sofa_softctl.surrogate.costs.line_dynamics import LineDynamics
from sofa_softctl.surrogate.grid.embedding import Jet, Layout


@dataclass(frozen=True)
class Chain:
    """Links in the plane z = 0 whose directions phi are quadratic in a; d lines, energy W.

    Any x(a) is a true equilibrium map if energy and lengths fit: at tensions s a the elastic energy
    W plus the work s a . L has to be stationary, dW/da = -s L_a^T a. With a convex psi,

        L = L0 - grad psi,   W = s (a . grad psi - psi),   psi = 1/2 a^T B a + c sum log cosh a.
    """

    d: int = 2
    nodes: int = 4
    force: float = 2.0
    bend: float = 1.0

    @cached_property
    def _numbers(self):
        rng = np.random.default_rng(0)
        P = self.bend * rng.normal(size=(self.nodes, self.d)) * 0.25
        R = self.bend * rng.normal(size=(self.nodes, self.d)) * 0.1
        B = 0.05 * (np.eye(self.d) - 0.3 * (np.ones((self.d, self.d)) - np.eye(self.d)) / self.d)
        return P, R, B, 0.02

    @property
    def dimension(self):
        return self.d

    @property
    def layout(self):
        return Layout(nodes=self.nodes, lines=self.d, points=("tip",))

    @property
    def size(self):
        return self.layout.size

    def _angles(self, a):
        P, R, _, _ = self._numbers
        return a @ P.T + 0.5 * (a * a) @ R.T, P + R * a[:, None, :]  # (m, J), (m, J, d)

    def at(self, points):
        phi, phi_a = self._angles(points)
        ahead = np.stack((np.sin(phi), -np.cos(phi), 0 * phi), axis=-1)  # (m, J, 3)
        aside = np.stack((np.cos(phi), np.sin(phi), 0 * phi), axis=-1)
        m = len(points)
        x = 0.1 * np.cumsum(ahead, axis=1)
        x_a = 0.1 * np.cumsum(aside[..., None] * phi_a[:, :, None, :], axis=1)  # (m, J, 3, d)
        _, _, B, c = self._numbers
        L = 0.4 - points @ B - c * np.tanh(points)
        L_a = -B - c * np.cosh(points)[:, :, None] ** -2 * np.eye(self.d)
        value = np.concatenate((x.reshape(m, -1), L, x[:, -1]), axis=1)
        gradient = np.concatenate((x_a.reshape(m, -1, self.d), L_a, x_a[:, -1]), axis=1)
        return Jet(value, gradient)

    def curvature(self, points, weights):
        phi, phi_a = self._angles(points)
        _, R, _, c = self._numbers
        m, J = phi.shape
        ahead = np.stack((np.sin(phi), -np.cos(phi), 0 * phi), axis=-1)
        aside = np.stack((np.cos(phi), np.sin(phi), 0 * phi), axis=-1)
        w = weights[:, self.layout.position].reshape(m, J, 3).copy()
        w[:, -1] += weights[:, -3:]
        below = 0.1 * np.cumsum(w[:, ::-1], axis=1)[:, ::-1]  # links carry all that follows
        along, across = (below * ahead).sum(-1), (below * aside).sum(-1)
        bend = np.einsum("mj,ji,ik->mik", across, R, np.eye(self.d))
        turn = -np.einsum("mj,mji,mjk->mik", along, phi_a, phi_a)
        lines = weights[:, self.layout.length] * 2 * c * np.tanh(points) / np.cosh(points) ** 2
        return bend + turn + lines[:, :, None] * np.eye(self.d)

    def energy(self, a):
        """Elastic energy at one point."""
        _, _, B, c = self._numbers
        psi = 0.5 * a @ B @ a + c * np.log(np.cosh(a)).sum()
        return self.force * (a @ (B @ a + c * np.tanh(a)) - psi)


def dynamics_of(chain, *, dt=0.02, mass=None, **damping):
    if mass is None:
        mass = np.repeat(np.linspace(1.0, 0.5, chain.nodes), 3)
    return LineDynamics(chain, chain.layout, mass, dt, force=chain.force, **damping)


@pytest.fixture
def chain():
    return Chain()


@pytest.fixture
def make_chain():
    return Chain


@pytest.fixture
def make_dynamics():
    return dynamics_of
