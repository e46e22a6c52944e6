"""Plasticity of corotational tetrahedra."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sofa_softctl.runtime.kernels.elasticity.von_mises import linear_stress

_ROWS, _COLUMNS = np.array([0, 1, 2, 0, 1, 0]), np.array([0, 1, 2, 1, 2, 2])
_SHEAR = np.array([1.0, 1.0, 1.0, 2.0, 2.0, 2.0])


@dataclass
class Plasticity:
    """Plastic strain of each tetrahedron, in its frame.

    Each force computation, once per step, turns the fraction `creep` of an elastic strain above the
    yield norm into plastic strain, up to the largest norm. As in SOFA, contrary to its help, these
    are norms of six times the element's volume times (xx, yy, zz, 2 xy, 2 yz, 2 zx) of the strain:
    a finer mesh needs smaller ones.

    Source: SOFA's TetrahedronFEMForceField.
    """

    frames: np.ndarray
    """Frame of each element at rest, rows = axes, shape (m, 3, 3)."""
    volumes: np.ndarray
    """Volume of each element at rest [length^3], shape (m,)."""

    def __post_init__(self) -> None:
        self.strain = np.zeros((len(self.volumes), 6))
        """Six times the volume times the plastic strain, shape (m, 6)."""

    def flow(self, strain: np.ndarray, yield_norm: float, norm_max: float, creep: float) -> None:
        """Increase the plastic strain.

        Args:
            strain: Total strain sym(R^T F) - I of each element, shape (m, 3, 3).
            yield_norm: Norm of the elastic strain above which it creeps [length^3].
            norm_max: Largest norm of the plastic strain [length^3].
            creep: Fraction of the elastic strain that becomes plastic in a step [-].
        """
        local_strain = self.frames @ strain @ self.frames.transpose(0, 2, 1)
        total = 6.0 * self.volumes[:, None] * _SHEAR * local_strain[:, _ROWS, _COLUMNS]
        elastic = total - self.strain
        is_flowing = np.linalg.norm(elastic, axis=1) > abs(yield_norm)
        plastic = self.strain + np.where(is_flowing[:, None], creep * elastic, 0.0)
        norms = np.linalg.norm(plastic, axis=1)
        is_too_large = norms > norm_max
        plastic[is_too_large] *= (norm_max / norms[is_too_large])[:, None]
        self.strain = plastic  # a new array: a snapshot holds the last one

    def add_force(
        self,
        elements: np.ndarray,
        rotations: np.ndarray,
        gradients: np.ndarray,
        stiffness: np.ndarray,
        force: np.ndarray,
    ) -> None:
        """Subtract the stress of the plastic strain: force_a += V sigma_p h_a.

        Args:
            elements, rotations: Tetrahedra and their rotations R, (m, 4) and (m, 3, 3).
            gradients: g_a at rest, shape (m, 4, 3).
            stiffness: V lambda and V mu of each element, shape (m, 2).
            force: Output, shape (n, 3).
        """
        strain = np.empty((len(elements), 3, 3))
        parts = self.strain / (6.0 * self.volumes[:, None] * _SHEAR)
        strain[:, _ROWS, _COLUMNS] = strain[:, _COLUMNS, _ROWS] = parts
        strain = self.frames.transpose(0, 2, 1) @ strain @ self.frames
        stress = rotations @ linear_stress(strain, stiffness)
        np.add.at(force, elements, gradients @ stress.transpose(0, 2, 1))
