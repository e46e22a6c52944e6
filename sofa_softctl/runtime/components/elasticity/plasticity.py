"""Strains that stay: plasticity of corotational tetrahedra."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sofa_softctl.runtime.kernels.elasticity.von_mises import linear_stress

_ROWS, _COLUMNS = np.array([0, 1, 2, 0, 1, 0]), np.array([0, 1, 2, 1, 2, 2])
_SHEAR = np.array([1.0, 1.0, 1.0, 2.0, 2.0, 2.0])


@dataclass
class Plasticity:
    """Plastic strain of each tetrahedron, in its frame.

    Each time that forces are computed, once a step, the plastic strain takes `creep` of the elastic
    strain where that is larger than the yield norm; it grows no larger than the largest norm. As in
    SOFA, whose help speaks of the norm of the strain, both are of six times the element's volume
    times (xx, yy, zz, 2 xy, 2 yz, 2 zx) of the strain: a finer mesh needs smaller ones.

    Source: SOFA's TetrahedronFEMForceField.
    """

    frames: np.ndarray
    """Frame of each element at rest, rows = axes, shape (m, 3, 3)."""
    volumes: np.ndarray
    """Shape (m,) [length^3]."""

    def __post_init__(self) -> None:
        self.strain = np.zeros((len(self.volumes), 6))
        """Six times the volume times the plastic strain, shape (m, 6)."""

    def flow(self, strain: np.ndarray, yield_norm: float, largest: float, creep: float) -> None:
        """Let the plastic strain grow.

        Args:
            strain: The whole strain sym(R^T F) - I of each element, shape (m, 3, 3).
            yield_norm: Norm of the elastic strain from which on it creeps [length^3].
            largest: Largest norm of the plastic strain [length^3].
            creep: Part of the elastic strain that becomes plastic in a step [-].
        """
        turned = self.frames @ strain @ self.frames.transpose(0, 2, 1)
        whole = 6.0 * self.volumes[:, None] * _SHEAR * turned[:, _ROWS, _COLUMNS]
        elastic = whole - self.strain
        flows = np.linalg.norm(elastic, axis=1) > abs(yield_norm)
        plastic = self.strain + np.where(flows[:, None], creep * elastic, 0.0)
        norms = np.linalg.norm(plastic, axis=1)
        too_large = norms > largest
        plastic[too_large] *= (largest / norms[too_large])[:, None]
        self.strain = plastic  # another array: a snapshot holds the last one

    def add_force(
        self,
        elements: np.ndarray,
        rotations: np.ndarray,
        gradients: np.ndarray,
        stiffness: np.ndarray,
        force: np.ndarray,
    ) -> None:
        """Take the stress of the plastic strain off: force_a += V sigma_p h_a.

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
