"""Bending, twisting and warping of hexahedra by enhanced strains."""

from __future__ import annotations

from itertools import product

import numpy as np

from sofa_softctl.runtime.kernels.elasticity import hourglass as kernel
from sofa_softctl.runtime.kernels.elasticity.hexahedral import CORNERS, element_pairs

_GAUSS = np.array(list(product((-1.0, 1.0), repeat=3))) / np.sqrt(3.0)
"""Gauss points of the reference element, shape (8, 3)."""
_SHAPES = np.column_stack(
    [CORNERS[:, [0, 1]].prod(1), CORNERS[:, [1, 2]].prod(1), CORNERS[:, [2, 0]].prod(1)]
    + [CORNERS.prod(1)]
)
"""Hourglass functions xi eta, eta zeta, zeta xi and xi eta zeta at the nodes, shape (8, 4)."""
_CHUNK = 4096
"""Elements whose stiffness is computed together, to bound the memory: 60 MB."""


def node_gradients(points: np.ndarray) -> np.ndarray:
    """Return d N_a / d xi at points of the reference element, shape (p, 8, 3)."""
    factors = 1.0 + CORNERS[None] * points[:, None]  # (p, 8, 3)
    products = [factors[..., [(axis + 1) % 3, (axis + 2) % 3]].prod(2) for axis in range(3)]
    return np.asarray(CORNERS / 8.0 * np.stack(products, axis=2))


def hexahedral_jacobians(x0: np.ndarray, elements: np.ndarray) -> np.ndarray:
    """Return dX / d xi of hexahedra, shape (m, 8), at the eight Gauss points, (m, 8, 3, 3)."""
    return np.einsum("eai,paj->epij", x0[elements], node_gradients(_GAUSS))


def mean_gradients(x0: np.ndarray, elements: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean gradients of the shape functions and the determinants at Gauss points.

    Args:
        x0: Positions at rest, shape (n, 3).
        elements: Hexahedra, shape (m, 8).

    Returns:
        Mean gradients [1/length], shape (m, 8, 3), and det(dX / d xi) at the eight Gauss points,
        shape (m, 8), whose sum is the volume.
    """
    by_xi = node_gradients(_GAUSS)
    J = hexahedral_jacobians(x0, elements)
    determinants = np.linalg.det(J)
    inverse = np.linalg.inv(J)
    total = np.einsum("ep,epji,paj->eai", determinants, inverse, by_xi)
    return total / determinants.sum(axis=1)[:, None, None], determinants


class Hourglass:
    """Energy of what the mean strain of hexahedra leaves out; see the kernel.

    Its stiffness H is that of enhanced assumed strains in a parallelepiped, those at the centre of
    the element: Wilson's nine incompatible modes, gradients -2 xi_i along each axis, against shear
    locking, and the changes of volume xi eta, eta zeta and zeta xi against volume locking.

    Args:
        x0: Positions at rest, shape (n, 3).
        elements: Hexahedra, shape (m, 8).
        gradients: Mean gradients of the shape functions, shape (m, 8, 3).
        volumes: Volumes of the elements, shape (m,).

    Source: Simo and Rifai, "A class of mixed assumed strain methods and the method of incompatible
        modes", 1990; modes of Taylor, Beresford and Wilson 1976, and volumetric ones after
        Andelfinger and Ramm, "EAS-elements", 1993.
    """

    def __init__(
        self, x0: np.ndarray, elements: np.ndarray, gradients: np.ndarray, volumes: np.ndarray
    ) -> None:
        self.elements, self.gradients = elements, np.ascontiguousarray(gradients)
        corners, self.volumes = x0[elements], volumes
        self.inverse = np.linalg.inv(np.einsum("eai,aj->eij", corners, CORNERS / 8.0))
        bent = np.einsum("am,eai->emi", _SHAPES, corners)
        linear = np.einsum("emi,eai->eam", bent, gradients)
        self.shapes = np.ascontiguousarray((_SHAPES - linear) / 8.0)
        self._ratio = np.full(len(elements), np.nan)
        self.unit_stiffness = np.zeros((2, len(elements), 12, 12))
        """H by mu and by lambda, shape (2, m, 12, 12)."""

    def set_moduli(self, mu: np.ndarray, lam: np.ndarray) -> None:
        """Set Lame's parameters of the elements [pressure], shapes (m,)."""
        scale = np.where(mu > 0.0, mu, 1.0)
        ratio = lam / scale
        changed = np.flatnonzero(ratio != self._ratio)  # H by mu and lambda depends on it only
        for start in range(0, len(changed), _CHUNK):
            chunk = changed[start : start + _CHUNK]
            self.unit_stiffness[:, chunk] = self._condense(chunk, ratio[chunk])
        self._ratio = ratio
        self.stiffness = self.combine(mu, lam)

    def combine(self, mu: np.ndarray, lam: np.ndarray) -> np.ndarray:
        """Return mu dH/dmu + lambda dH/dlambda, shape (m, 12, 12)."""
        by_mu, by_lambda = self.unit_stiffness
        return mu[:, None, None] * by_mu + lam[:, None, None] * by_lambda

    def _condense(self, chunk: np.ndarray, ratio: np.ndarray) -> np.ndarray:
        """Return H by mu and by lambda with this ratio of both, shape (2, e, 12, 12).

        The enhanced strains make the energy least, so its derivatives are those at fixed strains.
        """
        modes = self._strains(chunk)  # (e, 8, 24, 3, 3)
        weights = self.volumes[chunk] / 8.0
        trace = np.einsum("epsii->eps", modes)
        by_mu = 2.0 * np.einsum("e,epsij,eptij->est", weights, modes, modes, optimize=True)
        by_lambda = np.einsum("e,eps,ept->est", weights, trace, trace, optimize=True)
        total = by_mu + ratio[:, None, None] * by_lambda
        enhanced = -np.linalg.solve(total[:, 12:, 12:], total[:, 12:, :12])
        basis = np.concatenate([np.broadcast_to(np.eye(12), enhanced.shape), enhanced], axis=1)
        return np.stack(
            [
                np.einsum("esr,est,etu->eru", basis, part, basis, optimize=True)
                for part in (by_mu, by_lambda)
            ]
        )

    def _strains(self, chunk: np.ndarray) -> np.ndarray:
        """Return strains at Gauss points of the 12 hourglass and 12 enhanced modes.

        Shape (e, 8, 24, 3, 3): hourglass modes by (m, i), Wilson's by axis and direction, and the
        three changes of volume.
        """
        axes = self.inverse[chunk]  # row j: gradient of xi_j
        xi = _GAUSS
        zero = np.zeros(8)
        by_xi = np.array(
            [
                [xi[:, 1], xi[:, 0], zero],
                [zero, xi[:, 2], xi[:, 1]],
                [xi[:, 2], zero, xi[:, 0]],
                [xi[:, 1] * xi[:, 2], xi[:, 2] * xi[:, 0], xi[:, 0] * xi[:, 1]],
            ]
        )  # (4, 3, 8): d h_m / d xi_j
        slopes = np.einsum("mjp,ejk->epmk", by_xi, axes)
        wilson = -2.0 * np.einsum("pj,ejk->epjk", xi, axes)
        vectors = np.concatenate([slopes, wilson], axis=2)  # (e, 8, 7, 3)
        modes = np.einsum("epmk,il->epmikl", vectors, np.eye(3))  # displacement along l or k
        modes = modes.transpose(0, 1, 2, 3, 5, 4).reshape(len(chunk), 8, 21, 3, 3)
        modes = 0.5 * (modes + modes.transpose(0, 1, 2, 4, 3))
        products = np.stack([xi[:, 0] * xi[:, 1], xi[:, 1] * xi[:, 2], xi[:, 2] * xi[:, 0]], axis=1)
        volume = np.einsum("ps,ij->psij", products, np.eye(3))
        return np.concatenate([modes, np.broadcast_to(volume, (len(chunk), *volume.shape))], axis=2)

    def _geometry(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.elements, self.gradients, self.shapes

    def energies(self, x: np.ndarray) -> np.ndarray:
        """Return the energy of each element at positions x, shape (m,)."""
        strains = 0.5 * self._rates(x, x)
        return 0.5 * np.einsum("ei,ei->e", strains, self._tensions(strains))

    def forces(self, x: np.ndarray, stiffness: np.ndarray | None = None) -> np.ndarray:
        """Return the forces on the nodes of each element, shape (m, 8, 3).

        Args:
            x: Positions, shape (n, 3).
            stiffness: H of each element, by default the present one, shape (m, 12, 12).
        """
        return self._forces(x, self._tensions(0.5 * self._rates(x, x), stiffness))

    def products(
        self, x: np.ndarray, w: np.ndarray, stiffness: np.ndarray, *, is_exact: bool
    ) -> np.ndarray:
        """Return -K w on the nodes of each element, K as in `tangents`, shape (m, 8, 3)."""
        total = self._forces(x, self._tensions(self._rates(x, w), stiffness))
        if is_exact:
            total += self._forces(w, self._tensions(0.5 * self._rates(x, x), stiffness))
        return total

    def tangents(self, x: np.ndarray, *, is_exact: bool) -> np.ndarray:
        """Return -df/dx of each element, or its part that is positive, shape (m, 24, 24)."""
        if is_exact:
            return self._tangents(x, x, self._tensions(0.5 * self._rates(x, x)))
        return self._tangents(x, x, np.zeros((len(self.elements), 12)))

    def tangent_rates(self, x: np.ndarray, w: np.ndarray, *, is_exact: bool) -> np.ndarray:
        """Return the derivative of K w by x, K as in `tangents`, shape (m, 24, 24)."""
        rates = self._tangents(x, w, self._tensions(self._rates(x, w)))
        if is_exact:
            rates += self._tangents(w, x, np.zeros((len(self.elements), 12)))
        return rates

    def _rates(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return how the strains Q change at x along v, shape (m, 12)."""
        out = np.empty((len(self.elements), 12))
        kernel.rates(x, v, *self._geometry(), out)
        return out

    def _tensions(self, strains: np.ndarray, stiffness: np.ndarray | None = None) -> np.ndarray:
        """Return H Q of each element, shape (m, 12)."""
        H = self.stiffness if stiffness is None else stiffness
        return np.einsum("eij,ej->ei", H, strains)

    def _forces(self, x: np.ndarray, tensions: np.ndarray) -> np.ndarray:
        out = np.empty((len(self.elements), 8, 3))
        kernel.forces(x, *self._geometry(), tensions, out)
        return out

    def _tangents(self, x: np.ndarray, y: np.ndarray, tensions: np.ndarray) -> np.ndarray:
        out = np.empty((len(self.elements), 24, 24))
        kernel.tangents(x, y, *self._geometry(), self.stiffness, tensions, out)
        return out

    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the node pairs in the order of `kernel.add_matrix`."""
        return element_pairs(self.elements)
